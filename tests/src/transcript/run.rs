//! Runs the steps of a transcript on the nodes of a topology.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::Step;
use crate::topology::Topology;
use crate::wait;

/// A topology, a folder that all users share, and the commands that run in the background.
#[derive(Debug)]
pub(super) struct Runner<'a> {
    topology: &'a Topology,
    programs: PathBuf,
    folder: TempDir,
    /// Each with its node.
    servers: Vec<(u8, Child)>,
}

impl<'a> Runner<'a> {
    /// A runner on which nothing has run.
    pub(super) fn new(topology: &'a Topology, programs: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { topology, programs: programs.to_owned(), folder, servers: Vec::new() }
    }

    /// Runs the command of `step`; returns its output. A background command goes on, and prints
    /// nothing.
    pub(super) fn run(&mut self, step: &Step) -> Vec<String> {
        if let Some(server) = step.command.strip_suffix(" &") {
            self.serve(step.node, server);
            return Vec::new();
        }
        let mut command = self.command(step.node, &format!("{{ {}\n}} 2>&1", step.command));
        let output = command.output().expect("topo runs");
        let text = String::from_utf8(output.stdout).expect("text");
        // `topo` has the prphosts of a node in a folder of this run.
        let hosts = self.topology.node(step.node).run("sh", &["-c", "printf %s \"$PRP_HOSTS\""]);
        let text = text.replace(&hosts, "/etc/prphosts");
        // Nor is the folder another one in each run.
        let text = text.replace(&self.folder.path().display().to_string(), "/tmp");
        text.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    fn serve(&mut self, node: u8, command: &str) {
        let mut command = self.command(node, &format!("exec {command}"));
        let server = command.stdout(Stdio::null()).spawn().expect("topo runs");
        self.servers.push((node, server));
        let servers = self.servers.iter().filter(|(other, _)| *other == node).count();
        wait::until(format_args!("{command:?} to listen"), || {
            let listed = self.command(node, "prp stat -lH").output().expect("topo runs");
            let listeners = String::from_utf8_lossy(&listed.stdout).lines().count();
            (listeners >= servers).then_some(())
        });
    }

    fn command(&self, node: u8, line: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let programs = self.programs.display();
        let line = format!("PATH={programs}:{path}\ncd {}\n{line}", self.folder.path().display());
        let mut command = self.topology.node(node).command("sh");
        command.args(["-c", &line]);
        command
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        for (_, server) in &mut self.servers {
            // It may already have ended.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
