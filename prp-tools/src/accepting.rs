//! Accepting connections where a moment lacks something for the next one.

use std::io;
use std::thread;
use std::time::Duration;

use nix::errno::Errno;

use crate::print::notice;

/// How long a listener rests that lacks something. Clients wait in the kernel's queue meanwhile.
const REST: Duration = Duration::from_millis(100);

/// What accepting says of a connection that has broken while it waited (accept(2)); the listener
/// is as it was.
const BROKEN: [Errno; 9] = [
    Errno::ECONNABORTED,
    Errno::EHOSTDOWN,
    Errno::EHOSTUNREACH,
    Errno::ENETDOWN,
    Errno::ENETUNREACH,
    Errno::ENONET,
    Errno::ENOPROTOOPT,
    Errno::EOPNOTSUPP,
    Errno::EPROTO,
];

/// What accepting says where the process or the machine has too many of something: it passes when
/// other connections end.
const EXHAUSTED: [Errno; 4] = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM];

/// Whether accepting has failed with `error` for a connection that has broken: the next one may be
/// accepted at once.
pub(crate) fn is_broken(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| BROKEN.contains(&Errno::from_raw(code)))
}

/// Whether a call has failed with `error` for what there is too little of just now.
pub(crate) fn is_short(error: &io::Error) -> bool {
    error.raw_os_error().is_some_and(|code| EXHAUSTED.contains(&Errno::from_raw(code)))
}

/// Accepts for a listener that is to live for as long as its process.
#[derive(Debug, Default)]
pub(crate) struct Acceptor {
    reported: bool,
}

impl Acceptor {
    /// The next connection that `accept` gives, however long something is lacking.
    ///
    /// # Errors
    /// The listener is of no use any more.
    pub(crate) fn next<T>(&mut self, mut accept: impl FnMut() -> io::Result<T>) -> io::Result<T> {
        loop {
            match accept() {
                Err(e) if is_broken(&e) => {}
                Err(e) if is_short(&e) => {
                    if !self.reported {
                        self.reported = true;
                        notice(format_args!("accepting: {e}; connections wait"));
                    }
                    thread::sleep(REST);
                }
                done => return done,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next__goes_on_after_what_passes() {
        let mut errors = BROKEN.iter().chain(&EXHAUSTED[..2]);
        let mut accept = || errors.next().map_or(Ok(7), |errno| Err(io::Error::from(*errno)));
        let mut acceptor = Acceptor::default();
        assert_eq!(acceptor.next(&mut accept).expect("a connection"), 7);
        assert!(acceptor.reported);
    }

    #[test]
    fn next__ends_where_the_listener_is_of_no_use() {
        let error = Acceptor::default().next::<()>(|| Err(Errno::EINVAL.into()));
        assert_eq!(error.expect_err("for good").raw_os_error(), Some(Errno::EINVAL as i32));
    }
}
