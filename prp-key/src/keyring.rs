//! The cluster's keys as the handshake uses them, and tags of frames outside connections.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::cipher::TAG_BYTES;
use crate::file::KeyFile;
use crate::mode::Mode;
use crate::refusal::Refusal;
use crate::schedule::{self, Purpose};
use crate::secret::Secret;
use crate::session::{Header, TRAILER_BYTES, Trailer, split, without_hops};

/// What follows from one secret of the cluster.
#[derive(Clone, Debug)]
pub(crate) struct ClusterKey {
    pub(crate) id: u16,
    /// What secrets of pairs follow from.
    pub(crate) root: Secret,
    pub(crate) request: Secret,
    pub(crate) answer: Secret,
    outside: Secret,
}

impl ClusterKey {
    fn new(id: u16, secret: &Secret) -> Self {
        let root = schedule::cluster(secret);
        let of = |purpose| schedule::derive(&root, purpose, &[&id.to_be_bytes()]);
        let (request, answer) = (of(Purpose::Request), of(Purpose::Answer));
        Self { id, request, answer, outside: of(Purpose::Outside), root }
    }
}

/// The keys and modes of a [`KeyFile`], prepared (SPEC PRP-KEY-1 to 3).
#[derive(Clone, Debug)]
pub struct Keyring {
    mode: Mode,
    nodes: BTreeMap<u16, Mode>,
    keys: Vec<ClusterKey>,
    used: ClusterKey,
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
        }
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

    /// The key that this end asks with.
    pub(crate) const fn used(&self) -> &ClusterKey {
        &self.used
    }

    /// The key with this id.
    pub(crate) fn find(&self, id: u16) -> Option<&ClusterKey> {
        self.keys.iter().find(|key| key.id == id)
    }

    /// Returns the trailer of a frame outside connections: a reset, a node block, a probe between
    /// routers (SPEC PRP-KEY-13).
    #[must_use]
    pub fn sign(&self, header: &Header, payload: &[u8]) -> Trailer {
        let mut trailer = [0; TRAILER_BYTES];
        let (id, tag) = trailer.split_at_mut(TRAILER_BYTES - TAG_BYTES);
        id.copy_from_slice(&u32::from(self.used.id).to_be_bytes());
        let pieces = [&without_hops(header)[..], payload];
        tag.copy_from_slice(&schedule::code(&self.used.outside, &pieces));
        trailer
    }

    /// Checks a frame outside connections; `rest` is what follows its payload. Returns the id of
    /// the key that signed it.
    ///
    /// # Errors
    /// Why the frame is to be dropped.
    pub fn check(&self, header: &Header, payload: &[u8], rest: &[u8]) -> Result<u16, Refusal> {
        let (id, tag) = split(rest)?;
        let id = u16::try_from(u32::from_be_bytes(id)).map_err(|_| Refusal::UnknownKey)?;
        let key = self.find(id).ok_or(Refusal::UnknownKey)?;
        if schedule::is_code(&key.outside, &[&without_hops(header), payload], tag) {
            Ok(id)
        } else {
            Err(Refusal::BadTag)
        }
    }
}

#[cfg(test)]
mod tests;
