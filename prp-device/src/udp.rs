//! A UDP socket, of which a process has one on each of its node's addresses: no privilege, any IP
//! network. Datagrams travel in trains (docs/udp.md).

mod node_port;
mod offload;
mod probe;
mod queue_peek;
mod socket;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use prp_node::fork::CloseOnFork;
use prp_proto::addr::{LinkAddr, UDP_PORTS, UdpPeer};
use socket2::{SockAddr, Socket};

use crate::Sent;
use crate::sys::datagram::{Loaded, MAX_BYTES, RecvList, SendList, force_send_buffer};
use crate::sys::packet::force_receive_buffer;
pub use node_port::NodePort;
use node_port::{HANDED_ON_LEN, read_handed_on};
use offload::Offload;
use probe::{Message, Tally};
pub use queue_peek::QueuePeek;

/// Datagrams of a train at most, as kernels before 6.2 have it.
const MAX_TRAIN: usize = 64;

/// Bytes of the socket's buffers, as the kernel counts them: sixteen trains with what the kernel
/// adds, twice what is to be under way.
const BUFFER_BYTES: i32 = 4 * 1024 * 1024;

/// What a UDP device counts.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct UdpCounters {
    /// Trains of at least two datagrams that were sent.
    pub trains_sent: u64,
    /// Trains of at least two datagrams that came.
    pub trains_received: u64,
    /// Trains that the kernel refused, and that were sent again one datagram at a time.
    pub trains_refused: u64,
    /// Tests of trains that failed: datagrams that left alone came, and those of a train did not.
    pub train_tests_failed: u64,
    /// How often trains to a node were given up for a while because of such tests.
    pub trains_withdrawn: u64,
    /// Datagrams that did not fit the buffer for them.
    pub truncated: u64,
    /// Datagrams from addresses that prphosts does not list.
    pub strangers: u64,
    /// Errors of the network about what was sent: nobody at a port, no route.
    pub network_errors: u64,
    /// Datagrams that came to the node's own port, and by its holder here.
    pub handed_on: u64,
}

impl UdpCounters {
    /// Every counter by its name. Leaving one out does not compile.
    pub fn counters(self) -> impl Iterator<Item = (&'static str, u64)> {
        let Self {
            trains_sent,
            trains_received,
            trains_refused,
            train_tests_failed,
            trains_withdrawn,
            truncated,
            strangers,
            network_errors,
            handed_on,
        } = self;
        [
            ("trains_sent", trains_sent),
            ("trains_received", trains_received),
            ("trains_refused", trains_refused),
            ("train_tests_failed", train_tests_failed),
            ("trains_withdrawn", trains_withdrawn),
            ("truncated", truncated),
            ("strangers", strangers),
            ("network_errors", network_errors),
            ("handed_on", handed_on),
        ]
        .into_iter()
    }
}

/// A UDP socket on one of the node's addresses.
#[derive(Debug)]
pub struct UdpDevice {
    socket: CloseOnFork<Socket>,
    local: SocketAddr,
    /// The node's own address and port, whose holder hands on what comes there.
    own: SocketAddr,
    node_port: Option<NodePort>,
    mtu: u32,
    /// Bytes of the buffer for what is received, as the kernel counts them.
    room: usize,
    peers: Peers,
    sender: SendList<LinkAddr>,
    probe_sender: SendList<()>,
    receiver: RecvList,
    /// Trains that are to be received by the next call: twice as many as the last one got.
    expected: usize,
    /// Trains that were received, and not handed out.
    waiting: usize,
    offload: Offload,
    overruns: u64,
    /// The kernel's count of datagrams without room when it was looked at last.
    overflow: u32,
    counters: UdpCounters,
}

