//! UDP sockets, which a process has on each of its node's addresses: no privilege, any IP network.
//! Datagrams travel in GSO batches (docs/udp.md).

mod counters;
mod majority;
mod mtu;
mod node_port;
mod offload;
mod peers;
mod queue_peek;
mod socket;
mod sockets;
mod tally;
#[cfg(test)]
mod tests;
mod underlay;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Instant;

use prp_proto::addr::{LinkAddr, NodeId, UdpPeer};
use prp_proto::device::{Device, PacketRun};
use prp_proto::joins_gso_batch;
use prp_proto::wire::{Frame, GsoProbe};
use socket2::{SockAddr, Socket};

use crate::Take;
use crate::sys::datagram::{Loaded, MAX_BYTES, RecvList, SendList, send_one};
pub use counters::{NodePortDrops, UdpCounters};
pub use mtu::UdpMtu;
pub use node_port::NodePort;
use node_port::read_handed_on;
use offload::Offload;
use peers::Peers;
pub use queue_peek::QueuePeek;
use sockets::{SocketIndex, Sockets};
use tally::Tally;

/// Datagrams of a GSO batch at most, as kernels before 6.2 have it.
const MAX_GSO_FRAMES: usize = 64;

/// A datagram up to this size that leaves alone is put together before: copying so little costs
/// less than the kernel's walk through a list of pieces.
const SMALL: usize = 512;

/// Windows of a connection for which there is room in the buffer of a socket, as the kernel counts
/// it: a byte of a full GSO batch counts for little more than one, and one of a datagram that is
/// alone for up to three.
const WINDOWS_OF_ROOM: usize = 8;

/// UDP sockets on the node's addresses.
#[derive(Debug)]
pub struct UdpDevice {
    sockets: Sockets,
    mtu: u32,
    /// Bytes of the buffer for what is received, as the kernel counts them.
    room: usize,
    peers: Peers,
    sender: SendList<LinkAddr>,
    probe_sender: SendList<()>,
    /// A small datagram, put together.
    small: Vec<u8>,
    receiver: RecvList,
    /// GSO batches that are to be received by the next call: twice as many as the last one got.
    expected: usize,
    /// GSO batches that were received, and not handed out.
    waiting: usize,
    offload: Offload,
    /// Datagrams lost for want of room since the last call of `receive`.
    lost: u32,
    counters: UdpCounters,
    /// The sender of the last packet from an address that is not among the peers.
    stranger: Option<(NodeId, SocketAddr)>,
}

impl UdpDevice {
    /// Opens a socket on each of `own`, the node's own addresses and ports, that this machine has:
    /// at the first of the ports that follow that is free at all of them, and one on the node's own
    /// port, of each address up to the first where it is not free (SPEC PRP-UDP-2). With
    /// `connects`, each has another one beside it for the neighbour that most comes from. `peers`
    /// are the addresses of the cluster, in the order of their numbers.
    ///
    /// # Errors
    /// `AddrNotAvailable` if this machine has no such address, `AddrInUse` if all ports of the node
    /// are taken, what else the kernel says.
    pub fn open(own: &[SocketAddr], connects: bool, peers: &[IpAddr]) -> io::Result<Self> {
        let sockets = Sockets::open(own, connects)?;
        let own: Vec<_> = sockets.own_addrs().map(|own| own.ip()).collect();
        let mtu = UdpMtu::new(own.iter().copied()).read();
        Ok(Self {
            mtu: mtu.unwrap_or(mtu::FLOOR),
            room: sockets.room()?,
            sockets,
            peers: Peers::new(peers, &own),
            sender: SendList::default(),
            probe_sender: SendList::default(),
            small: Vec::new(),
            receiver: RecvList::new()?,
            expected: 1,
            waiting: 0,
            offload: Offload::default(),
            lost: 0,
            counters: UdpCounters::default(),
            stranger: None,
        })
    }

    /// Where it receives at the first of its addresses.
    pub fn local_addr(&self) -> SocketAddr {
        self.sockets.local_addr()
    }

    /// The first of the node's own addresses and ports.
    pub fn own_addr(&self) -> SocketAddr {
        self.sockets.own_addr()
    }

    /// The node's own addresses and ports, where it receives.
    pub fn own_addrs(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.own_addrs()
    }

    /// How many ports behind the node's own it receives.
    pub fn offset(&self) -> u16 {
        self.local_addr().port() - self.own_addr().port()
    }

    /// Whether the node's own port was free at each of its addresses.
    pub fn has_node_ports(&self) -> bool {
        self.sockets.has_node_ports()
    }

    /// Takes the sockets at the node's own ports, to be served: one for each address, where it was
    /// free.
    pub fn take_node_ports(&mut self) -> impl Iterator<Item = Option<NodePort>> {
        self.sockets.node_ports().map(Option::take)
    }

