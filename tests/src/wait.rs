//! Waiting for conditions instead of sleeping for luck.

use std::fmt::Display;
use std::time::{Duration, Instant};

use prp_device::{Refusal, Sent};

/// Time limit for an event that must happen. It is long, since only a failure reaches it.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until `condition` returns a value.
///
/// # Panics
/// If that takes longer than [`TIMEOUT`]. `what` describes the event.
pub fn until<T>(what: impl Display, mut condition: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(start.elapsed() < TIMEOUT, "waited {TIMEOUT:?} in vain for {what}");
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

/// Calls `send` until the device accepts a frame, or loses it. Its socket is full while the kernel
/// delays the transmission, since other processes use the processor.
///
/// # Panics
/// As [`until`]; also if the device accepts nothing without being full, or if a frame is too big.
pub fn until_taken(mut send: impl FnMut() -> Sent) -> Sent {
    until("room in the device", || {
        let sent = send();
        let is_too_big = sent.refused.is_some_and(Refusal::is_too_big);
        assert!((sent.gone() > 0 || sent.full) && !is_too_big, "{sent:?}");
        (sent.gone() > 0).then_some(sent)
    })
}
