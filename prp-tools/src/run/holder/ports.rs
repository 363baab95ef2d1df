//! The ports of PRP that a run's programs listen at, and connections that wait to be accepted.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
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
    /// Held while a port is opened: of two that ask at once only one could listen.
    opening: Mutex<()>,
    /// By port.
    listening: Mutex<HashMap<u16, ListeningPort>>,
    /// By the port of the connection to the listening socket, and whether that is of IPv6 alone.
    ringing: Mutex<HashMap<(bool, u16), Ringing>>,
}

/// A port of PRP.
pub(super) struct ListeningPort {
    /// The programs' sockets, with the newest last.
    pub(super) sockets: Vec<ListeningSocket>,
    /// Ends the thread that accepts, once it is closed.
    pub(super) _stop: UnixStream,
}

/// A program's socket that listens.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct ListeningSocket {
    pub(super) inode: u64,
    /// Where a connection reaches it.
    pub(super) target: SocketAddr,
    /// The address that it is bound to.
    pub(super) ip: IpAddr,
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
    /// Adds a socket to its port, which `open` opens and lists if nobody listens there yet.
    ///
    /// # Errors
    /// Those of `open`; the port is not listed then.
    pub(super) fn join(
        &self,
        port: u16,
        socket: ListeningSocket,
        open: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let opening = self.opening.lock();
        if let Some(known) = self.listening.lock().get_mut(&port) {
            known.sockets.retain(|other| other.inode != socket.inode);
            known.sockets.push(socket);
            return Ok(());
        }
        let opened = open();
        if opened.is_err() {
            self.remove(port);
        }
        drop(opening);
        opened
    }

    /// Has `open` open and list a port that no other socket of the run listens at.
    ///
    /// # Errors
    /// Those of `open`.
    pub(super) fn claim<T>(&self, open: impl FnOnce(&Self) -> io::Result<T>) -> io::Result<T> {
        let _opening = self.opening.lock();
        open(self)
    }

    /// Adds a port.
    pub(super) fn add(&self, port: u16, listening: ListeningPort) {
        self.listening.lock().insert(port, listening);
    }

    /// Removes a port.
    pub(super) fn remove(&self, port: u16) {
        self.listening.lock().remove(&port);
    }

    /// Returns the newest of the sockets that listen at `port`.
    pub(super) fn newest(&self, port: u16) -> Option<ListeningSocket> {
        self.listening.lock().get(&port)?.sockets.last().copied()
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
                port.sockets.retain(|socket| open.contains(&socket.inode));
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

    fn socket(listener: &TcpListener) -> ListeningSocket {
        let inode = fstat(listener).expect("a socket").st_ino;
        let target = listener.local_addr().expect("bound");
        ListeningSocket { inode, target, ip: target.ip() }
    }

    /// Has `ports` list a port with `socket`; the end that shows when it is dropped.
    fn list(ports: &Ports, port: u16, socket: ListeningSocket) -> UnixStream {
        let (stop, stopped) = UnixStream::pair().expect("descriptors");
        ports.add(port, ListeningPort { sockets: vec![socket], _stop: stop });
        stopped
    }

    #[test]
    fn check__drops_ports_whose_sockets_are_closed() {
        let ports = Ports::default();
        let bind = || TcpListener::bind("127.0.0.1:0").expect("a port");
        let (older, newer) = (bind(), bind());
        let [of_older, of_newer] = [&older, &newer].map(socket);
        let mut stopped = list(&ports, 7, of_older);
        ports.join(7, of_newer, || unreachable!("it is listened at")).expect("no error");
        ports.check();
        assert_eq!(ports.newest(7), Some(of_newer));
        drop(newer);
        ports.check();
        assert_eq!(ports.newest(7), Some(of_older));
        drop(older);
        ports.check();
        assert!(ports.is_empty());
        assert_eq!(io::Read::read(&mut stopped, &mut [0]).expect("an end"), 0);
    }

    #[test]
    fn join__lists_no_port_that_could_not_be_opened() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = socket(&listener);
        let failed = ports.join(7, socket, || {
            drop(list(&ports, 7, socket));
            Err(Errno::ENOMEM.into())
        });
        assert_eq!(failed.expect_err("as told").raw_os_error(), Some(Errno::ENOMEM as i32));
        assert!(ports.is_empty());
    }

    #[test]
    fn join__opens_a_port_once() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = socket(&listener);
        let opened = std::sync::atomic::AtomicU32::new(0);
        let joins = || {
            ports.join(7, socket, || {
                opened.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                // Others come meanwhile.
                std::thread::yield_now();
                drop(list(&ports, 7, socket));
                Ok(())
            })
        };
        std::thread::scope(|scope| {
            let all = [(); 8].map(|()| scope.spawn(joins));
            for one in all {
                one.join().expect("no panic").expect("no error");
            }
        });
        assert_eq!(opened.into_inner(), 1);
    }
}
