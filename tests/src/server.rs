//! Servers that say on standard output what they do.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

/// A server's process, which is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Server {
    /// Starts `command`.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, stdout }
    }

    /// Starts `command`, and waits until it says that it listens.
    ///
    /// # Panics
    /// It cannot be started, or its first line says something else.
    pub fn start_listening(command: Command) -> Self {
        let mut server = Self::start(command);
        let line = server.line();
        assert!(line.starts_with("listening"), "the server says when it listens, not '{line}'");
        server
    }

    /// Returns the number of its process.
    ///
    /// # Panics
    /// It has more than a process can have.
    pub fn pid(&self) -> i32 {
        self.child.id().try_into().expect("a process's number")
    }

    /// Returns its next line; an empty one at the end of its output.
    ///
    /// # Panics
    /// The output cannot be read.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("the server prints");
        line.trim_end().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
