//! Small mistakes planted in the core, one at a time: some test must fail for each.
//!
//! Works on a copy of the tree, never on the tree itself.

mod closing;
mod connecting;
mod keys;
mod mutation;
mod routers;
mod run;
mod scheduling;
mod transfer;
mod tree;

use closing::CLOSING;
use connecting::CONNECTING;
use keys::KEYS;
pub use mutation::{Catcher, Mutation};
use routers::ROUTERS;
pub use run::{Report, run, table};
use scheduling::SCHEDULING;
use transfer::TRANSFER;
pub use tree::Tree;

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Mutation> {
    [CONNECTING, TRANSFER, CLOSING, ROUTERS, SCHEDULING, KEYS].into_iter().flatten()
}

#[cfg(test)]
mod tests;
