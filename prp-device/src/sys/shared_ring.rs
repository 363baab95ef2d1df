//! Slots of frames in memory that a program in the kernel fills and this process empties.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use prp_proto::device::PacketRun;
use prp_proto::wire::ethernet_source;

use super::bpf::SharedWords;
use super::prefetch::prefetch;
use crate::Take;

const WORD: usize = size_of::<AtomicU64>();

/// The bits of a slot's first word that have the length.
const LENGTH: u64 = (1 << Layout::GENERATION) - 1;

/// Words of a cache line: what the two sides write to is apart.
pub(crate) const LINE: usize = 64 / WORD;

/// Where the memory has what, in words.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Layout {
    /// Slots, a power of two.
    pub(crate) slots: usize,
    /// Words of one: the first says what it has, and the frame lies in the others.
    pub(crate) slot: usize,
}

impl Layout {
    /// Not 0 while frames are to go here.
    pub(crate) const ENABLED: usize = 0;
    /// Slots that have been filled so far, each lap.
    pub(crate) const FILLED: usize = LINE;
    /// The end of the slots that may be filled: those emptied when the program that fills them read
    /// the count last, plus all slots.
    pub(crate) const LIMIT: usize = LINE + 1;
    /// Slots that have been emptied.
    pub(crate) const CONSUMED: usize = 2 * LINE;
    /// A bit for each port.
    pub(crate) const PORTS: usize = 3 * LINE;
    /// Words of those.
    pub(crate) const PORT_WORDS: usize = (1 << 16) / 64;
    /// The slots, behind each other, from the first line of a pair on: lines come in pairs where a
    /// processor asks for both at once.
    pub(crate) const SLOTS: usize = (Self::PORTS + Self::PORT_WORDS).next_multiple_of(2 * LINE);

    /// A slot's first word says, from this bit on, for which generation it was filled, from 1 on,
    /// and below that how long the frame is. So while it is enabled only the program that fills it
    /// writes to a slot, and that program need not have its line back from the reader's cache only
    /// to see whether it is free.
    pub(crate) const GENERATION: u32 = 32;
    /// A slot's first word if the frame has gone elsewhere, or is taken.
    pub(crate) const VOID: u64 = 0;

    /// For `slots` frames of up to `frame` bytes.
    pub(crate) const fn new(slots: usize, frame: usize) -> Self {
        // Whole pairs of lines, and an odd number of them: slots a power of two apart compete for
        // the same part of a cache.
        let pairs = (WORD + frame).div_ceil(2 * LINE * WORD) | 1;
        Self { slots: slots.next_power_of_two(), slot: pairs * 2 * LINE }
    }

    /// Bytes of the longest frame.
    pub(crate) const fn frame(self) -> usize {
        (self.slot - 1) * WORD
    }

    const fn words(self) -> usize {
        Self::SLOTS + self.slots * self.slot
    }

    /// Where the slot is that is filled after `count` others.
    const fn slot_at(self, count: u64) -> usize {
        Self::SLOTS + (count as usize & (self.slots - 1)) * self.slot
    }

    /// Slots from that one on to the last in memory.
    const fn slots_from(self, count: u64) -> usize {
        self.slots - (count as usize & (self.slots - 1))
    }

    /// How often slots are `filled` once that slot is: 1 in the first lap.
    const fn generation(self, count: u64) -> u64 {
        (count >> self.slots.trailing_zeros()) + 1
    }
}

/// The slots, and what says which frames go there.
#[derive(Debug)]
pub(crate) struct SharedRing {
    words: SharedWords,
    layout: Layout,
}

impl SharedRing {
    /// # Errors
    /// `PermissionDenied` without CAP_BPF, `OutOfMemory`.
    pub(crate) fn new(layout: Layout) -> io::Result<Self> {
        let words = SharedWords::new("prp_tcx_rx", layout.words())?;
        Ok(Self { words, layout })
    }

    /// Where it has what.
    pub(crate) const fn layout(&self) -> Layout {
        self.layout
    }

    /// The descriptor by which a program names this memory when it is loaded.
    pub(crate) fn number(&self) -> RawFd {
        self.words.number()
    }

    /// The 64 ports from `64 * at` on, a bit for each that is ours.
    pub(crate) fn set_ports(&self, at: usize, ports: u64) {
        self.words.words()[Layout::PORTS + at].store(ports, Ordering::Relaxed);
    }

    /// Whether frames go here.
    pub(crate) fn is_enabled(&self) -> bool {
        // Acquire: what the program showed before it closed the tcx receive path is visible after
        // this.
        self.words.words()[Layout::ENABLED].load(Ordering::Acquire) != 0
    }

