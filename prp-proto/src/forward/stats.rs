//! What a router has moved, and what it dropped and why.

use core::fmt;
use core::ops::Index;

use crate::wire::FrameError;

/// Why a router drops a frame.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum ForwardDrop {
    /// Shorter than the headers.
    Truncated,
    /// Another EtherType, or a VLAN tag in front of ours.
    EtherType,
    /// A reserved node number.
    BadNode,
    /// `length` points past the end.
    BadLength,
    /// Sent to another hardware address.
    NotOurMac,
    /// The source hardware address is none by which its source node is reached.
    BadSource,
    /// It has crossed as many routers as it may.
    HopLimit,
    /// prphosts has no way to its destination.
    NoRoute,
    /// All next hops to its destination are down.
    AllDown,
    /// Larger than what the next link takes.
    TooBig,
    /// The next link's queue was full, or the link lost it.
    SendFailed,
}

impl ForwardDrop {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::Truncated,
        Self::EtherType,
        Self::BadNode,
        Self::BadLength,
        Self::NotOurMac,
        Self::BadSource,
        Self::HopLimit,
        Self::NoRoute,
        Self::AllDown,
        Self::TooBig,
        Self::SendFailed,
    ];

    /// Its name in statistics: stable, lower case, underscores.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Truncated => "truncated",
            Self::EtherType => "ethertype",
            Self::BadNode => "bad_node",
            Self::BadLength => "bad_length",
            Self::NotOurMac => "not_our_mac",
            Self::BadSource => "bad_source",
            Self::HopLimit => "hop_limit",
            Self::NoRoute => "no_route",
            Self::AllDown => "all_down",
            Self::TooBig => "too_big",
            Self::SendFailed => "send_failed",
        }
    }
}

impl From<FrameError> for ForwardDrop {
    fn from(e: FrameError) -> Self {
        match e {
            FrameError::Truncated => Self::Truncated,
            FrameError::EtherType => Self::EtherType,
            FrameError::Node => Self::BadNode,
            FrameError::Length => Self::BadLength,
        }
    }
}

impl fmt::Display for ForwardDrop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Dropped frames by reason.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct ForwardDrops([u64; ForwardDrop::ALL.len()]);

impl ForwardDrops {
    /// Counts one.
    pub fn count(&mut self, why: ForwardDrop) {
        self.0[why as usize] += 1;
    }

    /// All of them together.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Every reason with its count.
    pub fn iter(&self) -> impl Iterator<Item = (ForwardDrop, u64)> + '_ {
        ForwardDrop::ALL.iter().map(|why| (*why, self[*why]))
    }
}

impl Index<ForwardDrop> for ForwardDrops {
    type Output = u64;

    fn index(&self, why: ForwardDrop) -> &u64 {
        &self.0[why as usize]
    }
}

/// Counters of a router.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct ForwardStats {
    /// Frames sent on.
    pub frames: u64,
    /// Bytes of those, Ethernet headers included.
    pub bytes: u64,
    /// Frames for this node.
    pub local: u64,
    /// Frames dropped.
    pub drops: ForwardDrops,
}

impl ForwardStats {
    pub(super) fn forwarded(&mut self, bytes: usize) {
        self.frames += 1;
        self.bytes += bytes as u64;
    }

    /// A frame that was to go on did not leave after all.
    pub fn not_sent(&mut self, bytes: usize, why: ForwardDrop) {
        self.frames = self.frames.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes as u64);
        self.drops.count(why);
    }
}
