//! Mutations of the handshake, and of what a connection believes.

use super::mutation::Catcher::{Explore, Fuzz, Unit};
use super::mutation::{Mutation, mutation};

const ACK: &str = "prp-proto/src/connection/acknowledge.rs";
const BASE: &str = "prp-proto/src/connection/base.rs";
const CLOSE: &str = "prp-proto/src/connection/close.rs";
const DISPATCH: &str = "prp-proto/src/connection/dispatch.rs";
const EXPECTED: &str = "prp-proto/src/connection/header_prediction.rs";
const HANDSHAKE: &str = "prp-proto/src/connection/handshake.rs";
const INPUT: &str = "prp-proto/src/endpoint/input.rs";
const RECEIVE: &str = "prp-proto/src/connection/receive.rs";
const REQUEST: &str = "prp-proto/src/endpoint/request.rs";
const PATH: &str = "prp-proto/src/endpoint/path.rs";
const RESET: &str = "prp-proto/src/wire/reset.rs";
const TRANSMIT: &str = "prp-proto/src/connection/transmit.rs";
const UNCONFIRMED: &str = "prp-proto/src/endpoint/unconfirmed.rs";

/// Those mutations.
pub(super) const CONNECTING: &[Mutation] = &[
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
        "requests that cross are not answered",
        "handshake",
        HANDSHAKE,
        "State::ConnWait => return self.on_crossing(offer),",
        "State::ConnWait => return Err(DropReason::BadState),",
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
        BASE,
        "        self.timers.set(Timer::Request, at);",
        "        let _ = at;",
    ),
    mutation(
        Unit,
        "a grant without options is believed at once",
        "handshake",
        "prp-proto/src/connection/classic.rs",
        "give_up.min(now + EXTENDED_ANSWER)",
        "give_up.min(now)",
    ),
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
        "requests for the owner of a port are not limited",
        "endpoint",
        REQUEST,
        "            && self.refusals.allow_unowned(now)\n",
        "",
    ),
    mutation(
        Unit,
        "a strange request replaces an established connection",
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
    // Which frames are believed.
    mutation(
        Fuzz,
        "a reset with a wrong id ends the connection",
        "reset",
        CLOSE,
        "        if !is_named {\n            // The end that",
        "        if false && !is_named {\n            // The end that",
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
        "return self.routes.is_source(src, device, frame.from);",
        "return true;",
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
        "self.send.buf.slices(segment.at, segment.len, lent)\n        } else {",
        "self.send.buf.slices(segment.at, segment.len, &lent[lent.len()..])\n        } else {",
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
        "a repeat that is not believed changes its connection's path",
        "endpoint",
        INPUT,
        "known.filter(|_| is_believed(outcome) && may_move)",
        "known.filter(|_| may_move)",
    ),
    mutation(
        Unit,
        "a report that no route leads on is ignored",
        "endpoint",
        PATH,
        "            conn.fail(ConnError::NoOnwardRoute { node, router });",
        "            let _ = ConnError::NoOnwardRoute { node, router };",
    ),
    mutation(
        Unit,
        "a report about another request ends an attempt to connect",
        "endpoint",
        PATH,
        "(conn.state == State::ConnWait && conn.ids.local == block.id).then_some(handle)",
        "(conn.state == State::ConnWait).then_some(handle)",
    ),
    mutation(
        Unit,
        "a report from one of two next hops ends an attempt to connect",
        "endpoint",
        PATH,
        "if self.routes.lookup(node).next_hops().len() == 1 {",
        "if !self.routes.lookup(node).next_hops().is_empty() {",
    ),
    mutation(
        Unit,
        "an acknowledgement may be as late as it likes",
        "acknowledgement",
        ACK,
        "const STALE: i32 = crate::config::MAX_WINDOW as i32;",
        "const STALE: i32 = i32::MAX;",
    ),
];
