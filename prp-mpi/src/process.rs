//! A process as a rank of a job: wire-up, waiting, and what it says of itself when something is
//! wrong.

pub mod ask;
pub mod early;
mod guard;
mod jobs;
mod peers;
pub mod report;
mod start;
mod wait;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use prp_device::waiting::WaitSettings;

use crate::control::names::Names;
use crate::control::{Frame, Topic};
use crate::exchange::Exchange;
use crate::sys::protection;
use crate::sys::shared::Bell;
pub use guard::ExchangeGuard;
pub use jobs::Contact;
use jobs::JobListener;
pub use peers::Identity;
use peers::Peer;
use report::Waiting;
use start::pmi::Pmi;

/// Seconds that a rank may wait before a roll call unless `PRP_MPI_HANG_SECONDS` says otherwise:
/// longer than ranks of a well-behaved program wait for each other as a rule.
pub const HANG_SECONDS: u64 = 60;

/// The launcher that has started this process.
#[derive(Debug)]
enum Launcher {
    /// No launcher that knows of ranks: it is the only one.
    None,
    /// An agent of prp-mpirun.
    Agent(Mutex<UnixStream>),
    /// A process manager of another launcher.
    Manager(Mutex<Pmi>),
}

/// This process as a rank.
#[derive(Debug)]
pub struct Process {
    rank: usize,
    /// The first rank of the job.
    first: Identity,
    /// Number of the node of each rank, counted from 0 in the order of the launcher's list.
    nodes: Vec<usize>,
    /// Processes of other jobs. Locked within the exchange's lock, as the listener is.
    peers: Mutex<Vec<Peer>>,
    job_listener: Mutex<Option<Arc<JobListener>>>,
    exchange: Mutex<Exchange>,
    launcher: Launcher,
    /// What the launcher has answered that no thread has taken yet.
    answers: Mutex<Vec<Vec<u8>>>,
    /// Questions so far.
    asked: AtomicU32,
    /// Published names, where no launcher keeps them.
    published: Mutex<Names>,
    waiting: Mutex<Vec<Waiting>>,
    names: Mutex<HashMap<u64, String>>,
    /// Communicators that this rank has numbered.
    numbered: AtomicU64,
    /// Wakes this rank, for other ranks of the node, and the thread of it that sleeps on the
    /// streams, for its other threads.
    bell: Bell,
    /// Threads that wait while another one sleeps on the streams.
    followers: Condvar,
    /// How many. Changed with the exchange locked.
    following: AtomicUsize,
    /// Whether a thread sleeps on the streams. Changed with the exchange locked.
    is_led: AtomicBool,
    /// Threads of the program that wait. Changed with the exchange locked.
    waiters: AtomicUsize,
    /// How often threads of the program have polled or waited.
    polls: AtomicU64,
    /// The thread that has used the exchange last, as a number; [`MANY_CALLERS`] once several have.
    caller: AtomicUsize,
    /// Longest sleep of a thread.
    longest_sleep: Duration,
    /// How this rank polls before it sleeps.
    waits: WaitSettings,
    hang: Option<Duration>,
    /// Whether several threads may call at the same time.
    is_shared: AtomicBool,
    /// Whether they may be threads of the program.
    has_threads: AtomicBool,
    began: Instant,
    /// Whether this rank has left the job, if only for a while.
    is_away: AtomicBool,
}

/// Communicators that there are from the beginning have numbers below this.
const FIRST_NUMBER: u64 = 16;

/// Bits that count the communicators of a rank: a rank that makes a million in a second has numbers
/// for twelve days. As many ranks as a job may have number below [`BETWEEN_JOBS`]; from 1 << 61 on
/// the ABI has others.
const COUNTER_BITS: u32 = 40;

/// Numbers from here on are those of communicators with ranks of several jobs.
const BETWEEN_JOBS: u64 = 1 << 60;

const fn numbered(rank: usize, count: u64) -> u64 {
    (rank as u64) << COUNTER_BITS | count
}

impl Process {
    /// World rank.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// Ranks of the job.
    pub const fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Number of the node of each rank.
    pub fn nodes(&self) -> &[usize] {
        &self.nodes
    }

    /// When this rank began.
    pub const fn began(&self) -> Instant {
        self.began
    }

