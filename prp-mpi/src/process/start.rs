//! How a process becomes a rank: it asks its agent where the others are, and connects to each.

mod card;
mod local;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{env, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use prp_sock::{PrpListener, PrpStream};

use self::card::{Card, Secret};
use super::{HANG_SECONDS, Process};
use crate::control::{Frame, Topic, environment};
use crate::engine::Engine;
use crate::link::Stream;
use crate::sys::shared::Bell;

/// How long the other ranks may take to connect once all are known to be there.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a connection may take to say which rank it is from: one that does not is a stranger's.
const INTRODUCTION: Duration = Duration::from_secs(2);

/// How often the control thread looks whether a rank waits too long.
const LOOK: Duration = Duration::from_millis(100);

/// Variables of launchers that this library does not speak with, and what to use.
const FOREIGN: [(&str, &str); 4] = [
    ("PMIX_RANK", "a PMIx launcher (Open MPI's mpirun, or srun --mpi=pmix)"),
    ("OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun"),
    ("PMI_RANK", "a PMI launcher"),
    ("SLURM_STEP_NUM_TASKS", "srun"),
];

/// What the agent has told this rank by its environment.
struct Place {
    rank: usize,
    nodes: Vec<usize>,
    folder: String,
}

impl Process {
    /// Becomes the rank that the environment says, or the only one.
    ///
    /// # Errors
    /// `Unsupported` under a launcher of another kind; those of the sockets.
    pub fn start() -> io::Result<Arc<Self>> {
        let Some(place) = Place::from_environment()? else {
            refuse_foreign()?;
            return Ok(Arc::new(Self::with(0, vec![0], vec![None], Bell::new()?, None)?));
        };
        let mut control = UnixStream::connect(Path::new(&place.folder).join("agent"))?;
        Frame::new(Topic::Hello, place.rank, []).write(&mut control)?;
        let bell = Bell::new()?;
        let streams = place.connect_all(&mut control, &bell)?;
        let ours = control.try_clone()?;
        let control = Some(Mutex::new(control));
        let process = Self::with(place.rank, place.nodes, streams, bell, control)?;
        let process = Arc::new(process);
        let listener = process.clone();
        let named = thread::Builder::new().name("prp-mpi-control".into());
        named.spawn(move || listener.attend(ours))?;
        Ok(process)
    }

    fn with(
        rank: usize,
        nodes: Vec<usize>,
        streams: Vec<Option<Stream>>,
        bell: Bell,
        control: Option<Mutex<UnixStream>>,
    ) -> io::Result<Self> {
        let here = nodes.iter().filter(|&&n| n == nodes[rank]).count();
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let seconds = env::var(environment::HANG_SECONDS).ok().and_then(|s| s.parse::<f64>().ok());
        let seconds = seconds.unwrap_or(HANG_SECONDS as f64);
        Ok(Self {
            rank,
            nodes,
            engine: Mutex::new(Engine::new(rank, streams)?),
            control,
            waiting: Mutex::default(),
            names: Mutex::new(HashMap::new()),
            bell,
            is_crowded: here > processors,
            hang: Duration::try_from_secs_f64(seconds).ok().filter(|s| !s.is_zero()),
            is_shared: AtomicBool::new(false),
            began: Instant::now(),
        })
    }

