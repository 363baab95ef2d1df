//! Communicators: their ranks, and what the application has attached to them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use parking_lot::Mutex;
use prp_mpi::collective::choice::Choices;
use prp_mpi::collective::intercommunicator::Sides;
use prp_mpi::process::Process;

use super::{Attributes, Handle, Info};
use crate::api::topology::Topology;

/// Persistent operations have negative numbers, and calls others: the ranks may begin the two in
/// different orders.
const PERSISTENT: i32 = i32::MIN;

/// World ranks by rank.
pub(crate) type Group = Arc<[usize]>;

/// The other group of an intercommunicator.
#[derive(Clone, Debug)]
pub(crate) struct Remote {
    /// Its ranks.
    pub(crate) group: Group,
    /// Whether it comes before the own group where both are one list: of two groups one does.
    pub(crate) is_first: bool,
}

/// A communicator.
#[derive(Debug)]
pub(crate) struct Comm {
    /// Set when the ranks have agreed on it.
    context: AtomicU64,
    pub(crate) group: Group,
    pub(crate) rank: usize,
    pub(crate) remote: Option<Remote>,
    /// The processes of other jobs in both groups, which the process holds as long as this is
    /// there.
    pub(crate) foreign: Vec<usize>,
    pub(crate) topology: Option<Topology>,
    pub(crate) name: Mutex<String>,
    pub(crate) errhandler: Mutex<Handle>,
    pub(crate) attributes: Mutex<Attributes>,
    pub(crate) info: Mutex<Info>,
    /// Whether its receives may be released early, by its info.
    pub(crate) is_early: AtomicBool,
    /// Algorithms of collective operations, by its info.
    pub(crate) choices: Mutex<Choices>,
    /// Collective calls so far.
    pub(crate) calls: AtomicI32,
    /// Persistent collective operations that were made so far.
    pub(crate) persistent: AtomicI32,
    /// Messages in parts that were made so far: whether they are received, the other rank, the tag.
    partitioned: Mutex<BTreeMap<(bool, i32, i32), u64>>,
}

/// A communicator that something in progress uses, with the handle that the program has of it, or
/// had.
#[derive(Clone, Debug)]
pub(crate) struct HeldComm {
    pub(crate) handle: Handle,
    pub(crate) comm: Arc<Comm>,
}

/// Contexts of communicators that are no more. The exchange, which may be in use where the last
/// owner of one goes, forgets them later.
static GONE: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// The processes of other jobs that they had.
static GONE_FOREIGN: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Lets a process forget the communicators that are no more since this was called last.
pub(crate) fn forget_gone(process: &Process) {
    process.forget(&std::mem::take(&mut *GONE.lock()));
    process.release(&std::mem::take(&mut *GONE_FOREIGN.lock()));
}

/// Nothing will be begun on a context any more.
pub(super) fn note_gone(context: u64) {
    GONE.lock().push(context);
}

impl Drop for Comm {
    fn drop(&mut self) {
        GONE.lock().extend([self.messages(), self.collectives()]);
        GONE_FOREIGN.lock().append(&mut self.foreign);
    }
}

impl Comm {
    pub(crate) fn new(context: u64, group: Group, rank: usize, name: &str) -> Self {
        Self {
            context: AtomicU64::new(context),
            group,
            rank,
            remote: None,
            foreign: Vec::new(),
            topology: None,
            name: Mutex::new(name.to_owned()),
            errhandler: Mutex::new(Handle::ERRORS_ARE_FATAL),
            attributes: Mutex::default(),
            info: Mutex::default(),
            is_early: AtomicBool::new(false),
            choices: Mutex::default(),
            calls: AtomicI32::new(0),
            persistent: AtomicI32::new(0),
            partitioned: Mutex::default(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.group.len()
    }

    /// The group that messages go to and come from.
    pub(crate) fn peers(&self) -> &Group {
        self.remote.as_ref().map_or(&self.group, |r| &r.group)
    }

    /// All ranks as one list, which both groups of an intercommunicator order alike, and the place
    /// of this rank in it.
    pub(crate) fn everyone(&self) -> (Group, usize) {
        match &self.remote {
            None => (self.group.clone(), self.rank),
            Some(Remote { group, is_first: true }) => {
                (group.iter().chain(&*self.group).copied().collect(), group.len() + self.rank)
            }
            Some(Remote { group, is_first: false }) => {
                (self.group.iter().chain(&**group).copied().collect(), self.rank)
            }
        }
    }

    /// The two groups of an intercommunicator as parts of the list of [`Self::everyone`].
    pub(crate) fn sides(&self) -> Option<Sides> {
        let Remote { group, is_first } = self.remote.as_ref()?;
        let (own, other) = (self.size(), group.len());
        Some(if *is_first {
            Sides { rank: other + self.rank, own: other..other + own, other: 0..other }
        } else {
            Sides { rank: self.rank, own: 0..own, other: own..own + other }
        })
    }

    /// The number that its messages carry.
    pub(crate) fn context(&self) -> u64 {
        self.context.load(Ordering::Relaxed)
    }

    /// The ranks have agreed on its number.
    pub(crate) fn set_context(&self, context: u64) {
        self.context.store(context, Ordering::Relaxed);
    }

    /// Context of messages between two ranks.
    pub(crate) fn messages(&self) -> u64 {
        2 * self.context()
    }

    /// Context of collective operations.
    pub(crate) fn collectives(&self) -> u64 {
        2 * self.context() + 1
    }

    /// Number of the next collective call.
    pub(crate) fn next_call(&self) -> i32 {
        self.calls.fetch_add(1, Ordering::Relaxed) & i32::MAX
    }

    /// Number of the next persistent collective operation, for all of its starts: other ranks may
    /// start several in another order, but make them in the same.
    pub(crate) fn next_persistent(&self) -> i32 {
        self.persistent.fetch_add(1, Ordering::Relaxed) | PERSISTENT
    }

    /// How many messages in parts were made before with this rank and tag. Both ranks make them in
    /// the same order.
    pub(crate) fn next_partitioned(&self, is_receive: bool, peer: i32, tag: i32) -> u64 {
        let mut made = self.partitioned.lock();
        let count = made.entry((is_receive, peer, tag)).or_default();
        *count += 1;
        *count - 1
    }
}
