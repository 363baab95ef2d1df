//! Asking the holder. Each request has a connection of its own, so that no descriptor stays open
//! that the program might close, and none is shared with a child.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prp_run::{Answer, Request, Settings};

use super::call::{self, Errno};

/// How long the holder may take for what it knows itself.
const SOON: Duration = Duration::from_secs(5);

/// How long a holder that did not answer is not asked again: it is stopped, or its machine is, and
/// each call would wait for it.
const SILENCE: Duration = Duration::from_secs(10);

/// A holder that did not answer in time.
struct Silence {
    /// Until when it is not asked, in milliseconds of the clock that only goes on; 0 for at once.
    until: AtomicU64,
}

static SILENT: Silence = Silence { until: AtomicU64::new(0) };

impl Silence {
    fn note(&self, now: Duration) {
        self.until.store((now + SILENCE).as_millis() as u64, Ordering::Relaxed);
    }

    fn is_at(&self, now: impl FnOnce() -> Duration) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        until != 0 && (now().as_millis() as u64) < until
    }
}

/// Has the next call ask, since there is another holder.
pub(super) fn ask_again() {
    SILENT.until.store(0, Ordering::Relaxed);
}

/// Why there is no answer.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Unanswered {
    /// The holder has ended, or is another user's, or is stopped.
    NoHolder,
    /// The call is not to wait any longer: a signal handler wants calls interrupted, or the time is
    /// over. The error of a call that goes on later.
    Interrupted(Errno),
    /// There is no descriptor to ask on: the system's error.
    Lacking(Errno),
}

impl Unanswered {
    /// Returns why, where a request could not be sent.
    fn unsent(errno: Errno) -> Self {
        match errno {
            libc::EMFILE | libc::ENFILE => Self::Lacking(errno),
            _ => Self::NoHolder,
        }
    }

    /// Returns the error of a call that needs an answer, which is `no_holder` without a holder.
    pub(super) fn errno(self, no_holder: Errno) -> Errno {
        match self {
            Self::NoHolder => no_holder,
            Self::Interrupted(errno) | Self::Lacking(errno) => errno,
        }
    }
}

/// An answer, and the descriptor that has come with it.
type Answered = (Answer, Option<OwnedFd>);

/// Asks for what the other node decides, and waits until the holder has answered, for `wait` if
/// that is limited, or until a signal handler that was installed without `SA_RESTART` has run.
pub(super) fn ask(
    settings: &Settings,
    request: &Request,
    wait: Option<Duration>,
) -> Result<Answered, Unanswered> {
    // Without a time limit the kernel goes on by itself after other handlers, and with one, as for
    // sockets of TCP, it does not (signal(7)). A holder that has ended is an end of file.
    let socket = send(settings, request, wait).map_err(Unanswered::unsent)?;
    receive(&socket).map_err(|errno| match errno {
        libc::EINTR => Unanswered::Interrupted(errno),
        libc::EAGAIN => Unanswered::Interrupted(libc::EINPROGRESS),
        _ => Unanswered::NoHolder,
    })
}

/// Asks what the holder knows itself, and does not stop for signals. Nothing is asked twice: the
/// holder gives some answers only once.
pub(super) fn ask_soon(settings: &Settings, request: &Request) -> Result<Answered, Unanswered> {
    let started = Instant::now();
    let socket = send(settings, request, Some(SOON)).map_err(Unanswered::unsent)?;
    loop {
        match receive(&socket) {
            Err(libc::EINTR) if started.elapsed() < SOON => {}
            Err(libc::EAGAIN) => {
                SILENT.note(call::monotonic());
                return Err(Unanswered::NoHolder);
            }
            answered => return answered.map_err(|_| Unanswered::NoHolder),
        }
    }
}

/// Sends what needs no answer, and does not wait until the holder has taken it.
pub(super) fn tell(settings: &Settings, request: &Request) {
    // A holder that is not there is told nothing.
    let _ = send(settings, request, Some(SOON));
}

/// Sends a request on a connection of its own, on which an answer is waited for for `wait`.
fn send(settings: &Settings, request: &Request, wait: Option<Duration>) -> Result<OwnedFd, Errno> {
    if SILENT.is_at(call::monotonic) {
        return Err(libc::EAGAIN);
    }
    let socket = call::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC)?;
    let timeval = |time: Duration| libc::timeval {
        tv_sec: time.as_secs() as _,
        tv_usec: time.subsec_micros().cast_signed().into(),
    };
    if let Some(wait) = wait {
        call::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, &timeval(wait))?;
    }
    call::set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDTIMEO, &timeval(SOON))?;
    let started = Instant::now();
    // The holder's queue may be full; one that is interrupted there has not been queued.
    while let Err(errno) = call::connect_unix(&socket, &settings.socket_name()) {
        // It had no room for as long as an answer may take.
        if errno == libc::EAGAIN {
            SILENT.note(call::monotonic());
        }
        if errno != libc::EINTR || started.elapsed() > SOON {
            return Err(errno);
        }
    }
    if !is_of(&socket, settings.user) {
        return Err(libc::EPERM);
    }
    let bytes = request.to_bytes();
    // They fit into any socket's buffer.
    if call::send(&socket, &bytes)? == bytes.len() { Ok(socket) } else { Err(libc::EIO) }
}

/// Receives the answer.
fn receive(socket: &OwnedFd) -> Result<Answered, Errno> {
    let mut bytes = [0; Answer::SIZE];
    let (count, fd) = call::receive(socket, &mut bytes)?;
    let answer = Answer::parse(&bytes).filter(|_| count == Answer::SIZE).ok_or(libc::EIO)?;
    Ok((answer, fd))
}

/// Whether the process at the other end is of `user`: once the holder has ended, another user
/// could listen under its name.
fn is_of(socket: &OwnedFd, user: u32) -> bool {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let fd: c_int = socket.as_raw_fd();
    let asked = call::option(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut peer);
    asked.is_ok() && peer.uid == user
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence__passes() {
        let silence = Silence { until: AtomicU64::new(0) };
        let begun = Duration::from_secs(100);
        assert!(!silence.is_at(|| begun));
        silence.note(begun);
        assert!(silence.is_at(|| begun) && silence.is_at(|| begun + SILENCE / 2));
        assert!(!silence.is_at(|| begun + SILENCE));
    }
}
