//! Counters: what was moved, and what was dropped and why.

use core::hash::{Hash, Hasher};

use prp_key::Refusal;

use crate::reasons::drop_reasons;

drop_reasons! {
    /// Why a received frame went no further. Never an error to an application.
    #[non_exhaustive]
    enum DropReason;
    /// Dropped frames by reason.
    struct Drops;
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
    /// For another node, and this endpoint does not route.
    NotOurNode = "not_our_node",
    /// The source hardware address is not the one its source node is reached by.
    BadSource = "bad_source",
    /// For a port of another process.
    NotOurPort = "not_our_port",
    /// No connection with these ends.
    NoConnection = "no_connection",
    /// The CRC trailer is missing or wrong.
    BadCrc = "bad_crc",
    /// Options, control or reset block that cannot be read.
    Malformed = "malformed",
    /// Flags that make no sense in this state.
    BadState = "bad_state",
    /// A connection id that is not ours.
    BadId = "bad_id",
    /// An acknowledgement of what was never sent.
    BadAck = "bad_ack",
    /// A segment that had arrived before.
    Duplicate = "duplicate",
    /// A segment after a gap, under a policy that keeps none.
    OutOfOrder = "out_of_order",
    /// A segment beyond what the window allows.
    OutOfWindow = "out_of_window",
    /// A segment longer than agreed.
    TooLong = "too_long",
    /// No memory or no room for it.
    NoBuffer = "no_buffer",
    /// A request to a full backlog.
    BacklogFull = "backlog_full",
    /// A request beyond what one peer may leave unconfirmed.
    PeerLimit = "peer_limit",
    /// A request that no listener serves.
    Refused = "refused",
    /// Data for a direction the application has closed.
    Closed = "closed",
    /// The cluster key's tag is wrong: no member made the frame, or it was changed in transit.
    BadTag = "bad_tag",
    /// A frame of a connection with a key that has come before, or is too old.
    Replayed = "replayed",
    /// It names a secret of the cluster, or keys of a connection, that this end does not have.
    UnknownKey = "unknown_key",
    /// Without a tag, or with less protection than this end asks for.
    Unsigned = "unsigned",
    /// A request of a new process, for which there is no budget of public-key work.
    KeyBusy = "busy",
}

impl Drops {
    /// The reasons that occurred, with their counts.
    pub fn occurred(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        self.iter().filter(|(_, n)| *n > 0)
    }
}

impl From<Refusal> for DropReason {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::BadTag => Self::BadTag,
            Refusal::Replayed => Self::Replayed,
            Refusal::UnknownKey => Self::UnknownKey,
            Refusal::Unsigned => Self::Unsigned,
            Refusal::Busy => Self::KeyBusy,
        }
    }
}

/// The named fields of `$stats` with their names; the others are named, too, so that a field that
/// is added must be put into one of the two lists.
macro_rules! named_counters {
    ($stats:ident; $($counter:ident),+; $($other:ident),*) => {{
        let Self { $($counter,)+ $($other: _,)* } = $stats;
        [$((stringify!($counter), *$counter)),+].into_iter()
    }};
}

/// Counters of one connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ConnStats {
    /// Data segments sent for the first time.
    pub segments_sent: u64,
    /// Payload bytes of those.
    pub bytes_sent: u64,
    /// Segments sent again.
    pub retransmitted: u64,
    /// Retransmissions the peer turned out not to need.
    pub spurious: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Data segments accepted, in order or kept.
    pub segments_received: u64,
    /// Payload bytes handed over in order.
    pub bytes_received: u64,
    /// Acknowledgement frames sent: those that rode on data are not in it.
    pub acks_sent: u64,
    /// Acknowledgement frames received.
    pub acks_received: u64,
    /// Times a segment that was there to be sent had to wait for room at the peer.
    pub blocked_by_peer_window: u64,
    /// Times a segment had to wait for room in the congestion window.
    pub blocked_by_congestion: u64,
    /// Times a segment had to wait for the congestion controller's pace.
    pub blocked_by_pace: u64,
    /// Times a segment had to wait because all connections to the same node together had as much
    /// in flight as they may have.
    pub blocked_by_share: u64,
    /// Times the end of a write, shorter than a segment, waited for the next write to join it.
    pub blocked_by_short_end: u64,
    /// Times small frames passed and full segments did not, so that smaller ones are sent.
    pub segment_reductions: u64,
    /// Frames for this connection that were dropped.
    pub drops: Drops,
}

impl ConnStats {
    /// Every counter but [`Self::drops`], by its name. Leaving one out does not compile.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        named_counters!(self; segments_sent, bytes_sent, retransmitted, spurious, timeouts,
            segments_received, bytes_received, acks_sent, acks_received, blocked_by_peer_window,
            blocked_by_congestion, blocked_by_pace, blocked_by_share, blocked_by_short_end,
            segment_reductions; drops)
    }
}

/// Counters decide nothing: connections that differ only in them are in the same state.
impl Hash for ConnStats {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Counters of an endpoint.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Frames given to the device.
    pub frames_sent: u64,
    /// Frames the device gave us.
    pub frames_received: u64,
    /// Connections that this end asked for and that were established.
    pub connected: u64,
    /// Connections that peers asked for and that were established.
    pub accepted: u64,
    /// Connections ended by RST, theirs or ours.
    pub resets: u64,
    /// RST frames sent in answer to frames without a connection.
    pub refusals_sent: u64,
    /// Times a connection had to advertise less than before, since all of them together had
    /// advertised much
    /// ([`EndpointConfig::receive_memory`](crate::config::EndpointConfig::receive_memory)).
    pub windows_limited: u64,
    /// Frames dropped.
    pub drops: Drops,
}

impl EndpointStats {
    /// Every counter but [`Self::drops`], by its name. Leaving one out does not compile.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        named_counters!(self; frames_sent, frames_received, connected, accepted, resets,
            refusals_sent, windows_limited; drops)
    }
}
