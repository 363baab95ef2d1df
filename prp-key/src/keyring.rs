//! The cluster's keys as the handshake uses them, and tags of frames outside connections.

mod nodes;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::cipher::TAG_BYTES;
use crate::file::KeyFile;
use crate::mode::Mode;
use crate::node::{NodeKey, NodeKeys, NodeSecret};
use crate::refusal::Refusal;
use crate::schedule::{self, Purpose};
use crate::secret::{Fingerprint, Secret};
use crate::session::{Header, TRAILER_BYTES, Trailer, split, without_hops};

use nodes::NodePairs;

/// What is added to the id of a secret at the end of a frame that node keys vouch for
/// (PRP-KEY-22).
const WITH_NODES: u32 = 1 << 16;

/// What follows from one secret of the cluster, or from one of two nodes.
#[derive(Clone, Debug)]
pub(crate) struct ClusterKey {
    pub(crate) id: u16,
    /// What secrets of pairs follow from.
    pub(crate) root: Secret,
    pub(crate) request: Secret,
    pub(crate) answer: Secret,
    pub(crate) outside: Secret,
    /// The node keys it follows from as well, and its name.
    pub(crate) nodes: Option<(NodeSecret, NodeKey, Fingerprint)>,
}

impl ClusterKey {
    fn new(id: u16, secret: &Secret) -> Self {
        Self::of_root(id, schedule::cluster(secret))
    }

    fn of_root(id: u16, root: Secret) -> Self {
        let of = |purpose| schedule::derive(&root, purpose, &[&id.to_be_bytes()]);
        let (request, answer) = (of(Purpose::Request), of(Purpose::Answer));
        Self { id, request, answer, outside: of(Purpose::Outside), root, nodes: None }
    }

    /// Returns what tells it from the others.
    pub(crate) fn name(&self) -> KeyName {
        KeyName { id: self.id, nodes: self.nodes.as_ref().map(|(.., name)| *name) }
    }
}

/// A key that two ends may have: a secret of the cluster, and what two nodes add to it, if they do.
#[derive(Copy, Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct KeyName {
    id: u16,
    nodes: Option<Fingerprint>,
}

/// The keys and modes of a [`KeyFile`], prepared, and keys of nodes (SPEC PRP-KEY-1 to 3, 21).
#[derive(Clone, Debug)]
pub struct Keyring {
    mode: Mode,
    nodes: BTreeMap<u16, Mode>,
    keys: Vec<ClusterKey>,
    used: ClusterKey,
    pairs: Option<Arc<NodePairs>>,
}

impl Keyring {
    /// Prepares the keys of `file`.
    #[must_use]
    pub fn new(file: &KeyFile) -> Self {
        let key = |key: &crate::Key| ClusterKey::new(key.id(), key.secret());
        Self {
            mode: file.mode(),
            nodes: file.nodes().collect(),
            keys: file.keys().iter().map(key).collect(),
            used: key(file.used()),
            pairs: None,
        }
    }

    /// Has the keys of nodes vouch for them, where two nodes have some (SPEC PRP-KEY-21).
    #[must_use]
    pub fn with_nodes(mut self, nodes: Option<NodeKeys>) -> Self {
        self.pairs = nodes.map(|nodes| Arc::new(NodePairs::new(nodes)));
        self
    }

    /// Returns the least protection for frames to and from `node`.
    #[must_use]
    pub fn least(&self, node: u16) -> Mode {
        self.nodes.get(&node).copied().unwrap_or(self.mode)
    }

    /// Returns the id of the key that this end asks with.
    #[must_use]
    pub const fn used_id(&self) -> u16 {
        self.used.id
    }

    /// Returns whether frames to and from `node` are vouched for by node keys.
    #[must_use]
    pub fn has_node_keys(&self, node: u16) -> bool {
        self.of_nodes(node).is_some()
    }

    /// The keys of this node and `node`, if both have some: those to use first.
    fn of_nodes(&self, node: u16) -> Option<&[ClusterKey]> {
        self.pairs.as_deref()?.of(node, &self.keys)
    }

    /// The key that this end asks `node` with.
    pub(crate) fn used(&self, node: u16) -> &ClusterKey {
        let mut of_nodes = self.of_nodes(node).into_iter().flatten();
        of_nodes.find(|key| key.id == self.used.id).unwrap_or(&self.used)
    }

    /// The key for `node` with this name.
    pub(crate) fn named(&self, node: u16, name: KeyName) -> Option<&ClusterKey> {
        self.candidates(node, name.id, name.nodes.is_some()).ok()?.find(|key| key.name() == name)
    }

