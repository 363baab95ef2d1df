//! Processes that ask the holder.

use std::io::{ErrorKind, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use prp_run::{Request, Settings};

use super::processes::Processes;
use crate::sys::rights;

/// How long a process may take to ask.
const ASKING: Duration = Duration::from_secs(5);

/// How long the holder rests that can accept nobody.
const REST: Duration = Duration::from_millis(10);

/// Strangers that may be about to ask at a time: anyone on the machine can connect to the socket.
const MOST_STRANGERS: usize = 64;

/// Accepts those that ask. Where descriptors are lacking they are turned away at once: they would
/// wait in the socket's queue until they give up, and the program with them.
pub(super) struct Askers<'a> {
    socket: &'a UnixListener,
    /// A descriptor that is given up for one that is turned away.
    reserve: Option<OwnedFd>,
    /// Each stranger has another reference to it.
    strangers: Arc<()>,
}

/// A process that asks.
pub(super) struct Asker {
    pub(super) socket: UnixStream,
    pub(super) pid: i32,
    /// For one that is neither of the holder's user, nor root's, nor known, until it has shown the
    /// token.
    stranger: Option<Arc<()>>,
}

impl<'a> Askers<'a> {
    /// Returns those that ask at `socket`.
    pub(super) fn new(socket: &'a UnixListener) -> Self {
        Self { socket, reserve: reserve(), strangers: Arc::new(()) }
    }

    /// Returns the next one; `None` if there is none to answer.
    pub(super) fn next(&mut self, user: u32, known: &Processes) -> Option<Asker> {
        let socket = self.accept()?;
        let credentials = getsockopt(&socket, PeerCredentials).ok()?;
        let (uid, pid) = (credentials.uid(), credentials.pid());
        let is_known = uid == user || uid == 0 || known.has(pid);
        let stranger = if is_known { None } else { Some(self.stranger()?) };
        Some(Asker { socket, pid, stranger })
    }

    /// Returns what a stranger has while it may be about to ask; `None` if too many have that.
    fn stranger(&self) -> Option<Arc<()>> {
        (Arc::strong_count(&self.strangers) <= MOST_STRANGERS).then(|| self.strangers.clone())
    }

    fn accept(&mut self) -> Option<UnixStream> {
        match self.socket.accept() {
            Ok((asking, _)) => {
                if self.reserve.is_none() {
                    self.reserve = reserve();
                }
                if self.reserve.is_some() {
                    return Some(asking);
                }
                drop(asking);
                self.reserve = reserve();
            }
            Err(_) if self.reserve.take().is_some() => {}
            // Other threads have taken what was given up: it passes when connections end.
            Err(_) => thread::sleep(REST),
        }
        None
    }
}

impl Asker {
    /// Returns what is asked, and a descriptor that has come along; `None` if that is not of this
    /// run.
    pub(super) fn request(&mut self, settings: &Settings) -> Option<(Request, Option<OwnedFd>)> {
        let mut bytes = [0; Request::SIZE];
        self.socket.set_read_timeout(Some(ASKING)).ok()?;
        // The library sends it at once, and who sends it in parts could take any time.
        let (count, file) = loop {
            match rights::receive(&self.socket, &mut bytes) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                received => break received.ok()?,
            }
        };
        let request = Request::parse(&bytes).filter(|_| count == bytes.len())?;
        if request.token != settings.token {
            return None;
        }
        self.stranger = None;
        Some((request, file))
    }
}

/// Takes a descriptor, which fails for nothing but the want of one: the holder's standard input is
/// /dev/null.
fn reserve() -> Option<OwnedFd> {
    stdin().as_fd().try_clone_to_owned().ok()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;

    use nix::unistd::geteuid;
    use prp_run::RequestKind;

    use super::*;

    fn settings() -> Settings {
        let text =
            "1,0000000000000001,00000000000000000000000000000007,0,1,198.18.0.0/16,0,both,0,0,1";
        text.parse().expect("settings")
    }

    #[test]
    fn stranger__may_be_one_of_some() {
        let name = format!("prp-run-askers/{}", std::process::id());
        let name = SocketAddr::from_abstract_name(name).expect("short enough");
        let socket = UnixListener::bind_addr(&name).expect("a socket");
        let askers = Askers::new(&socket);
        let mut strangers: Vec<_> = (0..=MOST_STRANGERS).map_while(|_| askers.stranger()).collect();
        assert_eq!(strangers.len(), MOST_STRANGERS);
        strangers.pop();
        assert!(askers.stranger().is_some());
    }

    #[test]
    fn next__has_no_stranger_of_the_own_user() {
        let name = format!("prp-run-askers/{}/own", std::process::id());
        let name = SocketAddr::from_abstract_name(name).expect("short enough");
        let socket = UnixListener::bind_addr(&name).expect("a socket");
        let mut askers = Askers::new(&socket);
        let _asking = UnixStream::connect_addr(&name).expect("it listens");
        let processes = Processes::new(None).expect("descriptors");
        let asker = askers.next(geteuid().as_raw(), &processes).expect("one that asks");
        assert!(asker.stranger.is_none());
        assert_eq!(asker.pid as u32, std::process::id());
    }

    #[test]
    fn request__is_of_this_run_and_in_one_piece() {
        let settings = settings();
        let good = Request::new(RequestKind::Hello, settings.token).to_bytes();
        let other = Request::new(RequestKind::Hello, [8; prp_run::TOKEN_SIZE]).to_bytes();
        let strangers = Arc::new(());
        for (bytes, is_good) in [(&good[..], true), (&good[..9], false), (&other[..], false)] {
            let (mut asking, socket) = UnixStream::pair().expect("descriptors");
            let stranger = Some(strangers.clone());
            let mut asker = Asker { socket, pid: 1, stranger };
            asking.write_all(bytes).expect("room");
            assert_eq!(asker.request(&settings).is_some(), is_good, "{} bytes", bytes.len());
            assert_eq!(asker.stranger.is_none(), is_good, "{} bytes", bytes.len());
        }
    }
}
