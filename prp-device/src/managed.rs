//! What a thread of the engine looks after for a device.

use std::task::Waker;

use prp_proto::time::Instant;

/// Something that somebody looks after, in the network namespace of the device, without a lock that
/// others wait for.
pub trait Managed: Send + Sync {
    /// From now on `waker` calls the thread that manages it.
    fn set_waker(&self, waker: &Waker);

    /// Whether somebody has been called, and has not looked since.
    fn is_requested(&self) -> bool;

    /// Opens or closes it, as things are `now`; when to look again, unless called before.
    fn service(&self, now: Instant) -> Option<Instant>;
}
