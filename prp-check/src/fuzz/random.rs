//! Inputs without a fuzzer: random bytes, and corpus entries with random damage.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Longest purely random input, in bytes.
const LONGEST: u32 = 400;

/// An endless stream of inputs that one seed decides.
#[derive(Debug)]
pub struct Inputs {
    rng: ChaCha8Rng,
    corpus: Vec<Vec<u8>>,
}

impl Inputs {
    /// Inputs made from `seed`, and from `corpus` if it has entries.
    pub fn new(seed: u64, corpus: Vec<Vec<u8>>) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), corpus }
    }

    fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.rng.next_u32() as usize % n }
    }

    fn random(&mut self) -> Vec<u8> {
        let len = self.rng.next_u32() % LONGEST;
        (0..len).map(|_| self.rng.next_u32() as u8).collect()
    }

    fn damaged(&mut self) -> Vec<u8> {
        let which = self.below(self.corpus.len());
        let mut bytes = self.corpus[which].clone();
        for _ in 0..=self.below(8) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.rng.next_u32() as u8),
                2 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                3 if at < bytes.len() => bytes[at] = self.rng.next_u32() as u8,
                _ => {
                    // The front of this one, the back of another.
                    let other = &self.corpus[self.rng.next_u32() as usize % self.corpus.len()];
                    let from = at.min(other.len());
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
            }
        }
        bytes
    }
}

impl Iterator for Inputs {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let fresh = self.corpus.is_empty() || self.below(4) == 0;
        Some(if fresh { self.random() } else { self.damaged() })
    }
}
