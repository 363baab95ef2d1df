//! Whether a run has a cluster key, and when that changes.

use core::time::Duration;

use prp_proto::key::Mode;
use prp_proto::time::Instant;

use super::FaultProfile;
use crate::keys::KeyPlan;
use crate::rng::{Purpose, SimRng};

/// Longest time that all nodes take to get the next file.
const SPREAD: Duration = Duration::from_millis(500);

/// From the use of a secret to the end of the one before: longer than a request is repeated as it
/// is (SPEC PRP-CONN-3).
const USED: Duration = Duration::from_secs(16);

/// Draws the keys of the run of `seed`; peers of 1997 have none.
pub(super) fn choose(seed: u64, profile: FaultProfile, nodes: usize) -> Option<KeyPlan> {
    let mut rng = SimRng::new(seed, Purpose::Keys);
    if profile == FaultProfile::Classic || !rng.one_in(3) {
        return None;
    }
    let mode = rng.pick(&[Mode::Sign, Mode::Seal]);
    let with_nodes = rng.one_in(2);
    let first = Instant::ZERO + rng.span(Duration::from_millis(1), Duration::from_secs(2));
    let changes = (0..nodes).map(|_| {
        let mut next = |after: Instant| after + rng.span(Duration::from_micros(1), SPREAD);
        [next(first), next(first + SPREAD), next(first + 2 * SPREAD + USED)]
    });
    Some(KeyPlan { mode, with_nodes, changes: changes.collect() })
}