    /// The keys that may vouch for a frame of `node` which names the secret `id`, and node keys or
    /// not.
    ///
    /// # Errors
    /// There is none, or `node` has keys and the frame names none.
    pub(crate) fn candidates(
        &self,
        node: u16,
        id: u16,
        with_nodes: bool,
    ) -> Result<impl Iterator<Item = &ClusterKey>, Refusal> {
        let keys = match (self.of_nodes(node), with_nodes) {
            (Some(of_nodes), true) => of_nodes,
            (None, false) => &self.keys[..],
            (Some(_), false) => return Err(Refusal::Unsigned),
            (None, true) => return Err(Refusal::UnknownKey),
        };
        with_id(keys, id)
    }

    /// The keys that may vouch for a captured frame with this header, which names the secret `id`,
    /// and node keys or not.
    ///
    /// # Errors
    /// There is none, or it names node keys and is neither to nor from this node.
    pub(crate) fn captured(
        &self,
        header: &Header,
        id: u16,
        with_nodes: bool,
    ) -> Result<impl Iterator<Item = &ClusterKey>, Refusal> {
        let ends = [sender(header), receiver(header)];
        let other = || self.pairs.as_deref()?.other(ends);
        let keys = if with_nodes {
            other().and_then(|node| self.of_nodes(node))
        } else {
            Some(&*self.keys)
        };
        with_id(keys.ok_or(Refusal::UnknownKey)?, id)
    }

    /// Returns the trailer of a frame outside connections: a reset, a node block, a probe between
    /// routers (SPEC PRP-KEY-13).
    #[must_use]
    pub fn sign(&self, header: &Header, payload: &[u8]) -> Trailer {
        let key = self.used(receiver(header));
        let mut trailer = [0; TRAILER_BYTES];
        let (id, tag) = trailer.split_at_mut(TRAILER_BYTES - TAG_BYTES);
        let nodes = if key.nodes.is_some() { WITH_NODES } else { 0 };
        id.copy_from_slice(&(u32::from(key.id) | nodes).to_be_bytes());
        let pieces = [&without_hops(header)[..], payload];
        tag.copy_from_slice(&schedule::code(&key.outside, &pieces));
        trailer
    }

    /// Checks a frame outside connections; `rest` is what follows its payload. Returns the id of
    /// the key that signed it.
    ///
    /// # Errors
    /// Why the frame is to be dropped.
    pub fn check(&self, header: &Header, payload: &[u8], rest: &[u8]) -> Result<u16, Refusal> {
        let (id, with_nodes) = name_of(rest)?;
        check_outside(self.candidates(sender(header), id, with_nodes)?, (header, payload), rest)
    }

    /// Checks a captured frame outside connections, between any two nodes, as
    /// [`check`](Self::check) does one for this node.
    ///
    /// # Errors
    /// No member whose secret is here has made it. [`Refusal::UnknownKey`] where that cannot be
    /// told.
    pub fn check_captured(
        &self,
        header: &Header,
        payload: &[u8],
        rest: &[u8],
    ) -> Result<u16, Refusal> {
        let (id, with_nodes) = name_of(rest)?;
        check_outside(self.captured(header, id, with_nodes)?, (header, payload), rest)
    }
}

/// Those of `keys` with this id.
///
/// # Errors
/// There is none.
fn with_id(keys: &[ClusterKey], id: u16) -> Result<impl Iterator<Item = &ClusterKey>, Refusal> {
    let mut keys = keys.iter().filter(move |key| key.id == id).peekable();
    if keys.peek().is_some() { Ok(keys) } else { Err(Refusal::UnknownKey) }
}

/// The id of the secret that a frame outside connections names in its trailer, and whether it names
/// node keys.
fn name_of(rest: &[u8]) -> Result<(u16, bool), Refusal> {
    let id = u32::from_be_bytes(split(rest)?.0);
    let secret = u16::try_from(id & !WITH_NODES).map_err(|_| Refusal::UnknownKey)?;
    Ok((secret, id & WITH_NODES != 0))
}

/// Checks the tag of a frame outside connections by `keys`.
fn check_outside<'a>(
    mut keys: impl Iterator<Item = &'a ClusterKey>,
    (header, payload): (&Header, &[u8]),
    rest: &[u8],
) -> Result<u16, Refusal> {
    let (_, tag) = split(rest)?;
    let pieces = [&without_hops(header)[..], payload];
    let key = keys.find(|key| schedule::is_code(&key.outside, &pieces, tag));
    key.map(|key| key.id).ok_or(Refusal::BadTag)
}

/// The node that a frame with this header comes from.
pub(crate) const fn sender(header: &Header) -> u16 {
    u16::from_be_bytes([header[0], header[1]])
}

/// The node that a frame with this header goes to.
pub(crate) const fn receiver(header: &Header) -> u16 {
    u16::from_be_bytes([header[2], header[3]])
}

#[cfg(test)]
mod tests;
