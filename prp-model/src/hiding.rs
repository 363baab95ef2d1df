//! Communication latency hiding: what it gains to communicate while calculating.
//!
//! Source: Volker Strumpen, Communication Latency Hiding: Model and Implementation in High-Latency
//! Computer Networks, ETH technical report 216, 1994; sections and equations are those of that
//! report.
//! Where it leaves something open: a gain of exactly 1, as the third machine's of example 2, is no
//! loss; each speed-up of section 4.3 is over the same algorithm on one processor, and from the two
//! best numbers of processors, 601 and 453, follow `f = 10/29`, `lambda` and all its other numbers.

mod conjugate;
mod machine;
mod overlap;
mod scaling;

pub use conjugate::ConjugateGradient;
pub use machine::{Machine, Program};
pub use overlap::{Fraction, Granularity, Overlap};
pub use scaling::{Messages, Overhead, Scaling};

#[cfg(test)]
mod tests;
