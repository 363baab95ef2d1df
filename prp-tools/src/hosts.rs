//! `prp hosts`: what prphosts says.

mod generate;
pub(crate) mod names;

mod resolve;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prp_node::printable_path;
use prp_proto::hosts::{Entry, Hop, HopTarget, interface_name, is_local_name};
use prp_routed::check::{self, HostsScope, Report};
use prp_sock::{HostsFile, NodeId, Resolver};

use crate::argument::input_file;
use crate::exit::{Code, Failure, help};
use crate::print::print_line;

const EXAMPLES: &str = "\
  prp hosts check                  what is wrong with the prphosts in force here
  prp hosts resolve gamma          the line of node gamma
  prp hosts generate star 4 --out hosts
  prp hosts check --all hosts      do these nodes reach each other?
";

/// How many nodes of the file an error names, where the user has named one that is not there.
const MOST_SHOWN: usize = 8;

/// Check prphosts, and find nodes in it.
#[derive(Debug, Args)]
#[command(after_help = help(EXAMPLES))]
pub(crate) struct HostsArgs {
    #[command(subcommand)]
    command: HostsCommand,
}

#[derive(Debug, Subcommand)]
enum HostsCommand {
    /// Check a prphosts file.
    ///
    /// Prints what is wrong as FILE:LINE:COLUMN: expected ..., found .... A file without mistakes
    /// gives one line: how much is in it, and which of its nodes this machine is.
    ///
    /// Of the file in force it is wrong, too, if no program here can work with it: it does not tell
    /// which node this machine is, or a device that it names is not there, is down, is a port of a
    /// bridge, or has another hardware address. Of a FILE, which may be another machine's, such
    /// things are noted.
    #[command(after_help = help("\
  prp hosts check                  the file in force here, and this machine
  prp hosts check new --here       the same of a file that is to be
  prp hosts check --all hosts      the files of all nodes together
"))]
    Check {
        /// The file; without it the one in force: $PRP_HOSTS, else /etc/prphosts
        #[arg(conflicts_with = "all", value_parser = input_file())]
        file: Option<PathBuf>,
        /// FILE is to be in force on this machine
        #[arg(long, conflicts_with = "all")]
        here: bool,
        /// Check the files of all nodes together, prphosts.NODE or NODE/prphosts in this folder:
        /// does every node reach every other one?
        #[arg(long, value_name = "DIR")]
        all: Option<PathBuf>,
        /// Print what there is to say as JSON
        #[arg(long)]
        json: bool,
    },
    /// Write each node's prphosts for a network of a common shape.
    #[command(after_help = help("\
  prp hosts generate chain 5 --out hosts      hosts/prphosts.1 to hosts/prphosts.5
  prp hosts generate hypercube 3 --node 1     print the file of node 1
"))]
    Generate(generate::HostsGenerateArgs),
    Resolve(resolve::ResolveArgs),
    /// Print the names of all nodes, a line each; completions of shells use it.
    #[command(after_help = help("  prp hosts names\n"))]
    Names {
        /// The prphosts to read [default: $PRP_HOSTS, else /etc/prphosts]
        #[arg(long, value_name = "FILE", value_parser = input_file())]
        hosts: Option<PathBuf>,
    },
}

/// Runs `prp hosts`.
pub(crate) fn run(args: &HostsArgs) -> Result<(), Failure> {
    match &args.command {
        HostsCommand::Check { all: Some(folder), json, .. } => {
            print(&check::cluster(folder), *json)
        }
        HostsCommand::Check { file, here, all: None, json } => {
            let place =
                if *here || file.is_none() { HostsScope::Here } else { HostsScope::Anywhere };
            print(&check::hosts(&path_or_default(file.as_deref()), place), *json)
        }
        HostsCommand::Generate(args) => print_line(generate::run(args)?),
        HostsCommand::Resolve(args) => print_line(resolve::run(args)?),
        HostsCommand::Names { hosts } => {
            let file = load(&path_or_default(hosts.as_deref()))?;
            let names: Vec<_> = file.hosts().entries().flat_map(Entry::names).collect();
            if names.is_empty() { Ok(()) } else { print_line(names.join("\n")) }
        }
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

/// The node that a user means by `name`, which has a line in `file`.
pub(crate) fn find(file: &HostsFile, name: &str) -> Result<NodeId, Failure> {
    if is_local_name(name) {
        let local = Resolver::by(file.clone()).and_then(|resolver| resolver.local_node());
        return local.map_err(|e| Failure::new(Code::Failed, e.to_string()));
    }
    let hosts = file.hosts();
    hosts.resolve(name).filter(|node| hosts.entry(*node).is_some()).ok_or_else(|| {
        let (cause, fix) = unknown(file, name);
        Failure::new(Code::Unreachable, format!("{cause}; {fix}"))
    })
}

/// The number of the node that a user means by `name`, which may be in no prphosts: then it is a
/// number.
pub(crate) fn number(name: &str) -> Result<u16, Failure> {
    match name.parse::<u64>() {
        Ok(_) => name
            .parse()
            .map(NodeId::number)
            .map_err(|e| Failure::new(Code::Usage, format!("{name}: {e}, or a name in prphosts"))),
        Err(_) => Ok(find(&load(&path_or_default(None))?, name)?.number()),
    }
}

/// That `file` has no node called `name`, and what to do about it.
pub(crate) fn unknown(file: &HostsFile, name: &str) -> (String, String) {
    let path = printable_path(file.path());
    let cause = format!("no node {name} in {path}");
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    let mut fix = known(file).map_or_else(String::new, |known| format!("name {known}, or "));
    fix.push_str("add its line");
    if let Some(line) = line_with_device(file, name) {
        fix = format!("line {line} has {name} as its device: write the device in front of it");
    }
    if bare.parse::<IpAddr>().is_ok() {
        fix = format!("nodes have numbers or names, and no IP addresses: {fix}");
    }
    (cause, fix)
}

/// The first line without a name that has the device `name`: as one where the device was forgotten.
fn line_with_device(file: &HostsFile, name: &str) -> Option<u32> {
    let is_it = |hop: Hop<'_>| matches!(hop.target, HopTarget::Direct { device, .. } if interface_name(device) == name);
    let mut unnamed = file.hosts().entries().filter(|entry| entry.name().is_none());
    unnamed.find(|entry| entry.hops().any(is_it)).map(Entry::line)
}

/// Some of the nodes that there are, if there are any.
fn known(file: &HostsFile) -> Option<String> {
    let hosts = file.hosts();
    let title = |entry: Entry<'_>| match entry.name() {
        Some(name) => format!("{} ({name})", entry.node()),
        None => entry.node().to_string(),
    };
    let shown: Vec<_> = hosts.entries().take(MOST_SHOWN).map(title).collect();
    let shown = shown.join(", ");
    match hosts.len().saturating_sub(MOST_SHOWN) {
        0 => Some(shown).filter(|shown| !shown.is_empty()),
        others => Some(format!("{shown} or one of {others} others")),
    }
}

/// Prints what was found; it fails if anything is wrong.
fn print(report: &Report, json: bool) -> Result<(), Failure> {
    report.print("prp", json).map_err(|e| Failure::local("standard output", &e))?;
    // What there is to complain about has been said.
    if report.ok { Ok(()) } else { Err(Failure::new(Code::Failed, String::new())) }
}

#[cfg(test)]
mod tests;