    /// Opens sockets at those of the node's own ports that are free, whichever they are: where the
    /// first one belongs to the node's router.
    pub fn open_node_ports(&mut self) {
        self.sockets.open_node_ports();
    }

    /// What the sockets at the node's own ports count, for those that are opened later.
    pub const fn node_port_drops(&self) -> &Arc<NodePortDrops> {
        self.sockets.drops()
    }

    /// Bytes of a datagram's payload that the interface with its address takes.
    pub const fn mtu(&self) -> u32 {
        self.mtu
    }

    /// What says whether that has changed.
    pub fn interface_mtu(&self) -> UdpMtu {
        UdpMtu::new(self.own_addrs().map(|own| own.ip()))
    }

    /// The interface takes `mtu` bytes of a datagram's payload from now on.
    pub const fn set_mtu(&mut self, mtu: u32) {
        self.mtu = mtu;
    }

    /// Datagrams of its largest size that it sends and receives at a time.
    pub fn gso_frames(&self) -> u16 {
        (MAX_BYTES / self.mtu.max(1) as usize).clamp(1, MAX_GSO_FRAMES) as u16
    }

    /// Bytes that a peer may send ahead of what is read, unless a connection's settings say so.
    pub fn window(&self) -> usize {
        (self.room / WINDOWS_OF_ROOM).clamp(Device::WINDOW, Device::MAX_WINDOW)
    }

    /// The addresses of the cluster are `peers` from now on.
    pub fn set_peers(&mut self, peers: &[IpAddr]) {
        let own: Vec<_> = self.own_addrs().map(|own| own.ip()).collect();
        self.peers = Peers::new(peers, &own);
        self.offload.forget_paths();
    }

    /// Has GSO tests made as soon as it sends a GSO batch, though they may be a large part of what
    /// is sent: for a program that examines a path.
    pub fn test_gso_freely(&mut self) {
        self.offload.test_freely();
    }

    /// Hands the datagrams of GSO batch `at` to `take`; how many there were. One without a byte
    /// counts, but is handed to nothing: a host that sends many must not keep the caller here.
    fn take_gso_batch(&mut self, at: usize, take: &mut Take<'_>) -> usize {
        let Some(gso_batch) = self.receiver.gso_batch(at) else { return 1 };
        if gso_batch.bytes.is_empty() {
            self.counters.too_short += 1;
            return 1;
        }
        let (mut count, mut tally) = (0, Tally::default());
        if gso_batch.from == self.sockets.last_own() {
            for handed_on in gso_batch.datagrams() {
                count += 1;
                let Some((from, datagram)) = read_handed_on(handed_on) else {
                    self.counters.too_short += 1;
                    continue;
                };
                if let Some(from) = self.peers.link_addr(from) {
                    self.counters.handed_on += 1;
                    take(from, PacketRun::single(datagram));
                } else {
                    self.counters.strangers += 1;
                    note_stranger(&mut self.stranger, from, datagram);
                }
            }
        } else if let Some(from) = self.peers.link_addr(gso_batch.from) {
            self.sockets.note_sender(gso_batch.from);
            let socket = self.sockets.last_socket();
            let mut taken = 0;
            for datagram in gso_batch.datagrams() {
                count += 1;
                let Some(message) = GsoProbe::read_whole(datagram) else { continue };
                // What lies before it, and is for the protocol.
                take(from, gso_batch.run(taken..count - 1));
                taken = count;
                let due = tally.note(message);
                due.iter().for_each(|report| answer(socket, gso_batch.from, report));
                if let (GsoProbe::Report { test, came }, LinkAddr::Udp { peer, .. }) =
                    (message, from)
                {
                    self.offload.note_report(peer, test, came, Instant::now());
                }
            }
            take(from, gso_batch.run(taken..count));
            tally.take().iter().for_each(|report| answer(socket, gso_batch.from, report));
        } else {
            for datagram in gso_batch.datagrams() {
                count += 1;
                note_stranger(&mut self.stranger, gso_batch.from, datagram);
            }
            self.counters.strangers += count as u64;
        }
        self.counters.truncated += u64::from(gso_batch.is_truncated);
        self.counters.gso_batches_received += u64::from(count > 1);
        if let Some(overflow) = gso_batch.overflow {
            self.lost += self.sockets.overruns(overflow);
        }
        count
    }

    /// The last packet that has come from an address that is not among the peers, since the call
    /// before: which node it says to be from, and where it came from.
    pub fn take_stranger(&mut self) -> Option<(NodeId, SocketAddr)> {
        self.stranger.take()
    }

