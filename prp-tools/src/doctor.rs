//! `prp doctor`: what is wrong here, or on the path to a node, with its cause and what fixes it.

mod card;
mod devices;
mod finding;
mod hardware;
mod key;
mod latency;
mod node_port;
mod process;
mod processes;
mod progress;
mod queues;
mod report;
mod route;
mod router;

use std::path::{Path, PathBuf};

use clap::Args;
use prp_node::counted;
use prp_proto::hosts::interface_name;
use prp_routed::check::{self, HostsScope};
use prp_sock::HostsFile;
use serde::Serialize;

use crate::argument::input_file;
use crate::exit::{Code, Failure, help};
use crate::hosts;
use crate::print::{print_json, print_line};
use finding::{Finding, Kind, Severity};
use progress::Progress;

/// Search for what keeps PRP from working, or from working well, on this machine and to a node.
///
/// Each finding names its cause and what fixes it. A fault keeps PRP from working; a warning costs
/// speed, or will be a fault; a note is what a user may wonder about. Ends with 0 if there is no
/// fault and no warning, and else with 1.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp doctor                       this machine
  prp doctor beta                  and the path to node beta, where prp-routed runs
  prp doctor --all                 and the paths to all nodes of prphosts
  prp doctor --latency beta        and what delays messages by microseconds
  prp doctor --json beta           for programs
  prp doctor beta --report file    for a bug report: what is found, and what it was found in
"))]
pub(crate) struct DoctorArgs {
    /// The nodes to reach: names or numbers in prphosts
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,
    /// All other nodes of prphosts
    #[arg(short, long, conflicts_with = "nodes")]
    all: bool,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
    /// Also what delays messages by microseconds: processors that sleep, interrupts that wait
    #[arg(long)]
    latency: bool,
    /// No notes
    #[arg(short, long)]
    quiet: bool,
    /// Print all of it as JSON
    #[arg(long)]
    json: bool,
    /// Write a file for a bug report, which must not be there yet; `-` is standard output. It has
    /// what was found, prphosts, devices, connections, and what prp-routed says. It has no payload
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quiet", "json"])]
    report: Option<PathBuf>,
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
    let mut found = examine(args, &Progress::new());
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
        let counts = format!("{}, {}", counted(faults, "fault"), counted(warnings, "warning"));
        let lines = found.iter().map(ToString::to_string).chain([counts]);
        let text = lines.collect::<Vec<_>>().join("\n");
        match &args.report {
            Some(file) if file.as_os_str() == "-" => {
                return print_line(report::text(&hosts_path(args), &text));
            }
            Some(file) => report::write(file, &report::text(&hosts_path(args), &text))?,
            None => {}
        }
        print_line(text)?;
    }
    if faults + warnings == 0 || args.report.is_some() {
        return Ok(());
    }
    // It has been said what there is.
    Err(Failure::new(Code::Failed, ""))
}

/// The prphosts it goes by.
fn hosts_path(args: &DoctorArgs) -> PathBuf {
    hosts::path_or_default(args.hosts.as_deref())
}

/// All that is found, in the order in which it was searched for.
fn examine(args: &DoctorArgs, progress: &Progress) -> Vec<Finding> {
    progress.show("this machine");
    let path = hosts_path(args);
    let is_unprivileged = hosts::load(&path).is_ok_and(|file| is_without_ethernet(&file));
    let mut found = process::findings(is_unprivileged);
    let may_send = found.iter().all(|finding| finding.kind != Kind::PrivilegeRaw);
    let report = check::hosts(&path, HostsScope::Here);
    found.extend(
        report.faults.iter().map(|f| Finding::of_check(Kind::Prphosts, Severity::Fault, f)),
    );
    found.extend(
        report.notes.iter().map(|n| Finding::of_check(Kind::Prphosts, Severity::Warning, n)),
    );
    let mut rest = router::findings();
    let file = hosts::load(&path);
    rest.extend(file.iter().filter_map(key::of_prphosts));
    let key_fault = key::read().err().or_else(|| file.as_ref().ok().and_then(key::of_node));
    let has_key_fault = key_fault.is_some();
    rest.extend(key_fault);
    if args.latency {
        rest.extend(latency::findings(Path::new(hardware::SYSFS)));
    }
    rest.extend(processes::findings());
    if let Ok(file) = file {
        rest.extend(devices::findings(&file, args.latency));
        rest.extend(node_port::findings(&file));
        // Nothing is asked without the key that there is.
        if (is_unprivileged || may_send) && !has_key_fault {
            // A device by which nothing goes is the cause of all that is found of the nodes behind.
            let is_faulty = |device: &str| {
                report.faults.iter().any(|fault| names(&fault.what, interface_name(device)))
            };
            let nodes = nodes(args, &file);
            rest.extend(route::findings(&nodes, &path, is_faulty, progress));
        }
    }
    let is_said = |finding: &Finding| {
        let mut said = report.faults.iter().chain(&report.notes);
        said.any(|said| finding.cause.contains(&said.what))
    };
    found.extend(rest.into_iter().filter(|finding| !is_said(finding)));
    found
}

/// Whether a text has `name` as one of its words.
fn names(text: &str, name: &str) -> bool {
    text.split_whitespace().any(|word| word == name)
}

/// The nodes to which the path is examined.
fn nodes(args: &DoctorArgs, file: &HostsFile) -> Vec<String> {
    if !args.all {
        return args.nodes.clone();
    }
    let local = hosts::find(file, "self").ok();
    let entries = file.hosts().entries().map(|entry| entry.node());
    entries.filter(|node| Some(*node) != local).map(|node| node.to_string()).collect()
}

/// Whether all that this prphosts leads to is reached without a privilege: no line names a device.
fn is_without_ethernet(file: &HostsFile) -> bool {
    let hosts = file.hosts();
    let is_other = !hosts.udp_peers().is_empty() || hosts.unix_folder().is_some();
    hosts.devices().next().is_none() && is_other
}
