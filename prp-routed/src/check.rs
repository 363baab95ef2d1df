//! What is wrong with settings and prphosts, before a daemon is asked to live with it:
//! `prp-routed check` and `prp hosts check`.

mod cluster;
mod machine;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use prp_node::hosts::{explain_mistakes, node_from_environment};
use prp_node::{ExplainedError, Explanation, HostsFile, counted, printable_path};
use prp_proto::addr::NodeId;
use prp_proto::hosts::{HopTarget, Hosts};
use prp_proto::route::Route;
use serde::Serialize;

use crate::privilege::Identity;
use crate::settings::Settings;
use crate::table::Table;

pub use cluster::cluster;
use machine::{Findings, Machine};

/// Notes told of one kind: what is so of one line of prphosts is so of many nodes.
const MAX_NOTES: usize = 20;

/// What a check has found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Report {
    /// Nothing is wrong.
    pub ok: bool,
    /// What was checked, in a line.
    pub summary: String,
    /// What is wrong.
    pub faults: Vec<Finding>,
    /// What may be meant, and may surprise.
    pub notes: Vec<Finding>,
}

/// One thing a check has found.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// The file, or the folder.
    pub file: String,
    /// The line of it, from 1.
    pub line: Option<u32>,
    /// The column of that, from 1.
    pub column: Option<u32>,
    /// What there is.
    pub what: String,
    /// What to do about it.
    pub fix: Option<String>,
    /// How many more pairs of nodes have the same problem for the same reason.
    pub alike: usize,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name of no file is nothing to show.
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            for number in self.line.iter().chain(&self.column) {
                write!(f, ":{number}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.what)?;
        if let Some(fix) = &self.fix {
            write!(f, "; {fix}")?;
        }
        match self.alike {
            0 => Ok(()),
            1 => f.write_str(" (and another pair of nodes alike)"),
            n => write!(f, " (and {n} other pairs of nodes alike)"),
        }
    }
}

impl Finding {
    fn new(path: &Path, what: impl Into<String>) -> Self {
        Self { file: printable_path(path), what: what.into(), ..Self::default() }
    }

    /// What `error` says of the file at `path`.
    fn of_error(path: &Path, error: &io::Error) -> Vec<Self> {
        match ExplainedError::within(error) {
            [] => vec![Self::new(path, error.to_string())],
            explanations => Self::of_explanations(path, explanations),
        }
    }

    fn of_explanations(path: &Path, explanations: &[Explanation]) -> Vec<Self> {
        let finding = |explanation: &Explanation| {
            let Explanation { file: _, line, column, cause, fix } = explanation.clone();
            Self { line, column, fix, ..Self::new(path, cause) }
        };
        explanations.iter().map(finding).collect()
    }
}

impl Report {
    fn new(summary: impl Into<String>, faults: Vec<Finding>, notes: Vec<Finding>) -> Self {
        Self { ok: faults.is_empty(), summary: summary.into(), faults, notes }
    }

    fn failed(summary: impl Into<String>, fault: Finding) -> Self {
        Self::new(summary, vec![fault], Vec::new())
    }

    /// Prints it, as JSON where that is wanted: what was checked and notes on standard output; what
    /// is wrong on standard error, as compilers do, for editors to follow, and in the name of
    /// `program` where there is no line. A closed standard output is no failure.
    ///
    /// # Errors
    /// Standard output takes nothing.
    pub fn print(&self, program: &str, json: bool) -> io::Result<()> {
        match self.write(program, json) {
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }

    fn write(&self, program: &str, json: bool) -> io::Result<()> {
        let mut out = io::stdout().lock();
        if json {
            let text = serde_json::to_string_pretty(self)?;
            return writeln!(out, "{text}");
        }
        for fault in &self.faults {
            let name = if fault.line.is_some() { String::new() } else { format!("{program}: ") };
            // A closed standard error leaves nowhere to complain to.
            let _ = writeln!(io::stderr(), "{name}{fault}");
        }
        if !self.summary.is_empty() {
            writeln!(out, "{}", self.summary)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(out, "note: {note}"))
    }

    /// Both together.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.ok &= other.ok;
        let summaries =
            [self.summary, other.summary].into_iter().filter(|summary| !summary.is_empty());
        self.summary = summaries.collect::<Vec<_>>().join("\n");
        self.faults.extend(other.faults);
        self.notes.extend(other.notes);
        self
    }
}

/// Reads a prphosts.
fn read(path: &Path) -> Result<Hosts, Vec<Finding>> {
    let bytes = std::fs::read(path).map_err(|e| vec![Finding::new(path, e.to_string())])?;
    Hosts::parse(&bytes)
        .map_err(|errors| Finding::of_explanations(path, &explain_mistakes(path, &errors)))
}

