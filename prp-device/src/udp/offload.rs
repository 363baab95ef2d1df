//! To which neighbours datagrams leave in trains.

use std::time::{Duration, Instant};

use prp_proto::addr::LinkAddr;

/// How long datagrams leave alone after a train was refused: a route, or the device behind it, may
/// have changed by then.
const REST: Duration = Duration::from_mins(2);

/// The neighbours to which trains do not get through. Few at most: it is a list.
#[derive(Debug, Default)]
pub(super) struct Offload {
    off: Vec<(LinkAddr, Instant)>,
}

impl Offload {
    /// Whether datagrams to `to` may leave in trains.
    pub(super) fn is_on(&mut self, to: LinkAddr) -> bool {
        if self.off.is_empty() {
            return true;
        }
        let now = Instant::now();
        self.off.retain(|(_, until)| *until > now);
        !self.off.iter().any(|(known, _)| known.is_same_host(to))
    }

    /// Trains to `to` do not get through: none for a while.
    pub(super) fn refuse(&mut self, to: LinkAddr) {
        self.off.push((to, Instant::now() + REST));
    }
}
