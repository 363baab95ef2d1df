//! MPI for Rust programs, in the shape of `rsmpi`: each call returns a `Result`, and no buffer can
//! be touched while a message is in transit.
//!
//! ```no_run
//! let universe = prp_mpi::initialize()?;
//! let world = universe.world();
//! let mut sums = [0.0; 2];
//! world.all_reduce_into(&[1.0, f64::from(world.rank())], &mut sums, prp_mpi::Operation::Sum)?;
//! assert_eq!(sums[0], f64::from(world.size()));
//! # Ok::<(), prp_mpi::Error>(())
//! ```

pub mod collective;
pub mod communicator;
pub mod element;
pub mod message;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use self::communicator::{Communicator, Context};
use crate::exchange::Copies;
use crate::process::Process;
use crate::sys::lend::{self, Scope};

/// What went wrong with a call.
#[derive(Debug)]
pub enum Error {
    /// This process did not become a rank, or has been one.
    Start(io::Error),
    /// There is no such rank in the communicator.
    NoRank(i32),
    /// Tags are not negative.
    Tag(i32),
    /// A message was longer than its buffer, which has this number of bytes.
    Truncated(u64),
    /// Buffers do not fit together: bytes there are, and bytes there should be.
    Length(usize, usize),
    /// The operation does not take elements of this kind.
    Operation,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(e) => write!(f, "this process is no rank: {e}"),
            Self::NoRank(rank) => write!(f, "there is no rank {rank} in the communicator"),
            Self::Tag(tag) => write!(f, "the tag {tag} is negative"),
            Self::Truncated(room) => write!(f, "a message is longer than its {room} bytes of room"),
            Self::Length(is, should) => write!(f, "a buffer of {is} bytes in place of {should}"),
            Self::Operation => write!(f, "the operation does not take elements of this kind"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Start(e) => Some(e),
            _ => None,
        }
    }
}

/// What a call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// This process as a rank of its job, until it is dropped: then it waits until all ranks are at
/// their ends.
#[derive(Debug)]
pub struct Universe {
    process: Arc<Process>,
    world: Arc<Context>,
}

/// Becomes the rank that the launcher says, or the only one; once in a process.
///
/// # Errors
/// [`Error::Start`] under a launcher of another kind, if the other ranks are not reached, or if it
/// is called again.
pub fn initialize() -> Result<Universe> {
    if IS_STARTED.swap(true, Ordering::SeqCst) {
        return Err(Error::Start(io::ErrorKind::AlreadyExists.into()));
    }
    let process = Process::start().map_err(Error::Start)?;
    process.share();
    let world = Context::of_world(&process);
    Ok(Universe { process, world })
}

impl Universe {
    /// The communicator of all ranks.
    pub fn world(&self) -> Communicator {
        Communicator::world(&self.world)
    }

    /// Where the bytes of messages went that have come so far.
    pub fn copies(&self) -> Copies {
        self.process.exchange().copies()
    }

    /// Lets `does` begin messages with buffers of the program, and ends when all are done.
    pub fn scope<'env, T>(
        &self,
        does: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
    ) -> T {
        lend::scope(&self.process, does)
    }
}

impl Drop for Universe {
    fn drop(&mut self) {
        // A rank that panics has no end of its own: the launcher ends the job.
        if !std::thread::panicking() {
            let _ = self.process.finalize();
        }
    }
}
