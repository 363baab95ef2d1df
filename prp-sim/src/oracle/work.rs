//! Work is bounded: at most a number of frames that follows from the data, the faults and the time.
//! Endpoints that keep each other busy with frames that carry nothing new break this.

use core::time::Duration;

use crate::flow_log::{FlowLog, FlowRecord};
use crate::plan::{FlowPlan, Plan};
use crate::session::{EndRecord, Role};
use crate::tally::Tally;

// What one thing may cost, in frames. Of 60,000 runs of the grid the one that came closest needed
// 0.54 of what this allows, and one in a hundred more than 0.14.

/// A segment: again at some timeouts while the peer's process is stopped, an acknowledgement each
/// time.
const PER_SEGMENT: u64 = 12;

/// An end, or a request: handshake and farewell, each with repeats until the peer is there.
const PER_END: u64 = 40;

/// A frame that was lost, doubled, late or changed: it, what was sent behind it, and news of both.
const PER_IMPAIRED: u64 = 8;

/// A second: probes of a closed window and of the path there, and their answers.
const PER_SECOND: u64 = 2;

/// A keepalive's interval: a probe of each end and its answer.
const PER_PROBE: u64 = 4;

/// Checks the number of frames of a run.
pub(super) fn check(plan: &Plan, flow_log: &FlowLog, tally: &Tally) -> Result<(), String> {
    let most =
        most_frames(plan, flow_log.flows(), tally.impaired(), Duration::from_nanos(tally.nanos));
    if tally.frames > most {
        return Err(format!("{} frames were sent where {most} are plenty", tally.frames));
    }
    Ok(())
}

/// Most frames for what the flows have moved.
fn most_frames(plan: &Plan, flows: &[FlowRecord], impaired: u64, time: Duration) -> u64 {
    let flow = |(flow, record): (&FlowPlan, &FlowRecord)| {
        let segments: u64 = record.ends.iter().map(|end| segments(flow, end)).sum();
        let ends = record.ends.len() as u64 + 1;
        PER_SEGMENT * segments + PER_END * ends + PER_PROBE * probes(plan, flow, time)
    };
    let flows: u64 = plan.flows.iter().zip(flows).map(flow).sum();
    flows + PER_IMPAIRED * impaired + PER_SECOND * time.as_secs()
}

/// Segments that what an end wrote fills if every call of the application makes one.
fn segments(flow: &FlowPlan, end: &EndRecord) -> u64 {
    let script = if end.role == Role::Client { &flow.up } else { &flow.down };
    let mss = end.terms.map_or(1, |terms| usize::from(terms.mss));
    end.wrote / mss.min(script.writing.piece).max(1) as u64 + script.items.len() as u64
}

/// Intervals of both ends' keepalives in `time`.
fn probes(plan: &Plan, flow: &FlowPlan, time: Duration) -> u64 {
    let theirs = flow.listener.map(|l| &plan.listeners[l].config);
    let keepalives = [Some(&flow.config), theirs].into_iter().flatten().filter_map(|c| c.keepalive);
    keepalives.map(|k| (time.as_nanos() / k.idle.min(k.interval).as_nanos().max(1)) as u64).sum()
}

#[cfg(test)]
mod tests;
