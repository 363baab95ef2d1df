//! How much may be in flight when the network, not the receiver, is the bottleneck.
//!
//! The mechanism counts bytes and finds losses; a [`Congestion`] controller decides what they mean.

mod aimd;

use alloc::boxed::Box;
use alloc::format;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::time::Duration;

pub use aimd::Aimd;

use crate::time::Instant;

/// News of an acknowledgement.
#[derive(Copy, Clone, Debug)]
pub struct AckSample {
    /// When it came.
    pub now: Instant,
    /// Bytes newly known to have arrived, frame cost included.
    pub acked: usize,
    /// Bytes still in flight.
    pub in_flight: usize,
    /// Whether more was in flight than the window would have allowed to grow from: whether the window
    /// was what held the sender back.
    pub limited: bool,
    /// Round trip measured with it.
    pub rtt: Option<Duration>,
    /// The least round trip measured so far.
    pub least_rtt: Option<Duration>,
}

/// Makes a copy of a controller whose type is not known.
pub trait CloneCongestion {
    /// The copy.
    fn boxed(&self) -> Box<dyn Congestion>;
}

impl<T: Congestion + Clone + 'static> CloneCongestion for T {
    fn boxed(&self) -> Box<dyn Congestion> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Congestion> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// A controller's state is all that its `Debug` shows.
impl Hash for dyn Congestion {
    fn hash<H: Hasher>(&self, state: &mut H) {
        format!("{self:?}").hash(state);
    }
}

/// A congestion controller: one per connection.
pub trait Congestion: CloneCongestion + fmt::Debug + Send {
    /// Bytes that may be in flight, frame cost included.
    fn window(&self) -> usize;

    /// Segments arrived.
    fn on_ack(&mut self, sample: &AckSample);

    /// At least one segment of this flight was lost. Called once per flight, not per segment.
    fn on_loss(&mut self, now: Instant);

    /// Nothing was heard for a retransmission timeout.
    fn on_timeout(&mut self, now: Instant);

    /// The last loss turned out to be none: the segment had only been late.
    fn on_spurious(&mut self);

    /// The pace to send at, in bytes per second; `None` sends as the window opens.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
}
