//! Section 4: a network of alike workstations, from messages that some of them exchange.

use super::algebra::{Block, Dependence, NOTHING, concurrent, serial};
use super::pattern::Parts;
use crate::fit::{Fit, Model};
use crate::unit::{Seconds, SecondsPerByte};

/// Alike workstations on one network.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Cluster {
    /// What sending a message takes, and what receiving one does.
    pub workstation: Block,
    /// The network.
    pub network: Block,
}

impl Cluster {
    /// What a fit of [`Model::Blocks`] says. Where the network is always the bottleneck, `b` of a
    /// workstation is not told, and is no more than the network's; where it never is, `b_c` is not
    /// told, and is no more than the workstation's by the most pairs. Those are taken, and change
    /// no prediction for as many pairs. `None` of another model, or where one of the others is not
    /// told.
    #[must_use]
    pub fn of(fit: &Fit) -> Option<Self> {
        if fit.model != Model::Blocks {
            return None;
        }
        let value = |name: &str| fit.parameters.iter().find(|p| p.name == name).map(|p| p.value);
        let block = |a: f64, b: f64| Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) };
        let most = f64::from(fit.most_pairs());
        let (own, network) = match (value("b"), value("b_c")) {
            (Some(own), Some(network)) => (own, network),
            (None, Some(network)) => (network, network),
            (Some(own), None) => (own, own / most),
            (None, None) => return None,
        };
        let workstation = block(value("a")?, own);
        Some(Self { workstation, network: block(value("a_c")?, network) })
    }

    /// Equation 16: what a message is to one of `pairs` pairs of which each sends one at the same
    /// time.
    ///
    /// ```
    /// use prp_model::graph::{Block, Cluster};
    /// use prp_model::unit::{Seconds, SecondsPerByte};
    ///
    /// let block = |a: f64, b: f64| Block {
    ///     fixed: Seconds::from_micros(a),
    ///     byte: SecondsPerByte::new(b * 1e-6),
    /// };
    /// let cluster = Cluster { workstation: block(859.52, 1.42), network: block(345.60, 0.92) };
    /// // a' = 2 a + n a_c, b' = max(b, n b_c): alone a pair waits for itself, four wait for the network.
    /// let (one, four) = (cluster.pairs(1), cluster.pairs(4));
    /// assert!((one.fixed.micros() - 2064.64).abs() < 1e-9);
    /// assert_eq!(one.byte.number(), 1.42e-6);
    /// assert!((four.byte.number() - 3.68e-6).abs() < 1e-18);
    /// ```
    #[must_use]
    pub fn pairs(&self, pairs: u32) -> Block {
        let network = concurrent(self.network, pairs, f64::from(pairs));
        serial(&[self.workstation, network, self.workstation], Dependence::Independent)
    }

    /// The parts of section 3's patterns; the delay is in the network's time.
    #[must_use]
    pub fn parts(&self) -> Parts {
        Parts { workstation: self.workstation, network: self.network, delay: NOTHING }
    }
}
