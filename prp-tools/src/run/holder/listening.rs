//! Listening for programs. Their sockets are TCP's: for a connection of PRP the holder connects to
//! them, which wakes whoever waits there.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_run::{Answer, BELL, PairName, Request};
use prp_sock::{Awaited, Port, PrpAddr, PrpListener, PrpStream, error_number, wait_any};
use socket2::{Domain, Protocol, Socket, Type};

use super::pair::Pair;
use super::ports::{ListeningPort, ListeningSocket, Ringing};
use super::pump::Passage;
use super::{Holder, reply, spawn};
use crate::accepting::{Acceptor, is_short};

/// How long a listening socket may take to have room for a connection: as long as the kernel of a
/// client of TCP tries, by default (tcp(7), `tcp_syn_retries`).
const PATIENCE: Duration = Duration::from_secs(127);

/// How long the kernel is left to ask a listening socket for room. It would wait twice as long each
/// time.
const ROOM: Duration = Duration::from_millis(200);

/// Connections of a port that may wait for room in the queue of its listening socket, a thread
/// each. Others wait in that of PRP.
const MOST_WAITING: usize = 64;

/// How long a program rests that has no descriptor for a connection: it may try again at once.
const REST: Duration = Duration::from_millis(10);

impl Holder {
    /// Listens at the port of a program's socket.
    pub(super) fn listen(self: &Arc<Self>, request: &Request) -> Answer {
        let bound = request.ip();
        let target = SocketAddr::new(reached(bound, request.is_ip6_only), request.port);
        let socket = ListeningSocket { inode: request.number, target, ip: bound };
        let opened = self.open(request.port, socket);
        opened.map_or_else(|e| Answer::failed(error_number(&e)), |()| Answer::default())
    }

    /// Opens a port of PRP for a socket that listens. One that cannot be had just now is tried
    /// again later, unless the program is not to listen without it: another run of this node may
    /// have it, such as the one that this run is to follow, or there are no descriptors.
    fn open(self: &Arc<Self>, port: u16, socket: ListeningSocket) -> io::Result<()> {
        let opened = self.ports.join(port, socket, || {
            let listener = self.builder.bind(Port::new(port))?;
            self.serve_port(port, listener, socket)
        });
        if !self.settings.is_required
            && opened.as_ref().is_err_and(|e| e.kind() != io::ErrorKind::PermissionDenied)
        {
            self.ports.wait(port, socket);
        }
        opened
    }

    /// Checks what listens and what waits, and tries the ports again that others had.
    pub(super) fn check_ports(self: &Arc<Self>) {
        self.check_sockets();
        for (port, socket) in self.ports.take_waiting() {
            // The program has been told already. Any other error may pass too.
            if self.open(port, socket).is_err() {
                self.ports.wait(port, socket);
            }
        }
    }

    /// Checks what listens and what waits.
    pub(super) fn check_sockets(&self) {
        let left = self.ports.check(Instant::now());
        left.into_iter().for_each(|ringing| self.give_up(ringing));
    }

    /// Resets a connection that no program takes: that nobody holds its end would be an end in
    /// order.
    pub(super) fn give_up(&self, ringing: Ringing) {
        self.processes.reset_on_close(ringing.number, true);
        drop(ringing.end);
    }

    /// Lists `port`, and has connections that come to `listener` wake the program's `socket`.
    pub(super) fn serve_port(
        self: &Arc<Self>,
        port: u16,
        listener: PrpListener,
        socket: ListeningSocket,
    ) -> io::Result<()> {
        let (stop, stopped) = UnixStream::pair()?;
        let holder = self.clone();
        self.ports.add(port, ListeningPort { sockets: vec![socket], stop });
        spawn(move || holder.accept_all(&listener, &stopped))
            .inspect_err(|_| self.ports.remove(port))
    }