impl UdpDevice {
    /// Opens a socket on the first free one of the ports that follow `own`, the node's own address
    /// and port, and one on the latter if that is free as well (SPEC PRP-UDP-2). `peers` are the
    /// addresses of the cluster, in the order of their numbers.
    ///
    /// # Errors
    /// `AddrNotAvailable` if this machine has no such address, `AddrInUse` if all ports of the node
    /// are taken, what else the kernel says.
    pub fn open(own: SocketAddr, peers: &[IpAddr]) -> io::Result<Self> {
        let socket = socket::bind_in_range(own, UDP_PORTS)?;
        // Another process has it, most likely. Why else it cannot be had is said elsewhere.
        let node_port = NodePort::open(own).ok();
        let local = socket.local_addr()?.as_socket().unwrap_or(own);
        let _ = force_receive_buffer(socket.as_fd(), BUFFER_BYTES);
        let _ = force_send_buffer(socket.as_fd(), BUFFER_BYTES);
        let mtu = socket::largest_payload(socket.as_fd(), own.ip());
        let mtu = mtu.min((MAX_BYTES - HANDED_ON_LEN) as u32);
        Ok(Self {
            local,
            own,
            node_port,
            mtu,
            room: socket.recv_buffer_size()?,
            socket: CloseOnFork::new(socket),
            peers: Peers::new(peers),
            sender: SendList::default(),
            probe_sender: SendList::default(),
            receiver: RecvList::new()?,
            expected: 1,
            waiting: 0,
            offload: Offload::default(),
            overruns: 0,
            overflow: 0,
            counters: UdpCounters::default(),
        })
    }

    /// Where it receives.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The node's own address and port.
    pub const fn own_addr(&self) -> SocketAddr {
        self.own
    }

    /// How many ports behind the node's own it receives.
    pub const fn offset(&self) -> u16 {
        self.local.port() - self.own.port()
    }

    /// The socket at the node's own port, if it was free.
    pub const fn node_port(&self) -> Option<&NodePort> {
        self.node_port.as_ref()
    }

    /// Takes the socket at the node's own port, to be served.
    pub const fn take_node_port(&mut self) -> Option<NodePort> {
        self.node_port.take()
    }

    /// Bytes of a datagram's payload that the interface with its address takes.
    pub const fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Datagrams of its largest size that it sends and receives at a time.
    pub fn train(&self) -> u16 {
        (MAX_BYTES / self.mtu.max(1) as usize).clamp(1, MAX_TRAIN) as u16
    }

    /// What tells how much waits.
    pub const fn peek(&self) -> QueuePeek {
        QueuePeek { room: self.room, datagram: self.mtu as usize }
    }

    /// The addresses of the cluster are `peers` from now on.
    pub fn set_peers(&mut self, peers: &[IpAddr]) {
        self.peers = Peers::new(peers);
        self.offload.forget_paths();
    }

    /// Receives what is there by one system call, for the next [`Self::receive`], unless that has
    /// been done; whether there is something. What is wrong with the socket that says.
    pub fn look(&mut self) -> bool {
        if self.waiting > 0 {
            return true;
        }
        match self.receive_trains() {
            Ok(got) => {
                self.waiting = got;
                got > 0
            }
            Err(_) => true,
        }
    }

    /// Hands received datagrams to `take`, with their senders, until `max` or more were there; how
    /// many there were, datagrams of strangers included.
    ///
    /// # Errors
    /// The socket is of no use any more.
    pub fn receive(
        &mut self,
        max: usize,
        take: &mut dyn FnMut(LinkAddr, &[u8]),
    ) -> io::Result<usize> {
        let mut datagrams = 0;
        loop {
            let wanted = self.expected;
            let got = match mem::take(&mut self.waiting) {
                0 => self.receive_trains()?,
                got => got,
            };
            for at in 0..got {
                datagrams += self.take_train(at, take);
            }
            // Most come alone: then what a call more would say can wait until the one that came has
            // been answered.
            self.expected = if got == wanted { 2 * wanted } else { got.max(1) }.min(RecvList::MAX);
            if got < wanted || got == 1 || datagrams >= max {
                return Ok(datagrams);
            }
        }
    }

    /// Receives what is there by one system call; how many trains.
    fn receive_trains(&mut self) -> io::Result<usize> {
        loop {
            match self.receiver.receive(self.socket.as_fd(), self.expected) {
                Err(e) if self.is_about_network(&e) => {}
                received => return received,
            }
        }
    }

