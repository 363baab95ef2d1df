//! Small mistakes planted in the core, one at a time: some test must fail for each.
//!
//! Those are here that cargo-mutants cannot make (a statement left out, another argument, another
//! result of a match arm), and those that only a kind of test finds that it does not run. Works on
//! a copy of the tree, never on the tree itself.

mod keys;
mod mutation;
mod protocol;
mod run;
mod tree;

use keys::KEYS;
pub use mutation::{Catcher, Mutation};
use protocol::PROTOCOL;
pub use run::{Report, run, table};
pub use tree::Tree;

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Mutation> {
    [PROTOCOL, KEYS].into_iter().flatten()
}

#[cfg(test)]
mod tests;
