//! Communication latency hiding: what it gains to communicate while calculating.
//!
//! Source: Volker Strumpen, Communication Latency Hiding: Model and Implementation in High-Latency
//! Computer Networks, ETH technical report 216, 1994; sections and equations are those of that
//! report.

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
