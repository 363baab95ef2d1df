//! The processes of a run and what they did, and the end of the holder.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::kill;
use nix::unistd::Pid;
use parking_lot::Mutex;
use prp_node::process::program;
use serde::Serialize;

use super::{Holder, unsent};
use crate::sys::pidfd;

/// How often it is checked which sockets are closed.
const CHECK: Duration = Duration::from_secs(1);

/// How long the holder waits for a process that it does not know yet.
const GRACE: Duration = Duration::from_secs(10);

/// Connections that are still to come and are reset when they are closed: programs have few.
const MOST_TO_RESET: usize = 4096;

/// The processes, and their connections.
pub(super) struct Processes {
    by_pid: Mutex<HashMap<i32, Known>>,
    connections: Mutex<HashMap<u64, Arc<Connection>>>,
    /// Those that are still to come, and are reset when they are closed.
    to_reset: Mutex<HashSet<u64>>,
    report: Option<PathBuf>,
    /// The holder was asked to end.
    is_ending: AtomicBool,
    /// Wakes the thread that watches.
    wake: UnixStream,
    woken: UnixStream,
}

/// A process.
struct Known {
    /// None of a process that has ended before it was seen, or where there was no descriptor.
    end: Option<Arc<OwnedFd>>,
    counts: Counts,
}

/// What a process did.
#[derive(Clone, Debug, Default, Serialize)]
struct Counts {
    pid: i32,
    program: String,
    connections_prp: u64,
    connections_tcp: u64,
    bytes_prp: u64,
    fallbacks: u64,
}

/// A connection of PRP.
#[derive(Debug)]
pub(super) struct Connection {
    /// The process that it counts for; 0 for none yet.
    owner: AtomicI32,
    bytes: AtomicU64,
    /// The holder's end of the pair, for as long as the connection is there.
    held: Arc<UnixStream>,
    /// It is reset when the program closes it.
    is_reset_on_close: AtomicBool,
}

impl Connection {
    /// Counts bytes.
    pub(super) fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Whether the connection is reset when the program closes it.
    pub(super) fn is_reset_on_close(&self) -> bool {
        self.is_reset_on_close.load(Ordering::Relaxed)
    }
}

impl Processes {
    /// Returns none yet.
    ///
    /// # Errors
    /// There are no descriptors.
    pub(super) fn new(report: Option<PathBuf>) -> io::Result<Self> {
        let (wake, woken) = UnixStream::pair()?;
        let _ = (wake.set_nonblocking(true), woken.set_nonblocking(true));
        let (by_pid, connections, to_reset) = Default::default();
        let is_ending = AtomicBool::new(false);
        Ok(Self { by_pid, connections, to_reset, report, is_ending, wake, woken })
    }

    /// Has the holder end with the last process, listener and connection.
    pub(super) fn end_soon(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
        let _ = (&self.wake).write(&[0]);
    }

    /// Notes that the process `pid` is there. It has a new name if `is_new`.
    pub(super) fn note(&self, pid: i32, is_new: bool) {
        // A process of another namespace of numbers has none here.
        if pid <= 0 {
            return;
        }
        let mut known = self.by_pid.lock();
        let is_unknown = !known.contains_key(&pid);
        let process = known.entry(pid).or_insert_with(|| {
            let counts = Counts { pid, ..Counts::default() };
            Known { end: pidfd::open(pid).ok().map(Arc::new), counts }
        });
        if is_new || is_unknown {
            process.counts.program = program(pid.unsigned_abs());
        }
        if is_unknown {
            let _ = (&self.wake).write(&[0]);
        }
    }

    /// Whether the process `pid` is of the run.
    pub(super) fn has(&self, pid: i32) -> bool {
        self.by_pid.lock().contains_key(&pid)
    }

    /// Counts a connection of TCP.
    pub(super) fn count_tcp(&self, pid: i32, has_fallen_back: bool) {
        if let Some(process) = self.by_pid.lock().get_mut(&pid) {
            process.counts.connections_tcp += 1;
            process.counts.fallbacks += u64::from(has_fallen_back);
        }
    }

    /// Adds a connection, of `pid` if a process has it already.
    pub(super) fn add(
        &self,
        number: u64,
        pid: Option<i32>,
        held: &Arc<UnixStream>,
    ) -> Arc<Connection> {
        let mut to_reset = self.to_reset.lock();
        let is_reset = to_reset.remove(&number);
        let connection = Arc::new(Connection {
            owner: AtomicI32::new(0),
            bytes: AtomicU64::new(0),
            held: held.clone(),
            is_reset_on_close: AtomicBool::new(is_reset),
        });
        self.connections.lock().insert(number, connection.clone());
        drop(to_reset);
        if let Some(pid) = pid {
            self.claim(number, pid);
        }
        connection
    }

