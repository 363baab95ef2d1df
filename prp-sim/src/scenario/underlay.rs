//! Frames or datagrams.

use super::FaultProfile;
use super::links::LEAST_FRAMES;
use crate::datagram::LEAST_MTU;
use crate::link::{GsoBatches, LinkConfig, QueueLimit};
use crate::plan::Underlay;
use crate::rng::{Purpose, SimRng};
use crate::topology::{Shape, Topology};

/// Every third run without routers is over UDP, and then all links take GSO batches in one piece or
/// all cut them. Classic peers have Ethernet (SPEC PRP-UDP-5). Its random numbers are its own: a
/// seed means for the rest of the plan what it meant before there was a choice.
pub(super) fn choose(
    seed: u64,
    profile: FaultProfile,
    topology: &Topology,
    links: &mut [[LinkConfig; 2]],
) -> Underlay {
    let mut rng = SimRng::new(seed, Purpose::Underlay);
    let fits = matches!(topology.shape(), Shape::Pair | Shape::Star(_));
    if profile == FaultProfile::Classic || !fits || !rng.one_in(3) {
        return Underlay::Ethernet;
    }
    // A switch forwards datagrams one by one.
    let is_whole = topology.switches() == 0 && rng.one_in(2);
    for link in links.iter_mut().flatten() {
        link.mtu = link.mtu.max(LEAST_MTU);
        // A switch has room for some frames of that size, too.
        if let QueueLimit::Bytes(limit) = &mut link.queue {
            *limit = (*limit).max(LEAST_FRAMES * link.mtu as usize);
        }
        link.gso_batches = if is_whole { GsoBatches::Whole } else { GsoBatches::Cut };
    }
    Underlay::Udp
}
