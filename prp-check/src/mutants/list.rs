//! The mutations, and what is to catch each.

/// What looks at a mutation.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Catcher {
    /// The tests of prp-proto.
    Unit,
    /// The exhaustive check, the scenes of CI.
    Explore,
    /// The fuzz targets over corpora and seeded inputs.
    Fuzz,
    /// Some hundred simulated networks.
    Simulation,
}

impl Catcher {
    /// What cargo is told to run.
    pub(super) const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Unit => &["test", "--quiet", "-p", "prp-proto", "--lib"],
            Self::Explore => {
                &["run", "--quiet", "--profile", "checked", "-p", "prp-check", "--", "explore"]
            }
            Self::Fuzz => &["test", "--quiet", "-p", "prp-check", "--test", "fuzz_smoke"],
            Self::Simulation => &["test", "--quiet", "-p", "prp-sim", "--lib", "grid::"],
        }
    }

    /// What it is called in the table.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unit => "unit tests",
            Self::Explore => "exhaustive check",
            Self::Fuzz => "fuzz smoke",
            Self::Simulation => "simulation",
        }
    }
}

/// One planted mistake.
#[derive(Copy, Clone, Debug)]
pub struct Mutation {
    /// What is wrong, in a few words.
    pub name: &'static str,
    /// The part of the core it is in.
    pub what: &'static str,
    /// The file, from the root of the checkout.
    pub file: &'static str,
    /// The text to be replaced, which occurs once.
    pub old: &'static str,
    /// What it becomes.
    pub new: &'static str,
    /// What is to catch it.
    pub catcher: Catcher,
}

pub(super) const fn mutation(
    catcher: Catcher,
    name: &'static str,
    what: &'static str,
    file: &'static str,
    old: &'static str,
    new: &'static str,
) -> Mutation {
    Mutation { name, what, file, old, new, catcher }
}

use Catcher::{Explore, Fuzz, Simulation, Unit};

const ACK: &str = "prp-proto/src/connection/acknowledge.rs";
const CLOCK: &str = "prp-proto/src/connection/clock.rs";
const CLOSE: &str = "prp-proto/src/connection/close.rs";
const DISPATCH: &str = "prp-proto/src/connection/dispatch.rs";
const EXPECTED: &str = "prp-proto/src/connection/expected.rs";
const FLIGHT: &str = "prp-proto/src/flight.rs";
const HANDSHAKE: &str = "prp-proto/src/connection/handshake.rs";
const INPUT: &str = "prp-proto/src/endpoint/input.rs";
const RECEIVE: &str = "prp-proto/src/connection/receive.rs";
const RECV_BUFFER: &str = "prp-proto/src/buffer/receive.rs";
const REQUEST: &str = "prp-proto/src/endpoint/request.rs";
const RESET: &str = "prp-proto/src/wire/reset.rs";
const SENDER: &str = "prp-proto/src/connection/sender.rs";
const SEQ: &str = "prp-proto/src/seq.rs";
const TRANSMIT: &str = "prp-proto/src/connection/transmit.rs";
const UNCONFIRMED: &str = "prp-proto/src/endpoint/unconfirmed.rs";

