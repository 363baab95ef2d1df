//! What carries frames: packet sockets with their fast paths, and devices without a network for
//! tests; and what the kernel says of the devices of this machine.
//!
//! If you add a kind of device: implement [`Underlay`], and have [`factory`] make it.
//!
//! | module | noun |
//! | --- | --- |
//! | [`factory`] | the devices of a node, as prphosts names them |
//! | `packet` | a packet socket, with a ring shared with the kernel |
//! | `underlay` | the trait of whatever carries packets |
//! | `udp` | a UDP socket, whose datagrams travel in GSO batches |
//! | `unix` | Unix sockets, between processes of one machine |
//! | `capture` | a packet socket that sees what all devices send and receive |
//! | `framing` | which frames of a device are a network's: EtherType and VLAN |
//! | `filter` | the classic BPF program that passes frames for a process or a router |
//! | `tx_backlog` | what a device did not take yet |
//! | `refusal` | what the kernel says to frames that it does not send |
//! | `xdp_tx`, `tcx_rx` | the fast paths past a packet socket; `fast_path` opens and closes them |
//! | `mirrors` | captures that get copies of what goes past their packet sockets |
//! | `no_fast_paths` | in their place, in a build without the feature `fast-paths` |
//! | `interface`, `device_state`, `link_states`, `ip_address` | devices, and what the kernel says of them |
//! | `chains`, `qdiscs` | rules and filters of the kernel that see frames |
//! | `card` | what the driver of a network card says of its settings |
//! | `netlink` | questions to the kernel, and its answers |
//! | [`assembler`] | eBPF programs, written as calls |
//! | [`waiting`] | polling for frames, letting them gather, sleeping: which of them is next |
//! | `sys` | system calls that no safe crate offers |
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![deny(unsafe_op_in_unsafe_fn)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod assembler;
#[cfg(feature = "raw")]
mod capture;
mod card;
mod chains;
#[cfg(feature = "fast-paths")]
mod conflicts;
mod device_state;
pub mod factory;
#[cfg(feature = "fast-paths")]
mod fast_path;
#[cfg(feature = "fast-paths")]
mod fast_path_state;
mod filter;
mod framing;
#[cfg(feature = "testing")]
mod idle_machine;
mod interface;
mod ip_address;
#[cfg(any(test, feature = "testing"))]
mod limited_device;
mod link_states;
mod managed;
#[cfg(feature = "fast-paths")]
mod mirrors;
mod netlink;
#[cfg(not(feature = "fast-paths"))]
mod no_fast_paths;
mod packet;
#[cfg(any(test, feature = "testing"))]
mod pipe;
mod qdiscs;
#[cfg(feature = "raw")]
pub mod raw;
mod refusal;
mod sys;
mod tcp_sockets;
#[cfg(feature = "fast-paths")]
mod tcx_rx;
mod tx_backlog;
mod udp;
mod underlay;
mod unix;
pub mod waiting;
#[cfg(feature = "fast-paths")]
mod xdp_tx;

use std::io;
use std::sync::Arc;

pub use card::{CardSettings, Moderation};
pub use chains::{ChainHook, DeviceChain, device_chains};
pub use device_state::{DeviceState, device_of_socket, device_states};
pub use filter::{PortFilter, RouterFilter};
pub use framing::Framing;
#[cfg(feature = "testing")]
pub use idle_machine::assume_idle_machine;
pub use interface::{
    Interface, explain_open, interfaces, list_interfaces, local_node, named_interfaces, own_addrs,
};
pub use ip_address::{IpAddress, ip_addresses};
#[cfg(any(test, feature = "testing"))]
pub use limited_device::LimitedDevice;
pub use link_states::{LinkState, LinkStates};
pub use managed::Managed;
#[cfg(not(feature = "fast-paths"))]
pub use no_fast_paths::{TcxRx, XdpTx};
pub use packet::PacketDevice;
#[cfg(any(test, feature = "testing"))]
pub use pipe::PipeDevice;
pub use qdiscs::devices_with_filters;
pub use refusal::{Refusal, RefusalCounts};
pub use sys::bpf::{FrameHook, FrameProgram, SharedWords};
pub use sys::ring::RingPeek;
pub use tcp_sockets::{TcpSocket, TcpState, tcp_sockets};
#[cfg(feature = "fast-paths")]
pub use tcx_rx::TcxRx;
pub use tx_backlog::TxBacklog;
pub use udp::{NodePort, NodePortDrops, QueuePeek, UdpCounters, UdpDevice, UdpMtu};
pub use underlay::{Packets, Take, Underlay};
pub use unix::UnixDevice;
#[cfg(feature = "fast-paths")]
pub use xdp_tx::XdpTx;

/// What became of a batch.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Sent {
    /// Frames the device took, or lost by itself: both are gone.
    pub done: usize,
    /// Of those, frames the device is known to have lost.
    pub lost: usize,
    /// What the kernel says of the frame after those, which it does not send: that is gone, too.
    pub refused: Option<Refusal>,
    /// The device takes no more at the moment.
    pub full: bool,
}

