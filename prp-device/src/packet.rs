//! A packet socket on a network interface.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use prp_node::fork::CloseOnFork;
use prp_proto::addr::LinkAddr;
use prp_proto::device::{Capabilities, PacketRun};
use prp_proto::wire::{ETHERNET_LEN, ethernet_source};
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::filter::{self, PortFilter, RouterFilter};
use crate::framing::Framing;
use crate::sys::mmsg::{RecvVec, SendVec};
use crate::sys::packet;
use crate::sys::ring::{BEFORE_FRAME, RxRing};
use crate::{
    Borrow, Interface, KernelDevice, Packets, Peek, Received, Refusal, Sent, Take, TcxRx, Underlay,
    XdpTx,
};

/// Passes up to the given number of frames of a socket to a function; how many there were.
pub(crate) type SocketRing<'a> = dyn FnMut(usize, &mut Take<'_>) -> io::Result<usize> + 'a;

/// Bytes of a receiving ring for large frames, each counted as the power of two above it: some two
/// megabytes in fact. What the reader's second-level cache still holds of a slot has to be taken
/// from there before the kernel can write to it again, which takes up to three times as long as the
/// copy itself (docs/experiments): a ring of this size is more than such a cache holds, and stays
/// in the third level.
const RING_BYTES: usize = 4 * 1024 * 1024;

/// Slots at least and at most. Sixteen of the largest frames are twice the window in flight; of
/// frames of the usual size 512 fill a second-level cache, and more make no difference.
const SLOTS: (usize, usize) = (16, 512);

/// Frames, with their Ethernet headers, that the kernel would keep in several pieces, each of which
/// costs it time: those that do not fit a page of the usual size, up to what its allocator gives in
/// one piece at any time.
const IN_PIECES: RangeInclusive<usize> = 4 * 1024..=15 * 1024;

/// The number of no device: the kernel numbers them from 1.
const NO_DEVICE: u32 = 0;

/// Bytes after the Ethernet header that every Ethernet device takes unless it was given another
/// MTU: the assumption for a device that is not there yet.
const USUAL_MTU: u32 = 1500;

/// Queue of a socket without a ring: the window of several connections.
const QUEUE_BYTES: i32 = 4 * 1024 * 1024;

/// Frames a plain socket receives per call.
const RECV_BATCH: usize = 16;

#[derive(Debug)]
enum Receiver {
    /// Shared memory: no system call per frame, and a poll costs nothing.
    Ring(RxRing),
    /// System calls, where the ring could not be had.
    Queue(RecvVec),
}

/// A packet socket on a network interface.
#[derive(Debug)]
pub struct PacketDevice {
    bound_socket: BoundSocket,
    receiver: Receiver,
    sender: SendVec,
    mtu: u32,
}

impl PacketDevice {
    /// Opens a socket on `interface` for frames of `ethertype` without a tag. It receives nothing
    /// until it has a filter.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW; whatever else the kernel says.
    pub fn open(interface: &Interface, ethertype: u16) -> io::Result<Self> {
        Self::open_for(interface, &Framing::untagged(ethertype))
    }

