//! Mutations of which connection sends when, and of what is left to do once something is sent.

use super::mutation::Catcher::Unit;
use super::mutation::{Mutation, mutation};

const PEER_SCHEDULER: &str = "prp-proto/src/endpoint/peer_scheduler.rs";
const FAST_SEND: &str = "prp-proto/src/connection/fast_send.rs";
const OUTPUT: &str = "prp-proto/src/endpoint/output.rs";
const TABLE: &str = "prp-proto/src/endpoint/table.rs";
const TIMER: &str = "prp-proto/src/timer.rs";
const SEND_SLOT: &str = "prp-proto/src/connection/send_slot.rs";
const GSO_BATCH: &str = "prp-proto/src/connection/gso_batch.rs";
const PEER_WINDOW: &str = "prp-proto/src/connection/peer_window.rs";
const ENDPOINT: &str = "prp-proto/src/endpoint.rs";

/// Those of the scheduler, and of what comes after.
pub(super) const SCHEDULING: &[Mutation] = &[
    mutation(
        Unit,
        "each connection has a window of its own in flight",
        "scheduling",
        PEER_SCHEDULER,
        "in_flight - send_slot.in_flight < share(window)",
        "in_flight - send_slot.in_flight < share(window) * 1000",
    ),
    mutation(
        Unit,
        "what is less than a GSO batch waits, however little is in flight",
        "scheduling",
        GSO_BATCH,
        "in_flight > unacknowledged + full",
        "in_flight > 0",
    ),
    mutation(
        Unit,
        "a message waits for a GSO batch",
        "scheduling",
        GSO_BATCH,
        "&& !send.buf.ends_message()",
        "",
    ),
    mutation(
        Unit,
        "data wait for a GSO batch, however long an acknowledgement takes",
        "scheduling",
        GSO_BATCH,
        "least <= NEAR",
        "least <= NEAR * 1000",
    ),
    mutation(
        Unit,
        "the end of a stream waits for a GSO batch",
        "scheduling",
        GSO_BATCH,
        "&& self.state.can_send()",
        "",
    ),
    mutation(
        Unit,
        "less is written than the peer takes",
        "scheduling",
        PEER_WINDOW,
        "self.send.buf.raise_limit(self.config.send_limit());",
        "",
    ),
    mutation(
        Unit,
        "over Ethernet more is written for a peer with a large window",
        "scheduling",
        PEER_WINDOW,
        "self.path.to.is_udp() && self.send.window",
        "self.send.window",
    ),
    mutation(
        Unit,
        "a device has no window of its own",
        "scheduling",
        ENDPOINT,
        "recv_buffer: config.recv_buffer.or(window)",
        "recv_buffer: config.recv_buffer",
    ),
    mutation(
        Unit,
        "the quantum of a connection has no end",
        "scheduling",
        SEND_SLOT,
        "self.left = self.left.saturating_sub(cost);",
        "let _ = cost;",
    ),
    mutation(
        Unit,
        "the quantum of a connection is one segment",
        "scheduling",
        SEND_SLOT,
        "self.left = self.left.saturating_sub(cost);",
        "self.left = self.left.saturating_sub(cost * 1000);",
    ),
    mutation(
        Unit,
        "a connection with little to send waits with those with much",
        "scheduling",
        SEND_SLOT,
        "let short = unsent <= SHORT_BYTES as u64;",
        "let short = unsent == u64::MAX;",
    ),
    mutation(
        Unit,
        "a connection with little to send always passes",
        "scheduling",
        PEER_SCHEDULER,
        "queue.short_was_last = short;",
        "queue.short_was_last = false;",
    ),
    mutation(
        Unit,
        "the scheduler does not run when data have arrived",
        "scheduling",
        PEER_SCHEDULER,
        "if in_flight < send_slot.in_flight && queue.has_waiting() {",
        "if in_flight > send_slot.in_flight && queue.has_waiting() {",
    ),
    mutation(
        Unit,
        "the queue of a node without connections is kept",
        "scheduling",
        PEER_SCHEDULER,
        "            self.free.push(send_slot.queue);\n",
        "",
    ),
    mutation(
        Unit,
        "no deadline is set for what was sent",
        "output",
        OUTPUT,
        "                conn.on_sent(now);\n",
        "",
    ),
    mutation(
        Unit,
        "what could not be sent is not seen to",
        "output",
        OUTPUT,
        "        if batch.is_empty() {\n            self.handle_sent(now);\n        }\n",
        "",
    ),
    mutation(
        Unit,
        "frames find the connection that had their ends before",
        "output",
        TABLE,
        "ends: u64) {\n        self.last = None;",
        "ends: u64) {",
    ),
    mutation(
        Unit,
        "a timer that was stopped hides those that were not",
        "output",
        TIMER,
        "None => _ = self.revise(),",
        "None => self.bound = NEVER,",
    ),
    mutation(
        Unit,
        "a deadline that comes after one that was stopped is forgotten with it",
        "timeout",
        OUTPUT,
        "instead = due.filter(|due| conn.queued_deadlines.add(*due));",
        "conn.queued_deadlines.add(at);",
    ),
    mutation(
        Unit,
        "a message by fast send goes into a closed window",
        "sending",
        FAST_SEND,
        "            && self.send.window_open()\n",
        "",
    ),
    mutation(
        Unit,
        "a message by fast send does not wait for the pace",
        "sending",
        FAST_SEND,
        "            && self.send.pace_holds(now).is_none()\n",
        "",
    ),
    mutation(
        Unit,
        "a message by fast send overtakes connections in the queue",
        "sending",
        FAST_SEND,
        "            && self.send_slot.allows(true)\n",
        "",
    ),
];
