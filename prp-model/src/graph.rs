//! Communication graphs: blocks put together by the rules of the hyperbolic model.
//!
//! A [`Block`] takes hyperbolic time for a message. [`serial`], [`parallel`] and [`concurrent`] are
//! rules 1 to 3; a [`Graph`] has processes, messages and the blocks these pass, and
//! [`Graph::reduce`] gives each message, and all together, one block by rule 4. [`Parts`] makes the
//! graphs of common patterns for any number of processes. Where processes outnumber the processors
//! of a node, [`Graph::on`] schedules what they do on those.
//!
//! Source: Stoica, Sultan and Keyes, A Simple Hyperbolic Model for Communication in Parallel
//! Processing Environments, NASA CR-194984, 1994; sections and equations are those of that report.
//! Where it leaves something open: the second "preemptive receive" of figure 8's text is the
//! non-preemptive one, as its table has it; section 3.3 has `b = max(K N b_C, b_W)` for neighbours,
//! where rule 3 gives `K b_W`; the `m` in the last line of section 2.1 is `b`; figure 20 lacks
//! messages' number and sizes, and its first two rows give the third with `p_x (p_t - 1)` large
//! messages at a time between planes and `2 p_x` small ones within each.
//!
//! ```
//! use prp_model::graph::{Block, NOTHING, Parts, PatternKind};
//! use prp_model::unit::{Bytes, Seconds, SecondsPerByte};
//!
//! // The workstations and the Ethernet of section 4.
//! let block = |a: f64, b: f64| Block {
//!     fixed: Seconds::from_micros(a),
//!     byte: SecondsPerByte::new(b * 1e-6),
//! };
//! let parts = Parts {
//!     workstation: block(859.52, 1.42),
//!     network: block(345.60, 0.92),
//!     delay: NOTHING,
//! };
//! let broadcast = parts.graph(PatternKind::TreeBroadcast, 11, true).reduce();
//! let order = broadcast.order.expect("a broadcast has an order");
//! assert_eq!(order.small.expect("plain paths").to_string(), "8 a_W + 3 a_C + 3 a_L");
//! assert!((broadcast.whole.time(Bytes::new(0.0)).micros() - 7912.96).abs() < 1e-6);
//! ```

mod algebra;
mod cluster;
mod definition;
mod draw;
mod events;
mod expression;
mod logp;
mod machine;
mod parse;
mod path;
mod pattern;
mod reduce;
mod schedule;

pub use algebra::{Block, Dependence, NOTHING, concurrent, parallel, serial};
pub use cluster::Cluster;
pub use definition::{Graph, Primitive};
pub(crate) use events::{Part, Plan, schedule, steps};
pub use expression::{Large, Small};
pub use logp::LogPBlock;
pub use machine::{Machine, Shared};
pub use parse::GraphError;
pub(crate) use pattern::PatternMessage;
pub use pattern::{Parts, PatternKind};
pub use reduce::{Order, Reduced, Reduction};
pub use schedule::{Bar, Timeline};
