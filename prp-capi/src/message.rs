//! Messages.

use std::io::{self, ErrorKind};

use crate::error_number::{self, explained, invalid};
use crate::stream::Stream;
use crate::sys::export as names;
use crate::sys::memory::Memory;

/// Room for the first part of a message of unknown size: most are smaller.
const FIRST_ROOM: usize = 4096;

/// Whether the call that has failed with `error` may be made again.
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

impl Stream {
    /// Receives a message, or as much of it as `buffer` has room for, with one of `PRP_MESSAGE_*`.
    pub(crate) fn recv_message(&self, buffer: &mut [u8]) -> io::Result<(usize, i32)> {
        if buffer.is_empty() {
            return Err(invalid("no room for a message"));
        }
        let mut filled = self.take_begun(buffer);
        while filled < buffer.len() {
            match self.stream.recv_message_part(&mut buffer[filled..]) {
                Ok(Some(part)) => {
                    filled += part.len;
                    if part.end {
                        return Ok((filled, names::PRP_MESSAGE_END));
                    }
                }
                Ok(None) if filled == 0 => return Ok((0, names::PRP_MESSAGE_NONE)),
                // The next call returns the end again, or goes on.
                Ok(None) => break,
                Err(e) if filled > 0 && is_passing(&e) => break,
                // It is told once: after it the stream would seem to have ended.
                Err(e) => {
                    self.keep_begun(&buffer[..filled])?;
                    return Err(e);
                }
            }
        }
        Ok((filled, names::PRP_MESSAGE_PART))
    }

    /// Receives a whole message; none at the end of the stream. What has come of it is kept for the
    /// next call if it gives up while more may come.
    pub(crate) fn recv_message_new(&self) -> io::Result<Option<Memory>> {
        let limit = self.settings.lock().max_message;
        let begun = self.begun.lock().take();
        let mut message = begun.map_or_else(|| Memory::new(FIRST_ROOM.min(limit)), Ok)?;
        message.close_up();
        match self.fill_message(&mut message, limit) {
            Ok(true) => Ok(Some(message)),
            Ok(false) => Ok(None),
            Err(e) => {
                let is_over = matches!(error_number::of(&e), libc::EMSGSIZE | libc::ENODATA);
                if message.len() > 0 && !is_over {
                    *self.begun.lock() = Some(message);
                }
                Err(e)
            }
        }
    }

    /// Keeps `bytes`, which have come for a call that gave up.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn keep_begun(&self, bytes: &[u8]) -> io::Result<()> {
        if !bytes.is_empty() {
            *self.begun.lock() = Some(Memory::copy(bytes)?);
        }
        Ok(())
    }

    /// Copies what had come for a call that gave up into `room`, and takes it; how many bytes.
    pub(crate) fn take_begun(&self, room: &mut [u8]) -> usize {
        let mut begun = self.begun.lock();
        let Some(message) = begun.as_mut() else { return 0 };
        let taken = message.take_front(room);
        if message.len() == 0 {
            *begun = None;
        }
        taken
    }

    /// Appends to `message` up to its end; `false` at the end of the stream.
    fn fill_message(&self, message: &mut Memory, limit: usize) -> io::Result<bool> {
        loop {
            if message.room().is_empty() {
                if message.len() >= limit {
                    // Only its end may still be to come.
                    match self.stream.recv_message_part(&mut [])? {
                        Some(part) if part.end => return Ok(true),
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
                        return Ok(true);
                    }
                }
                Ok(None) if message.len() == 0 => return Ok(false),
                Ok(None) => {
                    return Err(explained(libc::ENODATA, "the stream ended within a message"));
                }
                Err(e) => return Err(e),
            }
        }
    }
}
