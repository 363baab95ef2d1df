//! Messages that are being sent on a channel.

use std::collections::VecDeque;
use std::io::{self, IoSlice};

use crate::request::RequestId;
use crate::sys::memory::Region;
use crate::sys::shared::SharedEnd;
use crate::wire::LONG_HEADER;

/// A message that is being sent.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) head: [u8; LONG_HEADER],
    pub(super) head_len: usize,
    /// The end of the message, where that comes first.
    pub(super) front: Region,
    pub(super) body: Region,
    pub(super) sent: usize,
    pub(super) request: Option<RequestId>,
    /// Its bytes were copied: the program does not wait for it.
    pub(super) is_copied: bool,
    /// Requests that are told when all of it has left, copied or not.
    pub(super) watchers: Vec<RequestId>,
}

impl Outgoing {
    /// Bytes with the header.
    pub(super) const fn len(&self) -> usize {
        self.head_len + self.front.len() + self.body.len()
    }

    /// Whether the body has to be packed.
    pub(super) fn is_spread(&self) -> bool {
        self.body.bytes().is_none()
    }

    /// Writes of a body that has to be packed, or of what is before it.
    pub(super) fn write_to(&self, end: &SharedEnd) -> io::Result<usize> {
        if let Some(head @ [_, ..]) = self.head[..self.head_len].get(self.sent..) {
            return end.write(&[IoSlice::new(head)]);
        }
        let at = self.sent - self.head_len;
        end.write_packed(self.body.len() - at, |offset, into| {
            self.body.read(at + offset, into);
        })
    }
}

/// The bytes to write next, as far as `bufs` has room for messages; how many pieces they are.
pub(super) fn gather<'a>(out: &'a VecDeque<Outgoing>, bufs: &mut [IoSlice<'a>]) -> usize {
    let mut filled = 0;
    let are_whole = out.iter().take(bufs.len() / 3).take_while(|message| !message.is_spread());
    for message in are_whole {
        let mut sent = message.sent;
        let head = &message.head[..message.head_len];
        let [front, body] = [&message.front, &message.body].map(|r| r.bytes());
        for piece in [head, front.unwrap_or_default(), body.unwrap_or_default()] {
            let skipped = sent.min(piece.len());
            sent -= skipped;
            if skipped < piece.len() {
                bufs[filled] = IoSlice::new(&piece[skipped..]);
                filled += 1;
            }
        }
    }
    filled
}
