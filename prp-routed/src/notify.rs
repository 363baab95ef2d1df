//! What the service manager is told, where there is one (sd_notify(3)), and its watchdog.
//!
//! The manager restarts a daemon that has sent nothing for `WatchdogSec`. So the loop itself says
//! it, once in each iteration when it is due, and no other thread: a loop that hangs is silent.

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use prp_proto::time::Instant;
use sd_notify::NotifyState;

/// The service manager that wants to know.
#[derive(Debug, Default)]
pub struct ServiceManager {
    /// None without a manager.
    socket: Option<UnixDatagram>,
    /// How often it wants to hear that the loop runs.
    every: Option<Duration>,
    due: Instant,
}

impl ServiceManager {
    /// The manager that the environment tells of. Its socket is opened now, since it may be out of
    /// reach later.
    pub fn find() -> Self {
        let address = std::env::var_os("NOTIFY_SOCKET");
        let socket = address.and_then(|address| open(&address).ok());
        Self::new(socket, sd_notify::watchdog_enabled())
    }

    fn new(socket: Option<UnixDatagram>, patience: Option<Duration>) -> Self {
        // Half of it, as its manual recommends.
        let every = patience.filter(|_| socket.is_some()).map(|patience| patience / 2);
        Self { socket, every, due: Instant::ZERO }
    }

    /// The daemon routes, with these `words` as its state.
    pub fn ready(&self, words: &str) {
        self.send(&[NotifyState::Ready, NotifyState::Status(words)]);
    }

    /// Its state is in these `words` now.
    pub fn status(&self, words: &str) {
        self.send(&[NotifyState::Status(words)]);
    }

    /// It reads its files again; [`Self::ready`] is to follow.
    pub fn reloading(&self) {
        let Ok(now) = NotifyState::monotonic_usec_now() else { return };
        self.send(&[NotifyState::Reloading, now]);
    }

    /// It ends.
    pub fn stopping(&self) {
        self.send(&[NotifyState::Stopping, NotifyState::Status("stopping")]);
    }

    /// The loop runs.
    pub fn beat(&mut self, now: Instant) {
        let Some(every) = self.every else { return };
        if self.due <= now {
            self.send(&[NotifyState::Watchdog]);
            self.due = now + every;
        }
    }

    /// When [`Self::beat`] is due.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.every.map(|_| self.due)
    }

    fn send(&self, states: &[NotifyState<'_>]) {
        let Some(socket) = &self.socket else { return };
        let lines: String = states.iter().map(|state| format!("{state}\n")).collect();
        // A manager that does not read is not waited for: frames are.
        let _ = socket.send(lines.as_bytes());
    }
}

fn open(address: &OsStr) -> io::Result<UnixDatagram> {
    let address = match address.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(address)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&address)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn pair(patience: Option<Duration>) -> (ServiceManager, UnixDatagram) {
        let (ours, theirs) = UnixDatagram::pair().expect("two sockets");
        ours.set_nonblocking(true).expect("a socket");
        theirs.set_nonblocking(true).expect("a socket");
        (ServiceManager::new(Some(ours), patience), theirs)
    }

    /// What was sent last, and only that.
    fn received(socket: &UnixDatagram) -> Option<String> {
        let mut buffer = [0; 256];
        let n = socket.recv(&mut buffer).ok()?;
        assert!(socket.recv(&mut [0; 256]).is_err(), "one message");
        Some(String::from_utf8_lossy(&buffer[..n]).into_owned())
    }

    #[test]
    fn beat__comes_twice_in_its_time_and_only_from_a_loop_that_runs() {
        let (mut manager, socket) = pair(Some(Duration::from_millis(100)));
        manager.beat(at(7));
        assert_eq!(received(&socket).as_deref(), Some("WATCHDOG=1\n"));
        assert_eq!(manager.next_timeout(), Some(at(57)));
        for ms in 8..57 {
            manager.beat(at(ms));
        }
        assert_eq!(received(&socket), None);
        manager.beat(at(57));
        assert!(received(&socket).is_some());
        // A loop that was held up says it once, not for all the time before.
        manager.beat(at(900));
        assert!(received(&socket).is_some());
        assert_eq!(manager.next_timeout(), Some(at(950)));
    }

    #[test]
    fn send__what_the_manual_has() {
        let (mut manager, socket) = pair(None);
        manager.ready("node 2");
        assert_eq!(received(&socket).as_deref(), Some("READY=1\nSTATUS=node 2\n"));
        manager.status("node 3");
        assert_eq!(received(&socket).as_deref(), Some("STATUS=node 3\n"));
        manager.reloading();
        let text = received(&socket).expect("something");
        let time = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect("both lines");
        assert!(time.trim_end().parse::<u64>().expect("a number") > 0);
        manager.stopping();
        assert_eq!(received(&socket).as_deref(), Some("STOPPING=1\nSTATUS=stopping\n"));
        manager.beat(at(1));
        assert_eq!((received(&socket), manager.next_timeout()), (None, None), "nobody watches");
    }

    #[test]
    fn send__a_manager_that_does_not_read_is_not_waited_for() {
        let (manager, _socket) = pair(None);
        for _ in 0..10_000 {
            manager.ready("still here");
        }
    }

    #[test]
    fn open__sockets_with_paths_and_with_abstract_names() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("notify");
        let by_path = UnixDatagram::bind(&path).expect("a free name");
        ServiceManager::new(open(path.as_os_str()).ok(), None).ready("1");
        let name = format!("prp-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let by_name = UnixDatagram::bind_addr(&address).expect("a free name");
        ServiceManager::new(open(OsStr::new(&format!("@{name}"))).ok(), None).ready("2");
        for (socket, word) in [(by_path, "1"), (by_name, "2")] {
            socket.set_nonblocking(true).expect("a socket");
            assert_eq!(received(&socket), Some(format!("READY=1\nSTATUS={word}\n")));
        }
        assert!(open(OsStr::new("/no/such/socket")).is_err());
    }
}