/// Where a prphosts is used.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum HostsScope {
    /// On this machine: what it lacks of it is wrong.
    Here,
    /// Here or elsewhere: what this machine lacks of it, if it is in it, is worth a note.
    Anywhere,
}

/// Checks one prphosts by itself, and with what this machine has of it.
pub fn hosts(path: &Path, scope: HostsScope) -> Report {
    let file = match load(path) {
        Ok(file) => file,
        Err(report) => return report,
    };
    let local = local_node(&file);
    let mut report = of_file(&file, &local, scope);
    let Findings { faults, notes, present } = here(&file, &local, scope);
    if !present.is_empty() {
        report.summary.push_str(&format!(", by {}", present.join(", ")));
    }
    let shared = shared_addresses(path, file.hosts());
    report.and(Report::new("", faults, [notes, shared].concat()))
}

/// What this machine lacks of the prphosts at `path`, for a user who wonders why no node answers;
/// nothing if that has a mistake.
pub fn lacks(path: &Path) -> Vec<Finding> {
    let Ok(file) = load(path) else { return Vec::new() };
    let found = here(&file, &local_node(&file), HostsScope::Here);
    [found.faults, found.notes].concat()
}

/// What keeps the devices that `file` names from use by this machine, which is node `own`; nothing
/// where the kernel does not tell.
pub fn device_problems(file: &HostsFile, own: NodeId) -> Vec<String> {
    let Ok(machine) = Machine::of_devices() else { return Vec::new() };
    let found = machine.findings(file.path(), file.hosts(), own);
    found.faults.iter().chain(&found.notes).map(ToString::to_string).collect()
}

/// What this machine lacks of `file`.
fn here(file: &HostsFile, local: &io::Result<NodeId>, scope: HostsScope) -> Findings {
    let (path, hosts) = (file.path(), file.hosts());
    let fault =
        |e: &io::Error| Findings { faults: Finding::of_error(path, e), ..Findings::default() };
    let machine = Machine::here();
    match (machine, local, scope) {
        (Err(e), _, HostsScope::Here) => fault(&e),
        (_, Err(e), HostsScope::Here) => fault(e),
        (Ok(machine), Ok(node), HostsScope::Here) => {
            let mut found = machine.findings(path, hosts, *node);
            if hosts.entry(*node).is_none() {
                let what = format!("PRP_NODE says this machine is node {node}, which has no line");
                found.faults.push(Finding::new(path, what));
            }
            found
        }
        (Ok(machine), Ok(node), HostsScope::Anywhere) if hosts.entry(*node).is_some() => {
            let notes = machine.findings(path, hosts, *node).into_notes();
            Findings { notes, ..Findings::default() }
        }
        (_, _, HostsScope::Anywhere) => Findings::default(),
    }
}

/// Nodes that have one hardware address by one device, or one UDP address. The paper places far
/// nodes so, behind a neighbour; of neighbours themselves it is a mistake, or a clone.
fn shared_addresses(path: &Path, hosts: &Hosts) -> Vec<Finding> {
    let mut first: BTreeMap<String, NodeId> = BTreeMap::new();
    let mut notes = Vec::new();
    for entry in hosts.entries() {
        for hop in entry.hops() {
            let address = match hop.target {
                HopTarget::Direct { mac, device } => format!("hardware address {mac} on {device}"),
                HopTarget::Udp(address) => format!("UDP address {address}"),
                // The node's number is all its address.
                HopTarget::Unix(_) | HopTarget::Via(_) => continue,
            };
            let node = entry.node();
            let what = format!("{address} is there twice, for nodes");
            let owner = *first.entry(address).or_insert(node);
            if owner == node {
                continue;
            }
            notes.push(Finding {
                line: Some(entry.line()),
                fix: Some(format!("right if node {node} is behind node {owner}")),
                ..Finding::new(path, format!("{what} {owner} and {node}"))
            });
        }
    }
    notes.truncate(MAX_NOTES);
    notes
}

fn local_node(file: &HostsFile) -> io::Result<NodeId> {
    prp_device::local_node(file, node_from_environment()?)
}

/// A prphosts, or what is wrong with it.
fn load(path: &Path) -> Result<HostsFile, Report> {
    HostsFile::load(path).map_err(|e| Report::new("", Finding::of_error(path, &e), Vec::new()))
}

/// What is in a prphosts without mistakes, on a machine that is node `local` of it.
fn of_file(file: &HostsFile, local: &io::Result<NodeId>, scope: HostsScope) -> Report {
    let hosts = file.hosts();
    let names: usize = hosts.entries().map(|entry| entry.names().len()).sum();
    let devices: Vec<_> = hosts.devices().collect();
    let devices = match devices[..] {
        [] => "no devices".into(),
        [only] => format!("device {only}"),
        _ => format!("devices {}", devices.join(" ")),
    };
    let (nodes, names) = (counted(hosts.len(), "node"), counted(names, "name"));
    let (path, identity) = (printable_path(file.path()), whoami(file, local, scope));
    Report::new(format!("{path}: {nodes}, {names}, {devices}{identity}"), Vec::new(), Vec::new())
}