    /// Hands the datagrams of train `at` to `take`; how many there were.
    fn take_train(&mut self, at: usize, take: &mut dyn FnMut(LinkAddr, &[u8])) -> usize {
        let Some(train) = self.receiver.train(at) else { return 1 };
        let (mut count, mut tally) = (0, Tally::default());
        if train.from == self.own {
            for handed_on in train.datagrams() {
                count += 1;
                let Some((from, datagram)) = read_handed_on(handed_on) else { continue };
                if let Some(from) = self.peers.link_addr(from) {
                    self.counters.handed_on += 1;
                    take(from, datagram);
                } else {
                    self.counters.strangers += 1;
                }
            }
        } else if let Some(from) = self.peers.link_addr(train.from) {
            for datagram in train.datagrams() {
                count += 1;
                let Some(message) = probe::read(datagram) else {
                    take(from, datagram);
                    continue;
                };
                let due = tally.note(message);
                due.iter().for_each(|report| answer(&self.socket, train.from, report));
                if let (Message::Report { id, came }, LinkAddr::Udp { peer, .. }) = (message, from)
                {
                    self.offload.note_report(peer, id, came, Instant::now());
                }
            }
            tally.take().iter().for_each(|report| answer(&self.socket, train.from, report));
        } else {
            count = train.datagrams().count();
            self.counters.strangers += count as u64;
        }
        self.counters.truncated += u64::from(train.is_truncated);
        self.counters.trains_received += u64::from(count > 1);
        let overflow = self.receiver.overflow();
        self.overruns += u64::from(overflow.wrapping_sub(self.overflow));
        self.overflow = overflow;
        count
    }

    /// Sends datagrams, each for a neighbour and given in pieces.
    pub fn send<'a>(&mut self, datagrams: impl Iterator<Item = (LinkAddr, [&'a [u8]; 4])>) -> Sent {
        let Self { socket, peers, sender, offload, counters, .. } = self;
        let mut loaded = sender.load(datagrams);
        let mut sent = Sent::default();
        let mut test = None;
        while sent.done < loaded.len() {
            let (to, size) = loaded.datagram(sent.done);
            let (LinkAddr::Udp { peer, .. }, Some(address)) = (to, peers.address(to)) else {
                sent.done += 1;
                sent.lost += 1;
                continue;
            };
            let mut length = train_length(&loaded, sent.done, MAX_TRAIN);
            if length > 1 {
                let now = Instant::now();
                if !offload.is_on(peer, now) {
                    length = 1;
                }
                let id = offload.start_test(peer, probes_of(size), now);
                test = id.map(|id| (to, size, id)).or(test);
            }
            let end = sent.done + length;
            match loaded.send(socket.as_fd(), &address, sent.done..end) {
                Ok(()) => {
                    counters.trains_sent += u64::from(length > 1);
                    sent.done = end;
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::EAGAIN) => {
                        sent.full = true;
                        break;
                    }
                    Some(libc::EINTR) => {}
                    // The kernel does not take this train: its datagrams leave alone, at once.
                    Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE) if length > 1 => {
                        counters.trains_refused += 1;
                        offload.refuse(peer, Instant::now());
                    }
                    Some(libc::EMSGSIZE) => {
                        sent.too_big = true;
                        break;
                    }
                    // Said of a datagram that left before: this one has not been tried.
                    _ if socket::take_errors(socket.as_fd()) > 0 => counters.network_errors += 1,
                    _ => {
                        sent.done += 1;
                        sent.lost += 1;
                    }
                },
            }
        }
        if let Some((to, size, id)) = test {
            self.send_test(to, size, id);
        }
        sent
    }

    /// Sends the probes of test `id`, of `size` bytes each: as a train, and then alone.
    #[cold]
    fn send_test(&mut self, to: LinkAddr, size: usize, id: u32) {
        let Self { socket, peers, probe_sender, offload, counters, .. } = self;
        let (LinkAddr::Udp { peer, .. }, Some(address)) = (to, peers.address(to)) else { return };
        let (count, size) = (probes_of(size), size.max(probe::SHORTEST));
        let mut bytes = vec![0; 2 * count * size];
        // Those that leave alone have the numbers from 8 on, however many there are.
        let numbers = (0..count).chain(probe::MOST..probe::MOST + count);
        for (number, bytes) in numbers.zip(bytes.chunks_exact_mut(size)) {
            probe::write_probe(bytes, id, number as u8);
        }
        let probes = bytes.chunks_exact(size).map(|bytes| ((), [bytes, &[], &[], &[]]));
        let mut loaded = probe_sender.load(probes);
        let fd = socket.as_fd();
        let now = Instant::now();
        match loaded.send(fd, &address, 0..count).map_err(|e| e.raw_os_error()) {
            Ok(()) => {
                let mut alone = count..2 * count;
                if !alone.all(|at| loaded.send(fd, &address, at..at + 1).is_ok()) {
                    offload.put_test_off(peer, now);
                }
            }
            Err(Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE)) => {
                counters.trains_refused += 1;
                offload.refuse(peer, now);
            }
            Err(_) => offload.put_test_off(peer, now),
        }
    }

    /// What to poll for datagrams to receive and for room to send.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes the errors that the kernel keeps for the socket, which would end every `poll` at once.
    pub fn take_errors(&mut self) {
        self.counters.network_errors += socket::take_errors(self.socket.as_fd());
    }

    /// Datagrams lost for want of room since the last call.
    pub fn take_overruns(&mut self) -> u64 {
        mem::take(&mut self.overruns)
    }

    /// What it has counted.
    pub const fn counters(&self) -> UdpCounters {
        let offload::Outcomes { failed, withdrawn } = self.offload.outcomes();
        UdpCounters { train_tests_failed: failed, trains_withdrawn: withdrawn, ..self.counters }
    }

    /// Whether `error` says something of the network or of datagrams that left before; it is taken
    /// note of then.
    fn is_about_network(&mut self, error: &io::Error) -> bool {
        if error.kind() == io::ErrorKind::Interrupted {
            return true;
        }
        let taken = socket::take_errors(self.socket.as_fd());
        self.counters.network_errors += taken;
        taken > 0
    }
}

