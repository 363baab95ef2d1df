//! Has a process behave as on a machine that does nothing else, for tests on busy ones: a thread
//! that polls goes on, however long others keep its processor, and a slow flow is one as well.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_ASSUMED: AtomicBool = AtomicBool::new(false);

/// Has this process take its machine for an idle one from now on.
pub fn assume_idle_machine() {
    IS_ASSUMED.store(true, Ordering::Relaxed);
}

pub(crate) fn is_assumed() -> bool {
    IS_ASSUMED.load(Ordering::Relaxed)
}
