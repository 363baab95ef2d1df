//! Memory that a writer lends for the time of a call: what the peer has by the end of it is never
//! copied.

use super::Endpoint;
use crate::buffer::Ending;
use crate::connection::Connection;
use crate::error::WriteError;
use crate::event::ConnHandle;
use crate::time::Instant;

/// Bytes that are written to a connection and stay where they are until [`Endpoint::end_borrow`].
///
/// Frames are made from them meanwhile: have them made by [`Endpoint::poll_transmit_with`], hand
/// them to the device by [`Endpoint::frame_with_borrowed`], and write nothing else to the
/// connection.
#[derive(Debug)]
#[must_use = "the endpoint has to keep what is still needed of it"]
pub struct BorrowedWrite<'a> {
    conn: ConnHandle,
    bytes: &'a [u8],
    taken: usize,
}

impl<'a> BorrowedWrite<'a> {
    /// Nothing lent yet of `bytes`, which are to be written to `conn`.
    pub const fn new(conn: ConnHandle, bytes: &'a [u8]) -> Self {
        Self { conn, bytes, taken: 0 }
    }

    /// Bytes written.
    pub const fn taken(&self) -> usize {
        self.taken
    }

    /// What was lent to `conn`.
    fn to(&self, conn: ConnHandle) -> &'a [u8] {
        if conn == self.conn { &self.bytes[..self.taken] } else { &[] }
    }

    /// What of `lent`, if there is anything, was lent to `conn`.
    #[inline]
    pub(super) fn part_of(lent: Option<&Self>, conn: ConnHandle) -> &'a [u8] {
        lent.map_or(&[], |lent| lent.to(conn))
    }

    /// To whom what was lent, when the loan is over.
    fn end(self) -> (ConnHandle, &'a [u8]) {
        (self.conn, self.to(self.conn))
    }
}

impl Endpoint {
    /// As [`Self::write`], of what fits of the bytes of `lent` that were not written yet, without
    /// copying them.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write_borrowed(
        &mut self,
        now: Instant,
        lent: &mut BorrowedWrite<'_>,
        ending: Ending,
    ) -> Result<usize, WriteError> {
        let Some(c) = self.table.get_mut(lent.conn) else { return Err(WriteError::Closed) };
        let left = lent.bytes.len() - lent.taken;
        c.acquire_to_write(left, &mut self.pool);
        let written = c.write_borrowed(left, ending);
        lent.taken += written.as_ref().map_or(0, |n| *n);
        self.note_command(now, lent.conn);
        written
    }

    /// Bytes written to `conn` that were in no frame yet.
    pub fn unsent(&self, conn: ConnHandle) -> u64 {
        self.table.get(conn).map_or(0, Connection::unsent)
    }

    /// Ends the loan: copies what the peer may not have yet.
    pub fn end_borrow(&mut self, now: Instant, lent: BorrowedWrite<'_>) {
        let (conn, bytes) = lent.end();
        if let Some(c) = self.table.get_mut(conn) {
            c.end_borrow(bytes);
            self.settle(conn, now);
        }
    }
}
