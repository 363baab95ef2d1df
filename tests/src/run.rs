//! Programs under `prp run`.

use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use nix::unistd::Pid;
use serde_json::Value;

use crate::harness::skip;
use crate::scratch::TempFile;
use crate::server::Server;
use crate::topology::Node;
use crate::wait::until;

/// Servers and clients in Python, which know nothing of PRP.
pub const PEER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/run_peer.py");

/// The distribution's interpreter, or that in the path.
static PYTHON: LazyLock<&'static str> = LazyLock::new(|| {
    let of_distribution = "/usr/bin/python3";
    if Path::new(of_distribution).exists() { of_distribution } else { "python3" }
});

/// The interpreter; skips the test if there is none.
pub fn python() -> &'static str {
    if Command::new(*PYTHON).arg("--version").output().is_err() {
        skip("python3");
    }
    *PYTHON
}

/// What `prp run` gets beside the program.
#[derive(Copy, Clone, Debug)]
pub struct Run<'a> {
    programs: &'a Path,
    node: Node<'a>,
    options: &'a [&'a str],
    report: Option<&'a Path>,
    key: Option<&'a Path>,
}

impl<'a> Run<'a> {
    /// With PRP alone, by the command in the folder `programs`.
    pub const fn new(programs: &'a Path, node: Node<'a>) -> Self {
        Self { programs, node, options: &["--require"], report: None, key: None }
    }

    /// With `options` in place of `--require`.
    #[must_use]
    pub const fn with(self, options: &'a [&'a str]) -> Self {
        Self { options, ..self }
    }

    /// With a file for the report.
    #[must_use]
    pub const fn reporting(self, report: &'a Path) -> Self {
        Self { report: Some(report), ..self }
    }

    /// With the cluster key in the file `key`.
    #[must_use]
    pub const fn with_key(self, key: &'a Path) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The command that runs the program and arguments `words`.
    pub fn command(self, words: &[&str]) -> Command {
        let mut command = self.node.command("env");
        if let Some(key) = self.key {
            command.arg(format!("PRP_KEY={}", key.display()));
        }
        if let Some(report) = self.report {
            command.arg(format!("PRP_RUN_REPORT={}", report.display()));
        }
        command.arg(self.programs.join("prp")).arg("run").args(self.options).args(words);
        command
    }

    /// Runs the client `what` of [`PEER`]; what it prints.
    ///
    /// # Panics
    /// If it fails.
    pub fn call(self, what: &str, host: &str, port: u16) -> String {
        self.call_program(&[python(), PEER, what, host, &port.to_string()])
    }

    /// Runs a program; what it prints.
    ///
    /// # Panics
    /// If it fails.
    pub fn call_program(self, words: &[&str]) -> String {
        let output = self.command(words).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (printed, errors) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{words:?}: {printed}{errors}");
        printed
    }

    /// Starts the server `what` of [`PEER`].
    pub fn serve(self, what: &str, port: u16) -> Server {
        let port = port.to_string();
        Server::start_listening(self.command(&[python(), PEER, what, &port]))
    }
}

/// The lines of a report, once there is one for which `is_it` holds.
///
/// # Panics
/// If it is no report.
pub fn reported(report: &TempFile, is_it: impl Fn(&Value) -> bool) -> Value {
    until("the line of a process", || {
        let text = std::fs::read_to_string(report.path()).expect("the report is there");
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.into_iter().find(|line| is_it(line))
    })
}

/// The holder of the run, by the command in the folder `programs`, whose command line has `word` in
/// it.
///
/// # Panics
/// If it does not come.
pub fn holder(programs: &Path, word: &str) -> Pid {
    until("the holder", || {
        let processes = std::fs::read_dir("/proc").expect("procfs").flatten();
        let mut numbers = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
        numbers.find_map(|number: i32| {
            let exe = std::fs::read_link(format!("/proc/{number}/exe")).ok()?;
            let words = std::fs::read(format!("/proc/{number}/cmdline")).ok()?;
            let mut words = words.split(|byte| *byte == 0);
            let is_it = exe == programs.join("prp") && words.any(|it| it == word.as_bytes());
            is_it.then(|| Pid::from_raw(number))
        })
    })
}