/// Which node this machine is, or why that cannot be told, unless that is a fault and told as one.
fn whoami(file: &HostsFile, local: &io::Result<NodeId>, scope: HostsScope) -> String {
    let node = match local {
        Ok(node) => *node,
        Err(_) if scope == HostsScope::Here => return String::new(),
        Err(e) => {
            let why = match ExplainedError::within(e) {
                [only] => Explanation { file: None, ..only.clone() }.to_string(),
                _ => e.to_string(),
            };
            return format!("; which node this machine is cannot be told: {why}");
        }
    };
    match (file.hosts().entry(node), file.hosts().name(node)) {
        (None, _) if scope == HostsScope::Here => String::new(),
        (None, _) => format!("; PRP_NODE says this machine is node {node}, which has no line"),
        (_, None) => format!("; this machine is node {node}"),
        (_, Some(name)) => format!("; this machine is node {node} ({name})"),
    }
}

/// Checks settings, those at `config` or else the system's; and the settings, if they are right.
pub fn settings(config: Option<&Path>) -> (Report, Option<Settings>) {
    let default = Path::new(crate::settings::DEFAULT_PATH);
    let path = config.unwrap_or(default);
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(e) if config.is_none() && e.kind() == ErrorKind::NotFound => {
            let summary = format!("{}: not there; the defaults hold", printable_path(path));
            return (Report::new(summary, Vec::new(), Vec::new()), Some(Settings::default()));
        }
        Err(e) => return (Report::failed("", Finding::new(path, e.to_string())), None),
    };
    match Settings::parse(&text) {
        Ok(settings) => {
            let user = settings.user.as_deref().map(Identity::by_name).transpose();
            if let Err(e) = user {
                return (Report::failed("", Finding::new(path, e.to_string())), Some(settings));
            }
            let summary = format!("{}: settings without a mistake", printable_path(path));
            (Report::new(summary, Vec::new(), Vec::new()), Some(settings))
        }
        Err(e) => {
            let (line, column) = e.place.unzip();
            let finding = Finding { line, column, ..Finding::new(path, e.what) };
            (Report::failed("", finding), None)
        }
    }
}

/// Checks what a daemon with `settings` would begin with: its prphosts, and what this machine has
/// of it.
pub fn daemon(settings: &Settings) -> Report {
    let path = &settings.hosts;
    let file = match load(path) {
        Ok(file) => file,
        Err(report) => return report,
    };
    let local = settings.node.map_or_else(|| local_node(&file), Ok);
    let of_file = of_file(&file, &local, HostsScope::Here);
    let shared = shared_addresses(path, file.hosts());
    match Table::load(settings, &[]) {
        Ok(table) => {
            let Findings { faults, mut notes, .. } = here(&file, &local, HostsScope::Here);
            notes.extend(lost(path, &table));
            notes.extend(shared);
            of_file.and(Report::new(own_summary(path, &table), faults, notes))
        }
        Err(e) => of_file.and(Report::new("", faults_of_table(path, &e), Vec::new())),
    }
}

fn faults_of_table(path: &Path, error: &io::Error) -> Vec<Finding> {
    let fix = "say which node it is: `node` in the settings, `self` in prphosts, or its line";
    let mut faults = Finding::of_error(path, error);
    // Else the kernel refuses something, whatever the file says.
    if error.kind() == ErrorKind::InvalidData {
        faults.iter_mut().for_each(|fault| fault.fix = Some(fix.into()));
    }
    faults
}

fn own_summary(path: &Path, table: &Table) -> String {
    let own = table.routes.local();
    let nodes = table.file.hosts().nodes();
    let reached = nodes.filter(|n| matches!(table.routes.lookup(*n), Route::Via(_))).count();
    let devices: Vec<_> = table.devices.iter().map(|d| d.name.as_str()).collect();
    let devices = if devices.is_empty() { "no device".into() } else { devices.join(" ") };
    let nodes = counted(reached, "other node");
    format!("{}: as node {own}, by {devices}, it reaches {nodes}", printable_path(path))
}

/// The nodes that this machine does not reach.
fn lost(path: &Path, table: &Table) -> Vec<Finding> {
    let lost =
        table.file.hosts().entries().filter_map(|entry| match table.routes.lookup(entry.node()) {
            Route::NoRoute(why) => Some(Finding {
                line: Some(entry.line()),
                ..Finding::new(path, format!("node {} is not reached: {why}", entry.node()))
            }),
            Route::Local | Route::Via(_) => None,
        });
    lost.take(MAX_NOTES).collect()
}

#[cfg(test)]
mod tests;
