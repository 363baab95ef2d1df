//! Whether others want the processor so much that looking for frames does not pay.

use std::time::Duration;

use prp_proto::time::Instant;

/// A thread that keeps the processor for so long computes, and will until the scheduler takes it
/// away: after most of a millisecond at least. A frame that comes meanwhile waits for that, where a
/// thread asleep would be woken, and go first. A peer on the same processor gives it back sooner.
const LONG: Duration = Duration::from_micros(500);

/// So many long offers in a row are no accident, as a processor taken away by a hypervisor may be
/// one.
const CERTAIN: u32 = 2;

/// A crowded processor is not offered again for so many times what the last offer cost: that is
/// then 1 % of the time.
const REST: u32 = 100;

/// What a thread that looks for frames, and offers the processor to others in between, learns about
/// these others.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct CpuContention {
    /// Offers in a row that were taken for long.
    long: u32,
    rests_until: Instant,
}

impl CpuContention {
    /// Takes note of an offer that began at `offered` and is over `now`.
    pub fn note(&mut self, offered: Instant, now: Instant) {
        let took = now.since(offered);
        self.long = if took >= LONG { self.long.saturating_add(1) } else { 0 };
        if self.is_certain() {
            self.rests_until = now + took * REST;
        }
    }

    /// Whether the last offers were taken for so long that a thread that waits had better sleep.
    pub const fn is_certain(&self) -> bool {
        self.long >= CERTAIN
    }

    /// Whether looking would not pay, as far as is known `now`. One more long offer is enough after
    /// that.
    pub fn is_present(&self, now: Instant) -> bool {
        now < self.rests_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// An offer that ends `at` and took `long`.
    fn offer(contention: &mut CpuContention, at: Instant, long: Duration) {
        contention.note(at - long, at);
    }

    #[test]
    fn is_present__after_two_long_offers_for_a_hundred_times_as_long() {
        let (mut contention, at) = (CpuContention::default(), Instant::from_nanos(1 << 40));
        // A hypervisor may do that now and then.
        offer(&mut contention, at, MILLISECOND);
        assert_eq!((contention.is_certain(), contention.is_present(at)), (false, false));
        offer(&mut contention, at, MILLISECOND);
        let again = at + 100 * MILLISECOND;
        assert_eq!((contention.is_certain(), contention.is_present(at)), (true, true));
        assert!(contention.is_present(again - Duration::from_nanos(1)));
        assert!(!contention.is_present(again));

        // Once more is enough then, and a short one ends it.
        offer(&mut contention, again, 2 * MILLISECOND);
        assert!(contention.is_present(again + 199 * MILLISECOND));
        offer(&mut contention, again + 200 * MILLISECOND, Duration::from_micros(3));
        assert!(!contention.is_certain());
    }

    #[test]
    fn is_present__not_where_peers_take_turns() {
        let (mut contention, at) = (CpuContention::default(), Instant::from_nanos(1 << 40));
        for micros in [3, 499, 200, 700, 499, 700] {
            offer(&mut contention, at, Duration::from_micros(micros));
            assert!(!contention.is_certain(), "{micros}");
        }
    }
}
