//! The cluster key of a run, and the keys of its nodes: how they change while it runs.

use std::collections::BTreeMap;

use prp_proto::key::{KeyFile, Keyring, Mode, NodeKey, NodeKeyFile, NodeKeys, NodeSecret, Secret};
use prp_proto::time::Instant;

use crate::topology::node_id;

/// Files that follow one another: the old secret, the new one beside it, the new one in use, the
/// new one alone (SPEC PRP-KEY-3); and the same for the key of the first node (PRP-KEY-24).
pub const STAGES: usize = 4;

/// The number of the key that the first node gets.
const NEXT: u8 = 255;

/// The keys of a run.
#[derive(Clone, Debug)]
pub struct KeyPlan {
    /// What all nodes ask for.
    pub mode: Mode,
    /// Nodes have keys of their own.
    pub with_nodes: bool,
    /// When each node gets the second file and those that follow. No node has one before all have
    /// the one before.
    pub changes: Vec<[Instant; STAGES - 1]>,
}

impl KeyPlan {
    /// The keys that `node` has at `now`.
    pub(crate) fn keyring(&self, node: usize, now: Instant) -> Keyring {
        let stage = self.changes[node].iter().filter(|at| **at <= now).count();
        let keyring = Keyring::new(&file(self.mode, stage));
        let nodes = self.with_nodes.then(|| nodes(node, self.changes.len(), stage));
        keyring.with_nodes(nodes)
    }
}

fn file(mode: Mode, stage: usize) -> KeyFile {
    let mut file = KeyFile::new(mode, 1, Secret::new([1; 32]));
    if stage > 0 {
        file.add(Secret::new([2; 32])).expect("a second key");
    }
    if stage > 1 {
        file.use_key(2).expect("it was added");
    }
    if stage > 2 {
        file.drop_key(1).expect("it is not in use");
    }
    file
}

fn secret(number: u8) -> Secret {
    Secret::new([number; 32])
}

/// The keys of `count` nodes as `node` has them.
fn nodes(node: usize, count: usize, stage: usize) -> NodeKeys {
    let number = |index: usize| index as u8 + 1;
    let key = |number: u8| NodeSecret::new(&secret(number)).key();
    let first: &[u8] = match stage {
        0 => &[1],
        1 => &[1, NEXT],
        2 => &[NEXT, 1],
        _ => &[NEXT],
    };
    let listed = |index: usize| -> Vec<NodeKey> {
        if index == 0 { first.iter().map(|n| key(*n)).collect() } else { vec![key(number(index))] }
    };
    let lines: BTreeMap<_, _> =
        (0..count).map(|index| (node_id(index).number(), listed(index))).collect();
    let mut private = NodeKeyFile::new(secret(number(node)));
    if node == 0 {
        private.add(secret(NEXT)).expect("a second key");
    }
    NodeKeys::new(node_id(node).number(), lines, Some(&private))
        .ok()
        .flatten()
        .expect("a node has the private key of its line")
}
