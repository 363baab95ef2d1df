//! The tcx receive path: while a process polls for frames and many come, a program in the kernel
//! (tcx, Linux 6.6) puts those for its ports into memory it shares, as soon as a device has them.
//!
//! No thread is woken by a frame that comes by this path. So it is only for a thread that polls,
//! spinning or at the end of a nap: one that is about to sleep until a frame comes has frames go to
//! the socket first ([`TcxRx::disable`]). They stay in order at every change: what has come by the
//! old path is handed out before what comes by the new one.

mod program;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use prp_proto::addr::{NodeId, Port};
use prp_proto::wire::ETHERNET_LEN;

use self::program::program;
use crate::fast_path::{FastPath, FastPathKind, Netdev};
use crate::packet::SocketRing;
use crate::sys::bpf::{FrameHook, FrameProgram};
use crate::sys::shared_ring::{Layout, SharedRing};
use crate::{Framing, Take, conflicts};

/// A flow may not pause: every frame that the device receives, whichever process or node it is for,
/// has to pass the program.
const MAX_FLOW_PAUSE: Duration = Duration::ZERO;

/// Bits of a word.
const BITS: u16 = 64;

/// A device that runs the program, as long as this lives.
#[derive(Debug)]
pub(super) struct AttachedProgram {
    _enabled: EnabledFlag,
    _hook: FrameHook,
}

/// Is down when this is dropped.
#[derive(Debug)]
struct EnabledFlag(Arc<AtomicBool>);

impl Drop for EnabledFlag {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// The tcx receive path of one device.
#[derive(Debug)]
pub struct TcxRx {
    fast_path: FastPath<AttachedProgram>,
    /// A device runs the program, or is about to: that takes effect long before the kernel says so.
    hooked: Arc<AtomicBool>,
    ethertype: u16,
    /// The program does not tell VLANs apart: it leaves frames with a tag to the sockets.
    has_vlan: bool,
    layout: Layout,
    node: OnceLock<NodeId>,
    /// A bit for each port that is ours.
    ports: Mutex<Vec<u64>>,
    /// Made for the first flow, and kept.
    slots: OnceLock<SharedRing>,
    /// A thread polls for frames.
    wanted: AtomicBool,
    /// Frames that have come before may still be in the socket's ring.
    draining_socket: AtomicBool,
}

impl TcxRx {
    /// That of the device with this number and MTU, for frames of `framing`, of which it holds
    /// `slots`. It stays closed where those are of a VLAN.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(index: u32, mtu: u32, framing: &Framing, slots: usize) -> io::Result<Self> {
        let mut ports = Vec::new();
        ports.try_reserve_exact(Layout::PORT_WORDS).map_err(|_| io::ErrorKind::OutOfMemory)?;
        ports.resize(Layout::PORT_WORDS, 0);
        Ok(Self {
            fast_path: FastPath::new(index, mtu, MAX_FLOW_PAUSE),
            hooked: Arc::default(),
            ethertype: framing.ethertype(),
            has_vlan: framing.tag().vlan().is_some(),
            layout: Layout::new(slots, mtu as usize + ETHERNET_LEN),
            node: OnceLock::new(),
            ports: Mutex::new(ports),
            slots: OnceLock::new(),
            wanted: AtomicBool::new(false),
            draining_socket: AtomicBool::new(false),
        })
    }

    /// The device has been made again, and has this number now.
    pub(super) fn rebind(&self, index: u32) {
        self.fast_path.rebind(index);
    }

    /// Whose frames these are. Without that it stays closed.
    pub(super) fn set_node(&self, node: NodeId) {
        let _ = self.node.set(node);
    }

    /// Whether frames for `these` are `ours`.
    pub fn own(&self, these: impl IntoIterator<Item = Port>, ours: bool) {
        let mut ports = self.ports.lock();
        for port in these {
            let (at, bit) = (usize::from(port.number() / BITS), 1 << (port.number() % BITS));
            let Some(word) = ports.get_mut(at) else { continue };
            *word = if ours { *word | bit } else { *word & !bit };
            if let Some(slots) = self.slots.get() {
                slots.set_ports(at, *word);
            }
        }
    }

    /// From now on a thread polls: frames may take this path, once all earlier ones are taken, as
    /// `seen` says.
    pub fn enable(&self, seen: bool) {
        self.wanted.store(true, Ordering::Relaxed);
        if seen
            && self.hooked.load(Ordering::Relaxed)
            && let Some(slots) = self.slots.get()
            && !slots.is_enabled()
            // The program closes it when it is full. What it holds has come before.
            && slots.is_empty()
        {
            self.draining_socket.store(true, Ordering::Relaxed);
            slots.enable(true);
        }
    }

