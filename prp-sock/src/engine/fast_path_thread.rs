//! The thread that opens and closes the AF_XDP send paths and the tcx receive paths of an engine's
//! devices (`prp-device/src/fast_path.rs`), while there are flows.
//!
//! Asking the kernel what is at a device takes a lock of the kernel's that others may hold for
//! long, so nothing else may depend on it: it is done on a thread of its own.

use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

use parking_lot::Mutex;
use prp_proto::time::Instant;

use super::Engine;
use crate::threads;

/// How soon to try again where no thread could be had.
const THREAD_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The name that `PRP_FAST_PATHS` had, which environments still set.
const OLD_NAME: &str = "PRP_DIRECT";

/// The fast-path threads of one engine, of whom there is one at a time.
#[derive(Debug)]
pub(super) struct FastPathThreads {
    /// Whether flows may leave by the AF_XDP send path, and come in by tcx receive paths, at all.
    allowed: bool,
    /// Whether one runs.
    out: Arc<Mutex<bool>>,
}

impl FastPathThreads {
    /// None yet; none ever where `PRP_FAST_PATHS` is `off`.
    pub(super) fn new() -> Self {
        let allowed = ["PRP_FAST_PATHS", OLD_NAME]
            .into_iter()
            .find_map(prp_node::environment::variable)
            .is_none_or(|word| word != "off");
        Self { allowed, out: Arc::default() }
    }

    /// Has `caller` called when there is a flow, and starts a fast-path thread if there is one;
    /// when to check again. To be called in the network namespace of the devices, which is the
    /// fast-path thread's then.
    pub(super) fn check(&self, engine: &Arc<Engine>, caller: &Waker) -> Option<Instant> {
        if !self.allowed {
            return None;
        }
        let fast_paths = engine.lock().fast_paths();
        fast_paths.iter().for_each(|fast_path| fast_path.set_waker(caller));
        let mut out = self.out.lock();
        if *out || !fast_paths.iter().any(|fast_path| fast_path.is_requested()) {
            return None;
        }
        let now = engine.now();
        let (engine, is_out) = (Arc::downgrade(engine), self.out.clone());
        *out = threads::start("prp-fastpath", move || run_fast_paths(&engine, &is_out)).is_ok();
        (!*out).then_some(now + THREAD_RETRY_INTERVAL)
    }
}

/// Services the fast paths until no flow is left on any.
fn run_fast_paths(engine: &Weak<Engine>, out: &Mutex<bool>) {
    while let Some(alive) = engine.upgrade() {
        let fast_paths = alive.lock().fast_paths();
        if let Some(due) =
            fast_paths.iter().filter_map(|fast_path| fast_path.service(alive.now())).min()
        {
            let nap = due.since(alive.now());
            drop((fast_paths, alive));
            std::thread::sleep(nap);
            continue;
        }
        // The control thread that is called from now on starts another fast-path thread.
        let mut out = out.lock();
        if !fast_paths.iter().any(|fast_path| fast_path.is_requested()) {
            *out = false;
            return;
        }
    }
}
