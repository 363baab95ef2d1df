//! Mutations of order, losses and windows.

use super::mutation::Catcher::{Explore, Simulation, Unit};
use super::mutation::{Mutation, mutation};

const ACK: &str = "prp-proto/src/connection/acknowledge.rs";
const BASE: &str = "prp-proto/src/connection/base.rs";
const CLOCK: &str = "prp-proto/src/connection/clock.rs";
const DISPATCH: &str = "prp-proto/src/connection/dispatch.rs";
const EXPECTED: &str = "prp-proto/src/connection/header_prediction.rs";
const FLIGHT: &str = "prp-proto/src/flight.rs";
const RECEIVE: &str = "prp-proto/src/connection/receive.rs";
const RECV_BUFFER: &str = "prp-proto/src/buffer/receive.rs";
const SENDER: &str = "prp-proto/src/connection/sender.rs";
const SEQ: &str = "prp-proto/src/seq.rs";
const TRANSMIT: &str = "prp-proto/src/connection/transmit.rs";

/// Those mutations.
pub(super) const TRANSFER: &[Mutation] = &[
    // Order.
    mutation(
        Explore,
        "a segment that came before is taken again",
        "receiving",
        RECEIVE,
        "        if ahead < 0 {",
        "        if ahead < -1 {",
    ),
    mutation(
        Unit,
        "a segment after a gap is taken as the next one",
        "receiving",
        RECEIVE,
        "        if ahead > 0 {",
        "        if ahead > 1 {",
    ),
    mutation(
        Unit,
        "what was kept is handed out in the wrong place",
        "receiving",
        RECEIVE,
        "        self.held[ahead] = Some(OutOfOrderSegment",
        "        self.held[ahead - 1] = Some(OutOfOrderSegment",
    ),
    mutation(
        Unit,
        "a segment beyond the window is taken",
        "receiving",
        RECEIVE,
        "if self.terms.extended && seq.since(self.recv.right_edge) >= 0 {",
        "if self.terms.extended && seq.since(self.recv.right_edge) >= 1 {",
    ),
    mutation(
        Unit,
        "an expected segment may lie beyond the window",
        "receiving",
        EXPECTED,
        "            && next.before(self.recv.right_edge)\n",
        "",
    ),
    mutation(
        Unit,
        "an expected segment is not acknowledged",
        "receiving",
        EXPECTED,
        "        self.note_in_order(now, 1);\n",
        "",
    ),
    mutation(
        Unit,
        "what an expected segment acknowledges is still waited for",
        "acknowledgement",
        EXPECTED,
        "        self.timers.stop(Timer::Loss);\n",
        "",
    ),
    mutation(
        Explore,
        "numbers are widened without a sign",
        "segment numbers",
        SEQ,
        "wrapping_shl(shift).cast_signed() >> shift;",
        "wrapping_shl(shift).cast_signed().cast_unsigned().wrapping_shr(shift).cast_signed();",
    ),
    mutation(
        Unit,
        "the bitmap is one off",
        "acknowledgement",
        ACK,
        "mark_received(next + 1 + index)",
        "mark_received(next + index)",
    ),
    mutation(
        Unit,
        "a segment longer than agreed is taken",
        "receiving",
        RECEIVE,
        "if frame.payload.len() > usize::from(self.terms.mss) {",
        "if false {",
    ),
    // Losses.
    mutation(
        Unit,
        "the loss timer is forgotten",
        "recovery",
        BASE,
        "        self.timers.set(Timer::Loss, self.send.reorder_deadline.map_or(at, |due| due.min(at)));",
        "        let _ = at;",
    ),
    mutation(
        Unit,
        "the timeout does not back off",
        "recovery",
        CLOCK,
        "            self.stats.timeouts += 1;\n            self.send.backoff += 1;",
        "            self.stats.timeouts += 1;",
    ),
    mutation(
        Unit,
        "a repeat is not marked as one",
        "sending",
        TRANSMIT,
        "self.push_segment(now, batch, (seq, segment, Flags::RTX), lent);",
        "self.push_segment(now, batch, (seq, segment, Flags::NONE), lent);",
    ),
    mutation(
        Unit,
        "what was acknowledged stays in flight's account",
        "flight",
        FLIGHT,
        "                Fate::InFlight => {\n                    self.cost -= segment.cost();\n                    acked.cost",
        "                Fate::InFlight => {\n                    acked.cost",
    ),
    mutation(
        Unit,
        "a connection never gives up on a silent peer",
        "recovery",
        CLOCK,
        "is_some_and(|limit| waited >= limit)",
        "is_some_and(|_| false)",
    ),
    mutation(
        Unit,
        "detect: a lost tail is not asked for",
        "recovery",
        CLOCK,
        "            self.send.backoff += 1;\n            self.ask();",
        "            self.send.backoff += 1;",
    ),
    mutation(
        Unit,
        "the answer to a probe marks nothing as lost",
        "recovery",
        ACK,
        "            self.find_missing(now, probe, timeouts);",
        "            let _ = (probe, timeouts);",
    ),
    mutation(
        Unit,
        "the answer to a probe marks what was sent after it as lost",
        "recovery",
        ACK,
        "mark_lost_if(|s| before(s.order, probe.order))",
        "mark_lost_if(|_| true)",
    ),
    mutation(
        Unit,
        "a probe does not count as a sign of a working path",
        "endpoint",
        "prp-proto/src/endpoint/path.rs",
        " || Control::is_probe(frame))",
        ")",
    ),
    mutation(
        Unit,
        "a connection that cannot send delays others",
        "scheduler",
        "prp-proto/src/connection/send_slot.rs",
        "if self.send.backoff > 0 { 0 }",
        "if false { 0 }",
    ),
    // Windows.
    mutation(
        Unit,
        "the sender overruns the window by one",
        "sending",
        SENDER,
        "self.flight.next().before(self.right_edge)",
        "self.flight.next().before(self.right_edge + 1)",
    ),
    mutation(
        Unit,
        "a closed window is never probed",
        "sending",
        BASE,
        "            self.timers.set(Timer::Persist, now + self.send.rtt.rto(self.send.backoff));",
        "",
    ),
    mutation(
        Unit,
        "messages without bytes take no room",
        "buffers",
        RECV_BUFFER,
        "self.bytes.len() + self.ends.len() * size_of::<u64>()",
        "self.bytes.len()",
    ),
    mutation(
        Unit,
        "what peers may send is not charged",
        "memory",
        RECEIVE,
        "self.recv.buf.held() + may_come as usize * usize::from(self.recv.mss)",
        "self.recv.buf.held() + 0 * may_come as usize",
    ),
    mutation(
        Unit,
        "a connection that is not accepted advertises as much as others",
        "memory",
        "prp-proto/src/endpoint/receive_memory.rs",
        " || !accepted {",
        " || accepted && !accepted {",
    ),
    mutation(
        Unit,
        "a send buffer never grows",
        "buffers",
        "prp-proto/src/connection/clock.rs",
        "        self.grow_for_writer(spare);\n",
        "",
    ),
    mutation(
        Unit,
        "one connection's send buffer may grow by all there is, again and again",
        "memory",
        "prp-proto/src/endpoint/send_growth.rs",
        "conn.on_time(now, self.limit - self.granted)",
        "conn.on_time(now, self.limit)",
    ),
    mutation(
        Unit,
        "a send buffer that holds nothing for long stays large",
        "memory",
        "prp-proto/src/connection/clock.rs",
        "            self.send.buf.shrink_if_empty(self.config.send_limit());\n",
        "",
    ),
    mutation(
        Unit,
        "an acknowledgement is never put off",
        "acknowledgement",
        "prp-proto/src/connection/ack_state.rs",
        "if self.recv.ack.unacked >= every.max(1) ||",
        "if self.recv.ack.unacked >= 1 ||",
    ),
    mutation(
        Simulation,
        "an acknowledgement is acknowledged",
        "acknowledgement",
        DISPATCH,
        "                self.on_ack(now, ack.next, Some(&ack))",
        "                self.ack_now();\n                self.on_ack(now, ack.next, Some(&ack))",
    ),
    mutation(
        Unit,
        "an acknowledgement that waits is forgotten",
        "acknowledgement",
        CLOCK,
        "                Timer::AckDelay => self.ack_now(),",
        "                Timer::AckDelay => {}",
    ),
];
