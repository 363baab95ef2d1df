//! Conjugate gradients on a mesh of processors, with and without latency hiding.

use super::overlap::Fraction;
use super::scaling::largest;

/// De Sturler and van der Vorst's runtimes, in units of the communication of one processor, `b`:
/// `T(p) = lambda/p + sqrt(p)`, and with hiding
/// `(1 - f) lambda/p + max(f lambda/p + omega, sqrt(p))`.
///
/// `lambda` is `(9 + 4 n_z) t_fl N / (6 (t_s + 3 t_w))`, `f` is `2 n_z / (9 + 4 n_z)` with `n_z`
/// entries in a row of the matrix, and `omega` is 4: hiding needs `24 (t_s + 3 t_w)`. Speed-ups are
/// those of an algorithm over itself on one processor, as section 4.3 has them.
///
/// Source: Strumpen, section 4.3.
///
/// ```
/// use prp_model::hiding::ConjugateGradient;
///
/// // Section 4.3: the largest speed-ups, and the largest gain between them.
/// let solver = ConjugateGradient::new(7359.0, 5);
/// let (p, speedup) = solver.best(2000);
/// assert_eq!((p, format!("{speedup:.1}")), (601, "200.2".to_owned()));
/// let (p, speedup) = solver.best_hiding(2000);
/// assert_eq!((p, format!("{speedup:.1}")), (453, "230.6".to_owned()));
/// let (p, gain) = solver.best_gain(2000);
/// assert_eq!((p, format!("{gain:.3}")), (229, "1.307".to_owned()));
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ConjugateGradient {
    /// Calculation by communication on one processor.
    pub lambda: f64,
    /// The part of the calculation that can hide communication.
    pub fraction: Fraction,
    /// What hiding costs, by the communication of one processor.
    pub overhead: f64,
}

impl ConjugateGradient {
    /// With `entries` entries in a row of the matrix: 5 for a five-point stencil.
    #[must_use]
    pub fn new(lambda: f64, entries: u32) -> Self {
        /// 24 (t_s + 3 t_w) by 6 (t_s + 3 t_w).
        const OVERHEAD: f64 = 4.0;
        let entries = f64::from(entries);
        // Below 1/2 for any number of entries.
        let part = 2.0 * entries / (9.0 + 4.0 * entries);
        let fraction = Fraction::new(part).unwrap_or(Fraction::NONE);
        Self { lambda, fraction, overhead: OVERHEAD }
    }

    /// The runtime on p processors without hiding, in the communication time of one.
    #[must_use]
    pub fn runtime(&self, processors: u32) -> f64 {
        let p = f64::from(processors);
        self.lambda / p + p.sqrt()
    }

    /// The runtime with hiding, in the communication time of one processor.
    #[must_use]
    pub fn runtime_hiding(&self, processors: u32) -> f64 {
        let (p, fraction) = (f64::from(processors), self.fraction.number());
        let calculation = self.lambda / p;
        let hidden = (fraction * calculation + self.overhead).max(p.sqrt());
        (1.0 - fraction) * calculation + hidden
    }

    /// `T(1) / T(p)`.
    #[must_use]
    pub fn speedup(&self, processors: u32) -> f64 {
        self.runtime(1) / self.runtime(processors)
    }

    /// The same with hiding on both sides.
    #[must_use]
    pub fn speedup_hiding(&self, processors: u32) -> f64 {
        self.runtime_hiding(1) / self.runtime_hiding(processors)
    }

    /// The quotient of both speed-ups.
    #[must_use]
    pub fn gain(&self, processors: u32) -> f64 {
        self.speedup_hiding(processors) / self.speedup(processors)
    }

    /// The number of processors, up to `most`, with the largest speed-up without hiding, and that.
    #[must_use]
    pub fn best(&self, most: u32) -> (u32, f64) {
        largest(most, |p| self.speedup(p))
    }

    /// The number of processors, up to `most`, with the largest speed-up with hiding, and that.
    #[must_use]
    pub fn best_hiding(&self, most: u32) -> (u32, f64) {
        largest(most, |p| self.speedup_hiding(p))
    }

    /// The number of processors, up to `most`, with the largest gain, and that.
    #[must_use]
    pub fn best_gain(&self, most: u32) -> (u32, f64) {
        largest(most, |p| self.gain(p))
    }
}
