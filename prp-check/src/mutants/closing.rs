//! Mutations of the end of a connection, of the wire and of queues.

use super::mutation::Catcher::{Explore, Fuzz, Unit};
use super::mutation::{Mutation, mutation};

const CLOSE: &str = "prp-proto/src/connection/close.rs";
const ACKNOWLEDGE: &str = "prp-proto/src/connection/acknowledge.rs";
const RECEIVE: &str = "prp-proto/src/connection/receive.rs";

/// Those mutations.
pub(super) const CLOSING: &[Mutation] = &[
    // Closing.
    mutation(
        Unit,
        "there is no TIME-WAIT",
        "closing",
        CLOSE,
        "            self.time_wait_wanted = self.state.is_finished() || self.is_to_take_leave();",
        "            if self.state.is_finished() {\n                self.end_quietly();\n            }",
    ),
    mutation(
        Explore,
        "TIME-WAIT never ends",
        "closing",
        CLOSE,
        "            self.timers.set(Timer::TimeWait, self.time_wait_until);",
        "            let _ = TIME_WAIT;",
    ),
    mutation(
        Unit,
        "an end that needs its peer no more does not report it",
        "closing",
        ACKNOWLEDGE,
        "finished: self.peer_left || self.state.is_finished(),",
        "finished: self.peer_left,",
    ),
    mutation(
        Unit,
        "unread data is dropped without a reset",
        "closing",
        CLOSE,
        "State::Established { .. } if abort || unread =>",
        "State::Established { .. } if abort =>",
    ),
    mutation(
        Explore,
        "the end is forgotten if it comes before the data",
        "closing",
        RECEIVE,
        "if held.eoc {",
        "if false {",
    ),
    mutation(
        Unit,
        "a pending end counts as flushed",
        "closing",
        "prp-proto/src/connection/base.rs",
        "(self.send.is_drained() && !self.wants_eoc())",
        "self.send.is_drained()",
    ),
    mutation(
        Unit,
        "memory of buffers is kept for ever",
        "buffers",
        "prp-proto/src/buffer/pool.rs",
        "self.surplus = self.chunks.len();",
        "self.surplus = 0;",
    ),
    mutation(
        Unit,
        "a buffer keeps the memory in which it holds nothing",
        "buffers",
        "prp-proto/src/endpoint.rs",
        "        conn.release_chunks(now, &mut self.pool);\n",
        "",
    ),
    mutation(
        Unit,
        "what follows the first piece of a buffer is read from the wrong chunk",
        "buffers",
        "prp-proto/src/buffer/queue.rs",
        "Some(beyond) => (1 + beyond / CHUNK, beyond % CHUNK),",
        "Some(beyond) => (1 + (beyond + 1) / CHUNK, beyond % CHUNK),",
    ),
    mutation(
        Unit,
        "lent bytes are read at the place they had before some of them arrived",
        "buffers",
        "prp-proto/src/buffer/send.rs",
        "        self.lent -= n as usize - held;\n",
        "",
    ),
    // Wire and queues.
    mutation(
        Fuzz,
        "a bitmap word is read past the end",
        "wire",
        "prp-proto/src/wire/control.rs",
        "            *word = r.u64()?;",
        "            *word = r.u64().unwrap_or(1);",
    ),
    mutation(
        Unit,
        "deadlines are queued again and again",
        "timers",
        "prp-proto/src/timer.rs",
        "            && self.at[top] == at\n        {\n            self.len -= 1;",
        "            && self.at[top] == at\n        {\n            self.len = 0;",
    ),
];
