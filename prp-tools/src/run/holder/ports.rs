//! The ports of PRP that a run's programs listen at, and connections that wait to be accepted.

use std::collections::HashMap;
use std::io::{self, Read};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use parking_lot::Mutex;
use prp_run::FAMILY;

use super::sockets;

/// How long a program may take to ask for a connection that it has accepted. Code without the
/// library never asks.
const ASKING: Duration = Duration::from_secs(5);

/// How long an ended connection stays: a program that had no descriptor for it asks once more.
const ENDED: Duration = Duration::from_secs(1);

/// How long the thread of a port whose sockets are closed may take to give it up, for which the
/// program waits that has closed the last: on a busy machine some tenths of a second.
const CLOSING: Duration = Duration::from_secs(1);

/// The ports, and the connections.
#[derive(Default)]
pub(super) struct Ports {
    /// Held while a port is opened: of two that ask at once only one could listen.
    opening: Mutex<()>,
    /// Held while ports are closed: who asks for that meanwhile waits until they are.
    closing: Mutex<()>,
    /// By port.
    listening: Mutex<HashMap<u16, ListeningPort>>,
    /// By the port of the connection to the listening socket, and whether that is of IPv6 alone.
    ringing: Mutex<HashMap<(bool, u16), Ringing>>,
    /// Sockets that listen at ports of PRP which another process of this node has, with the ports.
    waiting: Mutex<Vec<(u16, ListeningSocket)>>,
}

/// A port of PRP.
pub(super) struct ListeningPort {
    /// The programs' sockets, with the newest last.
    pub(super) sockets: Vec<ListeningSocket>,
    /// Ends the thread that accepts, once it is closed.
    pub(super) stop: UnixStream,
}

impl ListeningPort {
    /// Ends the thread that accepts, and waits until it has closed the port of PRP.
    fn end(mut self) {
        let _ = self.stop.shutdown(Shutdown::Write);
        let _ = self.stop.set_read_timeout(Some(CLOSING));
        let _ = self.stop.read(&mut [0]);
    }
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
    /// Where it reaches that.
    pub(super) target: SocketAddr,
    /// The program's end of the pair.
    pub(super) end: OwnedFd,
    /// The holder's number for the connection.
    pub(super) number: u64,
    /// Since when the socket's end of the connection has been accepted, as far as is known.
    pub(super) accepted: Option<Instant>,
    /// Since when the connection has ended, as far as is known.
    pub(super) ended: Option<Instant>,
}