    /// Sends the probes of test `id`, of `size` bytes each: as a GSO batch, and then alone.
    #[cold]
    fn send_test(&mut self, to: LinkAddr, size: usize, id: u32) {
        let Self { sockets, peers, probe_sender, offload, counters, .. } = self;
        let (LinkAddr::Udp { peer, .. }, Some(target)) = (to, Target::of(sockets, peers, to))
        else {
            return;
        };
        let (count, size) = (probes_of(size), size.max(GsoProbe::SHORTEST_PROBE));
        let mut bytes = vec![0; 2 * count * size];
        // Those that leave alone have the numbers from 8 on, however many there are.
        let numbers = (0..count).chain(GsoProbe::MAX_PROBES..GsoProbe::MAX_PROBES + count);
        for (number, bytes) in numbers.zip(bytes.chunks_exact_mut(size)) {
            GsoProbe::write_probe(bytes, id, number as u8);
        }
        let probes = bytes.chunks_exact(size).map(|bytes| ((), [bytes, &[], &[], &[]]));
        let mut loaded = probe_sender.load(probes);
        let name = target.name.as_ref();
        let mut send = |range: Range<usize>| {
            sockets.send(target.index, |fd| loaded.send(fd, name, range.clone()))
        };
        let now = Instant::now();
        match send(0..count).map_err(|e| e.raw_os_error()) {
            Ok(()) => {
                let mut alone = count..2 * count;
                if !alone.all(|at| send(at..at + 1).is_ok()) {
                    offload.put_test_off(peer, now);
                }
            }
            Err(Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE))
                if send(count..count + 1).is_ok() =>
            {
                counters.gso_batches_refused += 1;
                offload.refuse(peer, now);
            }
            Err(_) => offload.put_test_off(peer, now),
        }
    }

    /// What to poll for datagrams to receive, always the same descriptors.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.fds().map(|(_, fd)| fd)
    }

    /// What it has counted.
    pub fn counters(&self) -> UdpCounters {
        let offload::Outcomes { failed, withdrawn } = self.offload.outcomes();
        let Sockets { network_errors, connects, .. } = self.sockets;
        self.sockets.drops().add_to(UdpCounters {
            gso_tests_failed: failed,
            gso_withdrawn: withdrawn,
            network_errors,
            connects,
            ..self.counters
        })
    }
}

/// By which socket a datagram leaves, and for whom.
struct Target {
    index: SocketIndex,
    address: SocketAddr,
    /// The number of the own address.
    own: usize,
    /// The recipient, where the socket is not connected to it.
    name: Option<SockAddr>,
}

impl Target {
    #[inline]
    fn of(sockets: &Sockets, peers: &Peers, to: LinkAddr) -> Option<Self> {
        let (address, own) = peers.address(to)?;
        let index = sockets.toward(own, address);
        let name = if index.is_connected() { None } else { Some(address.into()) };
        Some(Self { index, address, own, name })
    }
}

/// Notes the sender of `datagram`, if that is a packet: much else may come to a UDP port.
fn note_stranger(stranger: &mut Option<(NodeId, SocketAddr)>, from: SocketAddr, datagram: &[u8]) {
    // It has no number of its own.
    let none = LinkAddr::Udp { peer: UdpPeer(u16::MAX), port: from.port() };
    if let Ok(frame) = Frame::parse_datagram(none, datagram) {
        *stranger = Some((frame.head.network.src, from));
    }
}

/// How many probes of `size` bytes make a GSO batch, for a test.
fn probes_of(size: usize) -> usize {
    (MAX_BYTES / size.max(GsoProbe::SHORTEST_PROBE)).clamp(1, GsoProbe::MAX_PROBES)
}

/// Sends a report to where probes have come from. One that is lost makes a test say less.
fn answer(socket: &Socket, to: SocketAddr, report: &[u8]) {
    let to = SockAddr::from(to);
    let _ = socket::send(socket.as_fd(), || send_one(socket.as_fd(), Some(&to), report));
}

/// How many datagrams from `at` on make one GSO batch, of `most` at most: they have the same
/// recipient and the same size, and the last may be shorter ([`joins_gso_batch`]). The first of the
/// last two GSO batches has 2/3 of their datagrams: the receiver takes it in while the other is
/// sent, and the call for that takes 3 us however short the GSO batch is.
fn gso_batch_length<A: Copy + PartialEq>(
    loaded: &Loaded<'_, '_, A>,
    at: usize,
    most: usize,
) -> usize {
    let (to, size) = loaded.datagram(at);
    let most = most.min(MAX_BYTES / size.max(1)).max(1);
    let mut length = 1;
    while at + length < loaded.len() {
        let (next_to, next_size) = loaded.datagram(at + length);
        if next_to != to || !joins_gso_batch(size, next_size) {
            break;
        }
        length += 1;
        if next_size < size {
            break;
        }
    }
    match length.div_ceil(most) {
        1 => length,
        2 => (2 * length).div_ceil(3).clamp(length - most, most),
        _ => most,
    }
}