    /// Several threads of the program may call at the same time from now on.
    pub fn share(&self) {
        self.has_threads.store(true, Ordering::Relaxed);
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// Whether only one thread calls at a time.
    fn is_alone(&self) -> bool {
        !self.is_shared.load(Ordering::Relaxed)
    }

    /// A number for a communicator that this rank is the first of: no other rank gives the same,
    /// and none is given twice.
    pub fn fresh_context(&self) -> u64 {
        let count = self.numbered.fetch_add(1, Ordering::Relaxed);
        if !self.listens_for_jobs() {
            return numbered(self.rank, count);
        }
        // Ranks of other jobs give numbers to communicators with this one, and do not know which it
        // has given. Of two in a billion jobs that are there at a time none are the same.
        let mut hasher = DefaultHasher::new();
        (self.first.plus(self.rank), count).hash(&mut hasher);
        BETWEEN_JOBS | hasher.finish() & (BETWEEN_JOBS - 1)
    }

    /// Says what a context is called in reports.
    pub fn name(&self, context: u64, name: &str) {
        self.names.lock().insert(context, name.to_owned());
    }

    /// Nothing will be begun on these contexts any more.
    pub fn forget(&self, contexts: &[u64]) {
        let mut names = self.names.lock();
        for context in contexts {
            names.remove(context);
        }
        drop(names);
        self.exchange().forget(contexts);
    }

    /// What a context is called.
    pub fn name_of(&self, context: u64) -> String {
        let names = self.names.lock();
        names.get(&context).cloned().unwrap_or_else(|| format!("communicator {context}"))
    }

    /// Ends the job with this exit status.
    pub fn abort(&self, status: i32, reason: &str) -> ! {
        // What runs at the end of a process must not wait for messages.
        protection::open_all();
        let mut content = status.to_le_bytes().to_vec();
        content.extend_from_slice(reason.as_bytes());
        if let Launcher::Agent(_) = self.launcher {
            self.tell(Topic::Abort, content);
        } else if !reason.is_empty() {
            let _ = writeln!(io::stderr(), "prp-mpi: rank {}: {reason}", self.rank);
        }
        if let Launcher::Manager(manager) = &self.launcher {
            manager.lock().abort(status);
        }
        std::process::exit(status);
    }

    /// Tells the agent something. When it is gone the control thread ends the process.
    fn tell(&self, topic: Topic, content: impl Into<Vec<u8>>) {
        if let Launcher::Agent(control) = &self.launcher {
            let number = self.first.plus(self.rank).number as usize;
            let _ = Frame::new(topic, number, content).write(&mut *control.lock());
        }
    }

    /// Waits until all ranks are here, too, and all that was sent has been taken; then leaves the
    /// job.
    ///
    /// # Errors
    /// None yet: those of the agent's socket are the control thread's.
    pub fn finalize(&self) -> io::Result<()> {
        self.complete_released();
        self.exchange().send_goodbye();
        let what = || Waiting::new("MPI_Finalize", "MPI_COMM_WORLD".into(), String::new());
        self.wait(&what, |exchange| exchange.all_have_left().then_some(()));
        self.note_left();
        Ok(())
    }

    /// Leaves the job, perhaps for a while. Other ranks may need longer, or not have begun what
    /// they do next with this one: it waits only until all that was sent is out.
    pub fn leave(&self) {
        self.complete_released();
        self.exchange().send_leave();
        let what = || Waiting::new("MPI_Session_finalize", String::new(), String::new());
        self.wait(&what, |exchange| exchange.is_all_out().then_some(()));
        self.note_left();
    }

    fn note_left(&self) {
        self.is_away.store(true, Ordering::SeqCst);
        self.tell(Topic::Finalized, []);
        if let Launcher::Manager(manager) = &self.launcher {
            manager.lock().finish();
        }
    }

    /// Is in the job again, if this rank has left it.
    pub fn come_back(&self) {
        if self.is_away.swap(false, Ordering::SeqCst) {
            self.exchange().send_return();
            self.tell(Topic::Hello, []);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered__ranks_that_make_many_communicators_stay_apart() {
        assert!(numbered(0, 1 << 33) < numbered(1, FIRST_NUMBER));
        assert!(numbered((1 << 16) - 1, (1 << COUNTER_BITS) - 1) < BETWEEN_JOBS);
    }
}
