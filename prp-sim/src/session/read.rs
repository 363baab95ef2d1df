//! Reading: every byte in its place, every message with its end.

use prp_proto::endpoint::Endpoint;
use prp_proto::error::ReadError;
use prp_proto::time::Instant;

use super::Session;
use crate::plan::{FlowPlan, ReadCall};

impl Session {
    /// Bytes the application would lend to the endpoint: it has found nothing to read and waits.
    pub(crate) fn lends(&self, flow: &FlowPlan) -> Option<usize> {
        let reading = self.scripts(flow).0.reading;
        let waits = self.connected
            && !self.can_read
            && !self.read_over
            && !self.is_over()
            && self.rests_until.is_none();
        (waits && reading.how == ReadCall::Lend).then_some(reading.piece)
    }

    /// Takes what went straight into the lent buffer.
    pub(crate) fn take_lent(
        &mut self,
        now: Instant,
        bytes: &[u8],
        flow: &FlowPlan,
    ) -> Result<(), String> {
        self.moved = now;
        // The call returns with what it got; the next one tries again.
        self.can_read = true;
        self.take(now, bytes, flow)
    }

    /// One call; whether it brought anything.
    pub(super) fn read_some(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        flow: &FlowPlan,
        scratch: &mut Vec<u8>,
    ) -> Result<bool, String> {
        if self.read_over || !self.can_read || self.rests_until.is_some() {
            return Ok(false);
        }
        let reading = self.scripts(flow).0.reading;
        scratch.clear();
        scratch.resize(reading.piece, 0);
        let got = match reading.how {
            ReadCall::Stream | ReadCall::Lend => endpoint.read(now, self.conn, scratch),
            ReadCall::Peek => self.peek_and_read(now, endpoint, scratch)?,
            ReadCall::Message => match endpoint.read_message(now, self.conn, scratch) {
                Ok(Some(part)) => {
                    self.take(now, &scratch[..part.len], flow)?;
                    return self.on_part(part.len as u64, part.end, flow).map(|()| true);
                }
                Ok(None) => Ok(0),
                Err(e) => Err(e),
            },
        };
        match got {
            Ok(0) => {
                self.read_over = true;
                self.record.eof = self.record.error.is_none();
                Ok(true)
            }
            Ok(n) => self.take(now, &scratch[..n], flow).map(|()| true),
            Err(ReadError::Blocked) => {
                self.can_read = false;
                Ok(false)
            }
            Err(ReadError::Conn(error)) => {
                self.read_over = true;
                self.on_error(error).map(|()| true)
            }
        }
    }

    /// What `peek` shows must be what `read` gives.
    fn peek_and_read(
        &self,
        now: Instant,
        endpoint: &mut Endpoint,
        scratch: &mut [u8],
    ) -> Result<Result<usize, ReadError>, String> {
        let shown = endpoint.peek(now, self.conn, scratch);
        let Ok(shown @ 1..) = shown else {
            // The error is told once, so it is not asked for again.
            return Ok(shown);
        };
        if let Some(at) = self.incoming.differs(self.record.read, &scratch[..shown]) {
            return Err(format!("peek: wrong byte at {at} of {}", self.name()));
        }
        let got = endpoint.read(now, self.conn, scratch);
        if got != Ok(shown) {
            return Err(format!("read gave {got:?} after peek showed {shown}"));
        }
        Ok(got)
    }

    /// Checks bytes and counts them.
    fn take(&mut self, now: Instant, bytes: &[u8], flow: &FlowPlan) -> Result<(), String> {
        let (ours, theirs) = self.scripts(flow);
        if let Some(at) = self.incoming.differs(self.record.read, bytes) {
            return Err(format!("wrong byte at {at} of {}", self.name()));
        }
        self.record.read += bytes.len() as u64;
        if self.record.read > theirs.bytes() {
            return Err(format!("{} bytes of {}", self.record.read, self.name()));
        }
        self.since_rest += bytes.len() as u64;
        if let Some((every, pause)) = ours.reading.rest
            && self.since_rest >= every
        {
            self.since_rest = 0;
            self.rests_until = Some(now + pause);
        }
        Ok(())
    }

    /// Checks the ends of messages.
    fn on_part(&mut self, len: u64, end: bool, flow: &FlowPlan) -> Result<(), String> {
        let theirs = self.scripts(flow).1;
        if !theirs.writing.messages {
            return Ok(());
        }
        let (index, so_far) = self.message;
        let Some(item) = theirs.items.get(index) else {
            return Err(format!("message {index} of {}, which has fewer", self.name()));
        };
        let so_far = so_far + len;
        let whole = so_far == u64::from(item.len);
        if whole != end {
            let what = if end { "ends" } else { "goes on" };
            return Err(format!(
                "message {index} of {} {what} after {so_far} of {} bytes",
                self.name(),
                item.len
            ));
        }
        self.message = if end { (index + 1, 0) } else { (index, so_far) };
        Ok(())
    }

    /// What is read here, for messages to people.
    fn name(&self) -> String {
        let direction = if self.record.role == super::Role::Client { "down" } else { "up" };
        format!("flow {} {direction}", self.record.flow)
    }
}
