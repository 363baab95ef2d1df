//! Which of the file's nodes is this machine (SPEC PRP-HOSTS-12).

use alloc::vec::Vec;
use core::fmt;

use super::{HopTarget, Hosts};
use crate::addr::NodeId;

/// How many candidates an error lists.
const MAX_LISTED: usize = 8;

/// A node whose line has an address of this machine.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Candidate {
    /// The node.
    pub node: NodeId,
    /// The number of its line.
    pub line: u32,
}

/// Why the file does not say which node this machine is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LocalNodeError {
    /// No line has an address of this machine.
    NotListed,
    /// Several lines have one. That is the rule on a machine others are reached through by its
    /// hardware address, as in the paper.
    Several {
        /// The first of them.
        candidates: Vec<Candidate>,
        /// How many there are.
        total: usize,
    },
}

impl Hosts {
    /// The node this machine is: what the `self` directive says, or else the one line with a
    /// address for which `is_local` answers that it belongs to this machine. It is not asked about
    /// next hops via other nodes.
    ///
    /// `is_local` is also told the line's device; whether that must match is for the caller to say.
    pub fn local_node(
        &self,
        mut is_local: impl FnMut(HopTarget<'_>) -> bool,
    ) -> Result<NodeId, LocalNodeError> {
        if let Some(node) = self.self_node {
            return Ok(node);
        }
        let mut candidates = Vec::new();
        let mut total = 0;
        for entry in self.entries() {
            let is_own = |target| !matches!(target, HopTarget::Via(_)) && is_local(target);
            let local = entry.hops().map(|hop| hop.target).any(is_own);
            if local {
                total += 1;
                if candidates.len() < MAX_LISTED {
                    candidates.push(Candidate { node: entry.node(), line: entry.line() });
                }
            }
        }
        match candidates[..] {
            [] => Err(LocalNodeError::NotListed),
            [only] => Ok(only.node),
            _ => Err(LocalNodeError::Several { candidates, total }),
        }
    }
}

impl LocalNodeError {
    /// What there is.
    pub fn cause(&self) -> impl fmt::Display {
        fmt::from_fn(|f| self.write_cause(f))
    }

    /// What to do about it.
    pub fn fix(&self) -> &'static str {
        match self {
            Self::NotListed => "add its line, or set PRP_NODE or write `self N`",
            Self::Several { .. } => "set PRP_NODE or write `self N` to say which it is",
        }
    }

    fn write_cause(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Several { candidates, total } = self else {
            return f.write_str("no line has an address of this machine");
        };
        f.write_str("several lines have an address of this machine: ")?;
        for (i, Candidate { node, line }) in candidates.iter().enumerate() {
            write!(f, "{}node {node} (line {line})", if i == 0 { "" } else { ", " })?;
        }
        let unlisted = total.saturating_sub(candidates.len());
        if unlisted > 0 {
            write!(f, " and {unlisted} more")?;
        }
        Ok(())
    }
}

impl fmt::Display for LocalNodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.cause(), self.fix())
    }
}

impl core::error::Error for LocalNodeError {}
