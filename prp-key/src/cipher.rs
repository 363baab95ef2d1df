//! The cipher behind a trait, and the one that all ends have.

use aes_gcm::KeyInit;
use aes_gcm::aead::AeadInOut;
use subtle::ConstantTimeEq;

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

    /// Decrypts `text` in place if `tag` is that of it and `associated`, which it compares in
    /// constant time. Otherwise returns false and leaves `text` as it was.
    fn open(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        associated: &[u8],
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

/// AES-128-GCM (NIST SP 800-38D).
///
/// It wipes its keys when it is dropped.
#[cfg_attr(feature = "testing", derive(Clone))]
pub struct Aes128Gcm(aes_gcm::Aes128Gcm);

impl core::fmt::Debug for Aes128Gcm {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Aes128Gcm")
    }
}

impl Cipher for Aes128Gcm {
    fn new(key: &[u8; CIPHER_KEY_BYTES]) -> Self {
        Self(aes_gcm::Aes128Gcm::new(key.into()))
    }

    fn seal(&self, nonce: &[u8; CIPHER_NONCE_BYTES], associated: &[u8], text: &mut [u8]) -> Tag {
        self.0
            .encrypt_inout_detached(nonce.into(), associated, text.into())
            .expect("a frame is shorter than the 64 GiB that GCM takes")
            .into()
    }

    fn open(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        associated: &[u8],
        text: &mut [u8],
        tag: &Tag,
    ) -> bool {
        self.0.decrypt_inout_detached(nonce.into(), associated, text.into(), tag.into()).is_ok()
    }
}

#[cfg(test)]
mod tests;
