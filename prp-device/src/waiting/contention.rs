//! Whether other threads want the processor so much that polling for frames does not pay.

use prp_proto::time::Instant;

use super::tuning::{CERTAIN, CONTENDED_YIELD, NEAR, REST};

/// What a thread that polls for frames, and yields the processor in between, learns about the other
/// threads of that processor.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct CpuContention {
    /// Long yields near one another.
    long: u32,
    /// The last yield was one of them.
    is_last_long: bool,
    /// Until when polling does not pay; where it does, the end of the last of them.
    rests_until: Instant,
}

impl CpuContention {
    /// Takes note of a yield that began at `begun` and is over `now`.
    pub(super) fn note(&mut self, begun: Instant, now: Instant) {
        #[cfg(feature = "testing")]
        if crate::idle_machine::is_assumed() {
            return;
        }
        let took = now.since(begun);
        self.is_last_long = took >= CONTENDED_YIELD;
        if !self.is_last_long {
            return;
        }
        let is_near = begun.since(self.rests_until) < took * NEAR;
        self.long = if is_near { self.long.saturating_add(1) } else { 1 };
        self.rests_until = if self.is_contended() { now + took * REST } else { now };
    }

    /// Whether the last yields took so long that a thread that waits had better sleep.
    #[inline]
    pub(super) const fn is_contended(&self) -> bool {
        self.is_last_long && self.long >= CERTAIN
    }

    /// Whether polling would not pay, as far as is known `now`. One more long yield is enough after
    /// that.
    #[inline]
    pub(super) fn is_present(&self, now: Instant) -> bool {
        now < self.rests_until
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// A yield that ends `at` and took `long`.
    fn yielded(contention: &mut CpuContention, at: Instant, long: Duration) {
        contention.note(at - long, at);
    }

    #[test]
    fn is_present__after_two_long_yields_for_a_hundred_times_as_long() {
        let (mut contention, at) = (CpuContention::default(), Instant::from_nanos(1 << 40));
        // A hypervisor may do that now and then.
        yielded(&mut contention, at, MILLISECOND);
        assert_eq!((contention.is_contended(), contention.is_present(at)), (false, false));
        yielded(&mut contention, at, MILLISECOND);
        let again = at + 100 * MILLISECOND;
        assert_eq!((contention.is_contended(), contention.is_present(at)), (true, true));
        assert!(contention.is_present(again - Duration::from_nanos(1)));
        assert!(!contention.is_present(again));

        // Once more is enough then, and a short one ends it.
        yielded(&mut contention, again, 2 * MILLISECOND);
        assert!(contention.is_present(again + 199 * MILLISECOND));
        yielded(&mut contention, again + 200 * MILLISECOND, Duration::from_micros(3));
        assert!(!contention.is_contended());
    }

    #[test]
    fn is_contended__not_where_peers_alternate() {
        let (mut contention, at) = (CpuContention::default(), Instant::from_nanos(1 << 40));
        for micros in [3, 499, 200, 499, 3, 700] {
            yielded(&mut contention, at, Duration::from_micros(micros));
            assert!(!contention.is_contended(), "{micros}");
        }
    }

    #[test]
    fn is_contended__by_long_yields_with_short_ones_between_if_they_are_near() {
        let short = Duration::from_micros(3);
        for (between, expected) in [(9, true), (12, false)] {
            let (mut contention, mut at) = (CpuContention::default(), Instant::from_nanos(1 << 40));
            for _ in 0..3 {
                yielded(&mut contention, at, MILLISECOND);
                yielded(&mut contention, at + MILLISECOND, short);
                assert!(!contention.is_contended());
                at = at + between * MILLISECOND;
            }
            yielded(&mut contention, at, MILLISECOND);
            assert_eq!(contention.is_contended(), expected, "{between} ms between");
        }
    }
}