/// Every mutation.
pub(super) const LIST: &[Mutation] = &[
    // Handshake.
    mutation(
        Explore,
        "a repeated request is not answered",
        "handshake",
        HANDSHAKE,
        "            self.pending.accept = true;\n            return Ok(());",
        "            return Ok(());",
    ),
    mutation(
        Unit,
        "a grant for another request is taken",
        "handshake",
        HANDSHAKE,
        "offer.is_some_and(|o| o.echo != self.ids.local)",
        "false",
    ),
    mutation(
        Unit,
        "the request is never repeated",
        "handshake",
        HANDSHAKE,
        "        self.timers.set(Timer::Request, at);",
        "        let _ = at;",
    ),
    mutation(
        Unit,
        "a grant without options is believed at once",
        "handshake",
        "prp-proto/src/connection/classic.rs",
        "give_up.min(now + PATIENCE)",
        "give_up.min(now)",
    ),
    mutation(
        Unit,
        "a grant nobody waits for is not disowned",
        "endpoint",
        RESET,
        "flags.intersects(Flags::CREQ | Flags::CACK)",
        "flags.contains(Flags::CREQ)",
    ),
    mutation(
        Unit,
        "it is looked for the owner of a port as often as somebody likes",
        "endpoint",
        REQUEST,
        "            && self.refusals.allow_unowned(now)\n",
        "",
    ),
    mutation(
        Unit,
        "a strange request replaces a standing connection",
        "endpoint",
        REQUEST,
        "let reusable = conn.state.is_finished()\n                && ",
        "let reusable = ",
    ),
    mutation(
        Unit,
        "the peer's first number is one off",
        "handshake",
        RECEIVE,
        "        self.next = first;\n",
        "        self.next = first + 1;\n",
    ),
    mutation(
        Unit,
        "the backlog is one too long",
        "endpoint",
        REQUEST,
        "l.queue.len() >= l.backlog",
        "l.queue.len() > l.backlog",
    ),
    mutation(
        Unit,
        "unconfirmed connections are not limited",
        "endpoint",
        UNCONFIRMED,
        "< usize::from(self.config.unconfirmed_per_peer)",
        "< usize::MAX",
    ),
    mutation(
        Unit,
        "what should be confirmed by now keeps its place",
        "endpoint",
        UNCONFIRMED,
        "if !conn.is_overdue(now) {",
        "if true {",
    ),
    mutation(
        Unit,
        "an unconfirmed connection is never probed",
        "handshake",
        HANDSHAKE,
        "        conn.arm_keepalive(seed.now);\n",
        "",
    ),
    // Whom to believe.
    mutation(
        Fuzz,
        "a reset with a wrong id ends the connection",
        "reset",
        CLOSE,
        "        if block.receiver != self.ids.local {\n            // Whoever",
        "        if false {\n            // Whoever",
    ),
    mutation(
        Unit,
        "a control block with a wrong id is taken",
        "control",
        DISPATCH,
        "if control.to() != self.ids.local {",
        "if false {",
    ),
    mutation(
        Unit,
        "the source's hardware address is not checked",
        "endpoint",
        INPUT,
        "            self.routes.is_source(network.src, device, frame.head.ethernet.src)\n        };",
        "            true\n        };",
    ),
    mutation(
        Unit,
        "the agreed trailer is not checked",
        "trailer",
        DISPATCH,
        "self.crc_in().is_some_and(|key| !frame.crc_ok(key))",
        "false",
    ),
    mutation(
        Unit,
        "the trailer of an expected segment is not checked",
        "trailer",
        EXPECTED,
        "if !passes || self.crc_in().is_some_and(|key| !frame.crc_ok(key)) {",
        "if !passes {",
    ),
    mutation(
        Unit,
        "trailers are made without what is lent",
        "trailer",
        TRANSMIT,
        "Some(_) => self.send.buf.slices(segment.at, segment.len, lent),",
        "Some(_) => self.send.buf.slices(segment.at, segment.len, &lent[lent.len()..]),",
    ),
    mutation(
        Unit,
        "an acknowledgement of what was never sent is taken",
        "acknowledgement",
        ACK,
        "if advance > self.send.flight.next().since(self.send.flight.base()) || advance < -STALE {",
        "if advance < -STALE {",
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
        "a repeat that is not believed turns its connection",
        "endpoint",
        INPUT,
        "known.filter(|_| follows && is_believed(outcome))",
        "known.filter(|_| follows)",
    ),
    mutation(
        Unit,
        "an acknowledgement may be as late as it likes",
        "acknowledgement",
        ACK,
        "const STALE: i32 = crate::config::MAX_WINDOW as i32;",
        "const STALE: i32 = i32::MAX;",
    ),
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
        "        self.held[ahead] = Some(Held",
        "        self.held[ahead - 1] = Some(Held",
    ),
    mutation(
        Unit,
        "a segment beyond the window is taken",
        "receiving",
        RECEIVE,
        "if self.terms.extended && seq.since(self.recv.edge) >= 0 {",
        "if self.terms.extended && seq.since(self.recv.edge) >= 1 {",
    ),
    mutation(
        Unit,
        "an expected segment may lie beyond the window",
        "receiving",
        EXPECTED,
        "            && next.before(self.recv.edge)\n",
        "",
    ),
    mutation(
        Unit,
        "an expected segment is not acknowledged",
        "receiving",
        EXPECTED,
        "        self.note_in_order(now);\n",
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
        CLOCK,
        "        self.timers.set(Timer::Loss, self.send.look_again.map_or(at, |look| look.min(at)));",
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
        "a repeat does not say that it is one",
        "sending",
        TRANSMIT,
        "self.push_segment(now, batch, (seq, &segment, Flags::RTX), lent);",
        "self.push_segment(now, batch, (seq, &segment, Flags::NONE), lent);",
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
        "nobody gives up on a silent peer",
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
        "            self.send.asked.get_or_insert(self.send.probes);\n            self.pending.probe = true;",
        "            self.send.asked.get_or_insert(self.send.probes);",
    ),
    // Windows.
    mutation(
        Unit,
        "the sender overruns the window by one",
        "sending",
        SENDER,
        "self.flight.next().before(self.edge)",
        "self.flight.next().before(self.edge + 1)",
    ),
    mutation(
        Unit,
        "a closed window is never probed",
        "sending",
        TRANSMIT,
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
        "a connection that nobody has accepted invites as much as others",
        "memory",
        "prp-proto/src/endpoint/receive_memory.rs",
        " || !accepted {",
        " || accepted && !accepted {",
    ),
    mutation(
        Unit,
        "an acknowledgement is never put off",
        "acknowledgement",
        ACK,
        "if self.recv.ack.unacked >= every ||",
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
    // Closing.
    mutation(
        Unit,
        "there is no quiet time",
        "closing",
        CLOSE,
        "            self.quiet_wanted = true;",
        "            self.end_quietly();",
    ),
    mutation(
        Explore,
        "the quiet time never ends",
        "closing",
        CLOSE,
        "            self.timers.set(Timer::Quiet, now + QUIET);",
        "            let _ = (now, QUIET);",
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
        "prp-proto/src/connection/user.rs",
        "(self.send.is_drained() && !self.wants_eoc())",
        "self.send.is_drained()",
    ),
    mutation(
        Unit,
        "memory of buffers is kept for ever",
        "buffers",
        "prp-proto/src/buffer/stock.rs",
        "self.unwanted = self.pieces.len();",
        "self.unwanted = 0;",
    ),
    mutation(
        Unit,
        "a buffer keeps the memory in which it holds nothing",
        "buffers",
        "prp-proto/src/endpoint.rs",
        "        conn.give_back(now, &mut self.stock);\n",
        "",
    ),
    mutation(
        Unit,
        "what follows the first piece of a buffer is looked for in the wrong one",
        "buffers",
        "prp-proto/src/buffer/queue.rs",
        "Some(beyond) => (1 + beyond / PIECE, beyond % PIECE),",
        "Some(beyond) => (1 + (beyond + 1) / PIECE, beyond % PIECE),",
    ),
    mutation(
        Unit,
        "what is lent is looked for where it was before some of it arrived",
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
