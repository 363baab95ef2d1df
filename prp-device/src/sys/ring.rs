//! PACKET_RX_RING, TPACKET_V2: frames in memory shared with the kernel, no system call per frame.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use prp_proto::device::PacketRun;
use prp_proto::hosts::Tag;
use prp_proto::wire::ethernet_source;

use super::memory::SharedMemory;
use super::packet::set;
use super::prefetch::prefetch;
use crate::{Borrow, Take};

/// Bytes of a line of any processor's cache that this runs on, or half of one.
const CACHE_LINE: usize = 64;

/// Bytes that the kernel puts before a frame, with its alignment: the most it needs.
pub(crate) const BEFORE_FRAME: usize = 110;

/// Where in a slot the kernel says where a frame came from and where it goes: behind its header,
/// aligned (`TPACKET_ALIGNMENT`).
const ADDRESS_AT: usize = size_of::<libc::tpacket2_hdr>().next_multiple_of(16);

/// Blocks of a ring must be a multiple of a page: of the largest there are.
const PAGE: usize = 64 * 1024;

/// The slots, in memory shared with the kernel. The kernel and we hand them to each other through
/// their status words, which are only touched atomically; a slot's contents are only read by the
/// one `&mut RxRing`.
#[derive(Debug)]
struct Mapping {
    memory: SharedMemory,
    slot: usize,
    slots: u32,
    /// The slot the kernel fills next.
    next: AtomicU32,
}

impl Mapping {
    fn slot_at(&self, index: u32) -> NonNull<u8> {
        // SAFETY: `index` is below `slots` in every caller, so the offset lies inside the mapping.
        unsafe { self.memory.base().add(index as usize * self.slot) }
    }

    /// The word through which kernel and user hand the slot to each other.
    fn status(&self, index: u32) -> &AtomicU32 {
        // SAFETY: a slot starts with `tpacket2_hdr`, whose first field is the 32-bit status; slots
        // are whole cache lines in pages, so it is aligned. The kernel accesses it from outside, as
        // atomics allow.
        unsafe { self.slot_at(index).cast::<AtomicU32>().as_ref() }
    }

    /// Has the processor fetch the lines of slot `index` in which a small frame lies, all at once:
    /// they come from the processor that wrote them, and one after the other takes as long as
    /// handling the frame.
    fn fetch(&self, index: u32) {
        let slot = self.slot_at(index);
        // The first line has the status, and is here; a frame of 64 bytes ends in the third.
        for line in [64, 128] {
            // SAFETY: the slot is longer than that.
            prefetch(unsafe { slot.add(line) }.as_ptr());
        }
    }

    fn has_frame(&self) -> bool {
        let next = self.next.load(Ordering::Relaxed);
        let has_frame = self.status(next).load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0;
        if has_frame {
            self.fetch(next);
        }
        has_frame
    }
}

/// Says whether a frame waits, from any thread, without a system call or a lock.
#[derive(Clone, Debug)]
pub struct RingPeek(Arc<Mapping>);

impl RingPeek {
    /// Whether a frame waits; its first bytes are in transit to the thread that asks then.
    pub fn has_frame(&self) -> bool {
        self.0.has_frame()
    }

    /// Whether at least `frames` frames wait, or one if that is none.
    pub fn holds(&self, frames: u32) -> bool {
        let Mapping { slots, next, .. } = &*self.0;
        let last = (next.load(Ordering::Relaxed) + frames.clamp(1, *slots) - 1) % slots;
        self.0.status(last).load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0
    }

    /// Frames the ring holds.
    pub fn slots(&self) -> u32 {
        self.0.slots
    }

    /// Bytes of memory each has: those of the longest, and a few more.
    pub fn slot_bytes(&self) -> usize {
        self.0.slot
    }
}

/// The receiving ring of one packet socket.
#[derive(Debug)]
pub(crate) struct RxRing {
    map: Arc<Mapping>,
    /// Frames are shown that the kernel does not take for this machine's, too.
    shows_all: bool,
    /// The VLAN of the frames that are shown; without one those are shown that have no tag.
    vlan: Option<u16>,
    /// Frames of other VLANs, since this was last asked.
    other_vlan: AtomicU64,
}

