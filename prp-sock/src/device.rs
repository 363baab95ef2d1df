//! Devices that carry frames: packet sockets, and pipes and faulty wires for tests.
//!
//! If you add a kind of device: implement [`FrameIo`], and the engine takes it as it is.

mod conflicts;
mod fast_path;
mod fast_path_state;
mod filter;
mod interface;
mod packet;
#[cfg(any(test, feature = "testing"))]
mod pipe;
mod state;
mod tcx_rx;
#[cfg(any(test, feature = "testing"))]
mod tight;
#[cfg(any(test, feature = "testing"))]
mod wire;
mod xdp_tx;

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

pub use fast_path::Managed;
pub use filter::{PortFilter, RouterFilter};
pub use interface::{Interface, explain_open, interfaces, list_interfaces, number_and_mtu};
pub use packet::PacketDevice;
#[cfg(any(test, feature = "testing"))]
pub(crate) use pipe::PipeDevice;
pub use state::{DeviceState, device_states};
pub use tcx_rx::TcxRx;
#[cfg(any(test, feature = "testing"))]
pub use tight::TightDevice;
#[cfg(any(test, feature = "testing"))]
pub(crate) use wire::WireDevice;
#[cfg(any(test, feature = "testing"))]
pub use wire::{Rule, Verdict};
pub use xdp_tx::XdpTx;

pub use crate::sys::ring::RingPeek;

/// What became of a batch.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Sent {
    /// Frames the device took, or lost by itself: both are gone.
    pub done: usize,
    /// Of those, frames the device is known to have lost (`ENOBUFS` and the like).
    pub lost: usize,
    /// The frame after those is larger than the device takes.
    pub too_big: bool,
    /// The device takes no more at the moment.
    pub full: bool,
}

/// Frames that were shown and are still in the memory they came to.
#[derive(Debug)]
#[must_use = "the device waits for their memory"]
pub struct BorrowedFrames {
    pub(crate) frames: usize,
    pub(crate) losing: bool,
}

impl BorrowedFrames {
    /// How many there are.
    pub const fn frames(&self) -> usize {
        self.frames
    }
}

/// How to find out without a lock whether a frame waits.
#[derive(Clone, Debug)]
pub enum Peek {
    /// A look into shared memory.
    Ring(RingPeek),
    /// Only a system call would tell.
    Unknown,
}

/// A device: frames in, frames out, in batches.
pub trait FrameIo: fmt::Debug + Send {
    /// Hands up to `max` received frames to `take`; how many there were, frames for other machines
    /// that are not shown included.
    ///
    /// # Errors
    /// The device is gone for good.
    fn receive(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize>;

    /// Shows up to `max` received frames to `take` without giving their memory back: that is what
    /// [`Self::release`] does. None from a device that shares no memory with the kernel.
    fn hold<'a>(&'a self, _max: usize, _take: &mut dyn FnMut(&'a [u8])) -> Option<BorrowedFrames> {
        None
    }

    /// Gives back the memory of frames that were held.
    ///
    /// # Errors
    /// The device is gone for good.
    fn release(&mut self, _held: BorrowedFrames) -> io::Result<()> {
        Ok(())
    }

    /// Sends frames, each given in pieces.
    fn send(&mut self, frames: &mut dyn Iterator<Item = [&[u8]; 4]>) -> Sent;

    /// Sends a frame alone: a message should not pay for what batches need.
    fn send_one(&mut self, frame: [&[u8]; 4]) -> Sent {
        self.send(&mut std::iter::once(frame))
    }

    /// What to poll for frames to receive and for room to send.
    fn as_fd(&self) -> BorrowedFd<'_>;

    /// How to find out whether a frame waits.
    fn peek(&self) -> Peek;

    /// Asks for the frames `filter` passes and no others.
    ///
    /// # Errors
    /// The kernel refused the filter.
    fn set_filter(&mut self, filter: &PortFilter) -> io::Result<()>;

    /// Asks for the frames a router wants. Devices that have no filter pass everything.
    ///
    /// # Errors
    /// The kernel refused the filter.
    fn set_router_filter(&mut self, filter: &RouterFilter) -> io::Result<()> {
        let _ = filter;
        Ok(())
    }

    /// Goes back to its interface, should that have been removed and made again; whether it is
    /// there.
    fn revive(&mut self) -> bool {
        true
    }

    /// Bytes after the Ethernet header that fit its receiving ring; none if the kernel has no say
    /// in it.
    fn largest(&self) -> Option<u32> {
        None
    }

    /// The AF_XDP send path of the device, for somebody to look after.
    fn xdp_tx(&self) -> Option<&Arc<XdpTx>> {
        None
    }

    /// Where frames may come in past its socket, while somebody looks for them.
    fn tcx_rx(&self) -> Option<&Arc<TcxRx>> {
        None
    }

    /// Frames lost for want of room since the last call.
    fn take_overruns(&mut self) -> u64;

    /// Frames that took the AF_XDP send path since the last call.
    fn take_xdp_tx(&mut self) -> u64 {
        self.xdp_tx().map_or(0, |xdp_tx| xdp_tx.take_count())
    }

    /// Frames that came in by the tcx receive path since the last call.
    fn take_tcx_rx(&mut self) -> u64 {
        self.tcx_rx().map_or(0, |tcx_rx| tcx_rx.take_count())
    }
}
