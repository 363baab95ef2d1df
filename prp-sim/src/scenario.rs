//! Plans thought up from a seed: what could happen to a network, mixed at random.

mod faults;
mod links;
mod processes;
mod settings;
mod traffic;

use core::time::Duration;

use prp_proto::time::Instant;

use crate::hosts;
use crate::plan::Plan;
use crate::rng::{Purpose, SimRng};
use crate::topology::{Shape, Topology};

/// What kind of trouble a run is about.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
enum Mood {
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
    /// Peers know the paper's header only, on a network that does no harm.
    Classic,
}

/// How often each kind of trouble comes.
const MOODS: [(u32, Mood); 7] = [
    (20, Mood::Calm),
    (40, Mood::Lossy),
    (10, Mood::Corrupting),
    (15, Mood::Rough),
    (8, Mood::Restarting),
    (3, Mood::Cut),
    (4, Mood::Classic),
];

/// Thinks up the run of a seed.
pub fn plan(seed: u64) -> Plan {
    let mut rng = SimRng::new(seed, Purpose::Plan);
    let mood = rng.weighted(&MOODS);
    let topology = Topology::new(shape(&mut rng, mood));
    let healed = healed(&mut rng, mood);
    let (mut wires, mtu) = links::wires(&mut rng, mood, &topology, healed);
    let mut nodes = processes::nodes(&mut rng, mood, topology.nodes());
    let healed = healed.max(faults::add(&mut rng, mood, &topology, &mut wires, &mut nodes));
    let style = hosts::Style { mtu };
    for (index, node) in nodes.iter_mut().enumerate() {
        node.hosts = hosts::text(&topology, index, style, &mut rng);
    }
    let (listeners, flows) = traffic::traffic(&mut rng, mood, &topology);
    let learning = rng.one_in(2);
    Plan { seed, topology, wires, learning, nodes, listeners, flows, healed }
}

fn shape(rng: &mut SimRng, mood: Mood) -> Shape {
    if mood == Mood::Classic {
        return Shape::Pair;
    }
    match rng.below(10) {
        0..4 => Shape::Pair,
        4..6 => Shape::Star(rng.between(2, 8) as usize),
        6 | 7 => Shape::Chain(rng.between(3, 6) as usize),
        8 => Shape::Ring(rng.between(3, 7) as usize),
        _ => Shape::Hypercube(rng.between(2, 3) as u32),
    }
}

/// When the network stops doing harm: most connections are over by then, some not begun.
fn healed(rng: &mut SimRng, mood: Mood) -> Instant {
    match mood {
        Mood::Calm | Mood::Classic => Instant::ZERO,
        _ => Instant::ZERO + rng.span(Duration::from_millis(20), Duration::from_secs(4)),
    }
}
