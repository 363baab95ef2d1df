//! Randomness, all of it from one seed.

use core::time::Duration;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What random numbers are for. Each purpose has a stream of its own, so that a plan does not
/// change when the network draws one number more.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Purpose {
    /// What a run will be like.
    Plan,
    /// What links do to frames.
    Links,
    /// When processes run.
    Processes,
    /// Seeds of endpoints.
    Endpoints,
    /// Whether packets travel in frames or in datagrams.
    Underlay,
    /// Whether there is a cluster key, and when it changes.
    Keys,
}

/// A source of random numbers that depends on nothing but its seed and purpose. Integers only, so
/// that every machine draws the same.
#[derive(Debug)]
pub struct SimRng(ChaCha8Rng);

impl SimRng {
    /// The numbers `seed` gives for `purpose`.
    pub fn new(seed: u64, purpose: Purpose) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(purpose as u64);
        Self(rng)
    }

    /// A number from 0 to `n` - 1; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// True `parts` times in a million.
    pub fn chance(&mut self, parts: u32) -> bool {
        parts > 0 && self.below(1_000_000) < u64::from(parts)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// One of `choices`, each as often as its weight says.
    ///
    /// # Panics
    /// If there are none.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
        let mut at = self.below(u64::from(total)) as u32;
        for (weight, choice) in choices {
            if at < *weight {
                return *choice;
            }
            at -= weight;
        }
        choices[choices.len() - 1].1
    }

    /// A number from `low` to `high` whose order of magnitude is what is drawn: as many small ones
    /// as large ones.
    pub fn spread(&mut self, low: u64, high: u64) -> u64 {
        let octaves = (high + 1).ilog2().saturating_sub((low + 1).ilog2());
        let octave = self.between(0, u64::from(octaves));
        let top = ((low + 1) << octave).saturating_mul(2) - 2;
        let bottom = ((low + 1) << octave) - 1;
        self.between(bottom.min(high), top.min(high))
    }

    /// A span from `low` to `high`, spread over orders of magnitude.
    pub fn span(&mut self, low: Duration, high: Duration) -> Duration {
        Duration::from_nanos(self.spread(low.as_nanos() as u64, high.as_nanos() as u64))
    }

    /// A seed for something that draws its own numbers.
    pub fn seed(&mut self) -> [u8; 32] {
        let mut seed = [0; 32];
        self.0.fill_bytes(&mut seed);
        seed
    }
}

/// Spreads the bits of a number over all of it: the finalizer of splitmix64.
pub(crate) const fn scramble(mut z: u64) -> u64 {
    // Steps of the golden ratio, so that zero does not stay zero.
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new__same_seed_same_numbers_other_purpose_others() {
        let draw = |seed, purpose| {
            let mut rng = SimRng::new(seed, purpose);
            [0; 8].map(|_| rng.below(1 << 40))
        };
        assert_eq!(draw(7, Purpose::Plan), draw(7, Purpose::Plan));
        assert_ne!(draw(7, Purpose::Plan), draw(7, Purpose::Links));
        assert_ne!(draw(7, Purpose::Plan), draw(8, Purpose::Plan));
    }

    #[test]
    fn spread__stays_within_its_bounds_and_reaches_both_ends() {
        let mut rng = SimRng::new(1, Purpose::Plan);
        for (low, high) in [(0, 0), (0, 1), (1, 1), (5, 1000), (1000, 3_000_000), (0, 1 << 40)] {
            let drawn: Vec<u64> = (0..4000).map(|_| rng.spread(low, high)).collect();
            assert!(drawn.iter().all(|n| (low..=high).contains(n)), "{low} {high}");
            assert!(drawn.iter().any(|n| *n <= low * 2), "{low} {high}");
            assert!(drawn.iter().any(|n| *n >= high / 2), "{low} {high}");
        }
    }

    #[test]
    fn weighted__gives_each_its_share() {
        let mut rng = SimRng::new(1, Purpose::Plan);
        let ones = (0..10_000).filter(|_| rng.weighted(&[(9, 0), (1, 1)]) == 1).count();
        assert!((800..1200).contains(&ones), "{ones}");
        assert!((0..1000).all(|_| !rng.chance(0) && rng.chance(1_000_000)));
    }
}