    /// As [`Self::open`] for the frames that `framing` says.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_for(interface: &Interface, framing: &Framing) -> io::Result<Self> {
        Self::make(interface.index, interface.mtu, framing)
    }

    /// As [`Self::open_for`] for an interface that is not there yet: [`KernelDevice::rebind`] has
    /// the socket use it once it is. It takes frames of the usual size then, whatever its MTU.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn await_interface(framing: &Framing) -> io::Result<Self> {
        Self::make(NO_DEVICE, USUAL_MTU, framing)
    }

    /// A socket on device `index`, which takes `mtu` bytes, or on none yet.
    fn make(index: u32, mtu: u32, framing: &Framing) -> io::Result<Self> {
        // Protocol 0: nothing arrives before the filter and the ring are in place.
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
        let socket = CloseOnFork::new(socket);
        attach(&socket, &filter::nothing())?;
        // Not set where the kernel is older than 4.20; the filter then drops frames that we sent as
        // not for us.
        let _ = packet::ignore_outgoing(socket.as_fd());
        let frame = mtu as usize + ETHERNET_LEN;
        // Rounded up as the kernel does memory for frames: the counts that were measured.
        let share = (frame + BEFORE_FRAME).next_power_of_two();
        let slots = (RING_BYTES / share).clamp(SLOTS.0, SLOTS.1);
        let in_one_piece =
            IN_PIECES.contains(&frame) && packet::prefix_frames(socket.as_fd(), true).is_ok();
        let mut sender = if in_one_piece { SendVec::in_one_piece() } else { SendVec::default() };
        let tag = framing.tag();
        let receiver = match RxRing::new(socket.as_fd(), frame, slots as u32, tag.vlan()) {
            Ok(ring) => Receiver::Ring(ring),
            Err(_) => {
                // Frames that are read would have the prefix, too.
                if in_one_piece {
                    packet::prefix_frames(socket.as_fd(), false)?;
                    sender = SendVec::default();
                }
                packet::force_receive_buffer(socket.as_fd(), QUEUE_BYTES)?;
                Receiver::Queue(RecvVec::new(frame, RECV_BATCH)?)
            }
        };
        sender.insert_tag(tag.bytes());
        let ethertype = framing.bound_ethertype();
        if index != NO_DEVICE {
            packet::bind(socket.as_fd(), index, ethertype)?;
            if tag.vlan().is_some() {
                // Where that is refused the card may pass them nevertheless.
                let _ = packet::pass_all_vlans(socket.as_fd(), index);
            }
        }
        // Frames past the socket have no tag.
        let is_tagged = tag.bytes().is_some();
        let xdp_tx = if is_tagged { None } else { XdpTx::new(index, mtu).map(Arc::new) };
        let tcx_rx = Arc::new(TcxRx::new(index, mtu, framing, slots)?);
        let vlan_filter = framing.program(matches!(receiver, Receiver::Ring(_)));
        let bound_socket = BoundSocket { socket, ethertype, vlan_filter, xdp_tx, tcx_rx };
        Ok(Self { bound_socket, receiver, sender, mtu })
    }

    /// Receives every frame from now on, for whomever it is.
    ///
    /// # Errors
    /// The kernel refused the filter.
    #[cfg(feature = "raw")]
    pub(crate) fn accept_all(&mut self) -> io::Result<()> {
        if let Receiver::Ring(ring) = &mut self.receiver {
            ring.show_all();
        }
        if self.bound_socket.vlan_filter.is_empty() {
            return detach(&self.bound_socket.socket);
        }
        self.bound_socket.attach(filter::everything())
    }

    /// Returns the bytes after the Ethernet header that it takes.
    pub const fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Sends whole frames, for a program that addresses them itself.
    pub fn send_frames(&mut self, frames: &mut dyn Iterator<Item = [&[u8]; 4]>) -> Sent {
        self.send_batch(frames)
    }

    /// As [`Underlay::receive`], of frames without what sent them.
    ///
    /// # Errors
    /// As [`Underlay::receive`].
    pub fn receive_frames(
        &mut self,
        max: usize,
        take: &mut dyn FnMut(&[u8]),
    ) -> io::Result<Received> {
        self.receive_packets(max, &mut |_, frame| take(frame))
    }

    #[inline]
    fn send_alone(&mut self, frame: &[&[u8]; 4]) -> Sent {
        let Self { bound_socket, sender, .. } = self;
        if let Some(xdp_tx) = &bound_socket.xdp_tx
            && let Some(sent) = xdp_tx.send(&mut std::iter::once(*frame))
        {
            return sent;
        }
        bound_socket.send(1, |_| sender.send_one(bound_socket.socket.as_fd(), *frame).map(|()| 1))
    }

    fn send_batch<'a>(&mut self, mut frames: impl Iterator<Item = [&'a [u8]; 4]>) -> Sent {
        let Some(first) = frames.next() else { return Sent::default() };
        let Some(second) = frames.next() else { return self.send_alone(&first) };
        let mut frames = [first, second].into_iter().chain(frames);
        let Self { bound_socket, sender, .. } = self;
        if let Some(xdp_tx) = &bound_socket.xdp_tx
            && let Some(sent) = xdp_tx.send(&mut frames)
        {
            return sent;
        }
        let mut batch = sender.load(frames);
        bound_socket.send(batch.len(), |at| batch.send(bound_socket.socket.as_fd(), at))
    }
}

impl AsFd for PacketDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bound_socket.socket.as_fd()
    }
}

impl Underlay for PacketDevice {
    fn receive(&mut self, max: usize, take: &mut Take<'_>) -> io::Result<Received> {
        let Self { bound_socket, receiver, .. } = self;
        let mut lost = 0;
        let received = bound_socket.tcx_rx.receive(max, take, &mut |max, take| match receiver {
            Receiver::Ring(ring) => {
                let (n, losing) = ring.receive(max, take);
                if losing {
                    lost += packet::dropped(bound_socket.socket.as_fd())?;
                }
                Ok(n)
            }
            Receiver::Queue(queue) => {
                let n = match queue.receive(bound_socket.socket.as_fd(), max) {
                    Ok(n) => n,
                    // The interface went down: it may come back, and the socket with it.
                    Err(e) if e.raw_os_error() == Some(libc::ENETDOWN) => 0,
                    Err(e) => return Err(e),
                };
                for frame in (0..n).map(|i| queue.frame(i)) {
                    take(ethernet_source(frame), PacketRun::single(frame));
                }
                Ok(n)
            }
        });
        Ok(Received { frames: received? as u32, lost })
    }

