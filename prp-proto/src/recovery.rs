//! What to do about lost segments: three policies over one mechanism (SPEC section 6).
//!
//! The mechanism is [`Flight`]: it knows what was sent, when, how often, and what the peer holds. A
//! policy reads it and marks segments as lost; sending them again is the connection's business.

mod detect;
mod go_back_n;
mod selective_repeat;

use core::fmt;
use core::time::Duration;

use crate::flight::Flight;
use crate::seq::Seq;
use crate::time::Instant;
use crate::wire::Reliability;

/// What a receiver does with a segment that comes after a gap.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum OnGap {
    /// Ends the stream with an error (paper section 2.2).
    Fail,
    /// Discards it and says what it expects.
    Discard,
    /// Keeps it and says what it has.
    Keep,
}

/// What an acknowledgement says that matters to loss detection.
#[derive(Copy, Clone, Debug)]
pub(crate) struct AckNews {
    pub(crate) now: Instant,
    /// The peer reports a gap.
    pub(crate) gap: bool,
    /// Smoothed round trip, or the first guess.
    pub(crate) rtt: Duration,
    /// Least round trip seen.
    pub(crate) least_rtt: Duration,
}

/// What a policy concluded.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub(crate) struct LossVerdict {
    /// Segments newly taken for lost.
    pub(crate) lost: u32,
    /// The earliest transmission among them, in the order of transmissions.
    pub(crate) first_order: u32,
    /// When a segment that is late now would count as lost.
    pub(crate) reorder_deadline: Option<Instant>,
}

/// Per-connection memory of a policy.
#[derive(Copy, Clone, Debug, Default, Hash)]
pub(crate) struct RecoveryState {
    /// Go-back-N: where and when the sender last went back.
    rewound: Option<(Seq, Instant)>,
    /// Selective repeat: how patient to be with late segments; grows with every false alarm.
    patience: u32,
    /// Selective repeat: flights with losses since the last false alarm.
    calm: u32,
}

impl RecoveryState {
    /// A retransmission turned out to be needless.
    pub(crate) fn on_spurious(&mut self) {
        self.patience = (self.patience + 1).min(selective_repeat::MAX_PATIENCE);
        self.calm = 0;
    }

    /// Another flight has lost segments.
    pub(crate) fn on_flight(&mut self) {
        self.calm += 1;
        if self.calm >= selective_repeat::CALM {
            (self.patience, self.calm) = (0, 0);
        }
    }
}

/// A loss policy. Stateless: what it must remember is in [`RecoveryState`].
pub(crate) trait Policy: fmt::Debug + Sync {
    /// Receiving: what to do with a segment after a gap.
    fn on_gap(&self) -> OnGap;

    /// Sending: whether sent bytes are kept until acknowledged.
    fn retains(&self) -> bool;

    /// Sending: marks what an acknowledgement reveals as lost.
    fn on_ack(&self, state: &mut RecoveryState, flight: &mut Flight, news: &AckNews)
    -> LossVerdict;
}

/// The policy behind a negotiated reliability.
pub(crate) fn policy(reliability: Reliability) -> &'static dyn Policy {
    match reliability {
        Reliability::Detect => &detect::Detect,
        Reliability::GoBackN => &go_back_n::GoBackN,
        Reliability::SelectiveRepeat => &selective_repeat::SelectiveRepeat,
    }
}

#[cfg(test)]
mod tests;
