//! `prp doctor`: what is wrong here, or on the way to a node, with its cause and what fixes it.

mod devices;
mod finding;
mod node_port;
mod process;
mod processes;
mod route;
mod router;

use std::path::PathBuf;

use clap::Args;
use prp_routed::check::{self, HostsScope};
use prp_sock::HostsFile;
use serde::Serialize;

use crate::exit::{Code, Failure, help};
use crate::hosts;
use crate::print::{print_json, print_line};
use finding::{Finding, Severity};

/// Search for what keeps PRP from working, or from working well, on this machine and to a node.
///
/// Each finding names its cause and what fixes it. A fault keeps PRP from working; a warning costs
/// speed, or will be a fault; a note is what a user may wonder about. Ends with 0 if there is no
/// fault and no warning, and else with 1.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp doctor                 this machine
  prp doctor beta            and the way to node beta, where prp-routed runs
  prp doctor --json beta     for programs
"))]
pub(crate) struct DoctorArgs {
    /// The node to reach: a name or number in prphosts
    node: Option<String>,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// No notes
    #[arg(short, long)]
    quiet: bool,
    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
    /// Calls bpf(2), which a filter of system calls may answer by ending the process
    #[arg(long, hide = true)]
    call_bpf: bool,
}

/// All of it, for programs.
#[derive(Debug, Serialize)]
struct DoctorReport<'a> {
    faults: usize,
    warnings: usize,
    findings: &'a [Finding],
}

/// Runs `prp doctor`.
pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    if args.call_bpf {
        return process::call_bpf();
    }
    let mut found = examine(args);
    if args.quiet {
        found.retain(|finding| finding.severity != Severity::Note);
    }
    found.sort_by_key(|finding| finding.severity);
    let count = |severity| found.iter().filter(|finding| finding.severity == severity).count();
    let (faults, warnings) = (count(Severity::Fault), count(Severity::Warning));
    if args.json {
        let report = DoctorReport { faults, warnings, findings: &found };
        print_json(&report, true)?;
    } else {
        found.iter().try_for_each(print_line)?;
        print_line(format_args!("{faults} faults, {warnings} warnings"))?;
    }
    if faults + warnings == 0 {
        return Ok(());
    }
    // It has been said what there is.
    Err(Failure::new(Code::Failed, ""))
}

/// All that is found, in the order in which it was searched for.
fn examine(args: &DoctorArgs) -> Vec<Finding> {
    let path = hosts::path_or_default(args.hosts.as_deref());
    let is_udp = hosts::load(&path).is_ok_and(|file| is_all_udp(&file));
    let mut found = process::findings(is_udp);
    let may_send = found.iter().all(|finding| finding.kind != "privilege_raw");
    let report = check::hosts(&path, HostsScope::Here);
    found.extend(report.faults.iter().map(|f| Finding::of_check("prphosts", Severity::Fault, f)));
    found.extend(report.notes.iter().map(|n| Finding::of_check("prphosts", Severity::Warning, n)));
    found.extend(router::findings());
    found.extend(processes::findings());
    let Ok(file) = hosts::load(&path) else { return found };
    found.extend(devices::findings(&file));
    found.extend(node_port::findings(&file));
    if let Some(node) = &args.node
        && (is_udp || may_send)
    {
        found.extend(route::findings(node, args.hosts.as_deref()));
    }
    found
}

/// Whether UDP carries all that this prphosts leads to: no line names a device.
fn is_all_udp(file: &HostsFile) -> bool {
    file.hosts().devices().next().is_none() && !file.hosts().udp_peers().is_empty()
}
