//! Rules 1 to 3: blocks put together to one with the same limits for small and for large messages.

use crate::point::Hyperbolic;
use crate::unit::{Seconds, SecondsPerByte};

/// A communication block: something that takes [`Hyperbolic`] time for a message, such as a
/// processor, an adapter or a network.
pub type Block = Hyperbolic;

/// The block that takes no time: in series with another one it changes nothing.
pub const NOTHING: Block = Block { fixed: Seconds::new(0.0), byte: SecondsPerByte::new(0.0) };

/// Whether blocks can work at the same time.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Dependence {
    /// Each works on another packet meanwhile: they run on different processors.
    Independent,
    /// Only one of them works at a time: they run on the same processor.
    Dependent,
}

/// Rule 1: every packet is processed by all of the blocks. None take no time.
///
/// `a` is the sum; `b` is that of the slowest where they are independent, and the sum where they
/// are not. Source: Stoica, Sultan and Keyes, equations 5 and 6.
///
/// ```
/// use prp_model::graph::{Block, Dependence, serial};
/// use prp_model::unit::{Seconds, SecondsPerByte};
///
/// let block = |a, b| Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) };
/// let both = [block(2.0, 3.0), block(3.0, 2.0)];
/// assert_eq!(serial(&both, Dependence::Independent), block(5.0, 3.0));
/// assert_eq!(serial(&both, Dependence::Dependent), block(5.0, 5.0));
/// ```
#[must_use]
pub fn serial(blocks: &[Block], dependence: Dependence) -> Block {
    let add = |all: Block, next: &Block| {
        let (one, other) = (all.byte.number(), next.byte.number());
        let byte = match dependence {
            Dependence::Independent => one.max(other),
            Dependence::Dependent => one + other,
        };
        let fixed = all.fixed.number() + next.fixed.number();
        Block { fixed: Seconds::new(fixed), byte: SecondsPerByte::new(byte) }
    };
    blocks.iter().fold(NOTHING, add)
}

/// Rule 2: every packet is processed by one of the blocks, the one with which the message is done
/// first. `None` of no blocks.
///
/// `a` is the least; `b` is the least where they are dependent, and where they are not the load is
/// divided among them: `1/b` is the sum of `1/b_i`. Source: equations 9 and 10.
///
/// ```
/// use prp_model::graph::{Block, Dependence, parallel};
/// use prp_model::unit::{Seconds, SecondsPerByte};
///
/// let block = |a, b| Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) };
/// // Figure 5: T(x; 2, 3) and T(x; 3, 2) on one processor are T(x; 2, 2).
/// let both = [block(2.0, 3.0), block(3.0, 2.0)];
/// assert_eq!(parallel(&both, Dependence::Dependent), Some(block(2.0, 2.0)));
/// let divided = parallel(&both, Dependence::Independent).expect("two blocks");
/// assert!((divided.byte.number() - 6.0 / 5.0).abs() < 1e-15);
/// ```
#[must_use]
pub fn parallel(blocks: &[Block], dependence: Dependence) -> Option<Block> {
    let join = |all: Block, next: Block| {
        let (one, other) = (all.byte.number(), next.byte.number());
        let byte = match dependence {
            Dependence::Dependent => one.min(other),
            // A block that costs nothing for a byte takes all of them.
            Dependence::Independent if one == 0.0 || other == 0.0 => 0.0,
            Dependence::Independent => one * other / (one + other),
        };
        let fixed = all.fixed.number().min(next.fixed.number());
        Block { fixed: Seconds::new(fixed), byte: SecondsPerByte::new(byte) }
    };
    blocks.iter().copied().reduce(join)
}

/// Rule 3: what a block is to one of `messages` that it processes at the same time, in whichever
/// order; `share` is the size of all of them by that of this one.
///
/// It is the time until all are done, which bounds that of each: `a_i = n a`, `b_i = b X / x_i`.
/// Source: equation 14. In a random order `a_i` is too large by a factor of two on average.
///
/// ```
/// use prp_model::graph::{Block, concurrent};
/// use prp_model::unit::{Seconds, SecondsPerByte};
///
/// let block = |a, b| Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) };
/// // One of three of the same size.
/// assert_eq!(concurrent(block(1.0, 0.5), 3, 3.0), block(3.0, 1.5));
/// ```
#[must_use]
pub fn concurrent(block: Block, messages: u32, share: f64) -> Block {
    Block {
        fixed: Seconds::new(f64::from(messages) * block.fixed.number()),
        byte: SecondsPerByte::new(share * block.byte.number()),
    }
}

#[cfg(test)]
mod tests;
