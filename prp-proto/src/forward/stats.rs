//! What a router has moved, and what it dropped and why.

use prp_key::Refusal;

use crate::reasons::drop_reasons;

drop_reasons! {
    /// Why a router drops a frame (SPEC PRP-FWD-5).
    enum ForwardDrop;
    /// Dropped frames by reason.
    struct ForwardDrops;
    /// Shorter than the headers.
    Truncated = "truncated",
    /// Another EtherType, or a VLAN tag in front of ours.
    EtherType = "ethertype",
    /// A reserved node number.
    BadNode = "bad_node",
    /// `length` points past the end.
    BadLength = "bad_length",
    /// Sent to another hardware address.
    NotOurMac = "not_our_mac",
    /// The source hardware address is none by which its source node is reached.
    BadSource = "bad_source",
    /// It has crossed as many routers as it may.
    HopLimit = "hop_limit",
    /// prphosts has no route to its destination.
    NoRoute = "no_route",
    /// All next hops to its destination are down.
    AllDown = "all_down",
    /// Larger than what the next link takes.
    TooBig = "too_big",
    /// It says something to this router, and the cluster key's tag is wrong.
    BadTag = "bad_tag",
    /// It says something to this router that has been said before.
    Replayed = "replayed",
    /// It says something to this router, signed with a secret that this router does not have.
    UnknownKey = "unknown_key",
    /// It says something to this router without the cluster's key.
    Unsigned = "unsigned",
    /// The next link's queue was full, or the link lost it.
    SendFailed = "send_failed",
}

impl From<Refusal> for ForwardDrop {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::BadTag => Self::BadTag,
            Refusal::Replayed => Self::Replayed,
            Refusal::UnknownKey => Self::UnknownKey,
            // A router has no handshakes.
            Refusal::Unsigned | Refusal::Busy => Self::Unsigned,
        }
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
