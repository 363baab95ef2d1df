//! Small mistakes planted in the core, one at a time: some test must fail for each.
//!
//! Works on a copy of the tree, never on the tree itself.

mod list;
mod run;
mod tree;

pub use list::{Catcher, LIST, Mutation};
pub use run::{Report, run, table};
pub use tree::Tree;

#[cfg(test)]
mod tests;
