//! One application's use of one connection: it writes, closes, reads until the end, and lets go.

use prp_proto::endpoint::{Ending, Endpoint};
use prp_proto::error::{ConnError, ReadError};
use prp_proto::event::ConnHandle;
use prp_proto::state::State;
use prp_proto::time::Instant;

/// Bytes of the longest segment.
const SEGMENT: usize = u8::MAX as usize;

/// How it ended for the application.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub(super) enum Outcome {
    /// Everything said was acknowledged, everything that came was read to its end.
    Fine,
    /// An error.
    Failed(ConnError),
}

/// An application with a connection.
#[derive(Clone, Hash)]
pub(super) struct App {
    conn: ConnHandle,
    /// Marks what it writes: no two applications of a run have the same.
    pub(super) tag: u8,
    wrote: bool,
    shut: bool,
    ended: bool,
    /// The process that wrote what was read, and how many segments of it have come.
    pub(super) received: Option<(u8, u8)>,
    pub(super) outcome: Option<Outcome>,
}

impl App {
    pub(super) fn new(conn: ConnHandle, node: usize, incarnation: u8, index: usize) -> Self {
        let tag = (node as u8 + 1) << 6 | incarnation << 4 | index as u8;
        Self { conn, tag, wrote: false, shut: false, ended: false, received: None, outcome: None }
    }

    /// Whether it has something to write, and the connection is established.
    pub(super) fn may_write(&self, endpoint: &Endpoint) -> bool {
        let is_established = matches!(endpoint.state(self.conn), State::Established { .. });
        self.outcome.is_none() && !self.wrote && is_established
    }

    /// Whether it has nothing more to write and has not shut down its direction.
    pub(super) fn may_shut(&self) -> bool {
        self.outcome.is_none() && self.wrote && !self.shut
    }

    /// Writes all it has to say, each message a segment of `length` bytes: its
    /// writer and its number.
    pub(super) fn write(
        &mut self,
        endpoint: &mut Endpoint,
        now: Instant,
        segments: u8,
        length: u8,
    ) {
        self.wrote = true;
        let mut bytes = [0; SEGMENT];
        for index in 0..segments {
            bytes[..2].copy_from_slice(&[self.tag, index]);
            let message = &bytes[..usize::from(length)];
            // An error is told again, or as the end of the stream, when it reads.
            let _ = endpoint.write(now, self.conn, message, Ending::Message);
        }
    }

    /// Whether it was told that the peer has all that it wrote, and perhaps its end.
    pub(super) fn is_delivered(&self, endpoint: &Endpoint) -> bool {
        let is_established = matches!(endpoint.state(self.conn), State::Established { .. });
        self.wrote && is_established && endpoint.is_flushed(self.conn)
    }

    /// Says that nothing more will come.
    pub(super) fn shut(&mut self, endpoint: &mut Endpoint, now: Instant) {
        self.shut = true;
        endpoint.shutdown_send(now, self.conn);
    }

    /// Reads what has come and lets go of the connection when all is written and read. The peer
    /// writes `expected` segments of `length` bytes before it closes.
    ///
    /// # Errors
    /// What was read and must not have been.
    pub(super) fn read(
        &mut self,
        endpoint: &mut Endpoint,
        now: Instant,
        expected: u8,
        length: u8,
    ) -> Result<(), String> {
        let mut buf = [0; SEGMENT];
        let buf = &mut buf[..usize::from(length)];
        while self.outcome.is_none() && !self.ended {
            match endpoint.read(now, self.conn, buf) {
                Ok(0) => {
                    self.ended = true;
                    let came = self.received.map_or(0, |(_, count)| count);
                    if came != expected {
                        return Err(format!(
                            "{:x} read the end of the stream after {came} segments of {expected}",
                            self.tag
                        ));
                    }
                }
                Ok(_) => self.receive([buf[0], buf[1]])?,
                Err(ReadError::Blocked) => break,
                Err(ReadError::Conn(error)) => self.outcome = Some(Outcome::Failed(error)),
            }
        }
        // An application that writes to a connection that is over is told why.
        if self.outcome.is_none() && self.ended && endpoint.state(self.conn) == State::Close {
            let error = endpoint.take_error(self.conn);
            self.outcome = error.map(Outcome::Failed);
        }
        let settled = self.ended && self.shut && endpoint.is_flushed(self.conn);
        if self.outcome.is_none() && settled {
            self.outcome = Some(Outcome::Fine);
        }
        if self.outcome.is_some() {
            endpoint.release(now, self.conn, false);
        }
        Ok(())
    }

    fn receive(&mut self, [tag, index]: [u8; 2]) -> Result<(), String> {
        let (from, count) = self.received.unwrap_or((tag, 0));
        if (tag, index) != (from, count) {
            return Err(format!(
                "{:x} read segment {index} of {tag:x} where segment {count} of {from:x} was next",
                self.tag
            ));
        }
        self.received = Some((from, count + 1));
        Ok(())
    }
}
