//! The ranks of a node.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::ops::Range;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use parking_lot::Mutex;
use prp_mpi::control::{Frame, Topic, environment, socket};
use tempfile::TempDir;

use super::libraries::Libraries;
use super::pipes::{feed, pump};
use super::{LaunchRequest, Launcher, Limit};
use crate::{signals, sys, threads};

/// The ranks of this node, by their numbers among all ranks of the launcher.
#[derive(Debug)]
pub(crate) struct Ranks {
    folder: TempDir,
    limit: Limit,
    libraries: Libraries,
    streams: Streams,
    readers: Readers,
    /// Processes that have not ended.
    processes: Arc<Mutex<HashMap<u32, Pid>>>,
    inputs: Mutex<HashMap<u32, Sender<Vec<u8>>>>,
    /// The numbers of the ranks of each job, by the first one.
    jobs: HashMap<u32, Range<u32>>,
}

impl Ranks {
    /// Makes all ready for ranks, of which these are the first.
    ///
    /// # Errors
    /// Those of files, of limits and of threads.
    pub(crate) fn expect(order: &LaunchRequest, launcher: &Launcher) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("prp-mpi-").tempdir()?;
        let limit = Limit::raise(order.here().len())?;
        let libraries = Libraries::link(folder.path(), &order.variables);
        let listener = socket::bind(&folder.path().join("agent"))?;
        let ranks = Self {
            folder,
            limit,
            libraries,
            streams: Arc::default(),
            readers: Arc::default(),
            processes: Arc::default(),
            inputs: Mutex::default(),
            jobs: HashMap::new(),
        };
        let (streams, launcher) = (ranks.streams.clone(), launcher.clone());
        let readers = ranks.readers.clone();
        threads::start(move || admit_all(&listener, limit, &streams, &launcher, &readers))?;
        Ok(ranks)
    }

    /// Starts ranks.
    pub(crate) fn start(&mut self, order: &LaunchRequest, launcher: &Launcher) {
        let here = order.here();
        let first = order.first.number;
        let end = order.first.plus(order.nodes.split(',').count()).number;
        self.jobs.insert(first, first..end);
        let number = |rank| order.first.plus(rank).number as usize;
        if let Err(text) = self.limit.check(here.len()) {
            // What ranks spawn fails by itself.
            if first == 0 {
                launcher.send(&Frame::new(Topic::Failed, 0, text.clone()));
            }
            for rank in here {
                let text = format!("not started: {text}");
                launcher.send(&Frame::new(Topic::Exited, number(rank), text));
            }
            return;
        }
        self.limit = self.limit.with(self.processes.lock().len() + here.len());
        for rank in here {
            match self.command(order, rank).and_then(|mut command| command.spawn()) {
                Ok(child) => self.attend(number(rank), child, launcher),
                Err(e) => {
                    let words = order.program_of(rank).and_then(|(_, p)| p.words.first());
                    let program = words.cloned().unwrap_or_default();
                    let why = self.limit.explain(&e);
                    let text = format!("not started: {}: {why}", program.display());
                    launcher.send(&Frame::new(Topic::Exited, number(rank), text));
                }
            }
        }
    }

    fn command(&self, order: &LaunchRequest, rank: usize) -> io::Result<Command> {
        let (place, program) = order.program_of(rank).ok_or(io::ErrorKind::InvalidInput)?;
        let (name, arguments) = program.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let has_input = order.first.plus(rank).number == 0;
        let mut command = Command::new(name);
        command
            .args(arguments)
            // A job that a rank of another one starts by a launcher has not been spawned.
            .env_remove(environment::PARENT)
            .envs(order.variables.iter().cloned())
            .env(environment::RANK, rank.to_string())
            .env(environment::SIZE, order.nodes.split(',').count().to_string())
            .env(environment::NODES, &order.nodes)
            .env(environment::FIRST, order.first.to_string())
            .env(environment::PROGRAM, place.to_string())
            .env(environment::FOLDER, self.folder.path())
            .envs(self.libraries.variables())
            .stdin(if has_input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A terminal sends its signals to the launcher, which decides what becomes of ranks.
            .process_group(0);
        sys::prepare(&mut command, signals::of_ranks(), self.limit);
        if !program.folder.as_os_str().is_empty() {
            command.current_dir(order.folder.join(&program.folder));
        } else if order.folder.is_dir() {
            command.current_dir(&order.folder);
        }
        Ok(command)
    }

    /// Passes on what a rank writes, and its end. Where that cannot be done it is ended.
    fn attend(&self, rank: usize, child: Child, launcher: &Launcher) {
        let pid = Pid::from_raw(child.id().cast_signed());
        if let Err(e) = self.watch(rank, child, launcher) {
            let _ = killpg(pid, Signal::SIGKILL);
            self.processes.lock().remove(&(rank as u32));
            let text = format!("not started: {}", self.limit.explain(&e));
            launcher.send(&Frame::new(Topic::Exited, rank, text));
        }
    }

    /// Starts the threads that pass on what a rank writes, and its end.
    fn watch(&self, rank: usize, mut child: Child, launcher: &Launcher) -> io::Result<()> {
        let ended = EventFd::from_flags(EfdFlags::EFD_CLOEXEC).map(Arc::new);
        let (rest, passed_on) = channel();
        // Without a descriptor for the end nothing is passed on of what the rank writes.
        if let Err(e) = ended {
            launcher.send(&Frame::new(Topic::Failed, rank, self.limit.explain(&e.into())));
        }
        let until = ended.clone().map(|ended| (ended, rest));
        if let (Some(output), Ok(until)) = (child.stdout.take(), until.clone()) {
            pump(output, Topic::Output, rank, launcher, until)?;
        }
        if let (Some(output), Ok(until)) = (child.stderr.take(), until) {
            pump(output, Topic::ErrorOutput, rank, launcher, until)?;
        }
        let number = rank as u32;
        if let Some(input) = child.stdin.take() {
            self.inputs.lock().insert(number, feed(input, rank, launcher)?);
        }
        let pid = Pid::from_raw(child.id().cast_signed());
        self.processes.lock().insert(number, pid);
        let (launcher, readers) = (launcher.clone(), self.readers.clone());
        let (processes, streams) = (self.processes.clone(), self.streams.clone());
        threads::start(move || {
            // Until the process is waited for, its number is no other one's.
            let _ = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
            processes.lock().remove(&number);
            let status = child.wait();
            // Nothing of a rank comes after its end.
            if let Some(stream) = streams.lock().get(&number) {
                let _ = stream.shutdown(Shutdown::Read);
            }
            let reader = readers.lock().remove(&number);
            let _ = reader.map(JoinHandle::join);
            let _ = ended.map(|ended| ended.write(1));
            while passed_on.recv().is_ok() {}
            let text = status.map_or_else(|e| format!("lost: {e}"), ending);
            launcher.send(&Frame::new(Topic::Exited, rank, text));
        })?;
        Ok(())
    }

    /// Sends a frame to every rank that listens.
    pub(crate) fn send_all(&self, frame: &Frame) {
        for stream in self.streams.lock().values() {
            let _ = frame.write(&mut &**stream);
        }
    }

    /// Sends a frame to the ranks of a job: those that were started with the one it is for.
    pub(crate) fn send_to_job(&self, frame: &Frame) {
        let Some(job) = self.jobs.get(&frame.rank) else { return };
        for (_, stream) in self.streams.lock().iter().filter(|(number, _)| job.contains(*number)) {
            let _ = frame.write(&mut &**stream);
        }
    }

    /// Sends a frame to the rank that it is for.
    pub(crate) fn send(&self, frame: &Frame) {
        if let Some(stream) = self.streams.lock().get(&frame.rank) {
            let _ = frame.write(&mut &**stream);
        }
    }

    /// Answers a roll call for the ranks that are stopped, which cannot do so themselves.
    pub(crate) fn name_stopped(&self, launcher: &Launcher) {
        for (rank, pid) in &*self.processes.lock() {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The state is behind the name, which may have any characters (proc(5)).
            let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
            if matches!(state, Some("T" | "t")) {
                let text = "is stopped (SIGCONT continues it)";
                launcher.send(&Frame::new(Topic::Whereabouts, *rank as usize, text));
            }
        }
    }

    /// Sends the signal that a frame says to ranks and their children: to those of the job whose
    /// first rank it names, or to all.
    pub(crate) fn signal(&self, frame: &Frame) {
        let Ok(signal) = Signal::try_from(frame.rank.cast_signed()) else { return };
        let job = match frame.content[..] {
            [a, b, c, d] => self.jobs.get(&u32::from_le_bytes([a, b, c, d])).cloned(),
            _ => Some(0..u32::MAX),
        };
        let job = job.unwrap_or_default();
        for (_, pid) in self.processes.lock().iter().filter(|(number, _)| job.contains(*number)) {
            let _ = killpg(*pid, signal);
        }
    }

    /// Input for a rank.
    pub(crate) fn feed(&self, frame: Frame) {
        if let Some(input) = self.inputs.lock().get(&frame.rank) {
            // A rank that reads no more is fed no more.
            let _ = input.send(frame.content);
        }
    }

    /// The launcher is gone: nothing is left running.
    pub(crate) fn end(self) {
        self.signal(&Frame::new(Topic::Signal, Signal::SIGKILL as usize, []));
    }
}

