//! Processes: how soon they run, how fast they are, how much waits for them.

use core::time::Duration;

use super::FaultProfile;
use crate::plan::NodePlan;
use crate::rng::SimRng;

/// The processes of all nodes.
pub(super) fn nodes(rng: &mut SimRng, profile: FaultProfile, count: usize) -> Vec<NodePlan> {
    (0..count).map(|_| node(rng, profile)).collect()
}

fn node(rng: &mut SimRng, profile: FaultProfile) -> NodePlan {
    if profile == FaultProfile::Classic {
        // Nothing slows a classic sender down: its peer must keep up.
        let ring = 100_000;
        return NodePlan { ring, ..NodePlan::default() };
    }
    let least = rng.span(Duration::from_nanos(200), Duration::from_micros(5));
    let most = least + rng.span(Duration::ZERO, Duration::from_micros(200));
    let busy = rng.one_in(3);
    NodePlan {
        hosts: String::new(),
        ring: rng.spread(128, 2048) as usize,
        wakes_in: (least, most),
        preempted: if busy { rng.spread(100, 20_000) as u32 } else { 0 },
        // Five time slices of 4 ms.
        preempted_for: Duration::from_millis(20),
        per_frame: rng.span(Duration::from_nanos(200), Duration::from_micros(5)),
        backpressure: !rng.one_in(4),
        absences: Vec::new(),
        restarts: Vec::new(),
    }
}
