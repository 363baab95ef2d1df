//! Fences: each rank tells the others how often it has asked them for something, and waits until
//! all is done that it was asked for. Nobody answers.

use super::Action;
use crate::channel::Channel;
use crate::exchange::Exchange;
use crate::sys::memory::Region;

/// What lies between two fences: each the other one than before and behind it. A rank that is
/// through a fence may ask another one for something that is not, but not beyond the next fence.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum Epoch {
    #[default]
    Even,
    Odd,
}

impl Epoch {
    pub(super) const fn from_bit(bit: i32) -> Self {
        if bit & 1 == 0 { Self::Even } else { Self::Odd }
    }

    pub(super) const fn next(self) -> Self {
        Self::from_bit(self as i32 + 1)
    }
}

/// What other ranks have done before a fence. They may have asked for so much only before it is
/// done that these numbers may begin again.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Fence {
    /// How often something was done here that was asked for.
    done: u32,
    /// How often it was asked for, as far as is known.
    expected: u32,
    /// Ranks of which that is known.
    told: usize,
}

impl Fence {
    pub(super) const fn note_done(&mut self) {
        self.done = self.done.wrapping_add(1);
    }

    /// A rank has told how often it has asked.
    pub(super) const fn note_told(&mut self, count: u32) {
        self.expected = self.expected.wrapping_add(count);
        self.told += 1;
    }
}

impl Exchange {
    /// Begins a fence: how often this rank has asked each of these ranks of the world for something
    /// since the last one.
    pub fn begin_fence(&mut self, context: u64, ranks: &[usize]) -> Vec<u32> {
        let Some(window) = self.windows.all.get_mut(&context) else { return vec![0; ranks.len()] };
        window.epoch = window.epoch.next();
        let asked = |rank| window.asked.get(rank).copied().unwrap_or(0);
        let counts = ranks.iter().map(asked).collect();
        window.asked.clear();
        counts
    }

    /// Tells each of these ranks of the world how often this one has asked it for something before
    /// the fence that has begun.
    pub fn tell_counts(&mut self, context: u64, ranks: &[usize], counts: &[u32]) {
        for (&to, &count) in ranks.iter().zip(counts) {
            self.put_to(to, context, Action::Fence, count, (Vec::new(), Region::owned(0)), None);
        }
    }

    /// All `ranks` together have asked this one so often for something before the fence that has
    /// begun.
    pub fn note_counts(&mut self, context: u64, ranks: usize, count: u32) {
        if let Some(window) = self.windows.all.get_mut(&context) {
            let fence = &mut window.fences[window.epoch.next() as usize];
            *fence = Fence { expected: count, told: ranks, ..*fence };
        }
    }

    /// Ends a fence of so many `ranks`, if all is done that they have asked this one for before it,
    /// and all that this one has asked for, which is something of each of `asked`.
    pub fn end_fence(&mut self, context: u64, ranks: usize, asked: &[usize]) -> Option<()> {
        // The bytes of a message that is not out yet may be the program's.
        let is_out = |rank: &usize| {
            self.channels.get(*rank).and_then(Option::as_ref).is_none_or(Channel::has_sent_accesses)
        };
        let window = self.windows.all.get_mut(&context)?;
        let fence = &mut window.fences[window.epoch.next() as usize];
        let are_done = fence.told == ranks && fence.done == fence.expected;
        if !are_done || window.unanswered > 0 || !asked.iter().all(is_out) {
            return None;
        }
        *fence = Fence::default();
        Some(())
    }
}
