//! The sockets of a device: one on each of the node's addresses, and beside each another one on the
//! same address and port, which is connected to the process that most datagrams come from.
//!
//! To and from a connected socket the kernel searches for neither route nor socket: a datagram
//! takes 80 % of the time. What comes goes to the one that is connected to its sender, else to the
//! other one (`SO_REUSEPORT` would have the kernel divide it, so it is on only while the second
//! socket is bound). Both are read: it does not matter which one has what.

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use prp_node::fork::CloseOnFork;
use socket2::Socket;

use super::majority::Majority;
use super::{NodePort, NodePortDrops, socket};
use crate::Refusal;
use crate::sys::datagram::{RecvList, ask_route};

/// Once in this number of calls to receive, all sockets are read before the one that had something
/// last: no sender keeps others waiting. While a thread polls again and again this is a
/// microsecond.
const FAIR_CALLS: u32 = 8;

/// A socket of a device: that of an address, or the connected one beside it.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct SocketIndex {
    /// The number of the own address.
    own: usize,
    is_connected: bool,
}

/// The sockets on one of the node's addresses.
#[derive(Debug)]
struct AddressSockets {
    /// The node's own address and port, whose holder hands on what comes there.
    own: SocketAddr,
    local: SocketAddr,
    node_port: Option<NodePort>,
    socket: ReceiveSocket,
    connected: Option<Connected>,
}

#[derive(Debug)]
struct ReceiveSocket {
    socket: CloseOnFork<Socket>,
    /// The kernel's count of datagrams without room when it was read last.
    overflow: u32,
}

/// The socket beside another one.
#[derive(Debug)]
struct Connected {
    socket: ReceiveSocket,
    binding: Binding,
    to: Option<SocketAddr>,
    majority: Majority,
}

/// Whether a socket has the address and port of the one beside it.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Binding {
    NotYet,
    Done,
    /// The kernel does not allow it, as where the process has become another user.
    Refused,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Sockets {
    addresses: Vec<AddressSockets>,
    /// Which one had something last.
    last: SocketIndex,
    calls: u32,
    /// Which one took no more when something was sent last.
    full: Option<SocketIndex>,
    /// Errors of the network that were taken.
    pub(super) network_errors: u64,
    /// How often one was connected.
    pub(super) connects: u64,
    drops: Arc<NodePortDrops>,
}

impl Sockets {
    /// Opens a socket on each of the addresses `own` that this machine has, all at the same number
    /// of ports behind the node's own. With `connects` another one beside each.
    pub(super) fn open(own: &[SocketAddr], connects: bool) -> io::Result<Self> {
        let drops = Arc::new(NodePortDrops::default());
        let addresses: io::Result<Vec<_>> = socket::bind_all(own)?
            .into_iter()
            .map(|(own, socket)| AddressSockets::new(own, socket, connects))
            .collect();
        let mut addresses = addresses?;
        // The process that has the first has the others: otherwise several would have some each,
        // and none would have them all.
        for end in &mut addresses {
            // Another process has it, most likely. Why else it cannot be had is said elsewhere.
            let Ok(port) = NodePort::open(end.own, &drops) else { break };
            end.node_port = Some(port);
        }
        let last = SocketIndex { own: 0, is_connected: false };
        Ok(Self { addresses, last, calls: 0, full: None, network_errors: 0, connects: 0, drops })
    }

    /// The first of the node's own addresses, with its port.
    pub(super) fn own_addr(&self) -> SocketAddr {
        self.addresses[0].own
    }

