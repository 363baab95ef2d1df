//! Made measurements: a law, and what scatters about it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::fit::{Sample, Setting};
use crate::unit::{Bytes, Seconds};

/// Draws for one made data set.
pub(in crate::fit) struct Scatter(ChaCha8Rng);

impl Scatter {
    pub(in crate::fit) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Evenly from 0 to 1, without 1.
    pub(in crate::fit) fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal, with mean 0 and deviation 1 (Box and Muller).
    pub(in crate::fit) fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (2.0 * std::f64::consts::PI * angle).cos()
    }

    /// A measurement of `law` at a setting, off by a normal part of it.
    pub(in crate::fit) fn measure(&mut self, at: &Setting, law: f64, part: f64) -> Sample {
        sample(at, law * (1.0 + part * self.normal()))
    }
}

/// A measurement.
pub(in crate::fit) fn sample(at: &Setting, time: f64) -> Sample {
    Sample {
        size: at.size,
        hops: Some(at.hops),
        messages: at.messages,
        pairs: at.pairs,
        played: at.played,
        kind: at.kind,
        round: None,
        time: Seconds::new(time),
    }
}

/// Nothing, and the powers of two to a mebibyte.
pub(in crate::fit) fn powers() -> Vec<f64> {
    std::iter::once(0.0).chain((0..=20).map(|n| f64::from(1_u32 << n))).collect()
}

/// One message of each size between neighbours.
pub(in crate::fit) fn one_way(sizes: &[f64]) -> Vec<Setting> {
    sizes.iter().map(|size| Setting::one_way(Bytes::new(*size))).collect()
}
