//! A process on a node that executes a test's commands one by one.
//!
//! The program is `src/bin/puppet.rs`. It reads one command per line, and answers each with a line.
//! So a test knows that one command has ended before it sends the next, and depends on no timing.
//! That file lists the commands.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::children;
use crate::topology::Node;

/// Time limit for an answer: some commands transfer a GiB on a slow machine.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A puppet. Killed when dropped.
#[derive(Debug)]
pub struct Puppet {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// The answer of a puppet: text, or the kind of the error and its message.
pub type Answer = Result<String, (String, String)>;

impl Puppet {
    /// The puppet `program` on `node`.
    pub fn start(node: &Node<'_>, program: impl AsRef<OsStr>) -> Self {
        Self::run(format!("puppet on node {}", node.number()), node.command(program))
    }

    /// A puppet started by `command`.
    ///
    /// # Panics
    /// If it does not start.
    pub fn run(name: impl Into<String>, mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        children::note(&child);
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().expect("a pipe");
        let (lines, receiver) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    return;
                }
            }
        });
        Self { name: name.into(), child, stdin, lines: receiver }
    }

    /// Sends a command and returns its answer.
    ///
    /// # Panics
    /// If it ends or takes longer than two minutes.
    pub fn ask(&mut self, command: impl Display) -> Answer {
        self.send(&command);
        let line = self.line(&command);
        let (verdict, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match verdict {
            "ok" => Ok(rest.to_owned()),
            "err" => {
                let (kind, text) = rest.split_once(' ').unwrap_or((rest, ""));
                Err((kind.to_owned(), text.to_owned()))
            }
            _ => panic!("{}: {command}: {line}", self.name),
        }
    }

    /// The next line that it prints without a command.
    ///
    /// # Panics
    /// If it prints nothing.
    pub fn next_line(&mut self) -> String {
        self.line("nothing")
    }

    /// Everything else that it has printed, after its end.
    pub fn rest(&mut self) -> String {
        self.lines.iter().map(|line| line + "\n").collect()
    }

    fn line(&self, command: impl Display) -> String {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{}: no answer to {command} in {TIMEOUT:?}", self.name)
            }
            Err(RecvTimeoutError::Disconnected) => panic!("{} ended at {command}", self.name),
        }
    }

    /// Sends a command that must succeed; returns its text.
    ///
    /// # Panics
    /// If it fails.
    pub fn ok(&mut self, command: impl Display) -> String {
        let answer = self.ask(&command);
        answer.unwrap_or_else(|(kind, text)| panic!("{}: {command}: {kind}: {text}", self.name))
    }

    /// Sends a command that must fail; returns the kind of the error.
    ///
    /// # Panics
    /// If it succeeds.
    pub fn fails(&mut self, command: impl Display) -> String {
        self.message(command).0
    }

    /// Sends a command that must fail; returns the kind of the error, and its text.
    ///
    /// # Panics
    /// If it succeeds.
    pub fn message(&mut self, command: impl Display) -> (String, String) {
        match self.ask(&command) {
            Ok(gave) => panic!("{}: {command} gave {gave:?} and should have failed", self.name),
            Err(error) => error,
        }
    }

    /// Sends a command that ends the process.
    ///
    /// # Panics
    /// If it has ended.
    pub fn send(&mut self, command: impl Display) {
        let stdin = self.stdin.as_mut().expect("it listens");
        writeln!(stdin, "{command}").unwrap_or_else(|e| panic!("{}: {command}: {e}", self.name));
    }

    /// Waits for its end; returns its exit code, or the negative number of the signal that killed
    /// it.
    ///
    /// # Panics
    /// If it does not end.
    pub fn wait(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = children::try_wait(&mut self.child).expect("our child") {
                return status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
            }
            assert!(start.elapsed() < TIMEOUT, "{} does not end", self.name);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills it with SIGKILL, and waits for its end.
    ///
    /// # Panics
    /// If it has already ended.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is our child");
        assert_eq!(self.wait(), -9);
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Puppet {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = children::wait(&mut self.child);
    }
}
