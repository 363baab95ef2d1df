//! Cables: how fast, how long, and what they do to frames.

use core::time::Duration;

use prp_proto::time::Instant;

use super::FaultProfile;
use crate::link::{GsoBatches, Impairment, LinkConfig, QueueLimit};
use crate::rng::SimRng;
use crate::topology::{PortRef, Topology, VertexIndex};

/// Most frames, in a million, that get lost on a whole path: beyond that, requests time out and
/// user timeouts strike with a probability that is worth naming.
const MOST_LOSS: u64 = 100_000;

/// Full frames that the queue of a switch's port has room for, at least.
pub(super) const LEAST_FRAMES: usize = 4;

/// Both directions of all cables, and what prphosts says of their MTU.
pub(super) fn plan_links(
    rng: &mut SimRng,
    profile: FaultProfile,
    topology: &Topology,
    healed: Instant,
) -> (Vec<[LinkConfig; 2]>, Option<u32>) {
    let rate = rng.pick(&[10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000]);
    let far = rng.one_in(8);
    let most = Duration::from_micros(if far { 20_000 } else { 500 });
    let delay = rng.span(Duration::from_nanos(300), most);
    // Every link its own, or all alike.
    let uneven = rng.one_in(3) && profile != FaultProfile::Classic;
    let mtu = if profile == FaultProfile::Classic { Mtu::All(1500) } else { pick_mtu(rng) };
    let on_path = topology.diameter() + 1 + topology.switches();
    let impairment = impairment(rng, profile, on_path as u64);
    let mut cables = Vec::new();
    for (a, b) in topology.cables() {
        let mtu = match mtu {
            Mtu::All(mtu) => mtu,
            Mtu::Mixed => rng.pick(&[1500, 9000]),
        };
        let link = |rng: &mut SimRng, from: &PortRef, to: &PortRef| LinkConfig {
            bits_per_second: if uneven { rate * rng.between(1, 4) } else { rate },
            delay: if uneven { delay + rng.span(Duration::ZERO, delay) } else { delay },
            queue: queue(rng, profile, from, mtu),
            mtu,
            shrinks: None,
            gso_batches: GsoBatches::Cut,
            impairment: impairment_toward(impairment, to, mtu),
            outages: Vec::new(),
            healed,
        };
        cables.push([link(rng, a, b), link(rng, b, a)]);
    }
    let stated_mtu = match mtu {
        Mtu::All(mtu) => mtu,
        // What is said must be true of all paths.
        Mtu::Mixed => 1500,
    };
    (cables, rng.one_in(4).then_some(stated_mtu))
}

#[derive(Copy, Clone)]
enum Mtu {
    All(u32),
    /// Ordinary and jumbo cables, which an end cannot see beyond its own.
    Mixed,
}

fn pick_mtu(rng: &mut SimRng) -> Mtu {
    rng.weighted(&[
        (12, Mtu::All(1500)),
        (3, Mtu::All(9000)),
        (3, Mtu::Mixed),
        (1, Mtu::All(576)),
        (1, Mtu::All(prp_proto::hosts::MIN_MTU.into())),
    ])
}

fn queue(rng: &mut SimRng, profile: FaultProfile, from: &PortRef, mtu: u32) -> QueueLimit {
    if profile == FaultProfile::Classic {
        // Nothing makes a classic sender wait, and nothing repeats what is dropped.
        return QueueLimit::Frames(100_000);
    }
    match from.vertex {
        // A transmit queue takes a batch of 32 and some more.
        VertexIndex::Node(_) => QueueLimit::Frames(rng.spread(64, 1000) as usize),
        VertexIndex::Switch(_) => {
            let least = LEAST_FRAMES as u64 * u64::from(mtu);
            QueueLimit::Bytes(rng.spread(least, least.max(512 * 1024)) as usize)
        }
    }
}

/// What is done to the frames of a path, shared out among its `on_path` links.
fn impairment(rng: &mut SimRng, profile: FaultProfile, on_path: u64) -> Impairment {
    let mut some = |most: u64, one_in: u64| {
        if rng.one_in(one_in) { 0 } else { (rng.spread(100, most) / on_path) as u32 }
    };
    match profile {
        FaultProfile::Lossy => {
            let (loss, duplicate, reorder) =
                (some(MOST_LOSS, 4), some(50_000, 2), some(100_000, 2));
            let burst = rng.weighted(&[(5, 1), (1, 3), (1, 10)]);
            let late_by = rng.span(Duration::from_micros(5), Duration::from_millis(5));
            Impairment { loss: loss / burst, burst, duplicate, reorder, corrupt: 0, late_by }
        }
        FaultProfile::Corrupting => {
            let (corrupt, loss) = (some(MOST_LOSS / 2, 100), some(MOST_LOSS / 2, 2));
            Impairment { loss, corrupt, ..Impairment::default() }
        }
        FaultProfile::Rough | FaultProfile::Restarting => {
            Impairment { loss: some(20_000, 2), ..Impairment::default() }
        }
        FaultProfile::Calm
        | FaultProfile::Cut
        | FaultProfile::Shrinking
        | FaultProfile::Classic => Impairment::default(),
    }
}

/// Bits flip in the memory of hosts, where no FCS protects them. A switch drops what the link
/// before it has spoilt, and must: one bit can turn one station's address into another's, and would
/// teach it a lie.
fn impairment_toward(impairment: Impairment, to: &PortRef, mtu: u32) -> Impairment {
    // A CRC-32 is sure to find three flipped bits in 11 KB, not in more.
    let protected = matches!(to.vertex, VertexIndex::Node(_)) && mtu <= 9000;
    Impairment { corrupt: if protected { impairment.corrupt } else { 0 }, ..impairment }
}