/// Streams to ranks, by rank.
type Streams = Arc<Mutex<HashMap<u32, Arc<UnixStream>>>>;

/// Threads that read what ranks say, by rank.
type Readers = Arc<Mutex<HashMap<u32, JoinHandle<()>>>>;

/// How long no rank can be admitted until the launcher is told: what is missing may be there again
/// before.
const ADMISSION_TIMEOUT: Duration = Duration::from_secs(2);

/// How soon it is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// Lets ranks connect, whatever goes wrong: those that wait come in when there is room for them.
fn admit_all(
    listener: &UnixListener,
    limit: Limit,
    streams: &Streams,
    launcher: &Launcher,
    readers: &Readers,
) {
    let mut failing: Option<Instant> = None;
    let mut is_reported = false;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                failing = None;
                let _ = admit(stream, streams, launcher, readers);
            }
            Err(e) => {
                let since = *failing.get_or_insert_with(Instant::now);
                if since.elapsed() >= ADMISSION_TIMEOUT
                    && !std::mem::replace(&mut is_reported, true)
                {
                    launcher.send(&Frame::new(Topic::Failed, 0, limit.explain(&e)));
                }
                thread::sleep(RETRY_INTERVAL);
            }
        }
    }
}

/// A rank has connected.
fn admit(
    stream: UnixStream,
    streams: &Streams,
    launcher: &Launcher,
    readers: &Readers,
) -> io::Result<()> {
    let stream = Arc::new(stream);
    let hello = Frame::read(&mut &*stream)?.filter(|f| f.topic == Topic::Hello);
    let hello = hello.ok_or(io::ErrorKind::InvalidData)?;
    streams.lock().insert(hello.rank, stream.clone());
    launcher.send(&hello);
    let rank = hello.rank;
    let reader = {
        let (launcher, streams) = (launcher.clone(), streams.clone());
        threads::start(move || {
            while let Ok(Some(frame)) = Frame::read(&mut &*stream) {
                launcher.send(&Frame { rank, ..frame });
            }
            streams.lock().remove(&rank);
        })
    };
    match reader {
        Ok(reader) => drop(readers.lock().insert(rank, reader)),
        Err(e) => {
            streams.lock().remove(&rank);
            launcher.send(&Frame::new(Topic::Failed, rank as usize, e.to_string()));
        }
    }
    Ok(())
}

/// How a process has ended, in two words.
fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "exit 1".to_owned(),
    }
}
