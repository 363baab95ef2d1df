//! Where frames come in: how to see that one waits, and what to poll.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags};
use prp_node::fork::CloseOnFork;
use socket2::SockRef;

use super::device_slot::DeviceSlot;
use prp_device::{Peek, TcxRx};

/// The sockets of an engine's devices, for threads that do not hold the lock. New ones take their
/// place when the engine reopens its devices; the engine wakes the threads that hold the old ones.
#[derive(Debug)]
pub(super) struct RxHandles {
    peeks: Vec<Peek>,
    tcx_rx: Vec<Arc<TcxRx>>,
    fds: Vec<RxFd>,
}

/// A descriptor of a device.
#[derive(Debug)]
struct RxFd {
    device: usize,
    /// Which one of the device's.
    place: usize,
    fd: CloseOnFork<OwnedFd>,
}

impl RxHandles {
    pub(super) fn new(devices: &mut [DeviceSlot]) -> io::Result<Arc<Self>> {
        let peeks = devices.iter().map(|d| d.io.peek()).collect();
        let kernel_devices = devices.iter_mut().filter_map(|d| d.io.ethernet());
        let tcx_rx = kernel_devices.map(|kernel| kernel.tcx_rx().clone()).collect();
        let mut fds = Vec::new();
        for (device, slot) in devices.iter().enumerate() {
            for (place, fd) in slot.io.fds().enumerate() {
                let fd = CloseOnFork::new(fd.try_clone_to_owned()?);
                fds.push(RxFd { device, place, fd });
            }
        }
        Ok(Arc::new(Self { peeks, tcx_rx, fds }))
    }

    /// Every descriptor: which device's it is, and which one of that device's.
    pub(super) fn fds(&self) -> impl Iterator<Item = (usize, usize, BorrowedFd<'_>)> {
        self.fds.iter().map(|rx| (rx.device, rx.place, rx.fd.as_fd()))
    }

    /// Whether shared memory shows a frame, for a thread that is about to take it.
    pub(super) fn has_frame(&self) -> bool {
        self.tcx_rx.iter().any(|tcx_rx| tcx_rx.has_frame())
            || self.peeks.iter().any(|p| matches!(p, Peek::Ring(ring) if ring.has_frame()))
    }

    /// Whether at least `frames` frames wait at one device.
    pub(super) fn hold(&self, frames: u32) -> bool {
        let holds = |(device, _, fd): (usize, usize, BorrowedFd<'_>)| match &self.peeks[device] {
            Peek::Ring(ring) => ring.holds(frames),
            Peek::Queue(queue) => queue.holds(fd, frames),
            Peek::Unknown => false,
        };
        self.tcx_rx.iter().any(|tcx_rx| tcx_rx.holds(frames)) || self.fds().any(holds)
    }

    /// A thread is about to poll, with the lock: frames may come in without waking a thread.
    pub(super) fn enable(&self) {
        let seen = !self.has_frame();
        self.tcx_rx.iter().for_each(|tcx_rx| tcx_rx.enable(seen));
    }

    /// A thread is about to sleep until a frame comes, with the lock; whether one waits already.
    pub(super) fn disable(&self) -> bool {
        self.tcx_rx.iter().fold(false, |waits, tcx_rx| tcx_rx.disable() | waits)
    }

    /// Whether memory alone cannot show that no frame waits.
    pub(super) fn needs_syscall(&self) -> bool {
        self.peeks.iter().any(|p| !matches!(p, Peek::Ring(_)))
    }
}

/// Takes the errors that devices report, the interface being down for one: no thread receives with
/// a system call from a ring, and an error that is not taken ends every `poll` at once. Whether
/// there were any.
pub(super) fn take_errors(polled: &[PollFd<'_>]) -> bool {
    let has_error = |fd: &&PollFd<'_>| fd.revents().is_some_and(|r| r.contains(PollFlags::POLLERR));
    let mut any = false;
    for fd in polled.iter().filter(has_error) {
        any = true;
        let _ = SockRef::from(&fd.as_fd()).take_error();
    }
    any
}