impl RxRing {
    /// Gives the socket a ring of at least `slots` slots that hold frames of up to `frame` bytes,
    /// of `vlan` only if that is given.
    ///
    /// # Errors
    /// `ENOMEM` and the like; the socket then works without a ring.
    pub(crate) fn new(
        fd: BorrowedFd<'_>,
        frame: usize,
        slots: u32,
        vlan: Option<u16>,
    ) -> io::Result<Self> {
        // Whole cache lines, and no more: slots a power of two apart compete for the same part of a
        // cache.
        let slot = (frame + BEFORE_FRAME).next_multiple_of(CACHE_LINE).max(4 * CACHE_LINE);
        // All of them in one block, so that each lies right behind the one before.
        let block = (slot * slots as usize).next_multiple_of(PAGE);
        let slots = (block / slot) as u32;
        set(
            fd,
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &(libc::tpacket_versions::TPACKET_V2 as i32),
        )?;
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: 1,
            tp_frame_size: slot as u32,
            tp_frame_nr: slots,
        };
        set(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let memory = SharedMemory::map(fd, block);
        if memory.is_err() {
            // Or frames would go on into a ring that no thread reads.
            let none = libc::tpacket_req {
                tp_block_size: 0,
                tp_block_nr: 0,
                tp_frame_size: 0,
                tp_frame_nr: 0,
            };
            set(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &none)?;
        }
        let map = Arc::new(Mapping { memory: memory?, slot, slots, next: AtomicU32::new(0) });
        Ok(Self { map, shows_all: false, vlan, other_vlan: AtomicU64::new(0) })
    }

    /// Shows what the kernel does not take for this machine's as well, from now on.
    #[cfg(feature = "raw")]
    pub(crate) fn show_all(&mut self) {
        self.shows_all = true;
    }

    /// Frames of other VLANs that came since the last call.
    pub(crate) fn take_other_vlan(&self) -> u64 {
        self.other_vlan.swap(0, Ordering::Relaxed)
    }

    /// A hint for other threads.
    pub(crate) fn peek(&self) -> RingPeek {
        RingPeek(self.map.clone())
    }

    /// Hands up to `max` frames to `take`, in order of arrival, and gives their slots back. Says
    /// how many there were, those that are not shown included, and whether the kernel has had to
    /// drop frames.
    pub(crate) fn receive(&mut self, max: usize, take: &mut Take<'_>) -> (usize, bool) {
        let (mut frames, mut losing) = (0, false);
        while frames < max {
            let next = self.map.next.load(Ordering::Relaxed);
            let Some((slots, lost)) = self.show_run(next, max - frames, take) else { break };
            frames += slots;
            losing |= lost;
            for _ in 0..slots {
                self.give_back(self.map.next.load(Ordering::Relaxed));
            }
        }
        (frames, losing)
    }

    /// Hands the frame in slot `first` to `take`, with those of its sender and its length in the
    /// slots behind it; says how many slots those were, and one more whose frame is not shown.
    fn show_run(&self, first: u32, max: usize, take: &mut Take<'_>) -> Option<(usize, bool)> {
        let mut shown = None;
        let mut losing = self.show(first, |frame| shown = Some(frame))?;
        let Some(frame) = shown else { return Some((1, losing)) };
        let from = ethernet_source(frame);
        let max = max.min((self.map.slots - first) as usize);
        let (mut slots, mut hidden) = (1, 0);
        while slots < max {
            let mut shown = None;
            let Some(lost) = self.show(first + slots as u32, |frame| shown = Some(frame)) else {
                break;
            };
            let at = frame.as_ptr().wrapping_add(slots * self.map.slot);
            let is_like = |other: &[u8]| {
                other.as_ptr() == at && other.len() == frame.len() && ethernet_source(other) == from
            };
            if shown.is_some_and(|other| !is_like(other)) {
                break;
            }
            losing |= lost;
            if shown.is_none() {
                hidden = 1;
                break;
            }
            slots += 1;
        }
        let bytes = (slots - 1) * self.map.slot + frame.len();
        // SAFETY: from the first frame to the end of the last one, which was found at that distance
        // and has the same length, lie slots that are ours for as long as this borrow lives:
        // `give_back` wants `&mut self`.
        let memory = unsafe { std::slice::from_raw_parts(frame.as_ptr(), bytes) };
        take(from, PacketRun::new(memory, frame.len(), self.map.slot));
        Some((slots + hidden, losing))
    }

    /// Lends up to `max` frames to `borrow`, in order of arrival and where they are, and gives the
    /// slots of those that it has taken back. Says as much as [`Self::receive`].
    pub(crate) fn lend(&mut self, max: usize, borrow: &mut Borrow<'_>) -> (usize, bool) {
        let first = self.map.next.load(Ordering::Relaxed);
        let max = max.min(self.map.slots as usize);
        let mut lent = Lent { ring: self, next: first, frames: 0, max, losing: false };
        borrow(&mut lent);
        let Lent { frames, losing, .. } = lent;
        for _ in 0..frames {
            self.give_back(self.map.next.load(Ordering::Relaxed));
        }
        (frames, losing)
    }