    /// From now on no thread polls, and frames go to the socket; whether some wait here. While
    /// frames that came before these may still be in the socket's ring it stays open, for those
    /// that came after these would follow them there, and nothing tells the ones from the others.
    pub fn disable(&self) -> bool {
        self.wanted.store(false, Ordering::Relaxed);
        let Some(slots) = self.slots.get() else { return false };
        if self.draining_socket.load(Ordering::Relaxed) && slots.has_frame() {
            return true;
        }
        if slots.is_enabled() {
            slots.enable(false);
        }
        slots.has_frame()
    }

    /// Whether a frame waits; its first bytes are in transit to the thread that asks then.
    #[inline]
    pub fn has_frame(&self) -> bool {
        self.slots.get().is_some_and(SharedRing::has_frame)
    }

    /// Whether at least `frames` frames wait, or one if that is none.
    pub fn holds(&self, frames: u32) -> bool {
        self.slots.get().is_some_and(|slots| slots.holds(frames))
    }

    /// Hands up to `max` frames to `take`: what came by this path, and what came to the socket, of
    /// which `ring` hands over up to as many as it is told. How many there were. One thread at a
    /// time does this.
    pub(super) fn receive(
        &self,
        max: usize,
        take: &mut Take<'_>,
        ring: &mut SocketRing<'_>,
    ) -> io::Result<usize> {
        let frames = match self.slots.get() {
            Some(slots) => self.merge(slots, max, take, ring)?,
            None => ring(max, take)?,
        };
        // A process that sleeps between frames has no use for the tcx receive path.
        if frames > 0 && self.wanted.load(Ordering::Relaxed) {
            self.fast_path.note(frames);
        }
        Ok(frames)
    }

    /// As [`Self::receive`], from `slots` and `ring`, in order.
    fn merge(
        &self,
        slots: &SharedRing,
        max: usize,
        take: &mut Take<'_>,
        ring: &mut SocketRing<'_>,
    ) -> io::Result<usize> {
        let mut frames = 0;
        if self.draining_socket.load(Ordering::Relaxed) {
            // Since it was enabled none went to the socket but those that were in transit there,
            // unless it is closed again.
            if slots.is_enabled() && self.hooked.load(Ordering::Relaxed) {
                frames += ring(max, take)?;
                if frames == max || !slots.has_frame() {
                    return Ok(frames);
                }
                // Those before the first one here are in sight now, if any were not.
                frames += ring(max - frames, take)?;
            }
            self.draining_socket.store(frames == max, Ordering::Relaxed);
        }
        let here = slots.empty(max - frames, take);
        if here > 0 {
            self.fast_path.count(here);
        }
        frames += here;
        if frames < max {
            frames += ring(max - frames, take)?;
        }
        Ok(frames)
    }

    /// Frames that came by this path since the last call.
    pub(super) fn take_count(&self) -> u64 {
        self.fast_path.take_count()
    }

    /// The program, and the memory it needs.
    fn load(&self) -> io::Result<FrameProgram> {
        let Some(node) = self.node.get() else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let slots = match self.slots.get() {
            Some(slots) => slots,
            None => {
                let fresh = SharedRing::new(self.layout)?;
                let ports = self.ports.lock();
                ports.iter().enumerate().for_each(|(at, word)| fresh.set_ports(at, *word));
                // Nothing else makes any.
                self.slots.get_or_init(|| fresh)
            }
        };
        slots.enable(false);
        let text = program(self.ethertype, *node, slots.layout(), slots.number());
        FrameProgram::load("prp_tcx_rx", &text)
    }
}

impl FastPathKind for TcxRx {
    type Resource = AttachedProgram;

    fn fast_path(&self) -> &FastPath<AttachedProgram> {
        &self.fast_path
    }

    fn check(&self, netdev: &Netdev) -> io::Result<()> {
        if self.has_vlan {
            return Err(io::ErrorKind::Unsupported.into());
        }
        conflicts::ensure_no_ingress_hooks(netdev.index(), netdev.mtu)
    }

    /// Has the kernel put frames here.
    fn open(&self, netdev: &Netdev) -> io::Result<AttachedProgram> {
        let program = self.load()?;
        self.hooked.store(true, Ordering::Relaxed);
        let flag = EnabledFlag(self.hooked.clone());
        Ok(AttachedProgram { _enabled: flag, _hook: program.hook(netdev.index())? })
    }
}

#[cfg(test)]
mod tests;
