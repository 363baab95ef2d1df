//! Random programs of calls on both ends of a connection, over both stacks.

/// Runs them.
pub(crate) fn programs() {}
