//! How much may be in flight when the network, not the receiver, is the bottleneck (SPEC PRP-CC-1
//! to 4).
//!
//! The mechanism counts bytes and finds losses; a [`Congestion`] controller decides what they mean.

mod aimd;
mod delay;

use alloc::boxed::Box;
use alloc::format;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;
use core::time::Duration;

pub use aimd::Aimd;
pub use delay::Delay;

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
    /// Whether more was in flight than the window would have allowed to grow from: whether the
    /// window was what held the sender back.
    pub limited: bool,
    /// Round trip measured with it.
    pub rtt: Option<Duration>,
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

/// News of losses.
#[derive(Copy, Clone, Debug)]
pub struct LossSample {
    /// When they were found.
    pub now: Instant,
    /// Bytes newly taken for lost, frame cost included.
    pub lost: usize,
    /// They are the first of their flight: everything lost before was sent before the answer to an
    /// earlier loss took effect.
    pub new_flight: bool,
}

/// A congestion controller: one per connection.
pub trait Congestion: CloneCongestion + fmt::Debug + Send {
    /// Bytes that may be in flight, frame cost included.
    fn window(&self) -> usize;

    /// Segments arrived.
    fn on_ack(&mut self, sample: &AckSample);

    /// Segments were lost.
    fn on_loss(&mut self, sample: &LossSample);

    /// Nothing was heard for a retransmission timeout.
    fn on_timeout(&mut self, now: Instant);

    /// The last loss turned out to be none: the segment had only been late.
    fn on_spurious(&mut self);

    /// The pace to send at, in bytes per second; `None` sends as the window opens.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
}

/// The controllers there are, by name.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Hash)]
#[non_exhaustive]
pub enum Controller {
    /// [`Aimd`]: every loss means that a queue is full.
    Aimd,
    /// [`Delay`]: a loss means that if the queue was long. docs/congestion.md has the experiment by
    /// which the two are compared.
    #[default]
    Delay,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Aimd, Self::Delay];

    /// One at work, for segments that cost `segment` bytes each when full.
    pub(crate) fn start(self, segment: usize) -> Box<dyn Congestion> {
        match self {
            Self::Aimd => Box::new(Aimd::new(segment)),
            Self::Delay => Box::new(Delay::new(segment)),
        }
    }
}

impl fmt::Display for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Aimd => "aimd",
            Self::Delay => "delay",
        })
    }
}

/// A name that no controller has.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct UnknownController;

impl fmt::Display for UnknownController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected aimd or delay")
    }
}

impl core::error::Error for UnknownController {}

impl FromStr for Controller {
    type Err = UnknownController;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "aimd" => Ok(Self::Aimd),
            "delay" => Ok(Self::Delay),
            _ => Err(UnknownController),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn controller__names_read_back() {
        for controller in Controller::ALL {
            assert_eq!(controller.to_string().parse(), Ok(controller));
        }
        assert_eq!("cubic".parse::<Controller>(), Err(UnknownController));
    }
}
