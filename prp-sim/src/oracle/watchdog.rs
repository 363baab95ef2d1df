//! Everything moves: a flow that is not over gets on within a bounded time.

use core::time::Duration;

use prp_proto::time::Instant;

use super::delivery::breaks_off;
use super::{listening_ends, nodes_stay};
use crate::flow_log::{FlowLog, FlowRecord};
use crate::plan::{FlowPlan, Plan};
use crate::tally::Tally;

/// Longest time without any progress of a flow between live ends on a healed network. Timers grow
/// to 2 s (SPEC PRP-LOSS-2, PRP-WIN-5); in front of a full queue a repeat may be lost a few times
/// more.
const PROGRESS_WITHIN: Duration = Duration::from_secs(15);

/// Longest time until an end notices that its peer is gone without a word: 30 s of silence and six
/// probes of 10 s (SPEC PRP-CONN-10), or 60 s without an acknowledgement and one more timeout
/// (PRP-CONN-11).
const DEATH_WITHIN: Duration = Duration::from_secs(100);

/// Checks whether all flows move.
pub(crate) fn watch(
    now: Instant,
    plan: &Plan,
    flow_log: &FlowLog,
    tally: &Tally,
) -> Result<(), String> {
    for (index, (flow, record)) in plan.flows.iter().zip(flow_log.flows()).enumerate() {
        if record.started.is_none() || record.is_over() {
            continue;
        }
        let since = record.moved.max(plan.healed);
        if now.since(since) > limit(plan, flow, record, tally.impaired() > 0) {
            let ends: Vec<_> = record.ends.iter().map(|e| (e.role, e.how)).collect();
            let live = record.live;
            return Err(format!(
                "flow {index} has stood still since {since:?}; {live} at work, over: {ends:?}"
            ));
        }
    }
    Ok(())
}

fn limit(plan: &Plan, flow: &FlowPlan, record: &FlowRecord, impaired: bool) -> Duration {
    // A reset is sent once. If it is lost, and the other end has nothing to send, nothing tells it.
    let gone = !record.ends.is_empty()
        && (impaired || record.ends.iter().any(|end| breaks_off(flow, end.role)));
    let closes = listening_ends(plan, flow);
    let cut_off = plan.links.iter().flatten().flat_map(|w| &w.outages).any(|o| o.1 > plan.healed);
    let accepts = flow.listener.map_or(Duration::ZERO, |l| plan.listeners[l].accepts_after);
    if cut_off {
        // Packets to and fro may take different paths, of which one is cut off: the end that hears
        // nothing asks until it gives up, and the other one, which hears that, counts from then on.
        (2 * DEATH_WITHIN).max(accepts)
    } else if gone || closes || !nodes_stay(plan, flow) {
        DEATH_WITHIN.max(accepts)
    } else {
        PROGRESS_WITHIN + accepts
    }
}
