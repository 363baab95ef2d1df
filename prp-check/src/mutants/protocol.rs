//! Mutations of the core that cargo-mutants does not make, or whose kind of test it does not run.

use super::mutation::Catcher::{Explore, Fuzz, Simulation, Unit};
use super::mutation::{Mutation, mutation};

const ANSWER: &str = "prp-proto/src/forward/answer.rs";
const CLOCK: &str = "prp-proto/src/connection/clock.rs";
const CLOSE: &str = "prp-proto/src/connection/close.rs";
const HANDSHAKE: &str = "prp-proto/src/connection/handshake.rs";
const HEADER_PREDICTION: &str = "prp-proto/src/connection/header_prediction.rs";
const RECEIVE: &str = "prp-proto/src/connection/receive.rs";
const RESET: &str = "prp-proto/src/wire/reset.rs";

/// Those of prp-proto.
pub(super) const PROTOCOL: &[Mutation] = &[
    // Only every interleaving finds these.
    mutation(
        Explore,
        "TIME-WAIT never ends",
        "closing",
        CLOSE,
        "            self.timers.set(Timer::TimeWait, self.time_wait_until);",
        "            let _ = TIME_WAIT;",
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
        Explore,
        "a repeated request is not answered",
        "handshake",
        HANDSHAKE,
        "            self.pending.accept = true;\n            return Ok(());",
        "            return Ok(());",
    ),
    mutation(
        Explore,
        "a segment that came before is taken again",
        "receiving",
        RECEIVE,
        "        if ahead < 0 {",
        "        if ahead < -1 {",
    ),
    mutation(
        Explore,
        "numbers are widened without a sign",
        "segment numbers",
        "prp-proto/src/seq.rs",
        "wrapping_shl(shift).cast_signed() >> shift;",
        "wrapping_shl(shift).cast_signed().cast_unsigned().wrapping_shr(shift).cast_signed();",
    ),
    // Random frames, and networks in virtual time.
    mutation(
        Fuzz,
        "a bitmap word is read past the end",
        "wire",
        "prp-proto/src/wire/control.rs",
        "            *word = r.u64()?;",
        "            *word = r.u64().unwrap_or(1);",
    ),
    mutation(
        Fuzz,
        "a reset with a wrong id ends the connection",
        "reset",
        CLOSE,
        "        if !is_named {\n            // The end that",
        "        if false && !is_named {\n            // The end that",
    ),
    mutation(
        Simulation,
        "an acknowledgement is acknowledged",
        "acknowledgement",
        "prp-proto/src/connection/dispatch.rs",
        "                self.on_ack(now, ack.next, Some(&ack))",
        "                self.ack_now();\n                self.on_ack(now, ack.next, Some(&ack))",
    ),
    // Statements left out, or an order changed.
    mutation(
        Unit,
        "an unconfirmed connection is never probed",
        "handshake",
        HANDSHAKE,
        "        conn.arm_keepalive(seed.now);\n",
        "",
    ),
    mutation(
        Unit,
        "a reset is answered by a reset",
        "endpoint",
        RESET,
        "if flags.contains(Flags::RST) {\n            return None;\n        } else if",
        "if",
    ),
    mutation(
        Unit,
        "the queue of a node without connections is kept",
        "scheduling",
        "prp-proto/src/endpoint/peer_scheduler.rs",
        "            self.free.push(send_slot.queue);\n",
        "",
    ),
    mutation(
        Unit,
        "frames find the connection that had their ends before",
        "output",
        "prp-proto/src/endpoint/table.rs",
        "ends: u64) {\n        self.last = None;",
        "ends: u64) {",
    ),
    mutation(
        Unit,
        "a timer that was stopped hides those that were not",
        "output",
        "prp-proto/src/timer.rs",
        "None => _ = self.revise(),",
        "None => self.bound = NEVER,",
    ),
    mutation(
        Unit,
        "an expected segment is not acknowledged",
        "receiving",
        HEADER_PREDICTION,
        "        self.note_in_order(now, 1);\n",
        "",
    ),
    mutation(
        Unit,
        "what an expected segment acknowledges is still waited for",
        "acknowledgement",
        HEADER_PREDICTION,
        "        self.timers.stop(Timer::Loss);\n",
        "",
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
        "an acknowledgement that waits is forgotten",
        "acknowledgement",
        CLOCK,
        "                Timer::AckDelay => self.ack_now(),",
        "                Timer::AckDelay => {}",
    ),
    // Other values, patterns and results.
    mutation(
        Unit,
        "a grant that no connection waits for is not refused",
        "endpoint",
        RESET,
        "flags.intersects(Flags::CREQ | Flags::CACK)",
        "flags.contains(Flags::CREQ)",
    ),
    mutation(
        Unit,
        "a frame that is no request is refused",
        "forward",
        RESET,
        "if flags.intersects(Flags::CREQ | Flags::CACK) {",
        "if !flags.contains(Flags::CTL) {",
    ),
    mutation(
        Unit,
        "the MTU of a next hop in prphosts is ignored",
        "forward",
        "prp-proto/src/forward.rs",
        "hop.mtu.map_or(out.mtu, |mtu| mtu.min(out.mtu))",
        "out.mtu.max(hop.mtu.unwrap_or(0))",
    ),
    mutation(
        Unit,
        "a frame goes back before its node is tried",
        "forward",
        "prp-proto/src/route/unusable_hops.rs",
        "return itself.or_else(|| hops.iter().find(usable));",
        "return hops.iter().find(usable).or(itself);",
    ),
    mutation(
        Unit,
        "a drop of any kind is reported",
        "forward",
        ANSWER,
        "        Some(_) => return None,",
        "        Some(_) => NodeKind::Unreachable,",
    ),
    mutation(
        Unit,
        "a request whose next hops are down is not reported",
        "forward",
        ANSWER,
        "matches!(dropped, ForwardDrop::NoRoute | ForwardDrop::AllDown)",
        "matches!(dropped, ForwardDrop::NoRoute)",
    ),
    mutation(
        Unit,
        "frames by a backup next hop are refused",
        "routes",
        "prp-proto/src/route.rs",
        "hops.iter().any(|hop| hop.device == device && hop.addr.covers(from))",
        "hops.iter().take(1).any(|hop| hop.device == device && hop.addr.covers(from))",
    ),
    mutation(
        Unit,
        "a session is up before the other end receives from it",
        "liveness",
        "prp-proto/src/liveness.rs",
        "            (LivenessState::Down | LivenessState::AdminDown, LivenessState::Down) => {\n                LivenessState::Init\n            }",
        "            (LivenessState::Down | LivenessState::AdminDown, LivenessState::Down) => {\n                LivenessState::Up\n            }",
    ),
    mutation(
        Unit,
        "a loop is reported as a missing return route",
        "cluster",
        "prp-proto/src/cluster.rs",
        "if again { fault(at, back) } else { fault(next.node, what) }",
        "if again && at == to { fault(at, back) } else { fault(next.node, what) }",
    ),
    mutation(
        Unit,
        "a repeat is not marked as one",
        "sending",
        "prp-proto/src/connection/transmit.rs",
        "self.push_segment(now, batch, (seq, segment, Flags::RTX), lent);",
        "self.push_segment(now, batch, (seq, segment, Flags::NONE), lent);",
    ),
];
