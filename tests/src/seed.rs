//! The seed of random numbers. `PRP_SEED` repeats a run.

use std::time::{SystemTime, UNIX_EPOCH};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The seed of this run: `PRP_SEED`, or a new one. Prints the seed and the command that repeats the
/// run.
///
/// # Panics
/// If `PRP_SEED` is not a number.
pub fn of(test: &str) -> u64 {
    let (seed, whence) = match std::env::var("PRP_SEED") {
        Ok(text) => (text.parse().expect("PRP_SEED is a number"), "as given"),
        Err(_) => (fresh(), "repeat with this in the environment"),
    };
    println!("{test}: PRP_SEED={seed} ({whence})");
    seed
}

/// A generator for `seed`.
pub fn generator(seed: u64) -> Dice {
    Dice(ChaCha8Rng::seed_from_u64(seed))
}

fn fresh() -> u64 {
    // Short, since users copy it.
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |t| t.as_nanos() as u64 % 1_000_000_000)
}

/// A random number generator.
#[derive(Debug)]
pub struct Dice(ChaCha8Rng);

impl Dice {
    /// Any number.
    pub fn number(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.0.next_u64() % bound as u64) as usize
    }

    /// One of several.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}
