//! A running virtual machine.

pub(crate) mod agent;
mod hardware;
mod qmp;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::failure::{Context, Failure, Outcome};
use crate::initramfs;
use crate::kernel::Kernel;
use crate::machine::agent::{AgentLink, Ended};
use crate::machine::qmp::Qmp;
use crate::protocol::{Place, Request, RunId};

pub(crate) use hardware::{Cable, Hardware, Nic};

/// Until the agent of a machine is ready: only a failure takes as long. Without KVM Debian's kernel
/// takes 10 to 40 s on a processor of its own, and many times that beside other work.
const BOOT: Duration = Duration::from_secs(600);

/// What the agent needs to kill a run that is late, and to answer.
const GRACE: Duration = Duration::from_secs(30);

/// What in the console says that the kernel has found a fault in itself.
const COMPLAINTS: [&str; 7] = [
    "BUG:",
    "WARNING:",
    "Oops",
    "Kernel panic",
    "blocked for more than",
    "soft lockup",
    "rcu_preempt detected stalls",
];

/// A machine with its connections. It ends when this is dropped, and when this process ends.
#[derive(Debug)]
pub(crate) struct Machine {
    process: Child,
    folder: PathBuf,
    agent: AgentLink,
    qmp: Qmp,
    next_run: RunId,
    /// How much of the console was searched for complaints.
    read: usize,
    /// When all is to be over.
    end: Instant,
}

/// A run in a machine that goes on beside others.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Run(RunId);

impl Machine {
    /// Starts a machine with its files in `folder`, which is new. After `end` nothing waits for it
    /// any more.
    ///
    /// # Errors
    /// QEMU does not start.
    pub(crate) fn launch(
        kernel: &Kernel,
        hardware: &Hardware,
        folder: &Path,
        end: Instant,
    ) -> Outcome<Self> {
        fs::create_dir_all(folder).context(folder.display())?;
        let image = folder.join("initramfs");
        fs::write(&image, initramfs::build(kernel)?).context(image.display())?;
        let log = fs::File::create(folder.join("qemu.log"))?;
        let mut command = Command::new("bash");
        command.args(["-c", &hardware.preparation(), "qemu"]);
        command.args(hardware.arguments(kernel, folder)?);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let mut process = command.spawn().context("bash")?;
        let connected = connect(&mut process, folder);
        let (agent, qmp) = connected.inspect_err(|_| drop(process.kill()))?;
        Ok(Self { process, folder: folder.to_owned(), agent, qmp, next_run: 0, read: 0, end })
    }

    /// Waits until the agent of the machine is ready.
    ///
    /// # Errors
    /// It is not within [`BOOT`].
    pub(crate) fn wait_until_booted(&mut self) -> Outcome {
        let limit = self.bounded(BOOT);
        let is_ready = self.agent.wait_ready(limit);
        if !is_ready.context(format!("while booting: {}", self.last_line()))? {
            let (seconds, line) = (limit.as_secs(), self.last_line());
            return Err(Failure::new(format!(
                "not booted after {seconds} s; the last line is: {line}"
            )));
        }
        Ok(())
    }

    /// Runs a script to its end; an exit status other than 0 is no error.
    ///
    /// # Errors
    /// The machine does not answer.
    pub(crate) fn run(&mut self, place: Place, script: &str, limit: Duration) -> Outcome<Ended> {
        let run = self.start(place, script, limit)?;
        self.answer(run, limit)
    }

    /// Makes a node, without cards.
    ///
    /// # Errors
    /// The machine does not answer, or cannot.
    pub(crate) fn add_node(&mut self, node: u8) -> Outcome {
        self.next_run += 1;
        self.agent.send(&Request::AddNode { id: self.next_run, node })?;
        let ended = self.answer(Run(self.next_run), GRACE)?;
        if ended.status == 0 { Ok(()) } else { Err(Failure::new(ended.output)) }
    }

