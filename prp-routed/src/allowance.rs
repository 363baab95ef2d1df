//! So many a second, and no more (SPEC PRP-NODE-4, PRP-RST-6).

use prp_proto::time::Instant;

/// What may be said per second, of each kind: enough for every diagnosis, too little to harm anybody.
const PER_SECOND: u32 = 1000;

const SECOND: u64 = 1_000_000_000;

/// A bucket that holds a second's worth.
#[derive(Copy, Clone, Debug)]
pub struct Allowance {
    left: u32,
    filled: Instant,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { left: PER_SECOND, filled: Instant::ZERO }
    }
}

impl Allowance {
    /// Takes one; whether there was one left.
    pub fn take(&mut self, now: Instant) -> bool {
        let nanos = u64::try_from(now.since(self.filled).as_nanos()).unwrap_or(u64::MAX);
        let earned = u64::from(PER_SECOND).saturating_mul(nanos) / SECOND;
        if earned > 0 {
            let earned = u32::try_from(earned).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(earned).min(PER_SECOND);
            self.filled = now;
        }
        let some = self.left > 0;
        self.left -= u32::from(some);
        some
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn take__a_thousand_at_once_and_one_a_millisecond() {
        let mut allowance = Allowance::default();
        let mut now = Instant::ZERO + Duration::from_secs(5);
        assert_eq!((0..5000).filter(|_| allowance.take(now)).count(), 1000);
        for _ in 0..10 {
            now = now + Duration::from_millis(1);
            assert_eq!((0..5).filter(|_| allowance.take(now)).count(), 1);
        }
        now = now + Duration::from_secs(60);
        assert_eq!((0..5000).filter(|_| allowance.take(now)).count(), 1000);
    }
}
