//! A number of actions a second, and no more (SPEC PRP-NODE-4, PRP-RST-6).

use crate::time::Instant;

const SECOND: u64 = 1_000_000_000;

/// A bucket that holds a second's worth, or owes some.
#[derive(Copy, Clone, Debug, Hash)]
pub struct TokenBucket {
    per_second: u32,
    left: i64,
    filled: Instant,
}

impl TokenBucket {
    /// A full one, which gets `per_second` tokens a second.
    pub const fn new(per_second: u32) -> Self {
        Self { per_second, left: per_second as i64, filled: Instant::ZERO }
    }

    /// Takes one; whether there was one left.
    pub fn take(&mut self, now: Instant) -> bool {
        let nanos = u64::try_from(now.since(self.filled).as_nanos()).unwrap_or(u64::MAX);
        let earned = u64::from(self.per_second).saturating_mul(nanos) / SECOND;
        if earned > 0 {
            let full = i64::from(self.per_second);
            self.left = self.left.saturating_add_unsigned(earned).min(full);
            self.filled = now;
        }
        let some = self.left > 0;
        self.spend(usize::from(some));
        some
    }

    /// Spends `tokens`, which may have to be earned before the next [`Self::take`].
    pub const fn spend(&mut self, tokens: usize) {
        self.left = self.left.saturating_sub_unsigned(tokens as u64);
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn take__a_thousand_at_once_and_one_a_millisecond() {
        let mut bucket = TokenBucket::new(1000);
        let mut now = Instant::ZERO + Duration::from_secs(5);
        assert_eq!((0..5000).filter(|_| bucket.take(now)).count(), 1000);
        for _ in 0..10 {
            now = now + Duration::from_millis(1);
            assert_eq!((0..5).filter(|_| bucket.take(now)).count(), 1);
        }
        now = now + Duration::from_secs(60);
        assert_eq!((0..5000).filter(|_| bucket.take(now)).count(), 1000);
    }

    #[test]
    fn spend__what_is_owed_is_earned_first() {
        let mut bucket = TokenBucket::new(1000);
        let mut now = Instant::ZERO + Duration::from_secs(5);
        assert!(bucket.take(now));
        bucket.spend(1099);
        now = now + Duration::from_millis(100);
        assert!(!bucket.take(now), "a tenth of a second's worth was owed");
        now = now + Duration::from_millis(1);
        assert!(bucket.take(now));
    }
}
