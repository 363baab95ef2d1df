//! Messages.

use std::io::{self, ErrorKind};

use crate::error_number::{explained, invalid};
use crate::stream::Stream;
use crate::sys::export as names;
use crate::sys::memory::Memory;

/// Room for the first part of a message of unknown size: most are smaller.
const FIRST_ROOM: usize = 4096;

impl Stream {
    /// Receives a message, or as much of it as `buffer` has room for, with one of `PRP_MESSAGE_*`.
    pub(crate) fn recv_message(&self, buffer: &mut [u8]) -> io::Result<(usize, i32)> {
        if buffer.is_empty() {
            return Err(invalid("no room for a message"));
        }
        let mut filled = 0;
        while filled < buffer.len() {
            match self.stream.recv_message_part(&mut buffer[filled..]) {
                Ok(Some(part)) => {
                    filled += part.len;
                    if part.end {
                        return Ok((filled, names::PRP_MESSAGE_END));
                    }
                }
                Ok(None) if filled == 0 => return Ok((0, names::PRP_MESSAGE_NONE)),
                Err(e) if filled == 0 => return Err(e),
                // The next call returns the end or the error again, or goes on.
                Ok(None) | Err(_) => break,
            }
        }
        Ok((filled, names::PRP_MESSAGE_PART))
    }

    /// Receives a whole message; none at the end of the stream.
    pub(crate) fn recv_message_new(&self) -> io::Result<Option<Memory>> {
        let limit = self.settings.lock().max_message;
        let mut message = Memory::new(FIRST_ROOM.min(limit))?;
        loop {
            if message.room().is_empty() {
                if message.len() == limit {
                    // Only its end may still be to come.
                    match self.stream.recv_message_part(&mut [])? {
                        Some(part) if part.end => return Ok(Some(message)),
                        _ => {
                            let text = format!("the message has more than {limit} bytes");
                            return Err(explained(libc::EMSGSIZE, text));
                        }
                    }
                }
                message.grow(limit)?;
            }
            match self.stream.recv_message_part(message.room()) {
                Ok(Some(part)) => {
                    message.fill(part.len);
                    if part.end {
                        return Ok(Some(message));
                    }
                }
                Ok(None) if message.len() == 0 => return Ok(None),
                Ok(None) => {
                    return Err(explained(libc::ENODATA, "the stream ended within a message"));
                }
                Err(e) if e.kind() == ErrorKind::Interrupted && message.len() > 0 => {}
                Err(e) => return Err(e),
            }
        }
    }
}
