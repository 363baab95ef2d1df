//! The key file: the cluster's secrets and the protection of its frames.

pub(crate) mod parse;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt::{self, Display, Formatter, Write as _};

use zeroize::Zeroizing;

use crate::mode::Mode;
use crate::secret::Secret;

pub use parse::ParseError;

/// Secrets that a file has at most: an old one, the one in use, and the next one.
pub const MAX_KEYS: usize = 3;

/// Bytes of the longest line of a key in the text of a file.
const LINE_BYTES: usize = 100;

/// The first line of a file.
const TITLE: &str =
    "# The cluster key of PRP. Whoever reads it can join the cluster: keep it secret.\n";

/// A secret of the cluster and its id.
#[derive(Clone, Debug)]
pub struct Key {
    id: u16,
    secret: Secret,
}

impl Key {
    /// Returns its id, which is not zero.
    #[must_use]
    pub const fn id(&self) -> u16 {
        self.id
    }

    /// Returns the secret.
    #[must_use]
    pub const fn secret(&self) -> &Secret {
        &self.secret
    }
}

/// A key file: a mode for the cluster and for single nodes, and up to [`MAX_KEYS`] secrets, one of
/// which is in use (SPEC PRP-KEY-2 and 3).
///
/// ```
/// use prp_key::{KeyFile, Mode};
///
/// let text = format!("mode seal\nnode 7 sign\nkey 1 {:064x} use\n", 0x1234);
/// let file = KeyFile::parse(text.as_bytes()).expect("three lines");
/// assert_eq!((file.mode(), file.used().id()), (Mode::Seal, 1));
///
/// let error = KeyFile::parse(b"mode seel\n").expect_err("no such mode");
/// assert!(error.to_string().starts_with("1:6: expected off, sign or seal"));
/// ```
#[derive(Clone, Debug)]
pub struct KeyFile {
    mode: Mode,
    nodes: BTreeMap<u16, Mode>,
    /// By their ids.
    keys: Vec<Key>,
    /// The id of the one in use.
    used: u16,
}

impl KeyFile {
    /// A file with one secret, which is in use. The id is not zero.
    #[must_use]
    pub fn new(mode: Mode, id: u16, secret: Secret) -> Self {
        Self { mode, nodes: BTreeMap::new(), keys: vec![Key { id, secret }], used: id }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first mistake, with its line and column. It quotes no secret.
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        parse::file(text)
    }

    /// Returns the protection of frames to and from nodes that have none of their own.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the nodes with a protection of their own, by their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = (u16, Mode)> {
        self.nodes.iter().map(|(&node, &mode)| (node, mode))
    }

    /// Returns the secrets by their ids.
    #[must_use]
    pub fn keys(&self) -> &[Key] {
        &self.keys
    }

    /// Returns the secret that requests are made with.
    #[must_use]
    pub fn used(&self) -> &Key {
        self.keys.iter().find(|key| key.id == self.used).expect("the key in use is in the file")
    }

    /// Adds a secret, which is not used before [`use_key`](Self::use_key), under the least free id
    /// above the others. Returns the id.
    ///
    /// # Errors
    /// There are [`MAX_KEYS`].
    pub fn add(&mut self, secret: Secret) -> Result<u16, EditError> {
        let last = self.keys.last().map_or(0, Key::id);
        // Ids may have been chosen by hand.
        let free = (1..=u16::MAX).find(|id| self.keys.iter().all(|key| key.id != *id));
        let id = last.checked_add(1).or(free).ok_or(EditError::Full)?;
        self.insert(id, secret)?;
        Ok(id)
    }

    /// Uses the secret `id`. That it is in use already is no error.
    ///
    /// # Errors
    /// There is no such secret.
    pub fn use_key(&mut self, id: u16) -> Result<(), EditError> {
        let is_there = self.keys.iter().any(|key| key.id == id);
        self.used = is_there.then_some(id).ok_or(EditError::Missing(id))?;
        Ok(())
    }

    /// Removes the secret `id`. Returns false if there was none.
    ///
    /// # Errors
    /// It is the one in use.
    pub fn drop_key(&mut self, id: u16) -> Result<bool, EditError> {
        if id == self.used {
            return Err(EditError::Used(id));
        }
        let before = self.keys.len();
        self.keys.retain(|key| key.id != id);
        Ok(self.keys.len() < before)
    }

    fn insert(&mut self, id: u16, secret: Secret) -> Result<(), EditError> {
        if self.keys.len() == MAX_KEYS {
            return Err(EditError::Full);
        }
        let place = self.keys.partition_point(|key| key.id < id);
        self.keys.insert(place, Key { id, secret });
        Ok(())
    }

    /// Returns the text of the file, with its secrets. Reading it gives back the same.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        let room = TITLE.len() + (2 + self.nodes.len() + self.keys.len()) * LINE_BYTES;
        let mut text = Zeroizing::new(String::with_capacity(room));
        text.push_str(TITLE);
        // A string takes everything.
        let _ = writeln!(text, "mode {}", self.mode);
        for (node, mode) in self.nodes() {
            let _ = writeln!(text, "node {node} {mode}");
        }
        for key in &self.keys {
            let _ = write!(text, "key {} {}", key.id, *key.secret.reveal());
            text.push_str(if key.id == self.used { " use\n" } else { "\n" });
        }
        text
    }
}

/// Why a key file cannot be changed so.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum EditError {
    /// It has [`MAX_KEYS`] secrets.
    Full,
    /// It has no secret with this id.
    Missing(u16),
    /// The secret with this id is the one in use.
    Used(u16),
    /// It is the only private key of a node.
    Only,
}

impl Display for EditError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => write!(f, "there are {MAX_KEYS} keys, and no more fit: drop one first"),
            Self::Missing(id) => write!(f, "there is no key {id}"),
            Self::Used(id) => write!(f, "key {id} is in use: use another one first"),
            Self::Only => f.write_str("it is the only key: add another one first"),
        }
    }
}

impl Error for EditError {}

#[cfg(test)]
mod tests;