    /// Has the connection count for `pid`.
    pub(super) fn claim(&self, number: u64, pid: i32) {
        if let Some(connection) = self.connections.lock().get(&number) {
            connection.owner.store(pid, Ordering::Relaxed);
            if let Some(process) = self.by_pid.lock().get_mut(&pid) {
                process.counts.connections_prp += 1;
            }
        }
    }

    /// Has the connection be reset when the program closes it, or no more.
    pub(super) fn reset_on_close(&self, number: u64, is_reset: bool) {
        // In this order everywhere; it may be added meanwhile.
        let mut to_reset = self.to_reset.lock();
        if let Some(connection) = self.connections.lock().get(&number) {
            connection.is_reset_on_close.store(is_reset, Ordering::Relaxed);
        } else if !is_reset {
            to_reset.remove(&number);
        } else if to_reset.len() < MOST_TO_RESET {
            to_reset.insert(number);
        }
    }

    /// Removes a connection that has ended.
    pub(super) fn remove(&self, number: u64) {
        self.to_reset.lock().remove(&number);
        let Some(connection) = self.connections.lock().remove(&number) else { return };
        let owner = connection.owner.load(Ordering::Relaxed);
        if let Some(process) = self.by_pid.lock().get_mut(&owner) {
            process.counts.bytes_prp += connection.bytes.load(Ordering::Relaxed);
        }
    }

    /// Writes what the process did, which ends, or has ended.
    pub(super) fn end(&self, pid: i32) {
        // In this order everywhere.
        let connections = self.connections.lock();
        let Some(Known { mut counts, .. }) = self.by_pid.lock().remove(&pid) else { return };
        for connection in connections.values() {
            if connection.owner.load(Ordering::Relaxed) == pid {
                let waiting = unsent(&connection.held);
                counts.bytes_prp += connection.bytes.load(Ordering::Relaxed) + waiting;
            }
        }
        drop(connections);
        let Some(file) = &self.report else { return };
        let Ok(mut line) = serde_json::to_string(&counts) else { return };
        line.push('\n');
        let opened = File::options().create(true).append(true).open(file);
        // The processes have nowhere to be told.
        let _ = opened.and_then(|mut file| file.write_all(line.as_bytes()));
    }

    /// Returns the processes that have ended, and waits for that for at most [`CHECK`].
    fn ended(&self) -> Vec<i32> {
        let ends: Vec<_> = {
            let known = self.by_pid.lock();
            known.iter().map(|(pid, it)| (*pid, it.end.clone())).collect()
        };
        let is_gone = |pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH);
        let without = ends.iter().filter(|(_, end)| end.is_none()).map(|(pid, _)| *pid);
        let gone: Vec<_> = without.filter(|pid| is_gone(*pid)).collect();
        if !gone.is_empty() {
            return gone;
        }
        let mut fds = vec![PollFd::new(self.woken.as_fd(), PollFlags::POLLIN)];
        let watched = ends.iter().filter_map(|(pid, end)| Some((*pid, end.as_ref()?)));
        let watched: Vec<_> = watched.collect();
        fds.extend(watched.iter().map(|(_, end)| PollFd::new(end.as_fd(), PollFlags::POLLIN)));
        let timeout = PollTimeout::try_from(CHECK).unwrap_or(PollTimeout::MAX);
        if poll(&mut fds, timeout).is_err() {
            return Vec::new();
        }
        let _ = (&self.woken).read(&mut [0; 64]);
        let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
        let ready = watched.iter().zip(&fds[1..]).filter(|(_, fd)| is_ready(fd));
        ready.map(|((pid, _), _)| *pid).collect()
    }

    fn is_empty(&self) -> bool {
        self.connections.lock().is_empty() && self.by_pid.lock().is_empty()
    }
}

/// Follows processes and sockets, and ends this process once nobody needs it.
pub(super) fn watch(holder: &Arc<Holder>) {
    let mut needed = Instant::now();
    loop {
        for pid in holder.processes.ended() {
            holder.processes.end(pid);
        }
        holder.check_ports();
        let has_some = !holder.processes.is_empty() || holder.supervisor.is_needed();
        if has_some || !holder.ports.is_empty() {
            needed = Instant::now();
        } else if needed.elapsed() >= GRACE || holder.processes.is_ending.load(Ordering::Relaxed) {
            process::exit(0);
        }
    }
}
