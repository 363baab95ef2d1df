//! Every interleaving of small scenes, on the real [`Endpoint`](prp_proto::endpoint::Endpoint).
//!
//! A [`Scene`] is two nodes, what their applications write, and how much may go wrong. A [`World`]
//! is one state of it: both endpoints, the frames between them, the clock. The [`Search`] takes
//! every action in every state it reaches: a frame arrives, is lost, doubled or kept back; an
//! application writes or closes; the clock moves to the next deadline, though frames still wait; a
//! node restarts. States that were met before are not entered again. Where nothing is left to
//! happen the network heals, and everything must come to its end.

mod app;
mod heal;
mod node;
mod scene;
mod search;
mod seed;
mod world;

pub use scene::{Peers, Scene};
pub use search::{Counterexample, Search, Tally};
pub use world::{Action, World};

#[cfg(test)]
mod tests;
