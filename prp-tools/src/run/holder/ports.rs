//! The ports of PRP that a run's programs listen at, and connections that wait to be accepted.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use parking_lot::Mutex;

/// Sockets that listen, in the tables of the kernel (proc(5)).
const LISTENING: &str = "0A";

/// The ports, and the connections.
#[derive(Default)]
pub(super) struct Ports {
    /// By port.
    listening: Mutex<HashMap<u16, ListeningPort>>,
    /// By the port of the connection to the listening socket, and whether that is of IPv6 alone.
    ringing: Mutex<HashMap<(bool, u16), Ringing>>,
}

/// A port of PRP.
pub(super) struct ListeningPort {
    /// The inodes of the programs' sockets.
    pub(super) sockets: HashSet<u64>,
    /// Where a connection reaches the newest of them.
    pub(super) target: SocketAddr,
    /// The address that it is bound to.
    pub(super) ip: IpAddr,
    /// Ends the thread that accepts, once it is closed.
    pub(super) _stop: UnixStream,
}

/// A connection of PRP that a program has not accepted yet.
pub(super) struct Ringing {
    /// The connection to the listening socket.
    pub(super) bell: TcpStream,
    /// The program's end of the pair.
    pub(super) end: OwnedFd,
    /// The holder's number for the connection.
    pub(super) number: u64,
}

impl Ports {
    /// Adds a socket to a port that is listened at already; whether it is.
    pub(super) fn join(&self, port: u16, socket: u64, target: SocketAddr, ip: IpAddr) -> bool {
        let mut listening = self.listening.lock();
        let Some(known) = listening.get_mut(&port) else { return false };
        known.sockets.insert(socket);
        (known.target, known.ip) = (target, ip);
        true
    }

    /// Adds a port.
    pub(super) fn add(&self, port: u16, listening: ListeningPort) {
        self.listening.lock().insert(port, listening);
    }

    /// Returns where to connect to for `port`, and the address that the socket is bound to.
    pub(super) fn target(&self, port: u16) -> Option<(SocketAddr, IpAddr)> {
        self.listening.lock().get(&port).map(|known| (known.target, known.ip))
    }

    /// Whether no port is listened at.
    pub(super) fn is_empty(&self) -> bool {
        self.listening.lock().is_empty()
    }

    /// Notes a connection that waits.
    pub(super) fn ring(&self, is_ip6: bool, port: u16, ringing: Ringing) {
        self.ringing.lock().insert((is_ip6, port), ringing);
    }

    /// Takes the connection that waits.
    pub(super) fn take(&self, is_ip6: bool, port: u16) -> Option<Ringing> {
        self.ringing.lock().remove(&(is_ip6, port))
    }

    /// Drops the ports whose sockets are all closed, and the connections that no program will
    /// accept.
    pub(super) fn check(&self) {
        let mut listening = self.listening.lock();
        if !listening.is_empty()
            && let Some(open) = open_sockets()
        {
            listening.retain(|_, port| {
                port.sockets.retain(|socket| open.contains(socket));
                !port.sockets.is_empty()
            });
        }
        drop(listening);
        let is_over = |bell: &TcpStream| {
            let waits = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
            match recv(bell.as_raw_fd(), &mut [0], waits) {
                Ok(count) => count == 0,
                // It is still to be connected, or it is.
                Err(e) => !matches!(e, Errno::EAGAIN | Errno::ENOTCONN),
            }
        };
        self.ringing.lock().retain(|_, ringing| !is_over(&ringing.bell));
    }
}

/// Returns the inodes of all sockets of TCP that listen; `None` if that cannot be told.
fn open_sockets() -> Option<HashSet<u64>> {
    let mut found = HashSet::new();
    let mut is_read = false;
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(file) = File::open(table) else { continue };
        is_read = true;
        for line in BufReader::new(file).lines().map_while(Result::ok) {
            found.extend(listening_inode(&line));
        }
    }
    is_read.then_some(found)
}

/// Returns the inode in a line of the table, if the socket listens.
fn listening_inode(line: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    let state = words.nth(3)?;
    let inode = words.nth(5)?;
    if state == LISTENING { inode.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::fstat;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn open_sockets__has_those_that_listen() {
        let inode = |socket: &TcpListener| fstat(socket).expect("a socket").st_ino;
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let number = inode(&listener);
        assert!(open_sockets().expect("procfs").contains(&number));
        drop(listener);
        assert!(!open_sockets().expect("procfs").contains(&number));
    }

    #[test]
    fn check__drops_ports_whose_sockets_are_closed() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let target = listener.local_addr().expect("bound");
        let (stop, mut stopped) = UnixStream::pair().expect("descriptors");
        let sockets = [fstat(&listener).expect("a socket").st_ino, 1].into();
        ports.add(7, ListeningPort { sockets, target, ip: target.ip(), _stop: stop });
        ports.check();
        assert_eq!(ports.target(7), Some((target, target.ip())));
        drop(listener);
        ports.check();
        assert!(ports.is_empty());
        assert_eq!(std::io::Read::read(&mut stopped, &mut [0]).expect("an end"), 0);
    }
}
