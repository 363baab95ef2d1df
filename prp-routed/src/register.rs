//! The processes of the node that have registered (docs/routing.md): what they are told while they live, and
//! what is left of them when they are dead.

mod departed;

use std::collections::HashMap;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prp_proto::addr::{NodeId, Port};
use prp_proto::endpoint::Standing;
use prp_proto::time::Instant;
use prp_sock::node::{DownHops, LedgerReader, receive_ledger, register_name, user_of};

use departed::Departed;

/// Processes of a node at most: each costs two descriptors. Others do without, as where there is no
/// router. A unit test has both ends of each connection, and no more than 1,024 descriptors.
const MAX_PROCESSES: usize = if cfg!(test) { 128 } else { 1024 };

/// ... of one user other than root, so that nobody takes the places of all.
const MAX_OF_USER: usize = MAX_PROCESSES / 2;

/// Connections accepted at once: a process that connects without end must not hold up frames. The rest
/// wait in the kernel's queue for the next turn.
const ACCEPTS: usize = 16;

/// Events taken at once.
const EVENTS: usize = 64;

/// The listener's number among those who have events.
const LISTENER: u64 = u64::MAX;

/// All of them.
#[derive(Debug)]
pub struct Register {
    listener: UnixListener,
    epoll: Epoll,
    processes: HashMap<u64, Process>,
    next: u64,
    departed: Vec<Departed>,
    /// Who may have all the places.
    root: u32,
    /// What was told last.
    told: Vec<u8>,
}

/// One that lives.
#[derive(Debug)]
struct Process {
    link: UnixStream,
    user: u32,
    /// Its connections, once it has handed them over.
    ledger: Option<LedgerReader>,
}

impl Register {
    /// Opens the register of `node`.
    ///
    /// # Errors
    /// Its name is taken, by whomever; or there is no descriptor left.
    pub fn open(node: NodeId) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&register_name(node)?).map_err(|e| {
            let message =
                format!("@prp/{node}/register: {e}: some process has the register's name");
            io::Error::new(e.kind(), message)
        })?;
        listener.set_nonblocking(true)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))?;
        let told = DownHops::default().encode();
        let (processes, departed) = (HashMap::new(), Vec::new());
        Ok(Self { listener, epoll, processes, next: 0, departed, root: 0, told })
    }

    /// What to poll for reading.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.epoll.0.as_fd()
    }

    /// Processes that are registered.
    pub fn len(&self) -> usize {
        self.processes.values().filter(|p| p.ledger.is_some()).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes who comes, and notes who has gone.
    pub fn turn(&mut self, now: Instant) {
        let mut events = [EpollEvent::empty(); EVENTS];
        let Ok(n) = self.epoll.wait(&mut events, EpollTimeout::ZERO) else { return };
        for event in &events[..n] {
            match event.data() {
                LISTENER => self.welcome(),
                number => self.hear(now, number),
            }
        }
    }

    fn welcome(&mut self) {
        for _ in 0..ACCEPTS {
            let Ok((link, _)) = self.listener.accept() else { return };
            let Ok(user) = user_of(&link) else { continue };
            let living = self.processes.values().map(|p| p.user);
            let users: Vec<u32> = living.chain(self.departed.iter().map(|d| d.user)).collect();
            let same = users.iter().filter(|other| **other == user).count();
            let room = users.len() < MAX_PROCESSES && (user == self.root || same < MAX_OF_USER);
            let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, self.next);
            if room && link.set_nonblocking(true).is_ok() && self.epoll.add(&link, event).is_ok() {
                self.processes.insert(self.next, Process { link, user, ledger: None });
                self.next += 1;
            }
        }
    }

    /// A process has said something, or ended.
    fn hear(&mut self, now: Instant, number: u64) {
        let Some(process) = self.processes.get_mut(&number) else { return };
        match receive_ledger(&process.link) {
            Ok(ledger) if process.ledger.is_none() => {
                process.ledger = Some(ledger);
                if process.tell(&self.told) {
                    return;
                }
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => return,
            Ok(_) | Err(_) => {}
        }
        self.part(now, number);
    }

    /// A process has ended, or nothing it says makes sense. Connections of one that lives on are not
    /// touched: it owns their ports.
    fn part(&mut self, now: Instant, number: u64) {
        let Some(process) = self.processes.remove(&number) else { return };
        let _ = self.epoll.delete(&process.link);
        if let Some(ledger) = process.ledger {
            self.departed.push(Departed::new(process.user, ledger, now));
        }
    }

    /// Tells every process which next hops not to use, if that has changed.
    pub fn tell(&mut self, now: Instant, down: &DownHops) {
        let told = down.encode();
        if told == self.told {
            return;
        }
        self.told = told;
        let said = &self.told;
        let registered = self.processes.iter_mut().filter(|(_, p)| p.ledger.is_some());
        let deaf: Vec<u64> =
            registered.filter_map(|(n, p)| (!p.tell(said)).then_some(*n)).collect();
        // They register again when they run again.
        deaf.into_iter().for_each(|number| self.part(now, number));
    }

    /// When [`Self::resets`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.departed.iter().map(|d| d.due).min()
    }

    /// Some connections of a dead process, to be reset. `is_free` tells of a port that nobody owns it.
    pub fn resets(&mut self, now: Instant, mut is_free: impl FnMut(Port) -> bool) -> Vec<Standing> {
        let mut all = Vec::new();
        let due = self.departed.iter().position(|d| d.due <= now);
        if let Some(at) = due
            && !self.departed[at].resets(now, &mut is_free, &mut all)
        {
            self.departed.swap_remove(at);
        }
        all
    }
}

impl Process {
    /// Whether it has taken `said`: one that does not read for so long that it has not is sent away.
    fn tell(&mut self, said: &[u8]) -> bool {
        matches!(self.link.write(said), Ok(n) if n == said.len())
    }
}

#[cfg(test)]
mod tests;
