//! Small mistakes planted in the core, one at a time: some test must fail for each.
//!
//! Works on a copy of the tree, never on the tree itself.

mod list;
mod routers;
mod run;
mod tree;
mod turns;

use list::LIST;
pub use list::{Catcher, Mutation};
use routers::ROUTERS;
pub use run::{Report, run, table};
pub use tree::Tree;
use turns::TURNS;

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Mutation> {
    LIST.iter().chain(ROUTERS).chain(TURNS)
}

#[cfg(test)]
mod tests;
