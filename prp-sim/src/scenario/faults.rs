//! What stops for a while, or for good.

use core::time::Duration;

use prp_proto::time::Instant;

use super::FaultProfile;
use crate::link::LinkConfig;
use crate::plan::NodePlan;
use crate::rng::SimRng;
use crate::topology::Topology;

/// Later than any run lasts.
const NEVER: Instant = Instant::from_nanos(1 << 62);

/// Most faults begin within this time, while connections are at work.
const BEGINS_WITHIN: Duration = Duration::from_millis(300);

/// Bytes after the Ethernet header that every path is taken to carry: 1180 of a segment, 16 of
/// headers and 4 of the trailer.
const LEAST_MTU: u32 = 1200;

/// Adds outages, absences and restarts; says when those that end have ended.
pub(super) fn add(
    rng: &mut SimRng,
    profile: FaultProfile,
    topology: &Topology,
    links: &mut [[LinkConfig; 2]],
    nodes: &mut [NodePlan],
) -> Instant {
    let mut ended = Instant::ZERO;
    match profile {
        FaultProfile::Rough => {
            for _ in 0..rng.between(1, 3) {
                let span = span(rng);
                ended = ended.max(span.1);
                if rng.one_in(2) {
                    let cable = rng.below(links.len() as u64) as usize;
                    cut(rng, &mut links[cable], span);
                } else {
                    let node = rng.below(topology.nodes() as u64) as usize;
                    nodes[node].absences.push(span);
                }
            }
        }
        FaultProfile::Restarting => {
            for _ in 0..rng.between(1, 2) {
                let node = rng.below(topology.nodes() as u64) as usize;
                let at = begins(rng);
                let back_after = rng.span(Duration::ZERO, Duration::from_millis(50));
                ended = ended.max(at + back_after);
                nodes[node].restarts.push((at, back_after));
            }
        }
        FaultProfile::Cut => {
            let cable = rng.below(links.len() as u64) as usize;
            let span = (begins(rng), NEVER);
            cut(rng, &mut links[cable], span);
        }
        FaultProfile::Shrinking => {
            let cable = rng.below(links.len() as u64) as usize;
            ended = begins(rng);
            shrink(rng, &mut links[cable], ended);
        }
        FaultProfile::Calm
        | FaultProfile::Lossy
        | FaultProfile::Corrupting
        | FaultProfile::Classic => {}
    }
    ended
}

/// Takes a cable down, one direction of it in one case of three.
fn cut(rng: &mut SimRng, cable: &mut [LinkConfig; 2], span: (Instant, Instant)) {
    let directions = rng.pick(&[&[0][..], &[1], &[0, 1], &[0, 1], &[0, 1], &[0, 1]]);
    for direction in directions {
        cable[*direction].outages.push(span);
    }
}

/// Has a cable take frames only that are smaller than its ends believe, but as large as every path
/// is taken to carry (SPEC PRP-SIZE-4).
fn shrink(rng: &mut SimRng, cable: &mut [LinkConfig; 2], from: Instant) {
    for link in cable.iter_mut().filter(|link| link.mtu > LEAST_MTU) {
        let mtu = rng.between(u64::from(LEAST_MTU), u64::from(link.mtu) - 1) as u32;
        link.shrinks = Some((from, mtu));
    }
}

fn begins(rng: &mut SimRng) -> Instant {
    Instant::ZERO + rng.span(Duration::from_micros(10), BEGINS_WITHIN)
}

/// Mostly short enough that no end should give up, sometimes longer than every timeout.
fn span(rng: &mut SimRng) -> (Instant, Instant) {
    let from = begins(rng);
    let most = if rng.one_in(8) { Duration::from_secs(120) } else { Duration::from_secs(5) };
    (from, from + rng.span(Duration::from_millis(1), most))
}