    /// Answers the agent, and tells it when this rank waits too long. Ends the process when the
    /// agent is gone.
    fn attend(&self, mut control: UnixStream) {
        let _ = control.set_read_timeout(Some(LOOK));
        let mut told: Option<Instant> = None;
        let mut first = [0];
        loop {
            match control.read(&mut first) {
                Ok(0) => break,
                Ok(_) => {
                    let _ = control.set_read_timeout(None);
                    let frame = Frame::read(&mut first.as_slice().chain(&control));
                    let _ = control.set_read_timeout(Some(LOOK));
                    let Ok(Some(frame)) = frame else { break };
                    if frame.topic == Topic::RollCall {
                        let text = self.whereabouts();
                        self.tell(&Frame::new(Topic::Whereabouts, self.rank, text));
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            let oldest = self.waiting.lock().iter().map(|w| w.since).min();
            if let (Some(hang), Some(oldest)) = (self.hang, oldest)
                && oldest.elapsed() >= hang
                && told != Some(oldest)
            {
                told = Some(oldest);
                self.tell(&Frame::new(Topic::Stuck, self.rank, []));
            }
        }
        let _ = kill(Pid::this(), Signal::SIGKILL);
    }
}

/// Says no under a launcher of another kind, rather than being the only rank of as many jobs.
fn refuse_foreign() -> io::Result<()> {
    let found = FOREIGN.into_iter().find(|(name, _)| env::var_os(name).is_some());
    let Some((name, launcher)) = found else { return Ok(()) };
    if env::var(name).is_ok_and(|v| v == "1") && name.ends_with("TASKS") {
        return Ok(());
    }
    let program = env::args().next().unwrap_or_else(|| "PROGRAM".into());
    let text = format!(
        "this was started by {launcher} ({name} is set), which prp-mpi does not speak with; \
         start it with: prp-mpirun -n N {program}"
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

impl Place {
    fn from_environment() -> io::Result<Option<Self>> {
        let Ok(rank) = env::var(environment::RANK) else { return Ok(None) };
        let invalid =
            |name: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is wrong"));
        let rank = rank.parse().map_err(|_| invalid(environment::RANK))?;
        let nodes = env::var(environment::NODES).map_err(|_| invalid(environment::NODES))?;
        let nodes: Result<Vec<_>, _> = nodes.split(',').map(str::parse).collect();
        let nodes = nodes.map_err(|_| invalid(environment::NODES))?;
        let folder = env::var(environment::FOLDER).map_err(|_| invalid(environment::FOLDER))?;
        if rank >= nodes.len() {
            return Err(invalid(environment::RANK));
        }
        Ok(Some(Self { rank, nodes, folder }))
    }

    /// Where a rank of this node listens.
    fn socket(&self, rank: usize) -> std::path::PathBuf {
        Path::new(&self.folder).join(format!("rank-{rank}"))
    }

    /// Tells where this rank listens, learns where the others do, connects to those before, and
    /// waits for those after.
    fn connect_all(
        &self,
        control: &mut UnixStream,
        bell: &Bell,
    ) -> io::Result<Vec<Option<Stream>>> {
        let meeting = UnixListener::bind(self.socket(self.rank))?;
        let here = self.nodes.iter().filter(|&&n| n == self.nodes[self.rank]).count();
        let is_spread = self.nodes.iter().any(|n| *n != self.nodes[self.rank]);
        let remote = is_spread.then(|| PrpListener::bind("self:0")).transpose()?;
        let secret = Secret::random();
        let card = match &remote {
            Some(listener) => Card::new(&listener.local_addr()?, secret).to_string(),
            None => "-".to_owned(),
        };
        Frame::new(Topic::Card, self.rank, card).write(control)?;
        let cards = loop {
            match Frame::read(control)? {
                Some(frame) if frame.topic == Topic::Cards => break frame.text(),
                Some(_) => {}
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        };
        let cards: Vec<&str> = cards.lines().collect();
        let mut streams: Vec<Option<Stream>> = self.nodes.iter().map(|_| None).collect();
        for (rank, slot) in streams.iter_mut().enumerate().take(self.rank) {
            *slot = Some(if self.is_here(rank) {
                let stream = UnixStream::connect(self.socket(rank))?;
                Stream::Local(local::introduce(&stream, self.rank, here, bell)?)
            } else {
                let card: Card = cards.get(rank).copied().unwrap_or("-").parse()?;
                let mut stream = PrpStream::connect(card.address())
                    .map_err(|e| io::Error::new(e.kind(), format!("rank {rank}: {e}")))?;
                stream.write_all(&card.introduction(self.rank as u32))?;
                Stream::Remote(stream)
            });
        }
        let later = self.rank + 1..self.nodes.len();
        for _ in later.clone().filter(|&r| self.is_here(r)) {
            let (rank, end) = local::welcome(&meeting.accept()?.0, self.rank, bell)?;
            place(&mut streams, rank, Stream::Local(end))?;
        }
        let mut missing = later.filter(|&r| !self.is_here(r)).count();
        let deadline = Instant::now() + PATIENCE;
        while let Some(listener) = remote.as_ref().filter(|_| missing > 0) {
            let left = deadline.saturating_duration_since(Instant::now());
            let mut stream = listener.accept_timeout(left)?.0;
            stream.set_read_timeout(Some(INTRODUCTION))?;
            // Any process of the cluster can connect; only a rank of this job knows the secret.
            let Some(rank) = secret.read_introduction(&mut stream) else { continue };
            stream.set_read_timeout(None)?;
            place(&mut streams, rank, Stream::Remote(stream))?;
            missing -= 1;
        }
        let _ = std::fs::remove_file(self.socket(self.rank));
        Ok(streams)
    }

    fn is_here(&self, rank: usize) -> bool {
        self.nodes[rank] == self.nodes[self.rank]
    }
}

fn place(streams: &mut [Option<Stream>], rank: usize, stream: Stream) -> io::Result<()> {
    match streams.get_mut(rank) {
        Some(slot @ None) => *slot = Some(stream),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    Ok(())
}