    /// The node's own addresses, with their ports.
    pub(super) fn own_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.addresses.iter().map(|end| end.own)
    }

    /// Where the first of them receives.
    pub(super) fn local_addr(&self) -> SocketAddr {
        self.addresses[0].local
    }

    /// Whether the node's own port was free at each address.
    pub(super) fn has_node_ports(&self) -> bool {
        self.addresses.iter().all(|end| end.node_port.is_some())
    }

    /// The sockets at the node's own ports, where they were free.
    pub(super) fn node_ports(&mut self) -> impl Iterator<Item = &mut Option<NodePort>> {
        self.addresses.iter_mut().map(|end| &mut end.node_port)
    }

    /// Opens sockets at those of the node's own ports that are free.
    pub(super) fn open_node_ports(&mut self) {
        for end in self.addresses.iter_mut().filter(|end| end.node_port.is_none()) {
            end.node_port = NodePort::open(end.own, &self.drops).ok();
        }
    }

    /// What the sockets at the node's own ports drop.
    pub(super) const fn drops(&self) -> &Arc<NodePortDrops> {
        &self.drops
    }

    /// Bytes of the smallest buffer for what is received.
    pub(super) fn room(&self) -> io::Result<usize> {
        let rooms = self.addresses.iter().map(|end| end.socket.socket.recv_buffer_size());
        rooms.collect::<io::Result<Vec<_>>>().map(|rooms| rooms.into_iter().min().unwrap_or(0))
    }

    /// Every descriptor, and where it is. They stay the same.
    pub(super) fn fds(&self) -> impl Iterator<Item = (SocketIndex, BorrowedFd<'_>)> {
        self.addresses.iter().enumerate().flat_map(|(own, end)| {
            let beside = end.connected.as_ref().map(|connected| &connected.socket);
            let all = [(false, Some(&end.socket)), (true, beside)];
            all.into_iter().filter_map(move |(is_connected, receive_socket)| {
                Some((SocketIndex { own, is_connected }, receive_socket?.fd()))
            })
        })
    }

    /// Which one is waited for to take more.
    pub(super) fn full(&self) -> Option<SocketIndex> {
        self.full
    }

    /// The socket that sends from the own address `own` to `to`, and whether it is connected to
    /// that.
    pub(super) fn toward(&self, own: usize, to: SocketAddr) -> SocketIndex {
        let own = own.min(self.addresses.len() - 1);
        let connected = self.addresses[own].connected.as_ref();
        SocketIndex { own, is_connected: connected.is_some_and(|c| c.to == Some(to)) }
    }

    /// The socket at `index`.
    pub(super) fn socket(&self, index: SocketIndex) -> &Socket {
        &self.receive_socket(index).socket
    }

    /// The socket at `index` takes no more.
    pub(super) fn note_full(&mut self, index: SocketIndex) {
        self.full = Some(index);
    }

    /// Receives up to `most` GSO batches from one of the sockets without blocking; how many. Unless
    /// `everywhere`, mostly only where something was last.
    pub(super) fn receive(
        &mut self,
        list: &mut RecvList,
        most: usize,
        everywhere: bool,
    ) -> io::Result<usize> {
        self.calls = self.calls.wrapping_add(1);
        let is_last_one_last = self.calls.is_multiple_of(FAIR_CALLS);
        if !is_last_one_last {
            let got = self.receive_at(self.last, list, most)?;
            if got > 0 || !everywhere {
                return Ok(got);
            }
        }
        let count = 2 * self.addresses.len();
        let last = 2 * self.last.own + usize::from(self.last.is_connected);
        for step in 1..count + usize::from(is_last_one_last) {
            let at = (last + step) % count;
            let index = SocketIndex { own: at / 2, is_connected: at % 2 == 1 };
            if index.is_connected && !self.addresses[index.own].has_second() {
                continue;
            }
            let got = self.receive_at(index, list, most)?;
            if got > 0 {
                self.last = index;
                return Ok(got);
            }
        }
        Ok(0)
    }

    fn receive_at(
        &mut self,
        at: SocketIndex,
        list: &mut RecvList,
        most: usize,
    ) -> io::Result<usize> {
        loop {
            let fd = self.receive_socket(at).fd();
            match list.receive(fd, most) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => match socket::take_errors_after(fd, &e) {
                    0 => return Err(e),
                    taken => self.network_errors += taken,
                },
                received => return received,
            }
        }
    }

    /// The node's own address and port where the GSO batches came that were received last.
    pub(super) fn last_own(&self) -> SocketAddr {
        self.addresses[self.last.own].own
    }

    /// The unconnected socket of the address where GSO batches were received last.
    pub(super) fn last_socket(&self) -> &Socket {
        &self.addresses[self.last.own].socket.socket
    }

    /// How many more datagrams found no room where GSO batches were received last, by the kernel's
    /// count, `overflow`.
    pub(super) fn overruns(&mut self, overflow: u32) -> u32 {
        let receive_socket = self.receive_socket_mut(self.last);
        overflow.wrapping_sub(mem::replace(&mut receive_socket.overflow, overflow))
    }

    /// A neighbour has sent what was received last from `from`.
    #[inline]
    pub(super) fn note_sender(&mut self, from: SocketAddr) {
        let end = &mut self.addresses[self.last.own];
        let Some(connected) = &mut end.connected else { return };
        if connected.to == Some(from) {
            connected.majority.note_other();
        } else if connected.majority.note(from) {
            self.connects += u64::from(end.connect(from));
        }
    }

    /// Sends at `index` by `send`, as [`socket::send`] does: an error is about what was to leave.
    #[inline]
    pub(super) fn send(
        &mut self,
        index: SocketIndex,
        mut send: impl FnMut(BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let fd = self.receive_socket(index).fd();
        let (sent, taken) = socket::send(fd, || send(fd));
        self.network_errors += taken;
        sent
    }

    /// What the kernel's `error` says of what was to leave for `to` from the own address `own`:
    /// that no route leads there, or something about that datagram alone.
    #[cold]
    pub(super) fn refusal(&self, own: usize, to: SocketAddr, error: &io::Error) -> Refusal {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        let own = own.min(self.addresses.len() - 1);
        let fd = self.addresses[own].socket.fd();
        // A size is refused by the device that the route leads to.
        let asked = if errno == libc::EMSGSIZE { Ok(()) } else { ask_route(fd, &to.into()) };
        match asked.map_err(|e| e.raw_os_error()) {
            Err(Some(errno)) => Refusal { errno, is_of_route: true },
            _ => Refusal::of_frame(errno),
        }
    }

    /// Takes the errors that the kernel keeps for the sockets.
    pub(super) fn take_errors(&mut self) {
        let taken: u64 = self.fds().map(|(_, fd)| socket::take_errors(fd)).sum();
        self.network_errors += taken;
    }

    fn receive_socket(&self, index: SocketIndex) -> &ReceiveSocket {
        let end = &self.addresses[index.own];
        let beside = end.connected.as_ref().filter(|_| index.is_connected);
        beside.map_or(&end.socket, |connected| &connected.socket)
    }

    fn receive_socket_mut(&mut self, index: SocketIndex) -> &mut ReceiveSocket {
        let AddressSockets { socket, connected, .. } = &mut self.addresses[index.own];
        let beside = connected.as_mut().filter(|_| index.is_connected);
        beside.map_or(socket, |connected| &mut connected.socket)
    }
}

