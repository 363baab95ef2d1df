//! Leaving the job, and coming back to it: a rank is not in it between two sessions.

use super::Exchange;
use crate::channel::Channel;
use crate::sys::memory::Region;
use crate::wire::{Header, Kind, Signature};

impl Exchange {
    /// Tells all others that this rank is in `MPI_Finalize`, and sends no more unless it returns.
    pub fn send_goodbye(&mut self) {
        self.send_to_all(Kind::Goodbye);
    }

    /// Tells all others that this rank sends no more unless it returns.
    pub fn send_leave(&mut self) {
        self.send_to_all(Kind::Leave);
    }

    /// Tells all others that this rank is there again.
    pub fn send_return(&mut self) {
        self.send_to_all(Kind::Return);
    }

    fn send_to_all(&mut self, kind: Kind) {
        for to in 0..self.channels.len() {
            // A process of another job that no communicator has any more was told so.
            if self.channels[to].as_ref().is_some_and(|channel| !channel.is_detached) {
                self.send_alone(to, kind);
            }
        }
    }

    /// Sends a header that says all.
    pub(super) fn send_alone(&mut self, to: usize, kind: Kind) {
        let header = Header {
            kind,
            source: self.me as i32,
            tag: 0,
            id: 0,
            context: 0,
            len: 0,
            signature: Signature::default(),
        };
        if let Some(channel) = self.channels[to].as_mut() {
            channel.queue(&header, Region::owned(0), None);
            self.flush(to);
        }
    }

    /// What another rank has said of itself.
    pub(super) fn note_presence(&mut self, from: usize, kind: Kind) {
        if let Some(channel) = self.channels[from].as_mut() {
            channel.has_left = kind != Kind::Return;
            channel.has_finalized |= kind == Kind::Goodbye;
            self.other_changes += 1;
        }
    }

    /// Whether all others are in `MPI_Finalize`, or have left, and all that was sent is out.
    pub fn all_have_left(&self) -> bool {
        self.channels.iter().flatten().all(Channel::is_done)
    }

    /// Whether all that was sent is out. A rank that has left needs no more of it.
    pub fn is_all_out(&self) -> bool {
        self.channels.iter().flatten().all(|channel| channel.has_left || !channel.wants_room())
    }
}

#[cfg(test)]
mod tests;
