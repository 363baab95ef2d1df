//! The socket at a node's own UDP port (SPEC PRP-UDP-2): no process has connections there. The
//! process that holds it passes each datagram on to the owner of the PRP port that it is for.
//!
//! A datagram is passed on by UDP, from the node's own port to another port of the same address,
//! behind the address and port that it came from. The kernel takes nothing that came by a network
//! from an address of this machine.

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use prp_node::fork::CloseOnFork;
use prp_proto::wire::GsoProbe;
use socket2::Socket;
#[cfg(feature = "testing")]
use socket2::{Domain, Type};

use super::tally::Tally;
use super::{MAX_GSO_FRAMES, NodePortDrops, answer, gso_batch_length, socket};
use crate::sys::datagram::{MAX_BYTES, RecvList, SendList};

/// Whether the process at the port `own` answers probes.
///
/// # Errors
/// No process has the port; the kernel refuses the socket or the probes.
fn probe(own: SocketAddr) -> io::Result<bool> {
    let socket = UdpSocket::bind((own.ip(), 0))?;
    socket.connect(own)?;
    socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    for test in 0..PROBES {
        let mut probe = [0; GsoProbe::SHORTEST_PROBE];
        GsoProbe::write_probe(&mut probe, test, GsoProbe::MAX_PROBES as u8);
        // That no socket is there may be reported here, or by the next call.
        socket.send(&probe)?;
        match socket.recv(&mut [0; GsoProbe::LEN]) {
            Ok(_) => return Ok(true),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(false)
}

/// Bytes in front of a datagram that is handed on: the IP address it came from, IPv4's as an IPv6
/// one (RFC 4291, 2.5.5.2), and the port.
pub(super) const HANDED_ON_LEN: usize = 16 + 2;

/// Most bytes of a datagram over IPv6 from an address of this machine to the same: the loopback
/// device's MTU without the headers.
const MAX_BYTES_IPV6: usize = 65_536 - 48;

/// Probes that a process at a node's own port is sent, and how long the answer to each is waited
/// for: a process on a busy machine answers to one of them.
const PROBES: u32 = 4;
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// The socket at a node's own UDP port.
#[derive(Debug)]
pub struct NodePort {
    socket: CloseOnFork<Socket>,
    own: SocketAddr,
    sender: SendList<u16>,
    receiver: RecvList,
    drops: Arc<NodePortDrops>,
}

impl NodePort {
    /// How often to check whether the port is free that another process holds. Requests are lost in
    /// between, and their senders repeat them. An idle process does little else.
    pub const RETRY_INTERVAL: Duration = Duration::from_secs(1);

    /// Opens a socket at `own`, which counts in `drops` what it drops.
    ///
    /// # Errors
    /// `AddrInUse` if another process of the node has it, what else the kernel says.
    pub fn open(own: SocketAddr, drops: &Arc<NodePortDrops>) -> io::Result<Self> {
        let socket = socket::bind(own)?;
        socket::enlarge_buffers(&socket);
        Self::at(own, socket, drops)
    }

    /// Whether a process has the port `own` and does not answer there: it is stopped, or is no
    /// program of PRP. One that hands datagrams on answers probes of GSO batches, from any address
    /// (SPEC PRP-UDP-7). Takes up to two seconds. False where the kernel refuses the probes.
    pub fn is_silent(own: SocketAddr) -> bool {
        probe(own).is_ok_and(|answered| !answered)
    }

    /// One at `own` that can receive nothing: to test what becomes of it.
    ///
    /// # Errors
    /// There are no descriptors left.
    #[cfg(feature = "testing")]
    pub fn of_no_use(own: SocketAddr) -> io::Result<Self> {
        // A stream without a peer.
        let socket = Socket::new(Domain::for_address(own), Type::STREAM, None)?;
        Self::at(own, socket, &Arc::default())
    }

    /// The one at `own` whose socket is `socket`.
    fn at(own: SocketAddr, socket: Socket, drops: &Arc<NodePortDrops>) -> io::Result<Self> {
        let (sender, receiver) = (SendList::default(), RecvList::new()?);
        let (socket, drops) = (CloseOnFork::new(socket), drops.clone());
        Ok(Self { socket, own, sender, receiver, drops })
    }

    /// Passes on the datagrams that wait. Each goes to the process whose UDP port is the node's own
    /// plus what `offset_for` says; a datagram for which it says nothing is dropped. How many there
    /// were. A receiver without room loses them, like others. Where there is none, takes the errors
    /// that the kernel keeps for the socket, which would end every `poll` at once.
    ///
    /// # Errors
    /// The socket is of no use any more.
    pub fn hand_on(
        &mut self,
        mut offset_for: impl FnMut(&[u8]) -> Option<u16>,
    ) -> io::Result<usize> {
        let got = match self.receiver.receive(self.socket.as_fd(), RecvList::MAX) {
            Ok(0) => {
                socket::take_errors(self.socket.as_fd());
                return Ok(0);
            }
            Ok(got) => got,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => return Ok(0),
            Err(e) if socket::take_errors_after(self.socket.as_fd(), &e) > 0 => return Ok(0),
            Err(e) => return Err(e),
        };
        Ok((0..got).map(|at| self.hand_on_gso_batch(at, &mut offset_for)).sum())
    }

    /// Passes GSO batch `at` on; how many datagrams it has. One without a byte counts as well.
    fn hand_on_gso_batch(
        &mut self,
        at: usize,
        offset_for: &mut impl FnMut(&[u8]) -> Option<u16>,
    ) -> usize {
        let Self { socket, own, sender, receiver, drops } = self;
        let Some(gso_batch) = receiver.gso_batch(at) else { return 1 };
        let count = gso_batch.datagrams().count();
        if count == 0 {
            drops.too_short.fetch_add(1, Relaxed);
            return 1;
        }
        // What was handed on already has no addressee.
        if gso_batch.from == *own {
            drops.unaddressed.fetch_add(count as u64, Relaxed);
            return count;
        }
        // Probes are not reported: this is where they were meant to come.
        let mut tally = Tally::default();
        for message in gso_batch.datagrams().filter_map(GsoProbe::read_whole) {
            tally.note(message).iter().for_each(|report| answer(socket, gso_batch.from, report));
        }
        tally.take().iter().for_each(|report| answer(socket, gso_batch.from, report));
        let front = handed_on_front(gso_batch.from);
        let longest = longest_handed_on(own.ip());
        let datagrams = gso_batch.datagrams().filter_map(|bytes| {
            let Some(offset) = offset_for(bytes) else {
                let is_lost = GsoProbe::read_whole(bytes).is_none();
                drops.unaddressed.fetch_add(is_lost.into(), Relaxed);
                return None;
            };
            if bytes.len() > longest {
                drops.too_long.fetch_add(1, Relaxed);
                return None;
            }
            Some((offset, [&front[..], bytes, &[], &[]]))
        });
        let mut loaded = sender.load(datagrams);
        let (mut next, mut most) = (0, MAX_GSO_FRAMES);
        while next < loaded.len() {
            let (offset, _) = loaded.datagram(next);
            let end = next + gso_batch_length(&loaded, next, most);
            let to = SocketAddr::new(own.ip(), own.port().saturating_add(offset)).into();
            let fd = socket.as_fd();
            let (sent, _) = socket::send(fd, || loaded.send(fd, Some(&to), next..end));
            match sent {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if end - next > 1 => most = 1,
                Err(e) => {
                    let is_too_long = e.raw_os_error() == Some(libc::EMSGSIZE);
                    let drop = if is_too_long { &drops.too_long } else { &drops.not_handed_on };
                    drop.fetch_add(1, Relaxed);
                    next = end;
                }
                Ok(()) => next = end,
            }
        }
        count
    }

    /// What to poll for datagrams.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Bytes of the longest datagram that is handed on at the address `ip`.
pub(super) const fn longest_handed_on(ip: IpAddr) -> usize {
    let longest = if ip.is_ipv4() { MAX_BYTES } else { MAX_BYTES_IPV6 };
    longest - HANDED_ON_LEN
}

/// What goes in front of a datagram from `from` that is handed on.
pub(super) fn handed_on_front(from: SocketAddr) -> [u8; HANDED_ON_LEN] {
    let ip = match from.ip() {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let mut front = [0; HANDED_ON_LEN];
    let (ip_bytes, port_bytes) = front.split_at_mut(16);
    ip_bytes.copy_from_slice(&ip.octets());
    port_bytes.copy_from_slice(&from.port().to_be_bytes());
    front
}

/// From where a datagram has come that was handed on, and the datagram; none if it is too short.
pub(super) fn read_handed_on(bytes: &[u8]) -> Option<(SocketAddr, &[u8])> {
    let (ip, rest) = bytes.split_first_chunk::<16>()?;
    let (port, datagram) = rest.split_first_chunk::<2>()?;
    let ip = Ipv6Addr::from(*ip).to_canonical();
    Some((SocketAddr::new(ip, u16::from_be_bytes(*port)), datagram))
}
