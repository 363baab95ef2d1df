//! How a process becomes a rank: it asks its agent where the others are, and connects to each.

pub(super) mod card;
pub(super) mod introductions;
pub(super) mod local;
mod place;
pub(super) mod pmi;

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, mkdtemp};
use parking_lot::{Condvar, Mutex};
use prp_device::waiting::WaitSettings;

use self::place::JobPosition;
use self::pmi::Pmi;
use super::peers::Identity;
use super::wait::LONGEST_SLEEP;
use super::{FIRST_NUMBER, HANG_SECONDS, Launcher, Process};
use crate::channel::Stream;
use crate::control::{Frame, Topic, environment, socket};
use crate::exchange::Exchange;
use crate::sys::shared::Bell;

/// How often the control thread checks whether a rank, or a message, waits too long.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// For how long nothing may have happened to any rank before a job counts as hung: as long as the
/// limit, but neither shorter nor longer than this.
const QUIET: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(2);

/// Variables of launchers that this library does not speak with, and what to use.
const FOREIGN: [(&str, &str); 4] = [
    ("PMIX_RANK", "a PMIx launcher (Open MPI's mpirun, or srun --mpi=pmix)"),
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
    ("PMI_RANK", "a PMI launcher that leaves no descriptor (PMI_FD)"),
    ("SLURM_STEP_NUM_TASKS", "srun without --mpi=pmi2"),
];

impl Process {
    /// Becomes the rank that the environment says, or the only one.
    ///
    /// # Errors
    /// `Unsupported` under a launcher of another kind; those of the sockets.
    pub fn start() -> io::Result<Arc<Self>> {
        if let Some(place) = JobPosition::from_environment()? {
            return Self::start_by_agent(place);
        }
        if let Some(manager) = Pmi::from_environment()? {
            return Self::start_by_manager(manager);
        }
        refuse_foreign()?;
        let first = Identity { job: RandomState::new().hash_one(0), number: 0 };
        let alone = Self::with(0, first, vec![0], vec![None], Bell::new()?, Launcher::None)?;
        Ok(Arc::new(alone))
    }

    fn start_by_agent(place: JobPosition) -> io::Result<Arc<Self>> {
        let mut control = socket::connect(&place.folder.join("agent"))?;
        let number = place.first.plus(place.rank).number as usize;
        Frame::new(Topic::Hello, number, []).write(&mut control)?;
        let bell = Bell::new()?;
        let exchange = |card: &str| {
            Frame::new(Topic::Card, number, card).write(&mut control)?;
            loop {
                match Frame::read(&mut control)? {
                    Some(frame) if frame.topic == Topic::Cards => {
                        return Ok(frame.text().lines().map(str::to_owned).collect());
                    }
                    Some(_) => {}
                    None => return Err(io::ErrorKind::UnexpectedEof.into()),
                }
            }
        };
        let streams = place.connect_all(exchange, &bell)?;
        let ours = control.try_clone()?;
        let launcher = Launcher::Agent(Mutex::new(control));
        let JobPosition { rank, nodes, first, .. } = place;
        let process = Arc::new(Self::with(rank, first, nodes, streams, bell, launcher)?);
        let listener = process.clone();
        let named = thread::Builder::new().name("prp-mpi-control".into());
        named.spawn(move || listener.attend(ours))?;
        Ok(process)
    }

    fn start_by_manager(mut manager: Pmi) -> io::Result<Arc<Self>> {
        let machines = manager.exchange(&machine()?)?;
        let first = |machine| machines.iter().position(|other| other == machine).unwrap_or(0);
        let nodes: Vec<usize> = machines.iter().map(first).collect();
        let folder = mkdtemp(&env::temp_dir().join("prp-mpi-XXXXXX"))?;
        let rank = manager.rank();
        let mut first = Identity { job: 0, number: 0 };
        let place = JobPosition { rank, nodes, folder: folder.clone(), first };
        let bell = Bell::new()?;
        let exchange = |card: &str| {
            let cards = manager.exchange(card)?;
            // All ranks have the same cards, and no other job has.
            let mut hasher = DefaultHasher::new();
            cards.hash(&mut hasher);
            first.job = hasher.finish();
            Ok(cards)
        };
        let streams = place.connect_all(exchange, &bell);
        let _ = std::fs::remove_dir_all(&folder);
        let launcher = Launcher::Manager(Mutex::new(manager));
        let process = Self::with(rank, first, place.nodes, streams?, bell, launcher)?;
        let process = Arc::new(process);
        let watched = process.clone();
        let named = thread::Builder::new().name("prp-mpi-watch".into());
        named.spawn(move || watched.watch())?;
        Ok(process)
    }

