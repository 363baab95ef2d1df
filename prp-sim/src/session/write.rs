//! Writing: items in order, each behind its gate.

use prp_proto::endpoint::{Ending, Endpoint};
use prp_proto::error::WriteError;
use prp_proto::time::Instant;

use super::Session;
use crate::plan::FlowPlan;

/// Written beyond the room there is, so that writes that fit in part are tried too.
const EXCESS: usize = 100;

impl Session {
    /// One call; whether it moved anything.
    pub(super) fn write_some(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        flow: &FlowPlan,
        scratch: &mut Vec<u8>,
    ) -> Result<bool, String> {
        if self.write_over || !self.can_write {
            return Ok(false);
        }
        let script = self.scripts(flow).0;
        let (index, so_far) = self.item;
        let Some(item) = script.items.get(index) else {
            self.write_over = true;
            self.record.wrote_all = true;
            return Ok(true);
        };
        let left = u64::from(item.len) - so_far;
        if left == 0 && !script.writing.messages {
            self.item = (index + 1, 0);
            return Ok(true);
        }
        if self.record.read < item.gate {
            // What it waits for will not come once the other direction has ended.
            self.write_over = self.read_over;
            return Ok(self.read_over);
        }
        let room = endpoint.room(self.conn).unwrap_or(0) + EXCESS;
        let len = left.min(script.writing.piece.min(room) as u64);
        scratch.clear();
        self.outgoing.extend(scratch, self.record.wrote, self.record.wrote + len);
        let ending = match (len == left, script.writing.messages) {
            (true, true) => Ending::Message,
            (false, true) => Ending::Part,
            (false, false) if script.writing.more => Ending::More,
            (_, false) => Ending::Write,
        };
        match endpoint.write(now, self.conn, scratch, ending) {
            Ok(0) if len > 0 => Err("a write took nothing and did not say so".into()),
            Ok(n) => {
                self.record.wrote += n as u64;
                let so_far = so_far + n as u64;
                let done = so_far == u64::from(item.len);
                self.item = if done { (index + 1, 0) } else { (index, so_far) };
                if !done && !script.writing.more {
                    endpoint.finish_write(now, self.conn);
                }
                Ok(true)
            }
            Err(WriteError::Blocked) => {
                self.can_write = false;
                Ok(false)
            }
            Err(WriteError::Conn(error)) => self.on_error(error).map(|()| true),
            Err(WriteError::Closed) if self.record.error.is_some() => {
                self.write_over = true;
                Ok(true)
            }
            Err(error) => Err(format!("write: {error:?} on a stream that was never closed")),
        }
    }
}
