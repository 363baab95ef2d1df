//! Round-trip estimate and what follows from it (RFC 6298's filter, our own floors).

use core::time::Duration;

/// Least retransmission timeout.
///
/// A round trip here takes microseconds, a time slice of a busy kernel milliseconds: with both ends on
/// one core the peer may be kept from the processor for several slices (HZ 250: 4 ms each) while
/// nothing is lost. Twenty milliseconds is five of them. Lost tails do not wait for it: the tail-loss
/// probe comes first.
pub(crate) const MIN_RTO: Duration = Duration::from_millis(20);

/// Largest retransmission timeout: a peer that comes back is found within two seconds.
pub(crate) const MAX_RTO: Duration = Duration::from_secs(2);

/// Timeout before any round trip was measured.
const FIRST_RTO: Duration = Duration::from_millis(50);

/// Least tail-loss probe timeout: one frame sent needlessly when the peer lost the processor for a
/// slice is cheap, a window stalled for [`MIN_RTO`] is not. Where one frame in twenty is lost, an
/// acknowledgement of all that is in flight is lost hundreds of times in a second.
const MIN_PROBE: Duration = Duration::from_millis(1);

/// Timeouts in a row for each doubling. A full queue that drops whatever of ours comes to it may do so for
/// many timeouts; a sender that waits ever longer does not come back before the others have all of it.
const TIMEOUTS_PER_DOUBLING: u32 = 4;

/// Timeouts are longer by up to 255 of so many parts, half of themselves, as a random number of the
/// connection has it: senders that lost everything to one full queue at one time must not come back at one
/// time.
const SPREAD_PARTS: u32 = 512;

/// Smoothed round-trip time of a connection.
#[derive(Copy, Clone, Debug, Default, Hash)]
pub(crate) struct Rtt {
    smoothed: Option<Duration>,
    variation: Duration,
    least: Option<Duration>,
    /// By how many parts of [`SPREAD_PARTS`] of itself a timeout is longer.
    spread: u8,
}

impl Rtt {
    /// No measurements yet; `random` tells this connection's timeouts from others'.
    pub(crate) fn new(random: u8) -> Self {
        Self { spread: random, ..Self::default() }
    }

    fn spread(&self, timeout: Duration) -> Duration {
        timeout + timeout * u32::from(self.spread) / SPREAD_PARTS
    }

    /// Takes one measurement.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        match self.smoothed {
            None => {
                self.smoothed = Some(rtt);
                self.variation = rtt / 2;
            }
            Some(smoothed) => {
                let error = smoothed.abs_diff(rtt);
                self.variation = (self.variation * 3 + error) / 4;
                self.smoothed = Some((smoothed * 7 + rtt) / 8);
            }
        }
    }

    /// The smoothed estimate, if there was a measurement.
    pub(crate) const fn smoothed(&self) -> Option<Duration> {
        self.smoothed
    }

    /// The least measurement.
    pub(crate) const fn least(&self) -> Option<Duration> {
        self.least
    }

    /// Timeout after `backoff` timeouts in a row.
    pub(crate) fn rto(&self, backoff: u32) -> Duration {
        let first = match self.smoothed {
            None => FIRST_RTO,
            Some(smoothed) => (smoothed + self.variation * 4).max(MIN_RTO),
        };
        self.spread(first)
            .saturating_mul(1 << (backoff / TIMEOUTS_PER_DOUBLING).min(8))
            .min(MAX_RTO)
    }

    /// Timeout of a tail-loss probe after `probes` others in vain, for a peer that may hold an
    /// acknowledgement for `held`. Doubles from the second on, up to the retransmission timeout.
    pub(crate) fn probe_timeout(&self, held: Duration, probes: u8) -> Duration {
        let first = match self.smoothed {
            None => return FIRST_RTO,
            Some(smoothed) => self.spread((smoothed * 2 + held).max(MIN_PROBE)),
        };
        (first * (1 << probes.saturating_sub(1).min(8))).min(self.rto(0))
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