    pub(super) fn with(
        rank: usize,
        first: Identity,
        nodes: Vec<usize>,
        streams: Vec<Option<Stream>>,
        bell: Bell,
        launcher: Launcher,
    ) -> io::Result<Self> {
        let here = nodes.iter().filter(|&&n| n == nodes[rank]).count();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let seconds = env::var(environment::HANG_SECONDS).ok().and_then(|s| s.parse::<f64>().ok());
        let seconds = seconds.unwrap_or(HANG_SECONDS as f64);
        Ok(Self {
            rank,
            first,
            nodes,
            peers: Mutex::default(),
            job_listener: Mutex::default(),
            exchange: Mutex::new(Exchange::new(rank, streams)?),
            launcher,
            answers: Mutex::default(),
            asked: AtomicU32::new(0),
            published: Mutex::default(),
            waiting: Mutex::default(),
            names: Mutex::new(HashMap::new()),
            numbered: AtomicU64::new(FIRST_NUMBER),
            bell,
            followers: Condvar::new(),
            following: AtomicUsize::new(0),
            is_led: AtomicBool::new(false),
            waiters: AtomicUsize::new(0),
            polls: AtomicU64::new(0),
            caller: AtomicUsize::new(0),
            longest_sleep: LONGEST_SLEEP,
            waits: WaitSettings::rank(here > processors),
            hang: Duration::try_from_secs_f64(seconds).ok().filter(|s| !s.is_zero()),
            is_shared: AtomicBool::new(false),
            has_threads: AtomicBool::new(false),
            began: Instant::now(),
            is_away: AtomicBool::new(false),
        })
    }

    /// Answers the agent, and reports when this rank waits too long. Ends the process when the
    /// agent is gone.
    fn attend(&self, mut control: UnixStream) {
        let _ = control.set_read_timeout(Some(CHECK_INTERVAL));
        let quiet = self.hang.map(|hang| hang.clamp(*QUIET.start(), *QUIET.end()));
        let nearly = self.hang.zip(quiet).map(|(hang, quiet)| hang.saturating_sub(quiet));
        let milliseconds = (quiet.unwrap_or_default().as_millis() as u32).to_le_bytes();
        let (mut told, mut told_nearly) = (None, None);
        let mut first = [0];
        loop {
            match control.read(&mut first) {
                Ok(0) => break,
                Ok(_) => {
                    let _ = control.set_read_timeout(None);
                    let frame = Frame::read(&mut first.as_slice().chain(&control));
                    let _ = control.set_read_timeout(Some(CHECK_INTERVAL));
                    let Ok(Some(frame)) = frame else { break };
                    match frame.topic {
                        Topic::RollCall => self.tell(Topic::Whereabouts, self.whereabouts()),
                        Topic::Answer => self.note_answer(frame.content),
                        _ => {}
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            self.send_overdue();
            if self.waits_longer_than(nearly, &mut told_nearly, None) {
                self.tell(Topic::NearlyStuck, milliseconds);
            }
            if self.waits_longer_than(self.hang, &mut told, self.hang) {
                self.tell(Topic::Stuck, milliseconds);
            }
        }
        let _ = kill(Pid::this(), Signal::SIGKILL);
    }

    /// Says where this rank is when it waits too long: a process manager calls no roll.
    fn watch(&self) {
        let mut told = None;
        loop {
            thread::sleep(CHECK_INTERVAL);
            self.send_overdue();
            if self.waits_longer_than(self.hang, &mut told, None) {
                let text = self.whereabouts();
                let lines: Vec<_> = text.lines().take(2).collect();
                let _ = writeln!(
                    io::stderr(),
                    "prp-mpi: rank {}: {}",
                    self.rank,
                    lines.join(", since ")
                );
            }
        }
    }

    /// Sends messages that wait for another one, which the program does not send. A thread that has
    /// the exchange sends or waits itself.
    fn send_overdue(&self) {
        if let Some(mut exchange) = self.exchange_within(Duration::ZERO) {
            exchange.send_overdue();
        }
    }

    /// Whether a thread of this rank waits for longer than `limit`: once for each such wait, and
    /// once more each time that it has gone on for `again`. `told`: when the wait began that was
    /// told last, and when that was.
    fn waits_longer_than(
        &self,
        limit: Option<Duration>,
        told: &mut Option<(Instant, Instant)>,
        again: Option<Duration>,
    ) -> bool {
        let oldest = self.waiting.lock().iter().map(|w| w.since).min();
        let Some((limit, oldest)) = limit.zip(oldest) else { return false };
        let is_told = told.is_some_and(|(since, at)| {
            since == oldest && again.is_none_or(|again| at.elapsed() < again)
        });
        let is_due = oldest.elapsed() >= limit && !is_told;
        if is_due {
            *told = Some((oldest, Instant::now()));
        }
        is_due
    }
}

/// What tells ranks of this machine from others: they share memory. Processes of two network
/// namespaces are on two nodes of PRP.
pub(super) fn machine() -> io::Result<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let network = std::fs::read_link("/proc/self/ns/net")?;
    Ok(format!("{}/{}", boot.trim(), network.display()))
}

/// Says no under a launcher of another kind, rather than being the only rank of as many jobs.
fn refuse_foreign() -> io::Result<()> {
    let found = FOREIGN.into_iter().find(|(name, _)| env::var_os(name).is_some());
    let Some((name, launcher)) = found else { return Ok(()) };
    if env::var_os(name).is_some_and(|v| v == "1") && name.ends_with("TASKS") {
        return Ok(());
    }
    // Slurm starts ranks on the nodes that it has given the job, as prp-mpirun cannot.
    let is_by_srun = env::var_os("SLURM_STEP_NUM_TASKS").is_some();
    let command = if is_by_srun { "srun --mpi=pmi2" } else { "prp-mpirun -n N" };
    // A file's name need not be text.
    let program = env::args_os().next().unwrap_or_else(|| "PROGRAM".into());
    let text = format!(
        "this was started by {launcher} ({name} is set), which prp-mpi does not speak with; \
         start it with: {command} {}",
        program.display()
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}
