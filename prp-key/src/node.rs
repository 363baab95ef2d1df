//! Keys of nodes: with them a member is a certain node (SPEC PRP-KEY-20 to 24).

mod file;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt::{self, Debug, Display, Formatter};
use core::str::FromStr;

use x25519_dalek::{PublicKey, StaticSecret};

use crate::hex;
use crate::secret::{Secret, SecretError};

pub use file::NodeKeyFile;

/// Keys of a node that are in force at a time: an old one and the next one (SPEC PRP-KEY-24).
pub const MAX_NODE_KEYS: usize = 2;

/// Bytes of a key of X25519.
const BYTES: usize = 32;

/// The public key of a node.
#[derive(Copy, Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeKey([u8; BYTES]);

impl NodeKey {
    /// Its bytes.
    pub(crate) const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl Display for NodeKey {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for NodeKey {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let mut bytes = [0; BYTES];
        hex::read(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

/// The private key of a node.
#[derive(Clone)]
pub struct NodeSecret {
    secret: StaticSecret,
    key: NodeKey,
}

impl NodeSecret {
    /// The private key with these bytes.
    #[must_use]
    pub fn new(bytes: &Secret) -> Self {
        let secret = StaticSecret::from(*bytes.bytes());
        let key = NodeKey(PublicKey::from(&secret).to_bytes());
        Self { secret, key }
    }

    /// Returns the public key that belongs to it.
    #[must_use]
    pub const fn key(&self) -> NodeKey {
        self.key
    }

    /// What X25519 makes of it and another's public key; none if that contributes nothing.
    pub(crate) fn agree(&self, other: &[u8; BYTES]) -> Option<x25519_dalek::SharedSecret> {
        agree(&self.secret, other)
    }
}

impl Debug for NodeSecret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "NodeSecret of {}", self.key)
    }
}

/// What X25519 makes of a private and a public key; none if the public one contributes nothing (RFC
/// 7748, 6.1).
pub(crate) fn agree(
    secret: &StaticSecret,
    key: &[u8; BYTES],
) -> Option<x25519_dalek::SharedSecret> {
    let agreed = secret.diffie_hellman(&PublicKey::from(*key));
    agreed.was_contributory().then_some(agreed)
}

/// The keys of this node and of others, as prphosts and the node's own file have them.
#[derive(Clone, Debug)]
pub struct NodeKeys {
    pub(crate) node: u16,
    /// Those that prphosts has on this node's line, in its order.
    pub(crate) own: Vec<NodeSecret>,
    /// Those of each node's line, in its order.
    pub(crate) nodes: BTreeMap<u16, Vec<NodeKey>>,
}

impl NodeKeys {
    /// Puts together the keys of all `nodes`, as prphosts has them, and the private ones of this
    /// `node`. `None` if its own line has none: then the cluster's secret is used with all.
    ///
    /// # Errors
    /// There is no private key to any that its line has.
    pub fn new(
        node: u16,
        nodes: BTreeMap<u16, Vec<NodeKey>>,
        file: Option<&NodeKeyFile>,
    ) -> Result<Option<Self>, NoNodeKey> {
        let Some(listed) = nodes.get(&node) else { return Ok(None) };
        let of = |key: &NodeKey| file?.secrets().find(|secret| secret.key() == *key);
        let own: Vec<_> = listed.iter().filter_map(of).cloned().collect();
        if own.is_empty() { Err(NoNodeKey) } else { Ok(Some(Self { node, own, nodes })) }
    }
}

/// A node has public keys in prphosts, and no private key to any of them.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct NoNodeKey;

#[cfg(test)]
mod tests;
