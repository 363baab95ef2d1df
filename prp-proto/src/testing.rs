//! Simulations in virtual time, for tests of this crate and of those above it.

mod pair;

pub use pair::{Direction, FrameAction, Pair, Rule, Side};
