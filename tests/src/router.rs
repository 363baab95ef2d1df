//! A prp-routed on a node.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_routed::report::Question;

use crate::children;
use crate::privilege::NOBODY;
use crate::scratch::{ForeignFolder, TempFile};
use crate::topology::Node;
use crate::wait;

/// A router. Killed when dropped.
#[derive(Debug)]
pub struct Router {
    child: Child,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Router {
    /// The daemon `program` on `node`, once it routes.
    pub fn start(node: &Node<'_>, program: &str) -> Self {
        Self::run(node.command(program))
    }

    /// A daemon started by `command`, once it routes.
    ///
    /// # Panics
    /// If it does not start.
    pub fn run(mut command: Command) -> Self {
        let child = command.stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        children::note(&child);
        let stderr = child.stderr.take().expect("a pipe");
        let log = Arc::new(Mutex::new(String::new()));
        let shared = log.clone();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut log = shared.lock().expect("no thread panicked with the lock");
                log.push_str(&line);
                log.push('\n');
            }
        });
        let mut router = Self { child, log, reader: Some(reader) };
        wait::until("a router that routes", || {
            let ended = children::try_wait(&mut router.child).expect("a child");
            assert!(ended.is_none(), "{command:?} ended: {ended:?}: {}", router.log());
            router.log().contains("routing").then_some(())
        });
        router
    }

    /// Its output.
    ///
    /// # Panics
    /// If the thread that reads its output has panicked.
    pub fn log(&self) -> String {
        self.log.lock().expect("no thread panicked with the lock").clone()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal).expect("it runs");
    }

    /// Its process.
    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Ends it with SIGTERM; returns its output.
    ///
    /// # Panics
    /// If its exit status is not 0.
    pub fn stop(mut self) -> String {
        self.signal(Signal::SIGTERM);
        let status = children::wait(&mut self.child).expect("a child");
        assert!(status.success(), "{status}: {}", self.log());
        if let Some(reader) = self.reader.take() {
            reader.join().expect("the reader does not panic");
        }
        self.log()
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.child.kill();
        let _ = children::wait(&mut self.child);
    }
}

/// A folder for the sockets of a router that runs as the user nobody. It is removed when this is
/// dropped.
#[derive(Debug)]
pub struct UnprivilegedRunDir {
    folder: ForeignFolder,
    asker: TempFile,
}

impl UnprivilegedRunDir {
    /// A new folder, and a copy of the program `asker` that the user nobody may run.
    ///
    /// # Panics
    /// If the folder cannot be made, which needs root.
    pub fn new(asker: &str) -> Self {
        Self { folder: ForeignFolder::new(NOBODY, 0o755), asker: TempFile::copy(asker) }
    }

    /// The argument of `env` that sets the folder for a program.
    pub fn variable(&self) -> String {
        format!("PRP_RUN_DIR={}", self.folder.path().display())
    }

    /// As [`ask`], as the user nobody, since a process of root does not trust that user's router.
    ///
    /// # Panics
    /// If it does not answer.
    pub fn ask(&self, node: &Node<'_>, question: &Question) -> serde_json::Value {
        let line = serde_json::to_string(question).expect("questions have a form in JSON");
        let (user, asker) = (NOBODY.to_string(), self.asker.path().display().to_string());
        let number = node.number().to_string();
        let words =
            ["--reuid", &user, "--clear-groups", "env", &self.variable(), &asker, &number, &line];
        serde_json::from_str(&node.run("setpriv", &words)).expect("answers are JSON")
    }
}

/// Sends `question` to the router on `node` by the program `asker` there; returns the answer.
///
/// # Panics
/// If it does not answer.
pub fn ask(node: &Node<'_>, asker: &str, question: &Question) -> serde_json::Value {
    let line = serde_json::to_string(question).expect("questions have a form in JSON");
    let answer = node.run(asker, &[&node.number().to_string(), &line]);
    serde_json::from_str(&answer).expect("answers are JSON")
}