impl SocketIndex {
    /// Whether it is connected to whom it sends to.
    pub(super) const fn is_connected(self) -> bool {
        self.is_connected
    }
}

impl AddressSockets {
    fn new(own: SocketAddr, socket: Socket, connects: bool) -> io::Result<Self> {
        socket::enlarge_buffers(&socket);
        let local = socket.local_addr()?.as_socket().unwrap_or(own);
        let connected = if connects { Connected::new(own.ip()).ok() } else { None };
        Ok(Self { own, local, node_port: None, socket: ReceiveSocket::new(socket), connected })
    }

    /// Whether its second socket may have something.
    fn has_second(&self) -> bool {
        self.connected.as_ref().is_some_and(|connected| connected.binding == Binding::Done)
    }

    /// Connects its second socket to `peer`; whether it could be.
    #[cold]
    fn connect(&mut self, peer: SocketAddr) -> bool {
        let Some(connected) = &mut self.connected else { return false };
        connected.majority = Majority::default();
        let (first, second) = (&self.socket.socket, &connected.socket.socket);
        if connected.binding == Binding::NotYet {
            // Another process of the user could bind the port as well while this is on, if it had
            // a mind to: PRP's do not.
            let bound = first.set_reuse_port(true).and_then(|()| second.set_reuse_port(true));
            let bound = bound.and_then(|()| second.bind(&self.local.into()));
            let closed = first.set_reuse_port(false).and_then(|()| second.set_reuse_port(false));
            let is_done = bound.is_ok() && closed.is_ok();
            connected.binding = if is_done { Binding::Done } else { Binding::Refused };
        }
        // Where that fails, it stays connected to whom it was.
        let connects = connected.binding == Binding::Done && second.connect(&peer.into()).is_ok();
        if connects {
            connected.to = Some(peer);
        }
        connects
    }
}

impl Connected {
    /// Neither bound nor connected.
    fn new(ip: IpAddr) -> io::Result<Self> {
        let socket = socket::new(ip)?;
        socket::enlarge_buffers(&socket);
        let (to, majority) = (None, Majority::default());
        Ok(Self { socket: ReceiveSocket::new(socket), binding: Binding::NotYet, to, majority })
    }
}

impl ReceiveSocket {
    fn new(socket: Socket) -> Self {
        Self { socket: CloseOnFork::new(socket), overflow: 0 }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