    /// Shows the frame in slot `index`, if it has one, to `take`; whether the kernel has had to
    /// drop others.
    fn show<'a>(&'a self, index: u32, take: impl FnOnce(&'a [u8])) -> Option<bool> {
        let bits = self.filled(index)?;
        // A tag is said here only where the socket is for all EtherTypes, as that of a VLAN is:
        // `filter` tells of the others.
        let is_tagged = bits & libc::TP_STATUS_VLAN_VALID != 0;
        let is_of_vlan = match self.vlan {
            None => !is_tagged,
            Some(vlan) => is_tagged && self.is_of_vlan(index, vlan),
        };
        if is_of_vlan && (self.shows_all || self.is_for_us(index)) {
            take(self.frame(index));
        }
        Some(bits & libc::TP_STATUS_LOSING != 0)
    }

    /// The status of slot `index`, if it has a frame, which is ours then.
    fn filled(&self, index: u32) -> Option<u32> {
        // Acquire: what the kernel wrote into the slot before it set the bit is visible after this.
        let bits = self.map.status(index).load(Ordering::Acquire);
        (bits & libc::TP_STATUS_USER != 0).then_some(bits)
    }

    /// Gives slot `index`, the first one, back to the kernel.
    fn give_back(&mut self, index: u32) {
        // Release: our reads of the slot end before the kernel may write to it again.
        self.map.status(index).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.map.next.store(self.after(index), Ordering::Relaxed);
    }

    /// The slot after `index`.
    fn after(&self, index: u32) -> u32 {
        if index + 1 == self.map.slots { 0 } else { index + 1 }
    }

    /// Whether the kernel takes the frame in slot `index`, which is ours, for one of this
    /// machine's. It says so in the line that has the status, so that this costs less than a
    /// filter.
    fn is_for_us(&self, index: u32) -> bool {
        let slot = self.map.slot_at(index);
        // SAFETY: a slot is four cache lines long at least.
        let address = unsafe { slot.add(ADDRESS_AT) };
        // SAFETY: the slot is ours (status has TP_STATUS_USER), and has a `sockaddr_ll` there, for
        // which it is aligned; the kernel does not write to it until the status goes back.
        let address = unsafe { address.cast::<libc::sockaddr_ll>().as_ref() };
        address.sll_pkttype == libc::PACKET_HOST
    }

    /// Whether the frame in slot `index`, which is ours and had a tag, is of `vlan`; counts it if
    /// it is of another one.
    fn is_of_vlan(&self, index: u32, vlan: u16) -> bool {
        let of = Tag::of(self.header(index).tp_vlan_tci).vlan();
        if of != Some(vlan) && of.is_some() {
            self.other_vlan.fetch_add(1, Ordering::Relaxed);
        }
        of == Some(vlan)
    }

    /// What the kernel says of the frame in slot `index`, which is ours.
    fn header(&self, index: u32) -> &libc::tpacket2_hdr {
        let slot = self.map.slot_at(index);
        // SAFETY: the slot is ours (status has TP_STATUS_USER), starts with a `tpacket2_hdr` and is
        // aligned for it; the kernel does not write to it until the status goes back.
        unsafe { slot.cast::<libc::tpacket2_hdr>().as_ref() }
    }

    /// The frame in slot `index`, which is ours.
    fn frame(&self, index: u32) -> &[u8] {
        let slot = self.map.slot_at(index);
        let header = self.header(index);
        let offset = usize::from(header.tp_mac).min(self.map.slot);
        let len = (header.tp_snaplen as usize).min(self.map.slot - offset);
        // SAFETY: `offset + len` is at most the slot's size, so the range lies inside the slot,
        // which is ours for as long as this borrow lives: `give_back` wants `&mut self`.
        unsafe { std::slice::from_raw_parts(slot.as_ptr().add(offset), len) }
    }
}

/// Frames that are lent.
struct Lent<'a> {
    ring: &'a RxRing,
    /// The slot of the next one.
    next: u32,
    /// Those that were taken, those that are not shown included.
    frames: usize,
    max: usize,
    losing: bool,
}

impl<'a> Iterator for Lent<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut shown = None;
        while shown.is_none() && self.frames < self.max {
            self.losing |= self.ring.show(self.next, |frame| shown = Some(frame))?;
            self.next = self.ring.after(self.next);
            self.frames += 1;
        }
        shown
    }
}
