//! What the application asks of a connection.

use super::Connection;
use crate::buffer::{Ending, MessagePart};
use crate::error::{ConnError, ReadError, WriteError};
use crate::state::{ReceiveSide, State};
use crate::transmit::Path;

impl Connection {
    /// Takes what fits of `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8], ending: Ending) -> Result<usize, WriteError> {
        self.admit(bytes.len(), ending)?;
        // Nothing gets before what is lent.
        if self.send.buf.is_lent() {
            return Err(WriteError::Blocked);
        }
        let written = self.send.write(bytes, ending).map_err(|_| WriteError::NoMemory);
        self.starved = !self.send.buf.has_worthwhile_room();
        written
    }

    /// As [`Self::write`], of `len` bytes that stay with the writer until [`Self::end_borrow`].
    pub(crate) fn write_borrowed(
        &mut self,
        len: usize,
        ending: Ending,
    ) -> Result<usize, WriteError> {
        self.admit(len, ending)?;
        let lent = self.send.write_borrowed(len, ending).map_err(|_| WriteError::NoMemory);
        self.starved = !self.send.buf.has_worthwhile_room();
        lent
    }

    /// Bytes that belong to no segment yet.
    pub(crate) fn unsent(&self) -> u64 {
        self.send.buf.unsent()
    }

    /// Takes what is lent and still needed: the end of `bytes`, which were lent.
    pub(crate) fn end_borrow(&mut self, bytes: &[u8]) {
        self.send.buf.end_borrow(bytes);
    }

    /// Whether something of `len` bytes may be written.
    fn admit(&mut self, len: usize, ending: Ending) -> Result<(), WriteError> {
        if self.peer_left && self.state.can_send() {
            self.fail(ConnError::PeerClosed);
        }
        if let Some(error) = self.take_error() {
            return Err(WriteError::Conn(error));
        }
        match self.state {
            State::ConnWait => return Err(WriteError::Blocked),
            state if state.can_send() => {}
            _ => return Err(WriteError::Closed),
        }
        let takes_room = len > 0 || ending == Ending::Message;
        if self.send.buf.room() == 0 && takes_room {
            return Err(WriteError::Blocked);
        }
        Ok(())
    }

    /// Says that the rest of an unfinished write does not follow at once.
    pub(crate) fn finish_write(&mut self) {
        self.send.buf.finish_write();
    }

    /// Bytes that can be written at once; `None` once writing fails or would.
    pub(crate) fn writable(&self) -> Option<usize> {
        self.state.can_send().then(|| self.send.buf.room())
    }

    /// Whether a writer that has waited should go on: there is room worth it, or writing would
    /// fail.
    pub(crate) fn should_wake_writer(&self) -> bool {
        !self.state.can_send() || self.send.buf.has_worthwhile_room()
    }

    /// As [`Self::flushed`]; if not, there will be an event when it is.
    pub(crate) fn await_flushed(&mut self) -> bool {
        self.flush_awaited = !self.flushed();
        !self.flush_awaited
    }

    /// Whether a read would return at once: of bytes, or of messages.
    pub(crate) fn readable(&self) -> bool {
        self.recv.buf.is_readable() || self.error.is_some() || self.has_ended()
    }

    /// Whether the peer has sent something that can be read, be it only its end.
    pub(crate) fn has_something_to_read(&self) -> bool {
        self.recv.buf.is_readable() || self.recv.ended
    }

    /// Whether nothing more can be read than what has come.
    pub(crate) fn has_ended(&self) -> bool {
        self.recv.shut
            || !matches!(
                self.state,
                State::ConnWait | State::Established { receive: ReceiveSide::Open, .. }
            )
    }

    /// Whether it ended with an error that the application was not told.
    pub(crate) const fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Whether it ended before the peer had acknowledged everything written.
    pub(crate) const fn has_lost_data(&self) -> bool {
        self.has_lost_data
    }

    /// Bytes that have come in order and were not read yet.
    pub(crate) fn unread(&self) -> usize {
        self.recv.buf.len()
    }

    /// Moves bytes to the reader; 0 is the end of the stream.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, ReadError> {
        let n = self.recv.buf.read(out);
        self.after_read(n, out.is_empty())
    }

    /// Copies bytes to the reader and keeps them.
    pub(crate) fn peek(&mut self, out: &mut [u8]) -> Result<usize, ReadError> {
        match self.recv.buf.peek(out) {
            0 if !out.is_empty() => self.no_bytes_to_read(),
            n => Ok(n),
        }
    }

    /// Moves bytes of the next message to the reader; `None` is the end of the stream.
    pub(crate) fn read_message(
        &mut self,
        out: &mut [u8],
    ) -> Result<Option<MessagePart>, ReadError> {
        match self.recv.buf.read_message(out) {
            Some(part) => {
                self.note_read();
                Ok(Some(part))
            }
            None => self.nothing_to_read().map(|()| None),
        }
    }

    /// Has `explain` make more of the error that the connection ended with, before the application
    /// is told.
    pub(crate) fn explain_error(&mut self, explain: impl FnOnce(ConnError, &Path) -> ConnError) {
        self.error = self.error.map(|error| explain(error, &self.path));
    }

    /// The error the connection ended with, once.
    pub(crate) fn take_error(&mut self) -> Option<ConnError> {
        match self.error {
            // A stream with a hole in it never becomes whole (paper section 2.2).
            Some(gap @ ConnError::Gap { .. }) => Some(gap),
            _ => self.error.take(),
        }
    }

    fn after_read(&mut self, n: usize, asked_for_none: bool) -> Result<usize, ReadError> {
        if n == 0 && !asked_for_none {
            return self.no_bytes_to_read();
        }
        self.note_read();
        Ok(n)
    }

    /// There are no bytes, for all that there are messages without any.
    fn no_bytes_to_read(&mut self) -> Result<usize, ReadError> {
        if self.recv.buf.pass_empty_messages() {
            self.note_read();
        }
        self.nothing_to_read().map(|()| 0)
    }

    /// The buffer is empty: end, error, or wait?
    fn nothing_to_read(&mut self) -> Result<(), ReadError> {
        if self.recv.ended {
            return Ok(());
        }
        if let Some(error) = self.take_error() {
            return Err(ReadError::Conn(error));
        }
        if self.has_ended() { Ok(()) } else { Err(ReadError::Blocked) }
    }
}