impl Sent {
    /// Frames that are gone: sent, or refused for good.
    pub fn gone(&self) -> usize {
        self.done + usize::from(self.refused.is_some())
    }
}

/// What a device has received.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Received {
    /// Frames, frames for other machines that are not shown included.
    pub frames: u32,
    /// Frames lost for want of room since the call before.
    pub lost: u32,
}

/// How to find out without a lock whether a frame waits.
#[derive(Clone, Debug)]
pub enum Peek {
    /// A read of shared memory.
    Ring(RingPeek),
    /// A system call tells how much waits.
    Queue(QueuePeek),
    /// Only a system call would tell.
    Unknown,
}

/// What frames are lent to.
pub type Borrow<'b> = dyn FnMut(&mut dyn Iterator<Item = &[u8]>) + 'b;

/// A device of the kernel's that carries Ethernet frames: it can be told which ones to pass, may go
/// and come back, and has paths past its socket.
pub trait KernelDevice {
    /// Asks for the frames `filter` passes and no others.
    ///
    /// # Errors
    /// The kernel refused the filter.
    fn set_filter(&self, filter: &PortFilter) -> io::Result<()>;

    /// Asks for the frames a router wants.
    ///
    /// # Errors
    /// The kernel refused the filter.
    fn set_router_filter(&self, filter: &RouterFilter) -> io::Result<()>;

    /// The kernel's number of the device that it is on; none while that is not there: removed,
    /// taken to another network namespace, or not made yet.
    fn index(&self) -> Option<u32>;

    /// Goes to the device with this number, since the one that it was on is not there; whether it
    /// could.
    fn rebind(&self, index: u32) -> bool;

    /// Lends up to `max` received frames to `borrow`, all at the same time and in the memory they
    /// came to, for a router that passes them on from there. Those that `borrow` has taken out of
    /// its iterator are gone then. None from a device that shares no memory with the kernel.
    ///
    /// # Errors
    /// The device is gone for good.
    fn lend(&mut self, max: usize, borrow: &mut Borrow<'_>) -> io::Result<Option<Received>>;

    /// Its fast paths, for a thread to service; none in a build without them.
    fn fast_paths(&self) -> Vec<Arc<dyn Managed>> {
        #[cfg(feature = "fast-paths")]
        {
            let xdp_tx = self.xdp_tx().map(|xdp_tx| xdp_tx.clone() as Arc<dyn Managed>);
            xdp_tx.into_iter().chain([self.tcx_rx().clone() as Arc<dyn Managed>]).collect()
        }
        #[cfg(not(feature = "fast-paths"))]
        Vec::new()
    }

    /// Frames of other VLANs than that of the socket, which no VLAN of prphosts is for, that came
    /// since the last call and were not taken. A socket without a VLAN does not see them.
    fn take_other_vlan(&self) -> u64 {
        0
    }

    /// The AF_XDP send path of the device.
    fn xdp_tx(&self) -> Option<&Arc<XdpTx>>;

    /// Where frames may come in past its socket, while a thread polls for them.
    fn tcx_rx(&self) -> &Arc<TcxRx>;

    /// Frames that took the AF_XDP send path since the last call.
    fn take_xdp_tx(&self) -> u64 {
        self.xdp_tx().map_or(0, |xdp_tx| xdp_tx.take_count())
    }

    /// Frames that came in by the tcx receive path since the last call.
    fn take_tcx_rx(&self) -> u64 {
        self.tcx_rx().take_count()
    }
}
