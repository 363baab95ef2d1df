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
    /// Ranks of whose windows something was asked for that may not be done, and for how many bytes.
    pub(crate) asked: BTreeMap<usize, usize>,
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
