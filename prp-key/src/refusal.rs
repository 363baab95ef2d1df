//! Why a frame is not taken.

use core::error::Error;
use core::fmt::{self, Display, Formatter};

/// Reasons to drop a frame (SPEC PRP-KEY-14).
#[derive(Copy, Clone, Debug, Eq, Hash, PartialEq)]
pub enum Refusal {
    /// It was not made by an end that has the key, or was changed in transit.
    BadTag,
    /// It has been here before, or is older than the replay window.
    Replayed,
    /// It names a key that this end does not have: of the cluster, or of a connection's past or
    /// future.
    UnknownKey,
    /// It has no tag, or offers less protection than this end asks for.
    Unsigned,
    /// A handshake needs public-key work, for which there is no budget now.
    Busy,
}

impl Refusal {
    /// Its name in counters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadTag => "bad_tag",
            Self::Replayed => "replayed",
            Self::UnknownKey => "unknown_key",
            Self::Unsigned => "unsigned",
            Self::Busy => "busy",
        }
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Error for Refusal {}
