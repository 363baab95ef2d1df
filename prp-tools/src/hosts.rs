//! `prp hosts`: what prphosts says.

mod cluster;
mod generate;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prp_sock::{HostsFile, Resolver};

use crate::exit::{Code, Failure};

/// Check prphosts, and look nodes up in it.
#[derive(Debug, Args)]
pub(crate) struct HostsArgs {
    #[command(subcommand)]
    command: HostsCommand,
}

#[derive(Debug, Subcommand)]
enum HostsCommand {
    /// Check a prphosts file.
    ///
    /// Prints what is wrong as FILE:LINE:COLUMN: expected ..., found .... A file without mistakes gives
    /// one line: how much is in it, and which of its nodes this machine is.
    #[command(after_help = crate::exit::HELP)]
    Check {
        /// The file; without it the one in force: $PRP_HOSTS, else /etc/prphosts
        #[arg(conflicts_with = "all")]
        file: Option<PathBuf>,
        /// Check the files of all nodes together, prphosts.NODE or NODE/prphosts in this folder: does every
        /// node reach every other one?
        #[arg(long, value_name = "DIR")]
        all: Option<PathBuf>,
    },
    /// Write each node's prphosts for a network of a common shape.
    #[command(after_help = crate::exit::HELP)]
    Generate(generate::GenerateArgs),
    /// Print the line of a node, found by name or number.
    ///
    /// The line is in the form of prphosts: node number, ways to it (hardware address and device, or
    /// via which node), names, options. `self` and `localhost` stand for this machine.
    #[command(after_help = crate::exit::HELP)]
    Resolve {
        /// A name or number
        name: String,
        /// The prphosts to look in [default: $PRP_HOSTS, else /etc/prphosts]
        #[arg(long, value_name = "FILE")]
        hosts: Option<PathBuf>,
    },
}

/// Runs `prp hosts`.
pub(crate) fn run(args: &HostsArgs) -> Result<(), Failure> {
    let text = match &args.command {
        HostsCommand::Check { all: Some(folder), .. } => cluster::check(folder)?,
        HostsCommand::Check { file, all: None } => check(&path_or_default(file.as_deref()))?,
        HostsCommand::Generate(args) => generate::run(args)?,
        HostsCommand::Resolve { name, hosts } => {
            resolve(&load(&path_or_default(hosts.as_deref()))?, name)?
        }
    };
    match writeln!(io::stdout(), "{text}") {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::local("standard output", &e)),
        _ => Ok(()),
    }
}

/// The prphosts in force, unless the user names another.
pub(crate) fn path_or_default(named: Option<&Path>) -> PathBuf {
    named.map_or_else(HostsFile::default_path, Path::to_owned)
}

/// Reads and checks prphosts.
pub(crate) fn load(path: &Path) -> Result<HostsFile, Failure> {
    // The message names the file, on every line if it is about mistakes in it.
    HostsFile::cached(path).map_err(|e| Failure::new(Code::Failed, e.to_string()))
}

fn check(path: &Path) -> Result<String, Failure> {
    let file = match HostsFile::load(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::InvalidData => {
            // As compilers print them, for editors to follow.
            eprintln!("{e}");
            return Err(Failure::new(Code::Failed, String::new()));
        }
        Err(e) => return Err(Failure::new(Code::Failed, e.to_string())),
    };
    let hosts = file.hosts();
    let names: usize = hosts.entries().map(|entry| entry.names().len()).sum();
    let devices: Vec<_> = hosts.devices().collect();
    Ok(format!(
        "{}: {}, {}, {}; {}",
        path.display(),
        count(hosts.len(), "node"),
        count(names, "name"),
        match devices[..] {
            [] => "no devices".into(),
            [only] => format!("device {only}"),
            _ => format!("devices {}", devices.join(" ")),
        },
        whoami(&file)
    ))
}

/// Which node this machine is, or why that cannot be told.
fn whoami(file: &HostsFile) -> String {
    let found = Resolver::by(file.clone()).and_then(|resolver| resolver.local_node());
    let node = match found {
        Ok(node) => node,
        Err(e) => {
            let why = e.to_string();
            let prefix = format!("{}: ", file.path().display());
            let why = why.strip_prefix(&prefix).unwrap_or(&why);
            return format!("which node this machine is cannot be told: {why}");
        }
    };
    match (file.hosts().entry(node), file.hosts().name(node)) {
        (None, _) => format!("PRP_NODE says this machine is node {node}, which has no line"),
        (_, None) => format!("this machine is node {node}"),
        (_, Some(name)) => format!("this machine is node {node} ({name})"),
    }
}

fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

fn resolve(file: &HostsFile, name: &str) -> Result<String, Failure> {
    let resolver =
        Resolver::by(file.clone()).map_err(|e| Failure::new(Code::Failed, e.to_string()))?;
    // The message names the node and the file.
    let node = resolver.node(name).map_err(|e| {
        let code = if e.kind() == ErrorKind::NotFound { Code::NoWay } else { Code::Failed };
        Failure::new(code, e.to_string())
    })?;
    file.hosts().entry(node).map(|entry| entry.to_string()).ok_or_else(|| {
        Failure::new(Code::NoWay, format!("{node}: no line in {}", file.path().display()))
    })
}

#[cfg(test)]
mod tests;