/// How many probes of `size` bytes make a train, for a test.
fn probes_of(size: usize) -> usize {
    (MAX_BYTES / size.max(probe::SHORTEST)).clamp(1, probe::MOST)
}

/// Sends a report to where probes have come from. One that is lost makes a test say less.
fn answer(socket: &Socket, to: SocketAddr, report: &[u8]) {
    let _ = socket.send_to(report, &to.into());
}

/// How many datagrams from `at` on make one train, of `most` at most: they have the same recipient
/// and the same size, and the last may be shorter.
fn train_length<A: Copy + PartialEq>(loaded: &Loaded<'_, '_, A>, at: usize, most: usize) -> usize {
    let (to, size) = loaded.datagram(at);
    let mut length = 1;
    while length < most && at + length < loaded.len() && (length + 1) * size <= MAX_BYTES {
        let (next_to, next_size) = loaded.datagram(at + length);
        if next_to != to || next_size > size {
            break;
        }
        length += 1;
        if next_size < size {
            break;
        }
    }
    length
}

/// The addresses of the cluster, by number and by address.
#[derive(Debug)]
struct Peers {
    by_number: Vec<IpAddr>,
    by_address: HashMap<IpAddr, UdpPeer>,
}

impl Peers {
    fn new(addresses: &[IpAddr]) -> Self {
        let numbered = addresses.iter().enumerate();
        let by_address = numbered.map(|(at, ip)| (*ip, UdpPeer(at as u16))).collect();
        Self { by_number: addresses.to_vec(), by_address }
    }

    fn link_addr(&self, addr: SocketAddr) -> Option<LinkAddr> {
        let peer = *self.by_address.get(&addr.ip())?;
        Some(LinkAddr::Udp { peer, port: addr.port() })
    }

    fn address(&self, to: LinkAddr) -> Option<SockAddr> {
        let LinkAddr::Udp { peer, port } = to else { return None };
        let ip = self.by_number.get(usize::from(peer.0))?;
        Some(SocketAddr::new(*ip, port).into())
    }
}
