//! The thread that looks after the direct ways and the inlets of an engine's devices
//! (`device/passage`), while there are flows.
//!
//! Asking the kernel what is at a device takes a lock of the kernel's that others may hold for long, so nothing else may depend on
//! it: it is done on a thread of its own.

use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use prp_proto::time::Instant;

use super::Engine;
use crate::threads;

/// How soon to try again where no thread could be had.
const RETRY: Duration = Duration::from_secs(1);

/// The scouts of one engine, of whom there is one at a time.
#[derive(Debug)]
pub(super) struct Scouts {
    /// Whether flows may leave the direct way, and come in by inlets, at all.
    allowed: bool,
    /// Whether one is out.
    out: Arc<Mutex<bool>>,
}

impl Scouts {
    /// None yet; none ever where `PRP_DIRECT` is `off`.
    pub(super) fn new() -> Self {
        let allowed =
            prp_node::environment::variable("PRP_DIRECT").is_none_or(|word| word != "off");
        Self { allowed, out: Arc::default() }
    }

    /// Has `caller` called when there is a flow, and sends a scout if there is one; when to look again. To be called in the network namespace
    /// of the devices, which is the scout's then.
    pub(super) fn look(&self, engine: &Arc<Engine>, caller: &Waker) -> Option<Instant> {
        if !self.allowed {
            return None;
        }
        let ways = engine.lock().ways();
        ways.iter().for_each(|way| way.attend(caller));
        let mut out = self.out.lock();
        if *out || !ways.iter().any(|way| way.is_called()) {
            return None;
        }
        let now = engine.now();
        let (engine, is_out) = (Arc::downgrade(engine), self.out.clone());
        *out = threads::start("prp-scout", move || scout(&engine, &is_out)).is_ok();
        (!*out).then_some(now + RETRY)
    }
}

/// Looks after the ways until no flow is left on any.
fn scout(engine: &Weak<Engine>, out: &Mutex<bool>) {
    while let Some(alive) = engine.upgrade() {
        let ways = alive.lock().ways();
        if let Some(due) = ways.iter().filter_map(|way| way.tend(alive.now())).min() {
            let nap = due.since(alive.now());
            drop((ways, alive));
            std::thread::sleep(nap);
            continue;
        }
        // The usher that is called from now on sends another scout.
        let mut out = out.lock();
        if !ways.iter().any(|way| way.is_called()) {
            *out = false;
            return;
        }
    }
}
