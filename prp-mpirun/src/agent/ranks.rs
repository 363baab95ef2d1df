//! The ranks of a node.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use prp_mpi::control::{Frame, Topic, environment};
use tempfile::TempDir;

use super::{Launcher, Order};

/// How long what a rank has written may take to come after its end: longer only takes what its
/// children write.
const REST: Duration = Duration::from_millis(300);

/// The library that programs of any ABI implementation are linked to.
const LIBRARY: &str = "libmpi_abi.so.1";

/// The ranks of this node.
#[derive(Debug)]
pub(crate) struct Ranks {
    folder: TempDir,
    streams: Arc<Mutex<HashMap<u32, UnixStream>>>,
    /// Processes that have not ended.
    processes: Arc<Mutex<HashMap<u32, Pid>>>,
    inputs: Mutex<HashMap<u32, ChildStdin>>,
}

impl Ranks {
    /// Starts all of them.
    pub(crate) fn start(order: &Order, launcher: &Launcher) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("prp-mpi-").tempdir()?;
        let ranks = Self {
            folder,
            streams: Arc::default(),
            processes: Arc::default(),
            inputs: Mutex::default(),
        };
        let listener = UnixListener::bind(ranks.folder.path().join("agent"))?;
        let readers: Readers = Arc::default();
        {
            let (streams, launcher, readers) =
                (ranks.streams.clone(), launcher.clone(), readers.clone());
            thread::spawn(move || {
                for stream in listener.incoming().map_while(Result::ok) {
                    let _ = admit(stream, &streams, &launcher, &readers);
                }
            });
        }
        let libraries = ranks.libraries();
        let here = order.nodes.split(',').enumerate();
        let here = here.filter(|(_, node)| node.parse() == Ok(order.node)).map(|(rank, _)| rank);
        for rank in here {
            let spawned = ranks.command(order, rank, &libraries).and_then(|mut c| c.spawn());
            match spawned {
                Ok(child) => ranks.watch(rank, child, launcher, &readers),
                Err(e) => {
                    let program = order.program.first().map_or("", String::as_str);
                    let text = format!("not started: {program}: {e}");
                    launcher.send(&Frame::new(Topic::Exited, rank, text));
                }
            }
        }
        Ok(ranks)
    }

    /// A folder with the library under its own name, before those of the user.
    fn libraries(&self) -> String {
        let user = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
        let program = std::env::current_exe().ok();
        let found = program.as_deref().and_then(Path::parent).and_then(|beside| {
            let names = [LIBRARY, "libmpi_abi.so"].map(|name| beside.join(name));
            names.into_iter().find(|path| path.exists())
        });
        let Some(found) = found else { return user };
        let folder = self.folder.path().join("lib");
        let linked = std::fs::create_dir(&folder)
            .and_then(|()| std::os::unix::fs::symlink(found, folder.join(LIBRARY)));
        match linked {
            Ok(()) if user.is_empty() => folder.display().to_string(),
            Ok(()) => format!("{}:{user}", folder.display()),
            Err(_) => user,
        }
    }

    fn command(&self, order: &Order, rank: usize, libraries: &str) -> io::Result<Command> {
        let (program, arguments) =
            order.program.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(order.variables.iter().cloned())
            .env(environment::RANK, rank.to_string())
            .env(environment::SIZE, order.nodes.split(',').count().to_string())
            .env(environment::NODES, &order.nodes)
            .env(environment::FOLDER, self.folder.path())
            .env("LD_LIBRARY_PATH", libraries)
            .stdin(if rank == 0 { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if Path::new(&order.folder).is_dir() {
            command.current_dir(&order.folder);
        }
        Ok(command)
    }

    /// Passes on what a rank writes, and its end.
    fn watch(&self, rank: usize, mut child: Child, launcher: &Launcher, readers: &Readers) {
        let mut pumps = Vec::new();
        if let Some(output) = child.stdout.take() {
            pumps.push(pump(output, Topic::Output, rank, launcher));
        }
        if let Some(output) = child.stderr.take() {
            pumps.push(pump(output, Topic::ErrorOutput, rank, launcher));
        }
        if let Some(input) = child.stdin.take() {
            self.inputs.lock().insert(rank as u32, input);
        }
        self.processes.lock().insert(rank as u32, Pid::from_raw(child.id().cast_signed()));
        let (launcher, readers, processes) =
            (launcher.clone(), readers.clone(), self.processes.clone());
        thread::spawn(move || {
            let status = child.wait();
            processes.lock().remove(&(rank as u32));
            // Nothing of a rank comes after its end.
            pumps.extend(readers.lock().remove(&(rank as u32)));
            let begun = Instant::now();
            while !pumps.iter().all(JoinHandle::is_finished) && begun.elapsed() < REST {
                thread::sleep(Duration::from_millis(1));
            }
            let text = status.map_or_else(|e| format!("lost: {e}"), ending);
            launcher.send(&Frame::new(Topic::Exited, rank, text));
        });
    }

    /// Sends a frame to every rank that listens.
    pub(crate) fn send_all(&self, frame: &Frame) {
        for stream in self.streams.lock().values_mut() {
            let _ = frame.write(stream);
        }
    }

    /// Sends a signal to every rank.
    pub(crate) fn signal(&self, number: u32) {
        let Ok(signal) = Signal::try_from(number.cast_signed()) else { return };
        for pid in self.processes.lock().values() {
            let _ = kill(*pid, signal);
        }
    }

    /// Input for a rank.
    pub(crate) fn feed(&self, frame: &Frame) {
        let mut inputs = self.inputs.lock();
        let is_over = match inputs.get_mut(&frame.rank) {
            Some(input) if !frame.content.is_empty() => input.write_all(&frame.content).is_err(),
            _ => true,
        };
        if is_over {
            inputs.remove(&frame.rank);
        }
    }

    /// The launcher is gone: nothing is left running.
    pub(crate) fn end(self) {
        self.signal(Signal::SIGKILL as u32);
    }
}

/// Threads that read what ranks say, by rank.
type Readers = Arc<Mutex<HashMap<u32, JoinHandle<()>>>>;

/// A rank has connected.
fn admit(
    mut stream: UnixStream,
    streams: &Arc<Mutex<HashMap<u32, UnixStream>>>,
    launcher: &Launcher,
    readers: &Readers,
) -> io::Result<()> {
    let hello = Frame::read(&mut stream)?.filter(|f| f.topic == Topic::Hello);
    let hello = hello.ok_or(io::ErrorKind::InvalidData)?;
    streams.lock().insert(hello.rank, stream.try_clone()?);
    launcher.send(&hello);
    let (rank, launcher, streams) = (hello.rank, launcher.clone(), streams.clone());
    let reader = thread::spawn(move || {
        while let Ok(Some(frame)) = Frame::read(&mut stream) {
            launcher.send(&Frame { rank, ..frame });
        }
        streams.lock().remove(&rank);
    });
    readers.lock().insert(rank, reader);
    Ok(())
}

/// Passes on what a rank writes.
fn pump(
    mut from: impl Read + Send + 'static,
    topic: Topic,
    rank: usize,
    launcher: &Launcher,
) -> JoinHandle<()> {
    let launcher = launcher.clone();
    thread::spawn(move || {
        let mut piece = [0; 16 << 10];
        while let Ok(n @ 1..) = from.read(&mut piece) {
            launcher.send(&Frame::new(topic, rank, &piece[..n]));
        }
    })
}

/// How a process has ended, in two words.
fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "exit 1".to_owned(),
    }
}
