//! Additive increase, multiplicative decrease (Jacobson 1988; RFC 5681), counted in bytes.

use super::{AckSample, Congestion, LossSample};
use crate::time::Instant;

/// Additive increase by a segment per round trip, halving on loss.
#[derive(Clone, Debug)]
pub struct Aimd {
    segment: usize,
    window: usize,
    threshold: usize,
    /// Acknowledged bytes that have not yet made the window grow.
    credit: usize,
    before_loss: Option<(usize, usize)>,
}

/// Segments a new connection may send at once: RFC 6928's ten. A receive ring holds hundreds.
const INITIAL_SEGMENTS: usize = 10;

/// Least window: two segments, so that the second one's arrival reveals the loss of the first.
const LEAST_SEGMENTS: usize = 2;

impl Aimd {
    /// A controller for segments that cost `segment` bytes each when full.
    pub const fn new(segment: usize) -> Self {
        Self {
            segment,
            window: segment * INITIAL_SEGMENTS,
            threshold: usize::MAX,
            credit: 0,
            before_loss: None,
        }
    }

    fn shrink(&mut self, to: usize) {
        self.before_loss = Some((self.window, self.threshold));
        self.threshold = (self.window / 2).max(self.segment * LEAST_SEGMENTS);
        self.window = to.max(self.segment * LEAST_SEGMENTS);
        self.credit = 0;
    }
}

impl Congestion for Aimd {
    fn window(&self) -> usize {
        self.window
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if !sample.limited {
            return;
        }
        if self.window < self.threshold {
            self.window = self.window.saturating_add(sample.acked);
        } else {
            self.credit += sample.acked;
            if self.credit >= self.window {
                self.credit -= self.window;
                self.window += self.segment;
            }
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        if sample.new_flight {
            self.shrink(self.window / 2);
        }
    }

    fn on_timeout(&mut self, _now: Instant) {
        self.shrink(0);
    }

    fn on_spurious(&mut self) {
        if let Some((window, threshold)) = self.before_loss.take() {
            self.window = self.window.max(window);
            self.threshold = threshold;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: usize = 1548;

    fn ack(acked: usize, limited: bool) -> AckSample {
        let now = Instant::ZERO;
        AckSample { now, acked, in_flight: 0, limited, rtt: None }
    }

    const LOSS: LossSample = LossSample { now: Instant::ZERO, lost: SEGMENT, new_flight: true };

    #[test]
    fn window__doubles_per_round_until_a_loss_then_grows_by_a_segment() {
        let mut c = Aimd::new(SEGMENT);
        let first = c.window();
        c.on_ack(&ack(first, true));
        assert_eq!(c.window(), 2 * first);
        c.on_loss(&LOSS);
        assert_eq!(c.window(), first);
        c.on_loss(&LossSample { new_flight: false, ..LOSS });
        assert_eq!(c.window(), first);
        c.on_ack(&ack(first, true));
        assert_eq!(c.window(), first + SEGMENT);
    }

    #[test]
    fn window__does_not_grow_while_something_else_limits() {
        let mut c = Aimd::new(SEGMENT);
        let first = c.window();
        c.on_ack(&ack(first, false));
        assert_eq!(c.window(), first);
    }

    #[test]
    fn window__falls_to_two_segments_at_a_timeout_and_no_further() {
        let mut c = Aimd::new(SEGMENT);
        for _ in 0..10 {
            c.on_timeout(Instant::ZERO);
            assert_eq!(c.window(), 2 * SEGMENT);
        }
    }

    #[test]
    fn window__comes_back_when_the_loss_was_none() {
        let mut c = Aimd::new(SEGMENT);
        let first = c.window();
        c.on_loss(&LOSS);
        c.on_spurious();
        assert_eq!(c.window(), first);
    }
}
