//! Windows: memory of each rank of a communicator, which the others use.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::sync::Arc;

use parking_lot::Mutex;
use prp_mpi::sys::shared::SharedBlock;

use super::{Attributes, Comm, Handle, Info};

/// The memory of a rank.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Extent {
    pub(crate) bytes: usize,
    /// Bytes that a displacement counts.
    pub(crate) unit: usize,
    /// What it begins at a multiple of, if it is the library's.
    pub(crate) alignment: usize,
}

/// Whose the memory of this rank is.
#[derive(Debug)]
pub(crate) enum WindowMemory {
    /// The program's.
    OfProgram,
    /// The library's, which frees it.
    Allocated(usize),
    /// That of all ranks, which lies in one piece.
    Shared(SharedBlock),
}

/// Attributes that the program gets the addresses of.
#[derive(Debug)]
pub(crate) struct WindowValues {
    pub(crate) size: isize,
    pub(crate) unit: c_int,
    pub(crate) flavor: c_int,
    pub(crate) model: c_int,
}

/// What this rank may do with the windows of others, and they with its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Epochs {
    /// A fence was called, behind which all may use all.
    pub(crate) is_fenced: bool,
    /// Ranks whose windows may be used until `MPI_Win_complete`.
    pub(crate) started: Option<Vec<usize>>,
    /// Ranks that may use this window until `MPI_Win_wait`.
    pub(crate) posted: Option<Vec<usize>>,
    /// Ranks whose windows are locked.
    pub(crate) locked: BTreeSet<usize>,
    pub(crate) are_all_locked: bool,
    /// What was asked for of the windows of ranks.
    asked: BTreeMap<usize, Asked>,
}

/// Bytes for which a rank was asked, since the window was made: they only grow, so that several
/// threads may wait for a part of them at the same time.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
struct Asked {
    total: u64,
    /// Of these the first that are known to be done.
    done: u64,
}

impl Asked {
    const fn is_done(self) -> bool {
        self.done >= self.total
    }
}

impl Epochs {
    /// Whether the window of a rank may be used.
    pub(crate) fn has(&self, rank: usize) -> bool {
        self.is_fenced
            || self.is_locked(rank)
            || self.started.as_ref().is_some_and(|ranks| ranks.contains(&rank))
    }

    /// Whether the window of a rank is locked.
    pub(crate) fn is_locked(&self, rank: usize) -> bool {
        self.are_all_locked || self.locked.contains(&rank)
    }

    /// Whether no other rank's window may be used, but perhaps behind a fence.
    pub(crate) fn is_free(&self) -> bool {
        self.started.is_none() && self.locked.is_empty() && !self.are_all_locked
    }

    /// Notes that a rank was asked for so many bytes; for how many it was that may not be done.
    pub(crate) fn note_asked(&mut self, rank: usize, bytes: usize) -> u64 {
        let asked = self.asked.entry(rank).or_default();
        asked.total += bytes as u64;
        asked.total - asked.done
    }

    /// For how many bytes a rank was asked in all, if some of them may not be done.
    pub(crate) fn asked_of(&self, rank: usize) -> Option<u64> {
        self.asked.get(&rank).filter(|asked| !asked.is_done()).map(|asked| asked.total)
    }

    /// All ranks that were asked for something that may not be done, and for how many bytes each
    /// was in all.
    pub(crate) fn all_asked(&self) -> Vec<(usize, u64)> {
        let open = self.asked.iter().filter(|(_, asked)| !asked.is_done());
        open.map(|(rank, asked)| (*rank, asked.total)).collect()
    }

    /// The first `total` bytes for which a rank was asked are done.
    pub(crate) fn note_done(&mut self, rank: usize, total: u64) {
        if let Some(asked) = self.asked.get_mut(&rank) {
            asked.done = asked.done.max(total);
        }
    }

    /// The same of several ranks.
    pub(crate) fn note_all_done(&mut self, asked: &[(usize, u64)]) {
        asked.iter().for_each(|&(rank, total)| self.note_done(rank, total));
    }

    /// The epoch with a rank ends, and with it all that the rank was asked for.
    pub(crate) fn end_with(&mut self, rank: usize) {
        self.asked.entry(rank).and_modify(|asked| asked.done = asked.total);
    }

    /// The epoch with all ranks ends.
    pub(crate) fn end_with_all(&mut self) {
        self.asked.values_mut().for_each(|asked| asked.done = asked.total);
    }
}

/// A window.
#[derive(Debug)]
pub(crate) struct Window {
    /// Its ranks, with a context of its own.
    pub(crate) comm: Arc<Comm>,
    pub(crate) base: usize,
    pub(crate) memory: WindowMemory,
    /// By rank.
    pub(crate) extents: Vec<Extent>,
    pub(crate) values: WindowValues,
    pub(crate) errhandler: Mutex<Handle>,
    pub(crate) attributes: Mutex<Attributes>,
    pub(crate) info: Mutex<Info>,
    pub(crate) epochs: Mutex<Epochs>,
}

impl Window {
    /// The number that messages about it carry.
    pub(crate) fn context(&self) -> u64 {
        self.comm.messages()
    }

    /// The ranks of the world of some of its ranks.
    pub(crate) fn in_world(&self, ranks: &[usize]) -> Vec<usize> {
        ranks.iter().map(|&rank| self.comm.group[rank]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note_done__of_two_threads_leaves_what_was_asked_for_meanwhile() {
        let mut epochs = Epochs::default();
        epochs.note_asked(1, 100);
        let [first, second] = [(); 2].map(|()| epochs.asked_of(1).unwrap());
        assert_eq!(epochs.asked_of(1), Some(100), "it is not done before the rank says so");
        epochs.note_asked(1, 50);
        epochs.note_done(1, first);
        epochs.note_done(1, second);
        assert_eq!(epochs.all_asked(), [(1, 150)]);
        assert_eq!(epochs.note_asked(1, 5), 55);
        epochs.note_done(1, 155);
        assert_eq!(epochs.asked_of(1), None);
        assert!(epochs.all_asked().is_empty());
    }

    #[test]
    fn end_with__leaves_what_other_ranks_were_asked_for() {
        let mut epochs = Epochs::default();
        epochs.note_asked(1, 100);
        epochs.note_asked(2, 100);
        epochs.end_with(1);
        assert_eq!(epochs.all_asked(), [(2, 100)]);
        epochs.end_with_all();
        assert!(epochs.all_asked().is_empty());
    }
}
