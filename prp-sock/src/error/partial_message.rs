//! A message of which only a part was accepted.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};

/// The number of bytes that were accepted of a message which was cut short, inside the `io::Error`
/// of kind `WriteZero` that says so. The message has no end yet: the rest follows, as a message
/// ([`PrpStream::send_message`](crate::PrpStream::send_message)).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct PartialMessage {
    accepted: usize,
}

impl PartialMessage {
    pub(crate) const fn new(accepted: usize) -> Self {
        Self { accepted }
    }

    /// Returns what `error` says of a message that was cut short, if it says that.
    pub fn of(error: &io::Error) -> Option<&Self> {
        error.get_ref()?.downcast_ref()
    }

    /// Returns how many bytes of the message, from its first one on, were accepted; at least one,
    /// and not all.
    pub const fn accepted(&self) -> usize {
        self.accepted
    }
}

impl fmt::Display for PartialMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "only {} bytes of the message were accepted", self.accepted)
    }
}

impl Error for PartialMessage {}

impl From<PartialMessage> for io::Error {
    fn from(part: PartialMessage) -> Self {
        Self::new(ErrorKind::WriteZero, part)
    }
}
