//! Which next hops this process does not use: those whose device has no link, and those that the
//! node's router says are dead. What no process reports, connections find out themselves (SPEC
//! PRP-PATH-2).

use std::collections::BTreeMap;
use std::time::Duration;

use prp_node::{DownHop, DownHops};
use prp_proto::addr::DeviceId;
use prp_proto::route::UnusableHops;
use prp_proto::time::Instant;

use super::Engine;

/// How long a link that has come back must have been there before it is used again: as the
/// router does by default, so that a link that comes and goes does not take its traffic along.
const HOLD: Duration = Duration::from_secs(1);

/// What is known of next hops, where there is a choice.
#[derive(Debug, Default)]
pub(super) struct LinkMonitor {
    /// Devices not to be used, and when they may be again if they have a link.
    down: BTreeMap<DeviceId, Option<Instant>>,
}

impl LinkMonitor {
    /// Puts in force what is known of the devices, and what the router has `announced`; when to be
    /// called again by itself.
    pub(super) fn check(&mut self, engine: &Engine, announced: &DownHops) -> Option<Instant> {
        let id = engine.device_ids();
        let mut core = engine.lock();
        if !core.endpoint.routes().has_choice() {
            return None;
        }
        let now = engine.now();
        note(&mut self.down, now, core.devices_down());
        let routes = core.endpoint.routes();
        let known =
            |hop: &DownHop| Some((id(&hop.device)?, routes.link_addr(hop.station)?, hop.hop_use));
        let hops = announced.0.iter().filter_map(known).collect();
        let unusable = UnusableHops::without(hops, self.down.keys().copied().collect());
        if core.endpoint.set_unusable_hops(unusable) {
            engine.finish(core, now);
        }
        self.down.values().flatten().min().copied()
    }
}

/// Notes which devices are down, in order, and which have had a link for long enough.
fn note(
    down: &mut BTreeMap<DeviceId, Option<Instant>>,
    now: Instant,
    devices_down: impl Iterator<Item = bool>,
) {
    for (at, is_down) in devices_down.enumerate() {
        let device = DeviceId(at as u16);
        if is_down {
            down.insert(device, None);
        } else if let Some(again) = down.get_mut(&device) {
            let again = *again.get_or_insert(now + HOLD);
            if again <= now {
                down.remove(&device);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note__a_link_that_goes_down_at_once_and_one_that_comes_up_after_a_pause() {
        const BOTH: [bool; 2] = [false; 2];
        const SECOND: [bool; 2] = [false, true];
        let mut down = BTreeMap::new();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        note(&mut down, at(0), SECOND.into_iter());
        assert_eq!(down, BTreeMap::from([(DeviceId(1), None)]));
        note(&mut down, at(100), BOTH.into_iter());
        assert_eq!(down, BTreeMap::from([(DeviceId(1), Some(at(1100)))]));
        // Expect: the pause begins anew when it comes and goes.
        note(&mut down, at(1000), SECOND.into_iter());
        note(&mut down, at(1050), BOTH.into_iter());
        note(&mut down, at(1200), BOTH.into_iter());
        assert_eq!(down, BTreeMap::from([(DeviceId(1), Some(at(2050)))]));
        note(&mut down, at(2050), BOTH.into_iter());
        assert_eq!(down, BTreeMap::new());
    }
}
