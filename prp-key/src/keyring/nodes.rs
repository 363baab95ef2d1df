//! The secrets of this node and others.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};

use once_cell::race::OnceBox;

use crate::node::{NodeKey, NodeKeys, NodeSecret};
use crate::schedule::{self, Purpose};

use super::ClusterKey;

/// What this node has in common with each other node that has keys, computed when it is first
/// needed.
pub(super) struct NodePairs {
    node: u16,
    own: Vec<NodeSecret>,
    nodes: BTreeMap<u16, (Vec<NodeKey>, OnceBox<Vec<ClusterKey>>)>,
}

impl NodePairs {
    pub(super) fn new(keys: NodeKeys) -> Self {
        let NodeKeys { node, own, nodes } = keys;
        let nodes = nodes.into_iter().map(|(node, keys)| (node, (keys, OnceBox::new()))).collect();
        Self { node, own, nodes }
    }

    /// The other one of two nodes, if one is this node.
    pub(super) const fn other(&self, [a, b]: [u16; 2]) -> Option<u16> {
        if a == self.node {
            Some(b)
        } else if b == self.node {
            Some(a)
        } else {
            None
        }
    }

    /// What this node and `node` have in common under each of `secrets`; none if it has no key.
    pub(super) fn of(&self, node: u16, secrets: &[ClusterKey]) -> Option<&[ClusterKey]> {
        let (keys, pairs) = self.nodes.get(&node)?;
        Some(pairs.get_or_init(|| Box::new(self.pairs(node, keys, secrets))))
    }

    fn pairs(&self, node: u16, keys: &[NodeKey], secrets: &[ClusterKey]) -> Vec<ClusterKey> {
        let both = self.own.iter().flat_map(|own| keys.iter().map(move |key| (own, key)));
        let mut pairs = Vec::new();
        for (own, key) in both {
            // Of a key that contributes nothing, nobody else knows what takes its place.
            let agreed = own.agree(key.bytes()).or_else(|| own.agree(own.key().bytes()));
            let Some(agreed) = agreed else { continue };
            let ends = [(self.node, own.key()), (node, *key)];
            let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            for secret in secrets {
                let shared = schedule::extract(secret.root.bytes(), agreed.as_bytes());
                let ends = [
                    &low.0.to_be_bytes()[..],
                    low.1.bytes(),
                    &high.0.to_be_bytes(),
                    high.1.bytes(),
                ];
                let root = schedule::derive(&shared, Purpose::Nodes, &ends);
                let nodes = (own.clone(), *key, schedule::name(&root));
                pairs.push(ClusterKey {
                    nodes: Some(nodes),
                    ..ClusterKey::of_root(secret.id, root)
                });
            }
        }
        pairs
    }
}

impl Debug for NodePairs {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "node {}, {} with keys", self.node, self.nodes.len())
    }
}
