//! Round-trip estimate and what follows from it (RFC 6298's filter, our own floors).

use core::time::Duration;

use crate::time::saturating_nanos;
use crate::timing::{FIRST_RTO, MAX_RTO, MIN_PROBE, MIN_RTO};

/// Timeouts in a row for each doubling. A full queue that drops whatever of ours comes to it may do
/// so for many timeouts; a sender that waits ever longer does not come back before the others have
/// all of it.
const TIMEOUTS_PER_DOUBLING: u32 = 4;

/// The number of parts of a timeout, of which a connection's random number adds up to 255, half of
/// it: senders that lost everything to one full queue at one time must not come back at one time.
const SPREAD_PARTS: u64 = 512;

/// Round trips are taken for no longer than this.
const LONGEST_RTT: Duration = Duration::from_secs(3600);

/// Smoothed round-trip time of a connection.
///
/// Nanoseconds in plain numbers inside: timeouts are worked out for every segment and every
/// acknowledgement, and the parts of a [`Duration`] make each step of that several times as long.
#[derive(Copy, Clone, Debug, Default, Hash)]
pub(crate) struct Rtt {
    smoothed: Option<u64>,
    variation: u64,
    least: Option<u64>,
    least_smoothed: Option<u64>,
    /// By how many parts of [`SPREAD_PARTS`] of itself a timeout is longer.
    spread: u8,
}

impl Rtt {
    /// No measurements yet; `random` tells this connection's timeouts from others'.
    pub(crate) fn new(random: u8) -> Self {
        Self { spread: random, ..Self::default() }
    }

    fn spread(&self, timeout: u64) -> u64 {
        timeout + timeout * u64::from(self.spread) / SPREAD_PARTS
    }

    /// Takes one measurement.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        // An hour is longer than any connection waits, and leaves room to calculate.
        let rtt = saturating_nanos(rtt).min(saturating_nanos(LONGEST_RTT));
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = rtt / 2;
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(rtt)) / 4;
                self.smoothed = Some((smoothed * 7 + rtt) / 8);
            }
        }
        self.least_smoothed = self.least_smoothed.into_iter().chain(self.smoothed).min();
    }

    /// The smoothed estimate, if there was a measurement.
    pub(crate) fn smoothed(&self) -> Option<Duration> {
        self.smoothed.map(Duration::from_nanos)
    }

    /// Returns the least that the smoothed estimate has been. A single measurement may be too
    /// short: a driver reads its clock once for a batch of frames, and those that came while it
    /// handled the first ones seem to have come before.
    pub(crate) fn least_smoothed(&self) -> Option<Duration> {
        self.least_smoothed.map(Duration::from_nanos)
    }

    /// The least measurement.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.least.map(Duration::from_nanos)
    }

    /// Timeout after `backoff` timeouts in a row.
    pub(crate) fn rto(&self, backoff: u32) -> Duration {
        Duration::from_nanos(self.rto_nanos(backoff))
    }

    fn rto_nanos(&self, backoff: u32) -> u64 {
        let first = match self.smoothed {
            None => saturating_nanos(FIRST_RTO),
            Some(smoothed) => (smoothed + self.variation * 4).max(saturating_nanos(MIN_RTO)),
        };
        let doublings = (backoff / TIMEOUTS_PER_DOUBLING).min(8);
        self.spread(first).saturating_mul(1 << doublings).min(saturating_nanos(MAX_RTO))
    }

    /// Timeout of a tail-loss probe after `probes` others without an answer, for a peer that may
    /// hold an acknowledgement for `held`. Doubles from the second on, up to the retransmission
    /// timeout.
    pub(crate) fn probe_timeout(&self, held: Duration, probes: u8) -> Duration {
        let Some(smoothed) = self.smoothed else { return FIRST_RTO };
        let first =
            self.spread((smoothed * 2 + saturating_nanos(held)).max(saturating_nanos(MIN_PROBE)));
        let doublings = probes.saturating_sub(1).min(8);
        Duration::from_nanos((first << doublings).min(self.rto_nanos(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rto__starts_high_follows_samples_and_backs_off_to_the_cap() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.rto(0), FIRST_RTO);
        rtt.sample(Duration::from_micros(3));
        assert_eq!(rtt.rto(0), MIN_RTO);
        for _ in 0..100 {
            rtt.sample(Duration::from_millis(40));
        }
        assert!(rtt.rto(0) > Duration::from_millis(40));
        assert_eq!(rtt.rto(3), rtt.rto(0));
        assert_eq!(rtt.rto(4), rtt.rto(0) * 2);
        assert_eq!(rtt.rto(30), MAX_RTO);
        assert_eq!(rtt.least(), Some(Duration::from_micros(3)));
    }

    #[test]
    fn least_smoothed__is_not_that_of_one_measurement() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.least_smoothed(), None);
        for micros in [80, 80, 1, 80, 120, 120] {
            rtt.sample(Duration::from_micros(micros));
        }
        assert_eq!(rtt.least(), Some(Duration::from_micros(1)));
        assert_eq!(rtt.least_smoothed(), Some(Duration::from_nanos(70_125)));
    }

    #[test]
    fn new__spreads_timeouts_over_half_of_themselves() {
        let mut rtts = [0, 128, 255].map(Rtt::new);
        rtts.iter_mut().for_each(|rtt| rtt.sample(Duration::from_micros(50)));
        let rto = rtts.map(|rtt| rtt.rto(0).as_millis());
        assert_eq!(rto, [20, 25, 29]);
        let probe = rtts.map(|rtt| rtt.probe_timeout(Duration::ZERO, 0).as_micros());
        assert_eq!(probe, [1000, 1250, 1498]);
        assert_eq!(rtts[2].rto(30), MAX_RTO);
    }

    #[test]
    fn probe__comes_before_the_timeout() {
        let mut rtt = Rtt::default();
        rtt.sample(Duration::from_micros(50));
        let held = Duration::from_micros(500);
        let probes =
            [0, 1, 2, 3, 4, 5, 200].map(|probes| rtt.probe_timeout(held, probes).as_millis());
        assert_eq!(probes, [1, 1, 2, 4, 8, 16, 20]);
        assert_eq!(rtt.rto(0), MIN_RTO);
    }
}
