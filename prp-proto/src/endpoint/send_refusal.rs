//! What this machine says to frames that it does not send (SPEC PRP-CONN-14).
//!
//! A driver is told at once of a frame that its machine does not send. That is a lost frame as any
//! other, and may pass; but where a connection ends for want of an answer, it is the cause.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::Endpoint;
use crate::addr::{DeviceId, LinkAddr, NodeId};
use crate::error::ConnError;
use crate::event::ConnHandle;
use crate::route::Route;
use crate::state::State;
use crate::time::Instant;
use crate::transmit::Path;

/// Why the machine does not send a frame.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct SendRefusal {
    /// What the machine's own code for it is.
    pub code: i32,
    /// The next frame for the same next hop gets the same answer, until someone changes the
    /// machine's addresses or routes.
    pub is_lasting: bool,
}

/// The next hops to which the last frame was not sent.
#[derive(Clone, Debug, Default)]
pub(super) struct RefusedHops(BTreeMap<(DeviceId, LinkAddr), SendRefusal>);

/// Of a process's UDP ports one is as good as another: `to` stands for all.
const fn host(to: LinkAddr) -> LinkAddr {
    match to {
        LinkAddr::Udp { peer, .. } => LinkAddr::Udp { peer, port: 0 },
        LinkAddr::Unix { node, .. } => LinkAddr::Unix { node, process: 0 },
        LinkAddr::Ethernet(_) => to,
    }
}

impl RefusedHops {
    /// Whether there are any.
    #[inline]
    pub(super) fn any(&self) -> bool {
        !self.0.is_empty()
    }

    fn to(&self, device: DeviceId, to: LinkAddr) -> Option<SendRefusal> {
        self.0.get(&(device, host(to))).copied()
    }

    /// `error` with the machine's own code, where a connection has timed out whose last frame to
    /// `path` was not sent.
    #[cold]
    pub(super) fn explain(&self, error: ConnError, path: &Path) -> ConnError {
        match (error, self.to(path.device, path.to)) {
            (ConnError::TimedOut { waited }, Some(SendRefusal { code, .. })) => {
                ConnError::NotSent { code, waited: Some(waited) }
            }
            _ => error,
        }
    }
}

impl Endpoint {
    /// The driver's machine has not sent a frame that was for the next hop `to` by `device`.
    pub fn note_refused(&mut self, device: DeviceId, to: LinkAddr, refusal: SendRefusal) {
        self.refused_hops.0.insert((device, host(to)), refusal);
    }

    /// Whether [`Self::note_sent_to`] is to be told of what was sent.
    #[inline]
    pub fn has_refused_hops(&self) -> bool {
        self.refused_hops.any()
    }

    /// The driver's machine has sent a frame for the next hop `to` by `device`.
    pub fn note_sent_to(&mut self, device: DeviceId, to: LinkAddr) {
        self.refused_hops.0.remove(&(device, host(to)));
    }

    /// Ends the requests that have just been refused by one of `hops`, where the machine
    /// sends nothing for good to the others that lead to the node, either.
    pub fn end_refused_requests(&mut self, now: Instant, hops: &[(DeviceId, LinkAddr)]) {
        let is_refused = |path: &Path| {
            hops.iter().any(|(device, to)| *device == path.device && to.is_same_host(path.to))
        };
        let asks = |handle: &ConnHandle| {
            let conn = self.table.get(*handle).filter(|conn| conn.state == State::ConnWait);
            conn.is_some_and(|conn| is_refused(&conn.path))
        };
        let asking: Vec<_> = self.table.handles().into_iter().filter(asks).collect();
        for handle in asking {
            let Some(node) = self.table.get(handle).map(|conn| conn.remote.node) else { continue };
            let Some(code) = self.refused_to(node) else { continue };
            if let Some(conn) = self.table.get_mut(handle) {
                conn.fail(ConnError::NotSent { code, waited: None });
                self.settle(handle, now);
            }
        }
    }

    /// The machine's code, if it sends nothing for good to any of the next hops to `node`.
    fn refused_to(&self, node: NodeId) -> Option<i32> {
        let Route::Via(hops) = self.routes.lookup(node) else { return None };
        let refusals = hops.iter().map(|hop| {
            let refusal = self.refused_hops.to(hop.device, hop.addr)?;
            refusal.is_lasting.then_some(refusal.code)
        });
        // The first one is the best.
        refusals.collect::<Option<Vec<_>>>()?.first().copied()
    }
}
