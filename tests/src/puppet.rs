//! A process on a node that does what a test tells it, one call at a time.
//!
//! The program is `src/bin/puppet.rs`; it reads a command a line and answers a line each, so a test
//! knows that one thing has happened before it asks for the next, and needs no luck with time. The
//! commands are listed there.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::topology::Node;

/// How long any answer may take: a GiB through a slow machine is among them.
const PATIENCE: Duration = Duration::from_secs(120);

/// A puppet. Killed when dropped.
#[derive(Debug)]
pub struct Puppet {
    name: String,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

/// What a puppet's call gave: text, or the kind of the error and its message.
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

    /// Tells it to do something; what came of it.
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

    /// What it says by itself.
    ///
    /// # Panics
    /// If it says nothing.
    pub fn next_line(&mut self) -> String {
        self.line("nothing")
    }

    /// What it has printed beside all that, once it has ended.
    pub fn rest(&mut self) -> String {
        self.lines.iter().map(|line| line + "\n").collect()
    }

    fn line(&self, command: impl Display) -> String {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{}: no answer to {command} in {PATIENCE:?}", self.name)
            }
            Err(RecvTimeoutError::Disconnected) => panic!("{} ended at {command}", self.name),
        }
    }

    /// Tells it to do something that must succeed; what it gave.
    ///
    /// # Panics
    /// If it fails.
    pub fn ok(&mut self, command: impl Display) -> String {
        let answer = self.ask(&command);
        answer.unwrap_or_else(|(kind, text)| panic!("{}: {command}: {kind}: {text}", self.name))
    }

    /// Tells it to do something that must fail; the kind of the error.
    ///
    /// # Panics
    /// If it succeeds.
    pub fn fails(&mut self, command: impl Display) -> String {
        self.message(command).0
    }

    /// Tells it to do something that must fail; the kind of the error, and its text.
    ///
    /// # Panics
    /// If it succeeds.
    pub fn message(&mut self, command: impl Display) -> (String, String) {
        match self.ask(&command) {
            Ok(gave) => panic!("{}: {command} gave {gave:?} and should have failed", self.name),
            Err(error) => error,
        }
    }

    /// Tells it to do something it does not come back from.
    ///
    /// # Panics
    /// If it has ended.
    pub fn send(&mut self, command: impl Display) {
        let stdin = self.stdin.as_mut().expect("it listens");
        writeln!(stdin, "{command}").unwrap_or_else(|e| panic!("{}: {command}: {e}", self.name));
    }

    /// Waits for it to end; its exit code, or minus the signal that killed it.
    ///
    /// # Panics
    /// If it does not end.
    pub fn wait(&mut self) -> i32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
            }
            assert!(start.elapsed() < PATIENCE, "{} does not end", self.name);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Kills it, as `kill -9` does, and waits until it is gone.
    ///
    /// # Panics
    /// If it is gone already.
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
        let _ = self.child.wait();
    }
}
