//! Reading a node's own key file (SPEC PRP-KEY-20).

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use prp_proto::addr::NodeId;
use prp_proto::hosts::Hosts;
use prp_proto::key::{NodeKey, NodeKeyFile, NodeKeys};

use super::{failed, open, parsed};
use crate::environment;
use crate::printable::printable_path;

/// Where the node key file is unless `PRP_NODE_KEY` says otherwise.
pub const NODE_PATH: &str = "/etc/prpnodekey";

/// The variable that names another one.
const VARIABLE: &str = "PRP_NODE_KEY";

/// The node key file that `PRP_NODE_KEY` names, or else [`NODE_PATH`].
pub fn node_path() -> PathBuf {
    environment::path(VARIABLE).unwrap_or_else(|| NODE_PATH.into())
}

/// Reads the node key file at `path`; none if there is no file.
///
/// # Errors
/// It cannot be read, others can read or change it, or it has a mistake.
pub fn read_node(path: &Path) -> io::Result<Option<NodeKeyFile>> {
    let Some(text) = open(path, |e| unreadable(path, e))? else { return Ok(None) };
    NodeKeyFile::parse(&text).map(Some).map_err(|e| parsed(path, &e))
}

/// Whether the line of `node` has keys, so that its processes need a private one.
pub(super) fn is_needed(hosts: &Hosts, node: NodeId) -> bool {
    hosts.entry(node).is_some_and(|entry| entry.keys().len() > 0)
}

/// The keys of nodes that `hosts` has, with the private ones that `node` has at `path`; none if its
/// line has none.
///
/// # Errors
/// It has none of the private keys that belong to those of its line.
pub(super) fn keys(hosts: &Hosts, node: NodeId, path: &Path) -> io::Result<Option<NodeKeys>> {
    if !is_needed(hosts, node) {
        return Ok(None);
    }
    let Some(file) = read_node(path)? else {
        let cause = format!("there is no such file, and node {node} has a key in prphosts");
        let fix = "bring back the file, or make one by `prp key node new`";
        return Err(failed(path, &cause, fix, ErrorKind::NotFound));
    };
    NodeKeys::new(node.number(), hosts.node_keys(), Some(&file)).map_err(|_| {
        let cause = format!("none of its keys is on the line of node {node} in prphosts");
        let fix = format!(
            "write there what `prp key node list {}` prints, or bring back the file",
            printable_path(path)
        );
        failed(path, &cause, &fix, ErrorKind::InvalidData)
    })
}

/// The keys of nodes that `hosts` has, with the private ones at `path` of whichever node that is:
/// for a capture, which may be of another node.
///
/// # Errors
/// As [`read_node`]; there is no file, or `hosts` has none of its keys.
pub fn read_captured_node(hosts: &Hosts, path: &Path) -> io::Result<NodeKeys> {
    let file = read_node(path)?.ok_or_else(|| {
        let fix = "name the private key file of a node of the capture";
        failed(path, "there is no such file", fix, ErrorKind::NotFound)
    })?;
    let nodes = hosts.node_keys();
    let is_of = |keys: &[NodeKey]| file.secrets().any(|secret| keys.contains(&secret.key()));
    let node = nodes.iter().find_map(|(node, keys)| is_of(keys).then_some(*node));
    let keys = node.and_then(|node| NodeKeys::new(node, nodes, Some(&file)).ok().flatten());
    keys.ok_or_else(|| {
        let cause = "none of its keys is on a line of prphosts";
        let fix = "name the prphosts of the capture's nodes with PRP_HOSTS";
        failed(path, cause, fix, ErrorKind::InvalidData)
    })
}

fn unreadable(path: &Path, e: &io::Error) -> io::Error {
    let mend = "this node has a key in prphosts: let this user read the private one (`chgrp` and \
                `chmod 640`)";
    failed(path, &e.to_string(), mend, e.kind())
}
