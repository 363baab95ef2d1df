//! The files of all nodes, taken together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prp_node::{counted, printable_path};
use prp_proto::addr::NodeId;
use prp_proto::cluster::{Asymmetry, Cluster, Fault, FaultKind};
use prp_proto::hosts::Hosts;

use super::{Finding, MAX_NOTES, Report, read};

/// Whose file is where.
type Paths = BTreeMap<NodeId, PathBuf>;

/// Checks the files of all nodes in `folder`, prphosts.NODE or NODE/prphosts: do frames of every
/// node reach every other one?
pub fn cluster(folder: &Path) -> Report {
    let (paths, files) = match read_all(folder) {
        Ok(all) => all,
        Err(faults) => return Report::new("", faults, Vec::new()),
    };
    let cluster = Cluster::new(files);
    let faults = fault_findings(&cluster, &paths);
    let asymmetries = cluster.asymmetries();
    let mut notes: Vec<_> =
        asymmetries.iter().take(MAX_NOTES).map(|a| note(&cluster, &paths, a)).collect();
    if asymmetries.len() > notes.len() {
        let more = asymmetries.len() - notes.len();
        notes.push(Finding::new(folder, format!("{more} more pairs have another route back")));
    }
    let (files, nodes) = (cluster.len(), cluster.nodes().len());
    let pairs = files * files.saturating_sub(1) / 2;
    let summary = if faults.is_empty() {
        let asymmetric = match asymmetries.len() {
            0 => String::new(),
            n => format!("; {n} of them by another route back than there"),
        };
        let pairs = counted(pairs, "pair");
        format!(
            "{}: {}, all {pairs} reach each other{asymmetric}",
            printable_path(folder),
            counted(files, "node")
        )
    } else {
        let (files, nodes) = (counted(files, "file"), counted(nodes, "node"));
        format!(
            "{}: {files} of {nodes}, {}",
            printable_path(folder),
            counted(faults.len(), "fault")
        )
    };
    Report::new(summary, faults, notes)
}

/// What is wrong, each once: a line that is wrong is so between many nodes.
fn fault_findings(cluster: &Cluster, paths: &Paths) -> Vec<Finding> {
    type Key = (NodeId, Option<u32>, Option<NodeId>, FaultKind);
    let mut seen: BTreeMap<Key, usize> = BTreeMap::new();
    let mut findings: Vec<Finding> = Vec::new();
    for fault in cluster.faults() {
        let Fault { at, line, what, .. } = fault;
        // Without a line it is a line that is missing, for one of the two.
        let key = (at, line, line.is_none().then(|| fault.subject()), what);
        if let Some(known) = seen.get(&key) {
            findings[*known].alike += 1;
            continue;
        }
        seen.insert(key, findings.len());
        let fix = Some(fault.fix().to_string());
        let what = fault.to_string();
        findings.push(Finding { line, fix, ..Finding::new(path_of(paths, at), what) });
    }
    findings
}

fn note(cluster: &Cluster, paths: &Paths, asymmetry: &Asymmetry) -> Finding {
    let Asymmetry { there, back } = asymmetry;
    let (from, to) = (there[0], back[0]);
    let what = format!("from {from} to {to} by {}, and back by {}", words(there), words(back));
    Finding { line: cluster.line(from, to), ..Finding::new(path_of(paths, from), what) }
}

/// The nodes between the ends of a path.
fn words(path: &[NodeId]) -> String {
    match path {
        [_, between @ .., _] if !between.is_empty() => {
            let words: Vec<_> = between.iter().map(ToString::to_string).collect();
            words.join(" ")
        }
        _ => "the link between them".into(),
    }
}

fn path_of(paths: &Paths, node: NodeId) -> &Path {
    // Faults are found in files that were read.
    paths.get(&node).map_or_else(|| Path::new("prphosts"), PathBuf::as_path)
}

fn read_all(folder: &Path) -> Result<(Paths, BTreeMap<NodeId, Hosts>), Vec<Finding>> {
    let broken = |e: std::io::Error| {
        let fix = "name a folder that is there and that this user may read";
        vec![Finding { fix: Some(fix.into()), ..Finding::new(folder, e.to_string()) }]
    };
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(broken)? {
        let path = entry.map_err(broken)?.path();
        let inside = path.join("prphosts");
        if path.is_file() {
            paths.push(path);
        } else if inside.is_file() {
            paths.push(inside);
        }
    }
    paths.sort();
    let (mut of_nodes, mut files, mut faults) = (Paths::new(), BTreeMap::new(), Vec::new());
    for path in paths {
        match read(&path).and_then(|hosts| Ok((owner(&path, &hosts)?, hosts))) {
            Ok((node, hosts)) => {
                if let Some(other) = of_nodes.get(&node) {
                    let what = format!("of node {node}, and so is {}", printable_path(other));
                    faults.push(Finding::new(&path, what));
                } else {
                    of_nodes.insert(node, path);
                    files.insert(node, hosts);
                }
            }
            Err(found) => faults.extend(found),
        }
    }
    if files.is_empty() && faults.is_empty() {
        faults.push(Finding::new(folder, "no files prphosts.NODE or NODE/prphosts"));
    }
    if faults.is_empty() { Ok((of_nodes, files)) } else { Err(faults) }
}

/// Whose file it is.
fn owner(path: &Path, hosts: &Hosts) -> Result<NodeId, Vec<Finding>> {
    hosts.self_node().or_else(|| by_name(path)).ok_or_else(|| {
        let fix = Some("call it prphosts.NODE or NODE/prphosts, or write `self NODE`".into());
        vec![Finding { fix, ..Finding::new(path, "whose is it?") }]
    })
}

/// `prphosts.7` and `7/prphosts` are of node 7.
fn by_name(path: &Path) -> Option<NodeId> {
    let after_dot = path.extension().and_then(|e| e.to_str()).and_then(|e| e.parse().ok());
    let folder = || path.parent()?.file_name()?.to_str()?.parse().ok();
    after_dot.or_else(folder)
}
