//! The file with the private keys of a node (SPEC PRP-KEY-20).

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write as _;

use zeroize::Zeroizing;

use crate::file::parse::{Line, each_line};
use crate::file::{EditError, ParseError};
use crate::secret::Secret;

use super::{MAX_NODE_KEYS, NodeKey, NodeSecret};

/// Bytes of the longest line of a key.
const LINE_BYTES: usize = 80;

/// The first line of a file.
const TITLE: &str =
    "# The private keys of this node of PRP. Whoever reads it can speak as this node.\n";

/// A node key file: one or two private keys.
#[derive(Clone, Debug)]
pub struct NodeKeyFile {
    keys: Vec<(Secret, NodeSecret)>,
}

impl NodeKeyFile {
    /// A file with one private key.
    #[must_use]
    pub fn new(secret: Secret) -> Self {
        let node = NodeSecret::new(&secret);
        Self { keys: vec![(secret, node)] }
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// The first mistake, with its line and column. It quotes no secret.
    pub fn parse(text: &[u8]) -> Result<Self, ParseError> {
        let mut file = Self { keys: Vec::new() };
        let last = each_line(text, |line| file.take(line))?;
        if file.keys.is_empty() {
            return Err(ParseError::of_file(last, "expected a key: `prp key node new` makes one"));
        }
        Ok(file)
    }

    fn take(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let Some(&(column, word)) = line.words.first() else { return Ok(()) };
        if word != "key" {
            return Err(line.error(column, "expected key"));
        }
        let secret = line.secret(1)?;
        line.end(2)?;
        self.add(secret)
            .map(drop)
            .map_err(|_| line.error(column, "a third key, or one that is there already: drop one"))
    }

    /// Returns the private keys in the order of the file.
    pub fn secrets(&self) -> impl Iterator<Item = &NodeSecret> {
        self.keys.iter().map(|(_, node)| node)
    }

    /// Adds a private key behind the others. Returns its public key.
    ///
    /// # Errors
    /// It is there, or there are [`MAX_NODE_KEYS`].
    pub fn add(&mut self, secret: Secret) -> Result<NodeKey, EditError> {
        let node = NodeSecret::new(&secret);
        let key = node.key();
        if self.keys.len() == MAX_NODE_KEYS || self.secrets().any(|known| known.key() == key) {
            return Err(EditError::Full);
        }
        self.keys.push((secret, node));
        Ok(key)
    }

    /// Removes the private key to `key`. Returns false if there was none.
    ///
    /// # Errors
    /// It is the only one.
    pub fn drop_key(&mut self, key: NodeKey) -> Result<bool, EditError> {
        let is_there = self.secrets().any(|known| known.key() == key);
        if is_there && self.keys.len() == 1 {
            return Err(EditError::Only);
        }
        self.keys.retain(|(_, known)| known.key() != key);
        Ok(is_there)
    }

    /// Returns the text of the file, with its secrets. Reading it gives back the same.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        let room = TITLE.len() + self.keys.len() * LINE_BYTES;
        let mut text = Zeroizing::new(String::with_capacity(room));
        text.push_str(TITLE);
        for (secret, _) in &self.keys {
            // A string takes everything.
            let _ = writeln!(text, "key {}", *secret.reveal());
        }
        text
    }
}