    /// Accepts connections of PRP until the program's sockets are closed.
    fn accept_all(self: &Arc<Self>, listener: &PrpListener, stopped: &UnixStream) {
        let Ok(port) = listener.local_addr().map(|local| local.port.number()) else { return };
        let mut acceptor = Acceptor::default();
        // A copy for each connection that waits.
        let waiting = Arc::new(());
        loop {
            if Arc::strong_count(&waiting) > MOST_WAITING {
                thread::sleep(REST);
                continue;
            }
            match wait_any(&mut [Awaited::accept(listener)], Some(stopped.as_fd()), None) {
                // Only the other one is ready.
                Ok(0) => return,
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                // It passes when connections end.
                Err(e) if is_short(&e) => {
                    thread::sleep(REST);
                    continue;
                }
                Err(_) => return self.ports.give_up(port),
            }
            let accept = || listener.accept_timeout(Duration::from_millis(1));
            match acceptor.next(accept) {
                Ok((stream, peer)) => {
                    // Until its bytes are passed on: to the peer anything else would be an end in
                    // order.
                    let _ = stream.set_linger(Some(Duration::ZERO));
                    let holder = self.clone();
                    let (begun, is_begun) = mpsc::channel();
                    let waits = waiting.clone();
                    let _ = spawn(move || {
                        holder.ring(port, stream, peer, begun);
                        drop(waits);
                    });
                    // The next one must not reach the program before this one: it may go by their
                    // order. The other end of the channel is dropped.
                    let _ = is_begun.recv();
                }
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {}
                Err(_) => return self.ports.give_up(port),
            }
        }
    }

    /// Has a program accept the connection, which is reset otherwise, and a thread pass its bytes
    /// on. Drops `begun` once it has its place among those that the program is to accept.
    fn ring(self: &Arc<Self>, port: u16, stream: PrpStream, peer: PrpAddr, begun: Sender<()>) {
        let number = self.number();
        let opened = self.ports.chosen(port).and_then(|socket| {
            let name = self.accepted_name(port, number, peer, socket);
            Some((socket, Pair::open(&name).ok()?))
        });
        let Some((socket, Pair { held, end })) = opened else {
            // The thread of the port waits for it.
            drop(begun);
            return self.check_sockets();
        };
        // The program may accept before this thread goes on.
        let held = Arc::new(held);
        let connection = self.processes.add(number, None, &held);
        match self.wake(socket.target, end, number, Some(begun)) {
            Ok(()) => {
                let _ = stream.set_linger(None);
                self.pass(Passage::new(number, stream, held, connection));
            }
            Err(_) => {
                // If nobody listens any more, the next one is refused.
                self.check_sockets();
                self.processes.remove(number);
            }
        }
    }

    /// Returns the name of the pair for a connection from `peer`.
    fn accepted_name(
        &self,
        port: u16,
        number: u64,
        peer: PrpAddr,
        socket: ListeningSocket,
    ) -> PairName {
        let mapping = &self.settings.mapping;
        let like = match (socket.ip, socket.target.ip()) {
            (bound, _) if mapping.node(bound).is_some() => bound,
            // A socket of IPv6 that takes IPv4 as well sees nodes by their IPv4 addresses.
            (IpAddr::V6(_), IpAddr::V4(ip)) => ip.to_ipv6_mapped().into(),
            (bound, _) => bound,
        };
        let [own, other] = [self.settings.node, peer.node.number()];
        PairName {
            session: self.settings.session as u32,
            number,
            local: SocketAddr::new(mapping.ip_like(own, like), port),
            peer: SocketAddr::new(mapping.ip_like(other, like), peer.port.number()),
        }
    }

