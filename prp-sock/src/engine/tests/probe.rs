//! Devices that count how often they are asked, and misbehave when told to.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use prp_device::{Packets, Peek, PipeDevice, Received, Sent, Take, Underlay};
use prp_proto::device::Capabilities;

use crate::testing::{FaultyDevice, MTU, Node, Numbers, Pair, Side};

/// What a test sees of alpha's devices, and tells them.
#[derive(Debug)]
pub(super) struct Probe {
    /// Calls of `receive`: some thread was awake and polled.
    pub(super) polls: AtomicU64,
    /// The device is gone from now on.
    pub(super) gone: AtomicBool,
    /// The device takes no frames for now.
    pub(super) full: AtomicBool,
    /// What the device says in the next call that it has lost.
    pub(super) lost: AtomicU32,
    /// What the idle device's socket is connected to.
    far_end: UnixDatagram,
    elsewhere: UnixDatagram,
}

impl Probe {
    /// Leaves an error on the idle device's socket, as an interface that goes down does on a packet
    /// socket.
    pub(super) fn upset_socket(&self) {
        let elsewhere = self.elsewhere.local_addr().expect("it is bound");
        // The end of a pair that connects to another peer, with something unread, upsets the other
        // one.
        self.far_end.connect_addr(&elsewhere).expect("somebody is there");
    }
}

/// The device of a probed pair.
#[derive(Debug)]
struct ProbeDevice {
    device: FaultyDevice,
    probe: Arc<Probe>,
}

impl Underlay for ProbeDevice {
    fn receive(&mut self, max: usize, take: &mut Take<'_>) -> io::Result<Received> {
        self.probe.polls.fetch_add(1, Ordering::Relaxed);
        if self.probe.gone.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let received = self.device.receive(max, take)?;
        Ok(Received { lost: self.probe.lost.swap(0, Ordering::Relaxed), ..received })
    }

    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        if self.probe.full.load(Ordering::Relaxed) {
            return Sent { full: true, ..Sent::default() };
        }
        self.device.send(packets)
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        self.device.fd(place)
    }

    fn peek(&self) -> Peek {
        self.device.peek()
    }

    fn capabilities(&self) -> Capabilities {
        self.device.capabilities()
    }
}

/// A device like one with a ring: receiving is no system call, and takes no error from the socket.
#[derive(Debug)]
struct IdleDevice(UnixDatagram);

impl Underlay for IdleDevice {
    fn receive(&mut self, _: usize, _: &mut Take<'_>) -> io::Result<Received> {
        Ok(Received::default())
    }

    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        Sent { done: packets.count(), ..Sent::default() }
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        (place == 0).then(|| self.0.as_fd())
    }

    fn peek(&self) -> Peek {
        Peek::Unknown
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ethernet(MTU)
    }
}

/// A pair whose alpha has a probe on its device, and a device on which nothing ever happens.
pub(super) fn probed_pair() -> (Pair, Arc<Probe>) {
    let numbers = Numbers::reserve();
    let (a, b) = PipeDevice::pair(MTU).expect("a socket pair");
    let (idle, far_end) = UnixDatagram::pair().expect("a socket pair");
    idle.send(&[0]).expect("room for a byte");
    let probe = Arc::new(Probe {
        polls: AtomicU64::new(0),
        gone: AtomicBool::new(false),
        full: AtomicBool::new(false),
        lost: AtomicU32::new(0),
        far_end,
        elsewhere: numbers.socket("elsewhere"),
    });
    let device = FaultyDevice::new(a, None, numbers.clone());
    let device = Box::new(ProbeDevice { device, probe: probe.clone() });
    let alpha = Node::new(&numbers, Side::Alpha, device, vec![Box::new(IdleDevice(idle))]);
    let device = Box::new(FaultyDevice::new(b, None, numbers.clone()));
    let beta = Node::new(&numbers, Side::Beta, device, Vec::new());
    (Pair { alpha, beta }, probe)
}
