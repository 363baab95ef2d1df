//! Nodes that answer only echoes that are not signed.

use std::time::{Duration, Instant};

use prp_proto::addr::NodeId;
use prp_proto::key::Keyring;
use prp_proto::wire::{Flags, NodeKind};

use super::Prober;
use crate::exit::{Code, Failure};

impl Prober {
    /// The keys that echoes to `node` are signed with, if the key file asks for that.
    pub(super) fn keyring_for(&self, node: NodeId) -> Option<&Keyring> {
        self.forwarder.keyring_for(node).filter(|_| !self.is_unsigned)
    }

    /// Returns those of `nodes` that answer an echo without the cluster's key within `wait`, and
    /// then none with it, where they are to be asked with it: they have no key, or another one.
    pub(crate) fn find_without_key(
        &mut self,
        nodes: &[NodeId],
        wait: Duration,
    ) -> Result<Vec<NodeId>, Failure> {
        let is_keyed = |node: &&NodeId| self.keyring_for(**node).is_some();
        let silent: Vec<_> = nodes.iter().filter(is_keyed).copied().collect();
        if silent.is_empty() || wait.is_zero() {
            return Ok(Vec::new());
        }
        self.is_unsigned = true;
        let found = self.ask_each(&silent, wait);
        self.is_unsigned = false;
        let mut found = found?;
        // Echoes get lost, and one without the key is answered in any case.
        let have_key = self.ask_each(&found, wait)?;
        found.retain(|node| !have_key.contains(node));
        Ok(found)
    }

    /// Returns those of `nodes` that answer an echo within `wait`.
    fn ask_each(&mut self, nodes: &[NodeId], wait: Duration) -> Result<Vec<NodeId>, Failure> {
        let (until, sequence) = (Instant::now() + wait, u16::MAX);
        for node in nodes {
            match self.send(*node, sequence, Flags::MAX_HOPS, 0) {
                Err(failure) if failure.is(Code::Unreachable) => {}
                sent => sent?,
            }
        }
        let mut found = Vec::new();
        while found.len() < nodes.len()
            && let Some(reply) = self.receive(until)?
        {
            let is_answer = reply.kind == NodeKind::EchoReply && reply.sequence == sequence;
            if is_answer && nodes.contains(&reply.from) && !found.contains(&reply.from) {
                found.push(reply.from);
            }
        }
        Ok(found)
    }
}
