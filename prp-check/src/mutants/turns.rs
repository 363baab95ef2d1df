//! Mutations of who sends when, among the connections to a node.

use super::list::Catcher::Unit;
use super::list::{Mutation, mutation};

const LANE: &str = "prp-proto/src/endpoint/lane.rs";
const TURN: &str = "prp-proto/src/connection/turn.rs";

/// Those of turns.
pub(super) const TURNS: &[Mutation] = &[
    mutation(
        Unit,
        "each connection has a window of its own in flight",
        "turns",
        LANE,
        "in_flight - turn.in_flight < SHARE",
        "in_flight - turn.in_flight < SHARE * 1000",
    ),
    mutation(
        Unit,
        "a turn has no end",
        "turns",
        TURN,
        "self.left = self.left.saturating_sub(cost);",
        "let _ = cost;",
    ),
    mutation(
        Unit,
        "a turn is a segment",
        "turns",
        TURN,
        "self.left = self.left.saturating_sub(cost);",
        "self.left = self.left.saturating_sub(cost * 1000);",
    ),
    mutation(
        Unit,
        "who has little to say waits with those with much",
        "turns",
        TURN,
        "let brief = unsent <= BRIEF as u64;",
        "let brief = unsent == u64::MAX;",
    ),
    mutation(
        Unit,
        "who has little to say always passes",
        "turns",
        LANE,
        "lane.brief_was_last = brief;",
        "lane.brief_was_last = false;",
    ),
    mutation(
        Unit,
        "nobody looks whose turn it is when data have arrived",
        "turns",
        LANE,
        "if in_flight < turn.in_flight && lane.has_waiting() {",
        "if in_flight > turn.in_flight && lane.has_waiting() {",
    ),
    mutation(
        Unit,
        "the way to a node nobody is connected to is kept",
        "turns",
        LANE,
        "            self.free.push(turn.lane);\n",
        "",
    ),
];
