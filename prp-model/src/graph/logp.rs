//! Section 6: what the hyperbolic model and LogP say of the same messages.

use super::algebra::{Block, Dependence, serial};
use crate::point::LogP;
use crate::unit::{Bytes, Seconds, SecondsPerByte};

/// LogP as a graph: messages of its one size are the packets of one message.
///
/// ```
/// use prp_model::graph::LogPBlock;
/// use prp_model::point::LogP;
/// use prp_model::unit::Seconds;
///
/// let micros = Seconds::from_micros;
/// let logp = LogP { latency: micros(20.0), overhead: micros(3.0), gap: micros(5.0) };
/// let block = LogPBlock::of(logp);
/// // One message: the same.
/// assert!((block.time(1).micros() - logp.time(1).micros()).abs() < 1e-9);
/// // Several: between 75 and 100 % of it.
/// let ratio = block.time(6).number() / logp.time(6).number();
/// assert!((0.75..1.0).contains(&ratio));
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LogPBlock {
    /// `a = 2o + L`, `b = max(g, o)` for a message more.
    pub block: Block,
    overhead: Seconds,
}

impl LogPBlock {
    /// By rule 1 from figure 9's graph with `a_W = b_W = o`, `a_L = L`, `b_C = g`.
    #[must_use]
    pub fn of(logp: LogP) -> Self {
        let block =
            |a: Seconds, b: Seconds| Block { fixed: a, byte: SecondsPerByte::new(b.number()) };
        let (none, overhead) = (Seconds::new(0.0), logp.overhead);
        let workstation = block(overhead, overhead);
        let row = [workstation, block(none, logp.gap), block(logp.latency, none), workstation];
        Self { block: serial(&row, Dependence::Independent), overhead }
    }

    /// Until the last of `messages` in a row is received; no fewer than one.
    #[must_use]
    pub fn time(&self, messages: u32) -> Seconds {
        self.block.time(beyond_first(messages))
    }

    /// What the sender's processor is busy for, or the receiver's: the primitives are preemptive
    /// (figure 8).
    #[must_use]
    pub fn sending_time(&self, messages: u32) -> Seconds {
        let end = Block { fixed: self.overhead, byte: SecondsPerByte::new(self.overhead.number()) };
        end.time(beyond_first(messages))
    }
}

/// LogP's smallest message is one, the hyperbolic model's none.
fn beyond_first(messages: u32) -> Bytes {
    Bytes::new(f64::from(messages.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Inequalities 18 and 19.
        #[test]
        fn time__is_between_three_quarters_of_logp_and_all_of_it(
            latency in 0.0..1e-3_f64, overhead in 1e-9..1e-3_f64, gap in 0.0..1e-3_f64, n in 1..100_000_u32,
        ) {
            let [latency, overhead, gap] = [latency, overhead, gap].map(Seconds::new);
            let logp = LogP { latency, overhead, gap };
            let block = LogPBlock::of(logp);
            let within = 0.75 - 1e-12..=1.0 + 1e-12;
            prop_assert!(within.contains(&(block.time(n).number() / logp.time(n).number())));
            let sending = block.sending_time(n).number() / logp.sending_time(n).number();
            prop_assert!(within.contains(&sending));
            // T_s_hyp / T_s_LogP = 1 - (n - 1) / n^2.
            let n = f64::from(n);
            prop_assert!((sending - (1.0 - (n - 1.0) / (n * n))).abs() < 1e-9);
        }
    }

    #[test]
    fn time__is_three_quarters_where_both_limits_meet() {
        // a = b: the second message costs as much as the first.
        let [latency, overhead, gap] = [3.0, 1.0, 5.0].map(Seconds::new);
        let logp = LogP { latency, overhead, gap };
        let ratio = LogPBlock::of(logp).time(2).number() / logp.time(2).number();
        assert!((ratio - 0.75).abs() < 1e-12);
    }
}