    /// Has frames go here, or no longer. Once they do not, a frame that goes here all the same is
    /// in sight when this returns, or goes elsewhere as well.
    pub(crate) fn enable(&self, armed: bool) {
        self.words.words()[Layout::ENABLED].store(u64::from(armed), Ordering::Release);
        // The program fills a slot, and checks whether it is enabled then; we are to read the slot,
        // in this order.
        fence(Ordering::SeqCst);
    }

    /// Slots that were emptied. One thread at a time does that, under a lock; others read it for a
    /// hint.
    fn consumed(&self) -> &AtomicU64 {
        &self.words.words()[Layout::CONSUMED]
    }

    /// The length of the frame in the slot that is filled after `count` others, once it is.
    fn length(&self, count: u64, order: Ordering) -> Option<u64> {
        let word = self.words.words()[self.layout.slot_at(count)].load(order);
        (word >> Layout::GENERATION == self.layout.generation(count) & LENGTH)
            .then_some(word & LENGTH)
    }

    /// Whether there is nothing in it, and nothing about to be.
    pub(crate) fn is_empty(&self) -> bool {
        let filled = self.words.words()[Layout::FILLED].load(Ordering::Relaxed);
        filled == self.consumed().load(Ordering::Relaxed)
    }

    /// Whether a frame waits; its first bytes are in transit to the thread that asks then.
    pub(crate) fn has_frame(&self) -> bool {
        let next = self.consumed().load(Ordering::Relaxed);
        // Acquire: and so is what came to the socket before it.
        let has_frame = self.length(next, Ordering::Acquire).is_some();
        if has_frame {
            // A frame of 64 bytes ends in the second line.
            prefetch(std::ptr::from_ref(&self.words.words()[self.layout.slot_at(next) + LINE]));
        }
        has_frame
    }

    /// Whether at least `frames` frames wait, or one if that is none.
    pub(crate) fn holds(&self, frames: u32) -> bool {
        let last = frames.clamp(1, self.layout.slots as u32) - 1;
        let last = self.consumed().load(Ordering::Relaxed) + u64::from(last);
        self.length(last, Ordering::Relaxed).is_some()
    }

    /// Hands up to `max` frames to `take`, in order of arrival, and gives their slots back; how
    /// many there were. No other thread does so at the same time.
    pub(crate) fn empty(&self, max: usize, take: &mut Take<'_>) -> usize {
        let first = self.consumed().load(Ordering::Relaxed);
        let (mut next, mut taken) = (first, 0);
        // While it is enabled a frame that is in sight stays, but for the few instructions in which
        // another processor finds it full: that frame comes twice then.
        let contested = !self.is_enabled();
        // Acquire: what the kernel wrote into the slot before is visible after this.
        while taken < max
            && let Some(len) = self.length(next, Ordering::Acquire)
        {
            if len == Layout::VOID || (contested && !self.claim(next, len)) {
                next += 1;
                continue;
            }
            let from = ethernet_source(self.frames(next, 1, len));
            let most = (max - taken).min(self.layout.slots_from(next));
            let mut run = 1;
            while run < most
                && let at = next + run as u64
                && self.length(at, Ordering::Acquire) == Some(len)
                && ethernet_source(self.frames(at, 1, len)) == from
                && (!contested || self.claim(at, len))
            {
                run += 1;
            }
            let frames = self.frames(next, run, len);
            take(from, PacketRun::new(frames, len as usize, self.layout.slot * WORD));
            taken += run;
            next += run as u64;
        }
        if next != first {
            // Release: our reads of the slots end before the kernel may write to them again.
            self.consumed().store(next, Ordering::Release);
        }
        taken
    }

    /// Makes sure that the frame of `len` bytes in the slot that was filled after `count` others
    /// does not go elsewhere as well; whether it has not.
    fn claim(&self, count: u64, len: u64) -> bool {
        let generation = self.layout.generation(count) << Layout::GENERATION;
        let word = &self.words.words()[self.layout.slot_at(count)];
        let void = generation | Layout::VOID;
        word.compare_exchange(generation | len, void, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// The memory from the frame in the slot that was filled after `count` others to the end of the
    /// one in the last of `run` slots behind each other, all of `len` bytes.
    fn frames(&self, count: u64, run: usize, len: u64) -> &[u8] {
        let at = self.layout.slot_at(count) + 1;
        let slots = &self.words.words()[at..at + run * self.layout.slot - 1];
        let len = ((run - 1) * self.layout.slot * WORD + len as usize).min(size_of_val(slots));
        // SAFETY: `len` bytes lie inside `slots`, which are part of the mapping and live as long as
        // `self`. The program in the kernel writes a frame before its slot's first word says that
        // it is there, and nothing again before that slot counts as emptied, which only `empty`
        // says, behind the last use of this; `claim` writes to words outside before the first use.
        unsafe { std::slice::from_raw_parts(slots.as_ptr().cast(), len) }
    }
}
