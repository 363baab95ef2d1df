//! Plans thought up from a seed: what could happen to a network, mixed at random.

mod faults;
mod keys;
mod links;
mod processes;
mod settings;
mod traffic;
mod underlay;

use core::time::Duration;

use prp_proto::time::Instant;

use crate::hosts;
use crate::plan::{Plan, Underlay};
use crate::rng::{Purpose, SimRng};
use crate::topology::{Shape, Topology};

/// What kind of trouble a run is about.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum FaultProfile {
    /// None, but for queues that overflow.
    Calm,
    /// Frames are lost, repeated, late.
    Lossy,
    /// Frames are corrupted, and lost beside.
    Corrupting,
    /// Links and processes stop for a while.
    Rough,
    /// Processes are restarted.
    Restarting,
    /// A link goes down for good.
    Cut,
    /// A link passes small frames only, from some time on.
    Shrinking,
    /// Peers know the paper's header only, on a network without faults.
    Classic,
}

/// How often each kind of trouble comes.
const PROFILES: [(u32, FaultProfile); 8] = [
    (20, FaultProfile::Calm),
    (40, FaultProfile::Lossy),
    (10, FaultProfile::Corrupting),
    (15, FaultProfile::Rough),
    (8, FaultProfile::Restarting),
    (3, FaultProfile::Cut),
    (5, FaultProfile::Shrinking),
    (4, FaultProfile::Classic),
];

/// Thinks up the run of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut rng = SimRng::new(seed, Purpose::Plan);
    let profile = rng.weighted(&PROFILES);
    let topology = Topology::new(shape(&mut rng, profile));
    let healed = healed(&mut rng, profile);
    let (mut links, mtu) = links::plan_links(&mut rng, profile, &topology, healed);
    let mut nodes = processes::nodes(&mut rng, profile, topology.nodes());
    let healed = healed.max(faults::add(&mut rng, profile, &topology, &mut links, &mut nodes));
    let underlay = underlay::choose(seed, profile, &topology, &mut links);
    let style = hosts::Style { mtu, udp: underlay == Underlay::Udp };
    for (index, node) in nodes.iter_mut().enumerate() {
        node.hosts = hosts::text(&topology, index, style, &mut rng);
    }
    let (listeners, flows) = traffic::traffic(&mut rng, profile, &topology);
    let learning = rng.one_in(2);
    let keys = keys::choose(seed, profile, topology.nodes());
    Plan { seed, topology, underlay, links, learning, nodes, keys, listeners, flows, healed }
}

fn shape(rng: &mut SimRng, profile: FaultProfile) -> Shape {
    if profile == FaultProfile::Classic {
        return Shape::Pair;
    }
    match rng.below(10) {
        0..4 => Shape::Pair,
        4..6 => Shape::Star(rng.between(2, 8) as usize),
        6 | 7 => Shape::Chain(rng.between(3, 6) as usize),
        8 => Shape::Ring(rng.between(3, 7) as usize),
        _ => Shape::Hypercube(rng.between(2, 3) as u16),
    }
}

/// When the network has no more faults: most connections are over by then, some not begun.
fn healed(rng: &mut SimRng, profile: FaultProfile) -> Instant {
    match profile {
        FaultProfile::Calm | FaultProfile::Classic => Instant::ZERO,
        _ => Instant::ZERO + rng.span(Duration::from_millis(20), Duration::from_secs(4)),
    }
}
