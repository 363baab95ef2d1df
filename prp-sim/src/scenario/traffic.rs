//! Traffic: which nodes talk to which, and how.

mod script;

use core::time::Duration;

use prp_proto::addr::Port;
use prp_proto::time::Instant;

use super::FaultProfile;
use super::settings::Settings;
use crate::plan::{FlowPlan, ListenPlan};
use crate::rng::SimRng;
use crate::topology::Topology;

/// Ports that clients who insist on one insist on: few, so that the same ends are used again.
const INSISTED: u16 = 40_000;

/// A port on which no process listens.
const NOBODYS: Port = Port::new(999);

/// Listeners and flows.
pub(super) fn traffic(
    rng: &mut SimRng,
    profile: FaultProfile,
    topology: &Topology,
) -> (Vec<ListenPlan>, Vec<FlowPlan>) {
    let settings = Settings::draw(rng, profile, most_routers(profile, topology));
    let many = rng.one_in(12) && profile != FaultProfile::Classic;
    let listeners = listeners(rng, profile, topology, &settings, many);
    let count = if many { rng.spread(20, 100) } else { rng.spread(1, 10) };
    let begin_within = rng.span(Duration::from_millis(1), Duration::from_millis(600));
    // What a run may take of a machine's time.
    let mut budget = 4_000_000;
    let flows = (0..count)
        .map(|_| {
            let size = if many { script::Size::Short } else { script::Size::Any };
            let flow = flow(rng, profile, topology, &listeners, &settings, size, &mut budget);
            FlowPlan { start: Instant::ZERO + rng.span(Duration::ZERO, begin_within), ..flow }
        })
        .collect();
    (listeners, flows)
}

/// Routers that frames must be able to cross: where a cable is cut for good, on the longest detour.
fn most_routers(profile: FaultProfile, topology: &Topology) -> usize {
    if profile == FaultProfile::Cut && topology.switches() == 0 {
        topology.nodes() - 2
    } else {
        topology.diameter()
    }
}

fn listeners(
    rng: &mut SimRng,
    profile: FaultProfile,
    topology: &Topology,
    settings: &Settings,
    many: bool,
) -> Vec<ListenPlan> {
    let mut all = Vec::new();
    // A node or two to which all talk, or every node.
    let servers = if rng.one_in(2) { topology.nodes() } else { 1.max(topology.nodes() / 3) };
    for node in (topology.nodes() - servers)..topology.nodes() {
        for port in 0..rng.between(1, 2) as u16 {
            let steady = profile == FaultProfile::Classic || !rng.one_in(12);
            let (late, early) = (!steady && rng.one_in(2), !steady && rng.one_in(2));
            let soon = |rng: &mut SimRng| {
                Instant::ZERO + rng.span(Duration::from_micros(10), Duration::from_millis(500))
            };
            let from = if late { soon(rng) } else { Instant::ZERO };
            let until = early.then(|| from + Duration::from_micros(1) + soon(rng).since(from));
            let lazy = rng.one_in(10) && !many;
            all.push(ListenPlan {
                node,
                port: Port::new(80 + port),
                backlog: if many { 64 } else { rng.spread(1, 64) as usize },
                config: settings.conn(rng, false),
                from,
                until,
                accepts_after: if lazy && rng.one_in(3) {
                    // When a client that has closed has given up (SPEC PRP-CLOSE-8).
                    rng.span(Duration::from_secs(50), Duration::from_secs(80))
                } else if lazy {
                    rng.span(Duration::from_micros(10), Duration::from_millis(200))
                } else {
                    Duration::ZERO
                },
            });
        }
    }
    all
}

fn flow(
    rng: &mut SimRng,
    profile: FaultProfile,
    topology: &Topology,
    listeners: &[ListenPlan],
    settings: &Settings,
    size: script::Size,
    budget: &mut u64,
) -> FlowPlan {
    let nodes = topology.nodes() as u64;
    let listener = rng.below(listeners.len() as u64) as usize;
    let server = listeners[listener].node;
    let own = rng.one_in(30) && profile != FaultProfile::Classic;
    let other = (server + 1 + rng.below(nodes - 1) as usize) % topology.nodes();
    let client = if own { server } else { other };
    let nobody = rng.one_in(40) && profile != FaultProfile::Classic;
    let (up, down) = script::scripts(rng, profile, size, budget);
    FlowPlan {
        client,
        server,
        port: if nobody { NOBODYS } else { listeners[listener].port },
        listener: (!nobody).then_some(listener),
        local: rng.one_in(10).then(|| Port::new(INSISTED + rng.below(2) as u16)),
        start: Instant::ZERO,
        config: settings.conn(rng, true),
        up,
        down,
    }
}
