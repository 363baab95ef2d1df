//! How messages come to where they are to be.

use std::ops::AddAssign;

/// Where the bytes of messages went that have come.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Copies {
    /// Straight into the buffer of a receive.
    pub straight: u64,
    /// Into the buffer of a receive, through what is read together with headers.
    pub staged: u64,
    /// Into memory for messages that no call had asked for, and to a receive from there; or for
    /// what is done with a window, and to that.
    pub held: u64,
}

impl AddAssign for Copies {
    fn add_assign(&mut self, other: Self) {
        self.straight += other.straight;
        self.staged += other.staged;
        self.held += other.held;
    }
}
