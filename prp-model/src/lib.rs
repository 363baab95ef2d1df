//! What a message costs: models of communication between processes, fitted to measurements with
//! intervals, put together to graphs, and set against computation.
//!
//! The models are those of four papers (`docs/models.md` has them with their sources): the linear
//! model of Dongarra and Dunigan, the two-piece model of PRP, the hyperbolic model with its
//! communication graphs, and the model of communication latency hiding; beside them LogP and LogGP.
//! The crate is mathematics: it measures nothing, reads no file and no clock. What it draws at
//! random comes from a seed it is given.
//!
//! [`mod@unit`] has the quantities, [`rounds`] figures of several rounds, [`point`] the models of
//! one message, [`fit`] their parameters from measurements, [`graph`] what blocks are together,
//! [`hiding`] what it gains to calculate meanwhile, and [`export`] gives fits to other programs.
//!
//! Two messages one after the other, each with a fixed cost and a cost of each byte:
//!
//! ```
//! use prp_model::graph::{Block, Dependence, serial};
//! use prp_model::unit::{Seconds, SecondsPerByte};
//!
//! let block = |fixed, byte| Block { fixed: Seconds::new(fixed), byte: SecondsPerByte::new(byte) };
//! let both = [block(8e-6, 1e-9), block(5e-6, 2e-9)];
//! let time = serial(&both, Dependence::Dependent);
//! assert!((time.fixed.number() - 13e-6).abs() < 1e-12);
//! ```
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

pub mod export;
pub mod fit;
pub mod graph;
pub mod hiding;
pub mod point;
pub mod rounds;
pub mod unit;
