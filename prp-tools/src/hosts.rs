//! `prp hosts`: what prphosts says.

mod generate;

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prp_routed::check::{self, Report};
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
        /// Print what there is to say as JSON
        #[arg(long)]
        json: bool,
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
        HostsCommand::Check { all: Some(folder), json, .. } => {
            return tell(&check::cluster(folder), *json);
        }
        HostsCommand::Check { file, all: None, json } => {
            return tell(&check::hosts(&path_or_default(file.as_deref())), *json);
        }
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

/// Prints what was found; it fails if anything is wrong.
fn tell(report: &Report, json: bool) -> Result<(), Failure> {
    report.print("prp", json).map_err(|e| Failure::local("standard output", &e))?;
    // What there is to complain about has been said.
    if report.ok { Ok(()) } else { Err(Failure::new(Code::Failed, String::new())) }
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
