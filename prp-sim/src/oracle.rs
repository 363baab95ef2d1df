//! The rules: what must hold of every run, whatever its network does.
//!
//! Some are checked where things happen: every byte and every end of a message as it is read
//! (`session`), memory and ports (`node`), silence at the end (`simulation`). Here is what can be
//! said only of both ends together.

mod delivery;
mod error_causes;
mod watchdog;
mod work;

use crate::flow_log::FlowLog;
use crate::plan::{FlowPlan, Plan};
use crate::tally::Tally;

pub(crate) use watchdog::watch;

/// Judges a run that has come to its end.
pub(crate) fn judge(plan: &Plan, flow_log: &FlowLog, tally: &mut Tally) -> Result<(), String> {
    for (index, (flow, record)) in plan.flows.iter().zip(flow_log.flows()).enumerate() {
        let named = |what: String| format!("flow {index}: {what}");
        tally.flows += 1;
        delivery::check_terms(plan, flow, record).map_err(named)?;
        delivery::check_ends(record).map_err(named)?;
        delivery::check_flushed(plan, flow, record).map_err(named)?;
        error_causes::check_errors(plan, flow, record, tally).map_err(named)?;
        tally.complete += u64::from(delivery::is_complete(record));
    }
    work::check(plan, flow_log, tally)
}

/// Whether no process listens for a flow, or its listener is closed at some time.
fn listening_ends(plan: &Plan, flow: &FlowPlan) -> bool {
    flow.listener.is_none_or(|l| plan.listeners[l].until.is_some())
}

/// Whether both nodes of a flow are what the plan says of them all the time it lasts: neither is
/// ever restarted.
fn nodes_stay(plan: &Plan, flow: &FlowPlan) -> bool {
    [flow.client, flow.server].iter().all(|n| plan.nodes[*n].restarts.is_empty())
}