    fn answer(&mut self, run: Run, limit: Duration) -> Outcome<Ended> {
        match self.wait(run, limit + GRACE)? {
            Some(ended) => Ok(ended),
            None => Err(Failure::new(format!(
                "the machine does not answer any more; its last line is: {}",
                self.last_line()
            ))),
        }
    }

    /// Starts a script, which is killed after `limit`.
    ///
    /// # Errors
    /// The machine has ended.
    pub(crate) fn start(&mut self, place: Place, script: &str, limit: Duration) -> Outcome<Run> {
        self.next_run += 1;
        let (id, script, seconds) = (self.next_run, script.to_owned(), limit.as_secs());
        self.agent.send(&Request::Run { id, place, script, seconds })?;
        Ok(Run(id))
    }

    /// How a run has ended, if it has within `limit`.
    ///
    /// # Errors
    /// The machine has ended, or the time for all is over: callers would ask again and again.
    pub(crate) fn wait(&mut self, run: Run, limit: Duration) -> Outcome<Option<Ended>> {
        let ended = self.agent.wait(run.0, self.bounded(limit))?;
        if ended.is_none() && Instant::now() >= self.end {
            return Err(Failure::new("the time is over (--within)"));
        }
        Ok(ended)
    }

    /// `limit`, or the time that is left.
    fn bounded(&self, limit: Duration) -> Duration {
        limit.min(self.end.saturating_duration_since(Instant::now()))
    }

    /// Sends a signal to the processes of a run.
    ///
    /// # Errors
    /// The machine has ended.
    pub(crate) fn signal(&mut self, run: Run, signal: i32) -> Outcome {
        self.agent.send(&Request::Signal { id: run.0, signal })
    }

    /// Kills all processes that the agent has started, and removes the nodes.
    ///
    /// # Errors
    /// The machine has ended.
    pub(crate) fn kill_all(&mut self) -> Outcome {
        self.agent.send(&Request::Reset)
    }

    /// Executes a command of QEMU's.
    ///
    /// # Errors
    /// QEMU refuses it, or has ended.
    pub(crate) fn qemu(&mut self, command: &str, arguments: &Value) -> Outcome<Value> {
        self.qmp.execute(command, arguments)
    }

    /// Stops the machine for a time, with its clocks.
    ///
    /// # Errors
    /// QEMU has ended.
    pub(crate) fn pause(&mut self, duration: Duration) -> Outcome {
        self.qemu("stop", &json!({}))?;
        sleep(duration);
        self.qemu("cont", &json!({})).map(drop)
    }

    /// What the kernel has found in itself since the last call: the first line of it.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        let console = fs::read(self.console()).unwrap_or_default();
        let fresh = console.get(self.read..).unwrap_or_default();
        self.read = console.len();
        let text = String::from_utf8_lossy(fresh);
        let is_complaint = |line: &&str| COMPLAINTS.iter().any(|words| line.contains(words));
        text.lines().find(is_complaint).map(|line| line.trim().to_owned())
    }

    /// The file with what the kernel has printed.
    pub(crate) fn console(&self) -> PathBuf {
        self.folder.join("console.log")
    }

    fn last_line(&self) -> String {
        let text = |name| fs::read(self.folder.join(name)).unwrap_or_default();
        let mut all = text("console.log");
        all.extend(text("qemu.log"));
        let text = String::from_utf8_lossy(&all).into_owned();
        text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("none").trim().to_owned()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits for the sockets of a QEMU that was just started, and connects to them.
fn connect(process: &mut Child, folder: &Path) -> Outcome<(AgentLink, Qmp)> {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let (Ok(agent), Ok(qmp)) = (
            AgentLink::connect(&folder.join(hardware::AGENT_SOCKET)),
            Qmp::connect(&folder.join(hardware::QMP_SOCKET)),
        ) {
            return Ok((agent, qmp));
        }
        if process.try_wait()?.is_some() || Instant::now() > end {
            let log = fs::read_to_string(folder.join("qemu.log")).unwrap_or_default();
            return Err(Failure::new(format!("QEMU does not start: {}", log.trim())));
        }
        sleep(Duration::from_millis(20));
    }
}
