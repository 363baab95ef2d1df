//! Files: of the ranks of a communicator, each of which sees its own part.

mod representation;
mod view;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use prp_mpi::request::Status;

pub(crate) use self::representation::{OwnRepresentation, Representation};
pub(crate) use self::view::{Piece, View};
use super::{Comm, Handle, Info};

/// An open file.
#[derive(Debug)]
pub(crate) struct OpenFile {
    /// Its ranks, with a context of its own.
    pub(crate) comm: Arc<Comm>,
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    /// `MPI_MODE_*`.
    pub(crate) mode: i32,
    pub(crate) errhandler: Mutex<Handle>,
    pub(crate) info: Mutex<Info>,
    pub(crate) view: Mutex<Arc<View>>,
    /// Where this rank reads or writes next, in units of the view.
    pub(crate) position: Mutex<u64>,
    pub(crate) is_atomic: AtomicBool,
    /// Held by the thread that has locked the file: of several threads a lock of the system keeps
    /// none out.
    pub(crate) locking: Mutex<()>,
    /// A collective access that has begun, by the name of its call without the ending, and what
    /// became of it.
    pub(crate) split: Mutex<Option<(&'static str, Status)>>,
}
