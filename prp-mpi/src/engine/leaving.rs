//! Leaving the job, and coming back to it: a rank is not in it between two sessions.

use super::Engine;
use crate::link::Link;
use crate::sys::memory::Region;
use crate::wire::{Header, Kind, Signature};

impl Engine {
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
        let header = Header {
            kind,
            source: self.me as i32,
            tag: 0,
            id: 0,
            context: 0,
            len: 0,
            signature: Signature::default(),
        };
        for to in 0..self.links.len() {
            if let Some(link) = self.links[to].as_mut() {
                link.queue(&header, Region::owned(0), None);
                self.flush(to);
            }
        }
    }

    /// What another rank has said of itself.
    pub(super) fn note_presence(&mut self, from: usize, kind: Kind) {
        if let Some(link) = self.links[from].as_mut() {
            link.has_left = kind != Kind::Return;
            link.has_finalized |= kind == Kind::Goodbye;
            self.other_changes += 1;
        }
    }

    /// Whether all others are in `MPI_Finalize`, or have left, and all that was sent is out.
    pub fn all_have_left(&self) -> bool {
        self.links.iter().flatten().all(Link::is_done)
    }

    /// Whether all that was sent is out. A rank that has left needs no more of it.
    pub fn is_all_out(&self) -> bool {
        self.links.iter().flatten().all(|link| link.has_left || !link.wants_room())
    }
}

#[cfg(test)]
mod tests;
