//! What a thread of the engine services for a device.

use std::task::Waker;

use prp_proto::time::Instant;

/// Something that a thread services, in the network namespace of the device, without a lock that
/// others wait for.
pub trait Managed: Send + Sync {
    /// From now on `waker` calls the thread that manages it.
    fn set_waker(&self, waker: &Waker);

    /// Whether service was requested since it was serviced last.
    fn is_requested(&self) -> bool;

    /// Opens or closes it, as the state is `now`; when to call again, unless it is requested
    /// before.
    fn service(&self, now: Instant) -> Option<Instant>;
}
