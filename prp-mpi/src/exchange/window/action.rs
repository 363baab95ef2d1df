//! What ranks ask each other for, as the tags of messages say it.

use super::fence::Epoch;

/// What one rank asks another one for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Action {
    /// To combine elements of its window with others.
    Update,
    /// The same, and to send what they were before.
    Fetch,
    /// To send an element, and to replace it if it is as is said.
    CompareAndSwap,
    /// Here is what was asked for.
    Answer,
    /// To be one of those that have locked its window.
    LockShared,
    /// To be the only one.
    LockExclusive,
    /// To give the lock back, once all is done that was asked for before.
    Unlock,
    /// To say when that is done.
    Flush,
    /// To know that the window of the rank that asks may be used.
    Post,
    /// To know that the rank that asks has used the window.
    Complete,
    /// To know how often the rank that asks has asked for something since the last fence.
    Fence,
}

impl Action {
    const ALL: [Self; 11] = [
        Self::Update,
        Self::Fetch,
        Self::CompareAndSwap,
        Self::Answer,
        Self::LockShared,
        Self::LockExclusive,
        Self::Unlock,
        Self::Flush,
        Self::Post,
        Self::Complete,
        Self::Fence,
    ];

    /// The tag that a message has which asks for this between two fences.
    pub(super) const fn tag(self, epoch: Epoch) -> i32 {
        self as i32 | (epoch as i32) << EPOCH_BIT
    }

    pub(super) fn from_tag(tag: i32) -> Option<(Self, Epoch)> {
        let action = Self::ALL.get(usize::try_from(tag & !(1 << EPOCH_BIT)).ok()?)?;
        Some((*action, Epoch::from_bit(tag >> EPOCH_BIT)))
    }

    /// Whether this does something with elements of a window, and counts for fences.
    pub(super) const fn is_access(self) -> bool {
        matches!(self, Self::Update | Self::Fetch | Self::CompareAndSwap)
    }
}

/// Where the tag of a message says between which fences it was sent.
const EPOCH_BIT: u32 = 8;