    /// Connects to the program's socket at `target`, for a connection whose pair has `end`, until
    /// that has room in its queue. Drops `begun` once the kernel knows of it.
    ///
    /// # Errors
    /// Nobody listens there any more, there is no room for [`PATIENCE`], or there are no
    /// descriptors.
    fn wake(
        &self,
        target: SocketAddr,
        mut end: OwnedFd,
        number: u64,
        mut begun: Option<Sender<()>>,
    ) -> io::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let (socket, own) = self.note_ringing(target, end, number)?;
            let woken = begin_connect(&socket, target).and_then(|()| {
                drop(begun.take());
                finish_connect(&socket)
            });
            let Err(e) = woken else { return Ok(()) };
            // Without it a program has it already, and has closed its end, by a reset if its
            // listener has SO_LINGER of zero.
            let Some(left) = self.ports.take(own.is_ipv6(), own.port()) else { return Ok(()) };
            if e.kind() != io::ErrorKind::TimedOut || Instant::now() >= deadline {
                self.give_up(left);
                return Err(e);
            }
            end = left.end;
        }
    }

    /// Returns a socket that is to connect to the program's at `target`, for a connection whose
    /// pair has `end`, and the address of that socket, by which the program asks for the pair.
    fn note_ringing(
        &self,
        target: SocketAddr,
        end: OwnedFd,
        number: u64,
    ) -> io::Result<(Socket, SocketAddr)> {
        let socket = Socket::new(Domain::for_address(target), Type::STREAM, Some(Protocol::TCP))?;
        let from: IpAddr = match target {
            SocketAddr::V4(_) => BELL.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        };
        socket.bind(&SocketAddr::new(from, 0).into())?;
        // Nothing is left of it when it is closed, whoever does so first.
        socket.set_linger(Some(Duration::ZERO))?;
        let own = socket.local_addr()?.as_socket().ok_or(io::ErrorKind::AddrNotAvailable)?;
        let bell = socket.try_clone()?;
        let ringing =
            Ringing { bell: bell.into(), target, end, number, accepted: None, ended: None };
        self.ports.ring(own.is_ipv6(), own.port(), ringing);
        Ok((socket, own))
    }

    /// Has a program accept a connection once more for which it had no descriptor.
    pub(super) fn ring_again(self: &Arc<Self>, request: &Request) -> Answer {
        let Some(ringing) = self.ports.take(request.is_ip6, request.port) else {
            return Answer::failed(libc::ENOENT);
        };
        self.ring_later(ringing)
            .map_or_else(|e| Answer::failed(error_number(&e)), |()| Answer::default())
    }

    /// Connects once more to the socket of a program that could not take what it has accepted.
    ///
    /// # Errors
    /// There is no room for a thread.
    pub(super) fn ring_later(self: &Arc<Self>, ringing: Ringing) -> io::Result<()> {
        let Ringing { bell, target, end, number, .. } = ringing;
        drop(bell);
        let holder = self.clone();
        let ring = move || {
            thread::sleep(REST);
            // Without a listener it is reset.
            let _ = holder.wake(target, end, number, None);
        };
        spawn(ring)
    }

    /// Answers a program that has accepted a connection of the holder.
    pub(super) fn claim(&self, asking: &UnixStream, request: &Request, pid: i32) {
        match self.ports.take(request.is_ip6, request.port) {
            Some(Ringing { bell, end, number, .. }) => {
                drop(bell);
                self.processes.claim(number, pid);
                let _ = reply(asking, &Answer::default(), Some(&end));
            }
            None => {
                let _ = reply(asking, &Answer::failed(libc::ENOENT), None);
            }
        }
    }
}

/// Has the kernel ask `target` for a connection.
fn begin_connect(socket: &Socket, target: SocketAddr) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    socket.connect(&target.into()).or_else(|e| match e.raw_os_error() {
        Some(libc::EINPROGRESS) => Ok(()),
        _ => Err(e),
    })
}

/// Waits until the connection that was begun is there.
///
/// # Errors
/// There is none, for want of room in the queue of the listening socket (`TimedOut`) or of a
/// listener.
fn finish_connect(socket: &Socket) -> io::Result<()> {
    let mut fds = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    let deadline = Instant::now() + ROOM;
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        match poll(&mut fds, PollTimeout::try_from(rest).unwrap_or(PollTimeout::ZERO)) {
            Err(Errno::EINTR) => {}
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return socket.take_error()?.map_or(Ok(()), Err),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Returns the address at which a socket that is bound to `ip` is reached.
fn reached(ip: IpAddr, is_ip6_only: bool) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(ip) if ip.is_unspecified() && is_ip6_only => Ipv6Addr::LOCALHOST.into(),
        ip if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        ip => ip,
    }
}