    /// The neighbours' addresses are in the frames.
    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        self.send_batch(packets.map(|(_, frame)| frame))
    }

    fn send_one(&mut self, _: LinkAddr, packet: [&[u8]; 4]) -> Sent {
        self.send_alone(&packet)
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        (place == 0).then(|| self.as_fd())
    }

    fn peek(&self) -> Peek {
        match &self.receiver {
            Receiver::Ring(ring) => Peek::Ring(ring.peek()),
            Receiver::Queue(_) => Peek::Unknown,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ethernet(self.mtu)
    }

    fn ethernet(&mut self) -> Option<&mut dyn KernelDevice> {
        Some(self)
    }
}

impl KernelDevice for PacketDevice {
    fn set_filter(&self, filter: &PortFilter) -> io::Result<()> {
        self.bound_socket.tcx_rx.set_node(filter.node());
        // A ring says itself which frames are for this machine.
        if filter.is_open()
            && self.bound_socket.vlan_filter.is_empty()
            && matches!(self.receiver, Receiver::Ring(_))
        {
            return detach(&self.bound_socket.socket);
        }
        self.bound_socket.attach(filter.program())
    }

    fn set_router_filter(&self, filter: &RouterFilter) -> io::Result<()> {
        self.bound_socket.attach(filter.program())
    }

    fn index(&self) -> Option<u32> {
        packet::device(self.as_fd())
    }

    fn rebind(&self, index: u32) -> bool {
        self.bound_socket.rebind(index)
    }

    fn lend(&mut self, max: usize, borrow: &mut Borrow<'_>) -> io::Result<Option<Received>> {
        let Receiver::Ring(ring) = &mut self.receiver else { return Ok(None) };
        let (frames, losing) = ring.lend(max, borrow);
        let lost = if losing { packet::dropped(self.bound_socket.socket.as_fd())? } else { 0 };
        Ok(Some(Received { frames: frames as u32, lost }))
    }

    fn take_other_vlan(&self) -> u64 {
        match &self.receiver {
            Receiver::Ring(ring) => ring.take_other_vlan(),
            Receiver::Queue(_) => 0,
        }
    }

    fn xdp_tx(&self) -> Option<&Arc<XdpTx>> {
        self.bound_socket.xdp_tx.as_ref()
    }

    fn tcx_rx(&self) -> &Arc<TcxRx> {
        &self.bound_socket.tcx_rx
    }
}

/// A socket, and what else is at its device.
#[derive(Debug)]
struct BoundSocket {
    socket: CloseOnFork<Socket>,
    /// The one it is bound to: that of all protocols where the socket is for a VLAN.
    ethertype: u16,
    /// What its filters begin with.
    vlan_filter: Vec<libc::sock_filter>,
    /// The fast path for frames that are sent.
    xdp_tx: Option<Arc<XdpTx>>,
    /// The fast path for frames that are received.
    tcx_rx: Arc<TcxRx>,
}

impl BoundSocket {
    /// Gives it a filter in place of the one it has.
    fn attach(&self, program: Vec<libc::sock_filter>) -> io::Result<()> {
        let program = [self.vlan_filter.clone(), program].concat();
        attach(&self.socket, &program)
    }

    /// Its device was removed: device `index` is the one from now on; whether it is.
    fn rebind(&self, index: u32) -> bool {
        let is_present = packet::bind(self.socket.as_fd(), index, self.ethertype).is_ok();
        if is_present {
            if !self.vlan_filter.is_empty() {
                let _ = packet::pass_all_vlans(self.socket.as_fd(), index);
            }
            self.xdp_tx.iter().for_each(|xdp_tx| xdp_tx.rebind(index));
            self.tcx_rx.rebind(index);
        }
        is_present
    }

    /// Sends `count` frames, by `send` from the one it names on, until the device takes no more.
    #[inline]
    fn send(&self, count: usize, mut send: impl FnMut(usize) -> io::Result<usize>) -> Sent {
        let mut sent = Sent::default();
        while sent.done < count {
            match send(sent.done) {
                Ok(n) => sent.done += n,
                Err(e) => match e.raw_os_error() {
                    Some(libc::EAGAIN) => {
                        sent.full = true;
                        break;
                    }
                    Some(libc::EINTR) => {}
                    // ENOBUFS: a queue on the path was full, or a filter there has dropped it.
                    // ENETDOWN, ENXIO: the interface is gone, for now. All are losses, as anywhere
                    // else on the path.
                    errno => {
                        sent.refused = Some(Refusal::of_frame(errno.unwrap_or(libc::EIO)));
                        break;
                    }
                },
            }
        }
        if let Some(xdp_tx) = &self.xdp_tx {
            xdp_tx.note(sent.done);
        }
        sent
    }
}

/// Takes the filter away, if there is one.
fn detach(socket: &Socket) -> io::Result<()> {
    match socket.detach_filter() {
        Err(e) if e.raw_os_error() == Some(libc::ENOENT) => Ok(()),
        done => done,
    }
}

fn attach(socket: &Socket, program: &[libc::sock_filter]) -> io::Result<()> {
    let program: Vec<_> =
        program.iter().map(|i| SockFilter::new(i.code, i.jt, i.jf, i.k)).collect();
    socket.attach_filter(&program)
}
