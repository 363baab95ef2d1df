//! The cipher behind a trait, and the one that all ends have: of AWS-LC where that is built in,
//! which takes half the time for a full frame, else in Rust.

#[cfg(all(feature = "aws-lc", not(target_env = "musl")))]
mod aws_lc;
#[cfg(not(all(feature = "aws-lc", not(target_env = "musl"))))]
mod rust;

use subtle::ConstantTimeEq;

#[cfg(all(feature = "aws-lc", not(target_env = "musl")))]
pub use aws_lc::Aes128Gcm;
#[cfg(not(all(feature = "aws-lc", not(target_env = "musl"))))]
pub use rust::Aes128Gcm;

/// Bytes of a cipher's key.
pub const CIPHER_KEY_BYTES: usize = 16;

/// Bytes of a cipher's nonce.
pub const CIPHER_NONCE_BYTES: usize = 12;

/// Bytes of a tag.
pub const TAG_BYTES: usize = 16;

/// What authenticates a frame.
pub type Tag = [u8; TAG_BYTES];

/// Authenticated encryption with associated data (RFC 5116), with its key prepared.
///
/// A caller gives each nonce to [`seal`](Self::seal) or [`tag`](Self::tag) once for each key.
pub trait Cipher {
    /// The cipher with this key.
    fn new(key: &[u8; CIPHER_KEY_BYTES]) -> Self;

    /// Encrypts `text` in place; the tag is over it and `associated`.
    fn seal(&self, nonce: &[u8; CIPHER_NONCE_BYTES], associated: &[u8], text: &mut [u8]) -> Tag;

    /// Decrypts `sealed` to `text`, of the same length, if `tag` is that of it and `associated`,
    /// which it compares in constant time. Otherwise returns false, and `text` is of no use.
    fn open(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        associated: &[u8],
        sealed: &[u8],
        text: &mut [u8],
        tag: &Tag,
    ) -> bool;

    /// Returns a tag over `front` and `payload`, both of which stay readable (SPEC PRP-KEY-10).
    ///
    /// The payload is the associated data, which stays where it is. The short `front` is copied and
    /// encrypted, so that the two need not follow one another in memory.
    fn tag(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        front: &[u8; FRONT_BYTES],
        payload: &[u8],
    ) -> Tag {
        self.seal(nonce, payload, &mut front.clone())
    }

    /// Whether `tag` is that of `front` and `payload`, in constant time.
    fn is_tag(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        front: &[u8; FRONT_BYTES],
        payload: &[u8],
        tag: &Tag,
    ) -> bool {
        self.tag(nonce, front, payload).ct_eq(tag).into()
    }
}

/// Bytes of a packet in front of its payload.
const FRONT_BYTES: usize = crate::session::HEADER_BYTES;

impl core::fmt::Debug for Aes128Gcm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Aes128Gcm")
    }
}

#[cfg(test)]
mod tests;
