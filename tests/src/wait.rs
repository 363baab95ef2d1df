//! Waiting for conditions instead of sleeping for luck.

use std::fmt::Display;
use std::time::{Duration, Instant};

use prp_device::Sent;

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

/// Sends by `send` until the device takes something: its socket is full while the kernel puts off
/// what it has, beside others that compute.
///
/// # Panics
/// As [`until`]; if the device takes nothing without being full, or finds a frame too big.
pub fn until_taken(mut send: impl FnMut() -> Sent) -> Sent {
    until("room in the device", || {
        let sent = send();
        assert!((sent.done > 0 || sent.full) && !sent.too_big, "{sent:?}");
        (sent.done > 0).then_some(sent)
    })
}
