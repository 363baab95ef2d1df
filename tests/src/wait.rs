//! Waiting for conditions instead of sleeping for luck.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long anything that must happen may take. Generous: it is only ever used up by a failure.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `condition` gives something.
///
/// # Panics
/// If that takes longer than [`PATIENCE`]; `what` says what was waited for.
pub fn until<T>(what: impl Display, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "waited {PATIENCE:?} in vain for {what}");
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
