//! The processes of the node that have registered (docs/routing.md): what is announced to them
//! while they live, and what is left of them when they are dead.
//!
//! Nothing is received from a process. It has a ledger of the router's making, and its connection
//! ends when it does.

mod dead;

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prp_node::limits::is_exhausted;
use prp_node::registry::offer_ledger;
use prp_node::{DownHops, LedgerReader};
use prp_proto::addr::Port;
use prp_proto::endpoint::EstablishedId;
use prp_proto::time::Instant;
use prp_proto::token_bucket::TokenBucket;
use tracing::warn;

use crate::acceptor::ROOT;
use dead::DeadProcesses;

/// Processes of a node at most: each costs two descriptors. Others do without, as where there is no
/// router. A unit test has both ends of each connection, and no more than 1,024 descriptors.
const MAX_PROCESSES: usize = if cfg!(test) { 64 } else { 1024 };

/// Processes of one user other than root, so that no user takes the places of all.
const MAX_OF_USER: usize = MAX_PROCESSES / 4;

/// Ends taken at once.
const EVENTS: usize = 64;

/// Resets a second in the names of dead processes: the connections of a large server within a
/// second, and 1 % of a processor for as long as a local user invents processes.
const RESETS_PER_SECOND: u32 = 10_000;

/// All of them.
#[derive(Debug)]
pub struct ProcessRegistry {
    epoll: Epoll,
    processes: HashMap<u64, Process>,
    next: u64,
    dead: DeadProcesses,
    resets: TokenBucket,
    /// What was announced last.
    announced: Vec<u8>,
    /// The last process could not be registered, which has been logged.
    has_failed: bool,
}

/// One that lives.
#[derive(Debug)]
struct Process {
    link: UnixStream,
    user: u32,
    ledger: LedgerReader,
}

impl ProcessRegistry {
    /// Without any process.
    ///
    /// # Errors
    /// There is no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            processes: HashMap::new(),
            next: 0,
            dead: DeadProcesses::default(),
            resets: TokenBucket::new(RESETS_PER_SECOND),
            announced: DownHops::default().encode(),
            has_failed: false,
        })
    }

    /// What to poll for reading.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }

    /// Processes that are registered.
    pub fn len(&self) -> usize {
        self.processes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// Registers a process of `user`, if there is a place; else its connection ends.
    pub fn admit(&mut self, link: UnixStream, user: u32) {
        let same = self.processes.values().filter(|process| process.user == user).count();
        let all = self.processes.len() + self.dead.len();
        let is_full =
            all >= MAX_PROCESSES || (user != ROOT && same + self.dead.of_user(user) >= MAX_OF_USER);
        if is_full {
            return;
        }
        let ledger = match offer_ledger(&link) {
            Ok(ledger) => ledger,
            Err(e) => {
                if is_exhausted(&e) && !std::mem::replace(&mut self.has_failed, true) {
                    warn!("a process is not registered: {e} (RLIMIT_FSIZE, RLIMIT_NOFILE)");
                }
                return;
            }
        };
        self.has_failed = false;
        let mut process = Process { link, user, ledger };
        // Only its end is an event: what it may send stays in the kernel, and is charged to it.
        let event = EpollEvent::new(EpollFlags::EPOLLRDHUP, self.next);
        if process.send(&self.announced) && self.epoll.add(&process.link, event).is_ok() {
            self.processes.insert(self.next, process);
            self.next += 1;
        }
    }

    /// Notes which processes have ended.
    pub fn poll(&mut self, now: Instant) {
        let mut events = [EpollEvent::empty(); EVENTS];
        let Ok(n) = self.epoll.wait(&mut events, EpollTimeout::ZERO) else { return };
        events[..n].iter().for_each(|event| self.remove_process(now, event.data()));
    }

    /// A process has ended, or does not read. Connections of one that lives on are not touched: it
    /// owns their ports.
    fn remove_process(&mut self, now: Instant, number: u64) {
        let Some(process) = self.processes.remove(&number) else { return };
        let _ = self.epoll.delete(&process.link);
        self.dead.add(process.user, process.ledger, now);
    }

    /// Announces to every process which next hops not to use, if that has changed.
    pub fn announce(&mut self, now: Instant, down: &DownHops) {
        let announced = down.encode();
        if announced == self.announced {
            return;
        }
        self.announced = announced;
        let announced = &self.announced;
        let unresponsive =
            self.processes.iter_mut().filter_map(|(n, p)| (!p.send(announced)).then_some(*n));
        // They register again when they run again.
        unresponsive
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|number| self.remove_process(now, number));
    }

    /// When [`Self::resets`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.dead.next_timeout()
    }

    /// Some connections of dead processes, to be reset. `is_free` tells whether a port has no
    /// owner.
    pub fn resets(
        &mut self,
        now: Instant,
        is_free: impl FnMut(Port) -> bool,
    ) -> Vec<EstablishedId> {
        self.dead.resets(now, &mut self.resets, is_free)
    }
}

impl Process {
    /// Whether it has taken `message`: one that does not read for so long that it has not is sent
    /// away.
    fn send(&mut self, message: &[u8]) -> bool {
        matches!(self.link.write(message), Ok(n) if n == message.len())
    }
}

#[cfg(test)]
mod tests;