impl Ports {
    /// Adds a socket to its port, which `open` opens and lists if nobody listens there yet.
    ///
    /// # Errors
    /// Those of `open`; the port is not listed then. `AddrInUse` if a socket of `AF_PRPF` has it.
    pub(super) fn join(
        &self,
        port: u16,
        socket: ListeningSocket,
        open: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let opening = self.opening.lock();
        if let Some(known) = self.listening.lock().get_mut(&port) {
            // It would get the connections of the other.
            if known.sockets.iter().any(|other| other.target.ip() == FAMILY) {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            known.sockets.retain(|other| other.inode != socket.inode);
            known.sockets.push(socket);
            return Ok(());
        }
        // One whose last socket was closed just now may still be there.
        drop(self.closing.lock());
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

    /// Removes a port that is of no use any more, whose sockets wait for another one.
    pub(super) fn give_up(&self, port: u16) {
        let listening = self.listening.lock().remove(&port);
        let sockets = listening.into_iter().flat_map(|it| it.sockets);
        sockets.for_each(|socket| self.wait(port, socket));
    }

    /// Returns the socket that connections to `port` come to: the newest, of IPv4 if there is one.
    /// What has a listener of each takes the peer's address for one of the listener's kind, and
    /// nodes are found by IPv4 in general.
    pub(super) fn chosen(&self, port: u16) -> Option<ListeningSocket> {
        let listening = self.listening.lock();
        let sockets = &listening.get(&port)?.sockets;
        let of_ip4 = sockets.iter().rfind(|socket| socket.target.is_ipv4());
        of_ip4.or_else(|| sockets.last()).copied()
    }

    /// Whether the socket with this inode is one that connections of PRP come to, or may.
    pub(super) fn has(&self, inode: u64) -> bool {
        let is_it = |socket: &ListeningSocket| socket.inode == inode;
        let listening = self.listening.lock();
        listening.values().any(|port| port.sockets.iter().any(is_it))
            || self.waiting.lock().iter().any(|(_, socket)| is_it(socket))
    }

    /// Whether no port is listened at, nor to be.
    pub(super) fn is_empty(&self) -> bool {
        self.listening.lock().is_empty() && self.waiting.lock().is_empty()
    }

    /// Notes a socket whose port another process has.
    pub(super) fn wait(&self, port: u16, socket: ListeningSocket) {
        let mut waiting = self.waiting.lock();
        // A program may call `listen` again.
        waiting.retain(|(_, other)| other.inode != socket.inode);
        waiting.push((port, socket));
    }

    /// Takes the sockets whose ports other processes had.
    pub(super) fn take_waiting(&self) -> Vec<(u16, ListeningSocket)> {
        std::mem::take(&mut self.waiting.lock())
    }

    /// Notes a connection that waits.
    pub(super) fn ring(&self, is_ip6: bool, port: u16, ringing: Ringing) {
        self.ringing.lock().insert((is_ip6, port), ringing);
    }

    /// Takes the connection that waits.
    pub(super) fn take(&self, is_ip6: bool, port: u16) -> Option<Ringing> {
        self.ringing.lock().remove(&(is_ip6, port))
    }

    /// Closes the ports whose sockets are all closed. Returns the connections that no program will
    /// accept, or has asked for until `now`.
    pub(super) fn check(&self, now: Instant) -> Vec<Ringing> {
        let closing = self.closing.lock();
        let mut listening = self.listening.lock();
        let mut waiting = self.waiting.lock();
        // While nothing can be added: it would not be among those that are found.
        let is_empty = listening.is_empty() && waiting.is_empty();
        let found = if is_empty { None } else { sockets::listening().ok() };
        let mut closed = Vec::new();
        if let Some(found) = found {
            let is_open = |socket: &ListeningSocket| found.contains(&socket.inode);
            let is_closed = |_: &u16, port: &mut ListeningPort| {
                port.sockets.retain(is_open);
                port.sockets.is_empty()
            };
            closed.extend(listening.extract_if(is_closed));
            waiting.retain(|(_, socket)| is_open(socket));
        }
        drop(waiting);
        drop(listening);
        closed.into_iter().for_each(|(_, port)| port.end());
        drop(closing);
        let is_over = |bell: &TcpStream| {
            let waits = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
            match recv(bell.as_raw_fd(), &mut [0], waits) {
                Ok(count) => count == 0,
                // It is still to be connected, or it is.
                Err(e) => !matches!(e, Errno::EAGAIN | Errno::ENOTCONN),
            }
        };
        let is_quiet = self.ringing.lock().is_empty();
        let accepted = if is_quiet { None } else { sockets::accepted().ok() };
        let is_left = |key: &(bool, u16), ringing: &mut Ringing| {
            if accepted.as_ref().is_some_and(|it| it.contains(key)) {
                let since = *ringing.accepted.get_or_insert(now);
                if now.saturating_duration_since(since) >= ASKING {
                    return true;
                }
            }
            if !is_over(&ringing.bell) {
                return false;
            }
            let since = *ringing.ended.get_or_insert(now);
            now.saturating_duration_since(since) >= ENDED
        };
        self.ringing.lock().extract_if(is_left).map(|(_, ringing)| ringing).collect()
    }
}

#[cfg(test)]
mod tests {
    use nix::sys::stat::fstat;
    use prp_run::BELL;
    use socket2::{Domain, Socket, Type};
    use std::net::TcpListener;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread;

    use super::*;

    /// A connection from the holder's address that waits at `listener`; the port that it is from.
    fn ring(ports: &Ports, listener: &TcpListener) -> u16 {
        let bell = Socket::new(Domain::IPV4, Type::STREAM, None).expect("descriptors");
        bell.bind(&SocketAddr::from((BELL, 0)).into()).expect("a loopback address");
        let at = listener.local_addr().expect("bound").port();
        bell.connect(&SocketAddr::from(([127, 0, 0, 1], at)).into()).expect("it listens");
        let port = bell.local_addr().expect("bound").as_socket().expect("of IP").port();
        let (end, _) = UnixStream::pair().expect("descriptors");
        let target = listener.local_addr().expect("bound");
        let (bell, end) = (bell.into(), end.into());
        let ringing = Ringing { bell, target, end, number: 1, accepted: None, ended: None };
        ports.ring(false, port, ringing);
        port
    }

    #[test]
    fn check__drops_connections_that_are_accepted_and_not_asked_for() {
        let ports = Ports::default();
        for address in ["127.0.0.1:0", "[::]:0"] {
            let listener = TcpListener::bind(address).expect("a port");
            let _stopped = list(&ports, 7, socket(&listener));
            // One that waits to be accepted may take any time.
            let port = ring(&ports, &listener);
            let now = Instant::now();
            ports.check(now);
            ports.check(now + 2 * ASKING);
            assert!(ports.ringing.lock().contains_key(&(false, port)), "{address}");
            let _accepted = listener.accept().expect("one that waits");
            ports.check(now);
            assert!(ports.ringing.lock().contains_key(&(false, port)), "{address}");
            assert_eq!(ports.check(now + ASKING).len(), 1, "{address}");
            assert!(ports.take(false, port).is_none(), "{address}");
        }
    }

    fn socket(listener: &TcpListener) -> ListeningSocket {
        let inode = fstat(listener).expect("a socket").st_ino;
        let target = listener.local_addr().expect("bound");
        ListeningSocket { inode, target, ip: target.ip() }
    }

    /// Has `ports` list a port with `socket`; the end that shows when it is dropped.
    fn list(ports: &Ports, port: u16, socket: ListeningSocket) -> UnixStream {
        let (stop, stopped) = UnixStream::pair().expect("descriptors");
        ports.add(port, ListeningPort { sockets: vec![socket], stop });
        stopped
    }

    #[test]
    fn give_up__has_the_sockets_wait_for_another_port() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let listening = socket(&listener);
        let _stopped = list(&ports, 7, listening);
        ports.give_up(7);
        assert_eq!((ports.chosen(7), ports.take_waiting()), (None, vec![(7, listening)]));
        // One that was removed meanwhile.
        ports.give_up(7);
        assert!(ports.is_empty());
    }

    #[test]
    fn check__drops_ports_whose_sockets_are_closed() {
        let ports = Ports::default();
        let bind = || TcpListener::bind("127.0.0.1:0").expect("a port");
        let (older, newer) = (bind(), bind());
        let [of_older, of_newer] = [&older, &newer].map(socket);
        let mut stopped = list(&ports, 7, of_older);
        ports.join(7, of_newer, || unreachable!("it is listened at")).expect("no error");
        ports.check(Instant::now());
        assert_eq!(ports.chosen(7), Some(of_newer));
        drop(newer);
        ports.check(Instant::now());
        assert_eq!(ports.chosen(7), Some(of_older));
        drop(older);
        ports.check(Instant::now());
        assert!(ports.is_empty());
        assert_eq!(stopped.read(&mut [0]).expect("an end"), 0);
    }

    #[test]
    fn chosen__is_no_newer_one_of_ip6_alone() {
        let ports = Ports::default();
        let bind = |at| TcpListener::bind(at).expect("a port");
        let [ip4, ip6] = ["127.0.0.1:0", "[::1]:0"].map(bind);
        let [of_ip4, of_ip6] = [&ip4, &ip6].map(socket);
        let _stopped = list(&ports, 7, of_ip4);
        ports.join(7, of_ip6, || unreachable!("it is listened at")).expect("no error");
        assert_eq!(ports.chosen(7), Some(of_ip4));
        drop(ip4);
        ports.check(Instant::now());
        assert_eq!(ports.chosen(7), Some(of_ip6));
    }

    #[test]
    fn join__waits_for_a_port_that_is_being_closed() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let [newer, closed] =
            [socket(&listener), ListeningSocket { inode: 0, ..socket(&listener) }];
        let stopped = list(&ports, 7, closed);
        let is_closed = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| ports.check(Instant::now()));
            while ports.chosen(7).is_some() {
                thread::yield_now();
            }
            let joining = scope.spawn(|| {
                ports.join(7, newer, || {
                    assert!(is_closed.load(Ordering::Relaxed), "the port is another's");
                    Ok(())
                })
            });
            // Enough to open it, if nothing keeps it from that.
            (0..1000).for_each(|_| thread::yield_now());
            is_closed.store(true, Ordering::Relaxed);
            drop(stopped);
            joining.join().expect("no panic").expect("no error");
        });
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
    fn join__leaves_a_port_to_a_socket_of_the_family() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = socket(&listener);
        let target = SocketAddr::new(FAMILY.into(), 1);
        let of_family = ListeningSocket { inode: socket.inode + 1, target, ip: FAMILY.into() };
        let _stopped = list(&ports, 7, of_family);
        let failed = ports.join(7, socket, || unreachable!("it is listened at"));
        assert_eq!(failed.expect_err("it is taken").kind(), io::ErrorKind::AddrInUse);
        assert_eq!(ports.chosen(7), Some(of_family));
    }

    #[test]
    fn wait__has_a_socket_once() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = socket(&listener);
        ports.wait(7, socket);
        ports.wait(7, socket);
        assert_eq!(ports.take_waiting(), [(7, socket)]);
    }

    #[test]
    fn join__opens_a_port_once() {
        let ports = Ports::default();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let socket = socket(&listener);
        let opened = AtomicU32::new(0);
        let joins = || {
            ports.join(7, socket, || {
                opened.fetch_add(1, Ordering::Relaxed);
                // Others come meanwhile.
                thread::yield_now();
                drop(list(&ports, 7, socket));
                Ok(())
            })
        };
        thread::scope(|scope| {
            let all = [(); 8].map(|()| scope.spawn(joins));
            for one in all {
                one.join().expect("no panic").expect("no error");
            }
        });
        assert_eq!(opened.into_inner(), 1);
    }
}
