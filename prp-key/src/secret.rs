//! A secret of the cluster, or one that follows from it.

use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};
use core::str::FromStr;

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use alloc::string::String;

use crate::{hex, schedule};

/// Bytes of a secret.
const BYTES: usize = 32;

/// 32 secret bytes. They are wiped when dropped and not shown by `Debug`.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; BYTES]);

impl Secret {
    /// The secret with these bytes, which come from a source that nobody can predict.
    #[must_use]
    pub const fn new(bytes: [u8; BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub(crate) const fn bytes(&self) -> &[u8; BYTES] {
        &self.0
    }

    /// Its bytes, to be filled.
    pub(crate) const fn bytes_mut(&mut self) -> &mut [u8; BYTES] {
        &mut self.0
    }

    /// Returns what tells it from other secrets and does not give it away.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        schedule::fingerprint(self)
    }

    /// Returns it as 64 hexadecimal digits, which are wiped when dropped.
    #[must_use]
    pub fn reveal(&self) -> Zeroizing<String> {
        // With room for all: a string that grows leaves copies behind.
        let mut text = Zeroizing::new(String::with_capacity(2 * BYTES));
        for byte in self.0 {
            for digit in [byte >> 4, byte & 15] {
                text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
            }
        }
        text
    }
}

impl Debug for Secret {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.fingerprint())
    }
}

impl FromStr for Secret {
    type Err = SecretError;

    fn from_str(text: &str) -> Result<Self, SecretError> {
        let mut secret = Self([0; BYTES]);
        hex::read(text, &mut secret.0)?;
        Ok(secret)
    }
}

/// Why text is no secret. It quotes nothing of the text.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum SecretError {
    /// It has so many characters.
    Length(usize),
    /// The character at this place, which counts from zero, is no hexadecimal digit.
    Digit(usize),
}

impl Display for SecretError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "expected a secret of {} hexadecimal digits, found ", 2 * BYTES)?;
        match self {
            Self::Length(count) => write!(f, "{count} characters"),
            Self::Digit(place) => write!(f, "another character as number {}", place + 1),
        }
    }
}

impl Error for SecretError {}

/// 8 bytes that follow from a secret, and from which it does not follow.
#[derive(Copy, Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Fingerprint(pub(crate) [u8; 8]);

impl Display for Fingerprint {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[cfg(test)]
mod tests;
