//! The cluster's key file, and whether the router of this node goes by it.

use std::io;

use prp_node::explained::{ExplainedError, Explanation};
use prp_node::{HostsFile, KeyWatch};
use prp_proto::addr::NodeId;
use prp_proto::key::KeyFile;
use serde_json::Value;

use super::finding::{Finding, Kind};

/// The key file in force, if there is one, or what is wrong with it.
pub(super) fn read() -> Result<Option<KeyFile>, Finding> {
    KeyWatch::in_force().read().map_err(|e| of_error(Kind::KeyFile, &e))
}

/// What keeps programs of this node from having the private key to those that `hosts` has.
pub(super) fn of_node(hosts: &HostsFile) -> Option<Finding> {
    let node = local_node(hosts)?;
    let error = KeyWatch::in_force().keyring(hosts, node).err()?;
    Some(of_error(Kind::NodeKey, &error))
}

/// What the keys of nodes in `hosts` do not protect.
pub(super) fn of_prphosts(hosts: &HostsFile) -> Option<Finding> {
    let (keys, node) = (hosts.hosts().node_keys(), local_node(hosts)?);
    if keys.is_empty() {
        return None;
    }
    if KeyWatch::in_force().read().is_ok_and(|file| file.is_none()) {
        let cause = "prphosts has keys of nodes, which protect nothing without a cluster key";
        return Some(Finding::warning(Kind::NodeKey, cause, "`prp key new` makes one"));
    }
    let without = hosts.hosts().nodes().filter(|node| !keys.contains_key(&node.number()));
    let cause = match without.count() {
        0 => return None,
        _ if !keys.contains_key(&node.number()) => {
            "other nodes have a key in prphosts and this one has none: any member can speak as it"
                .to_owned()
        }
        1 => "one node has no key in prphosts, others do: any member can speak as it".to_owned(),
        n => format!("{n} nodes have no key in prphosts, others do: any member can speak as they"),
    };
    let fix = "`prp key node new` there, and its key= on that line of prphosts on all nodes";
    Some(Finding::warning(Kind::NodeKey, cause, fix))
}

/// The node this is; what hinders that is found elsewhere.
fn local_node(hosts: &HostsFile) -> Option<NodeId> {
    let named = prp_node::hosts::node_from_environment().ok()?;
    prp_device::local_node(hosts, named).ok()
}

fn of_error(kind: Kind, error: &io::Error) -> Finding {
    let (cause, fix) = match ExplainedError::within(error) {
        [Explanation { fix: Some(fix), .. }, ..] => {
            let text = error.to_string();
            let cause = text.strip_suffix(&format!("; {fix}")).unwrap_or(&text).to_owned();
            (cause, fix.clone())
        }
        _ => (error.to_string(), "correct the file, or copy that of another node".to_owned()),
    };
    Finding::fault(kind, format!("no program uses PRP here: {cause}"), &fix)
}

/// What the status of a router says of the key, where the file in force has the secret `used`.
pub(super) fn of_router(status: &Value, used: u16) -> Option<Finding> {
    match status["key_id"].as_u64() {
        Some(id) if id == u64::from(used) => None,
        Some(id) => {
            let cause = format!(
                "prp-routed signs with the secret {id} of the cluster key, and the key file here \
                 uses {used}"
            );
            let fix = "`prp routed reload`; does PRP_KEY name another file for one of the two?";
            Some(Finding::warning(Kind::RouterKey, cause, fix))
        }
        None => {
            let cause = "prp-routed has no cluster key, so what it says is not believed: a closed \
                         port, a dead process and a broken path take a timeout to be noticed";
            let fix = "let its user read the key file (`chgrp` and `chmod 640`), then \
                       `prp routed reload`";
            Some(Finding::warning(Kind::RouterKey, cause, fix))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_router__whose_secret_is_not_that_of_the_file() {
        let says = |key_id: Value| of_router(&json!({ "key_id": key_id }), 2).map(|it| it.cause);
        assert_eq!(says(json!(2)), None);
        assert!(says(json!(1)).is_some_and(|cause| cause.contains("secret 1")));
        assert!(says(Value::Null).is_some_and(|cause| cause.contains("no cluster key")));
    }
}
