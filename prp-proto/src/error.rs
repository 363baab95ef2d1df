//! Errors per operation. Nothing here comes from a bad frame: those are counted drops.

use core::fmt;
use core::time::Duration;

use crate::addr::NodeId;
use crate::seq::Seq;

/// Times under this are told in milliseconds, others in seconds with one digit after the point.
const MILLISECONDS_BELOW: Duration = Duration::from_millis(100);

/// Why a connection ended other than by both sides closing it.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
#[non_exhaustive]
pub enum ConnError {
    /// No process listens on the port we asked for.
    Refused,
    /// The peer gave the connection up, restarted, or no longer knows it.
    Reset,
    /// The peer had closed its side, and takes nothing any more.
    PeerClosed,
    /// A segment is missing and the policy is `detect` (paper section 2.2).
    Gap {
        /// The number that should have come.
        expected: Seq,
        /// The number that came.
        received: Seq,
    },
    /// The peer saw a gap in what we sent and the policy is `detect`.
    PeerGap,
    /// The peer did not answer in time.
    TimedOut {
        /// How long we waited.
        waited: Duration,
    },
    /// The peer answers, but segments of this size do not get through to it.
    TooLarge {
        /// How long we waited.
        waited: Duration,
        /// Bytes of the oldest segment that is not acknowledged.
        segment: u16,
    },
    /// This machine does not send what is for the peer (SPEC PRP-CONN-14).
    NotSent {
        /// The machine's own code for the reason.
        code: i32,
        /// How long we waited, if the reason was one that might have passed.
        waited: Option<Duration>,
    },
    /// No route to the node is known.
    NoRoute(NodeId),
    /// A router on the path to the node has no usable route on to it.
    NoOnwardRoute {
        /// The node asked for.
        node: NodeId,
        /// The router.
        router: NodeId,
    },
    /// The peer knows only the paper's header and the caller asked for more.
    ClassicPeer,
    /// Peer and caller share no reliability policy.
    NoCommonPolicy,
    /// This end gave it up.
    Aborted,
}

impl ConnError {
    /// The error without its numbers, in a word that programs can compare.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::PeerClosed => "peer_closed",
            Self::Gap { .. } => "lost_segment",
            Self::PeerGap => "peer_lost_segment",
            Self::TimedOut { .. } => "timed_out",
            Self::TooLarge { .. } => "too_large",
            Self::NotSent { .. } => "not_sent",
            Self::NoRoute(_) => "no_route",
            Self::NoOnwardRoute { .. } => "no_onward_route",
            Self::ClassicPeer => "classic_peer",
            Self::NoCommonPolicy => "no_common_policy",
            Self::Aborted => "aborted",
        }
    }
}

impl fmt::Display for ConnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("connection refused: no process listens on the port"),
            Self::Reset => f.write_str("connection reset by peer"),
            Self::PeerClosed => f.write_str("the peer has closed the connection"),
            Self::Gap { expected, received } => write!(
                f,
                "lost segment: expected number {expected}, received {received}; the policy is \
                 detect, which does not recover losses"
            ),
            Self::PeerGap => f.write_str(
                "the peer lost a segment; the policy is detect, which does not recover losses",
            ),
            Self::TimedOut { waited } if *waited < MILLISECONDS_BELOW => {
                write!(f, "no answer from the peer for {} ms", waited.as_millis())
            }
            Self::TimedOut { waited } => {
                write!(f, "no answer from the peer for {:.1} s", waited.as_secs_f64())
            }
            Self::TooLarge { waited, segment } => write!(
                f,
                "the peer answers, but segments of {segment} bytes have not got through to it for \
                 {:.1} s: a link on the path may have a smaller MTU; state that with mtu= in \
                 prphosts, at both ends",
                waited.as_secs_f64()
            ),
            Self::NotSent { code, waited } => {
                if let Some(waited) = waited {
                    write!(f, "no answer from the peer for {:.1} s; ", waited.as_secs_f64())?;
                }
                write!(f, "this machine does not send what is for it (error {code})")
            }
            Self::NoRoute(node) => write!(
                f,
                "no route to node {node}: prphosts has no route there by a device this machine has"
            ),
            Self::NoOnwardRoute { node, router } => write!(
                f,
                "node {router}, a router on the path to node {node}, has no route on to it that is \
                 up: `prp trace {node}` says why"
            ),
            Self::ClassicPeer => f.write_str(
                "the peer speaks only the classic protocol; allow classic peers or ask for detect",
            ),
            Self::NoCommonPolicy => f.write_str("no reliability policy in common with the peer"),
            Self::Aborted => f.write_str("connection aborted by this end"),
        }
    }
}

impl core::error::Error for ConnError {}

/// Why nothing was read.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ReadError {
    /// Nothing has come yet.
    Blocked,
    /// The connection is over.
    Conn(ConnError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked => f.write_str("nothing has come yet"),
            Self::Conn(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ReadError {}

/// Why nothing was written.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum WriteError {
    /// The send buffer is full.
    Blocked,
    /// This end has shut its sending direction, or the connection's error was already reported.
    Closed,
    /// No memory for the send buffer.
    NoMemory,
    /// The connection is over.
    Conn(ConnError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocked => f.write_str("the send buffer is full"),
            Self::Closed => f.write_str("this end has shut its sending direction"),
            Self::NoMemory => f.write_str("no memory for the send buffer"),
            Self::Conn(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for WriteError {}

/// Why no request could be made at all.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ConnectError {
    /// No route to the node is known.
    NoRoute(NodeId),
    /// The local and remote ends are those of a connection that exists.
    InUse,
    /// The device is too small to carry a segment.
    MtuTooSmall,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoute(node) => ConnError::NoRoute(*node).fmt(f),
            Self::InUse => f.write_str("a connection with these two addresses exists"),
            Self::MtuTooSmall => f.write_str("the device is too small to carry a segment"),
        }
    }
}

impl core::error::Error for ConnectError {}

/// Why a port cannot be listened on.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ListenError {
    /// A listener of this endpoint has the port already.
    InUse,
}

impl fmt::Display for ListenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this endpoint listens on the port already")
    }
}

impl core::error::Error for ListenError {}
