//! AES-128-GCM in Rust, without a C compiler and without std.

use aes_gcm::KeyInit;
use aes_gcm::aead::AeadInOut;
use aes_gcm::aead::inout::InOutBuf;

use super::{CIPHER_KEY_BYTES, CIPHER_NONCE_BYTES, Cipher, Tag};

/// AES-128-GCM (NIST SP 800-38D).
///
/// It wipes its keys when it is dropped.
#[cfg_attr(feature = "testing", derive(Clone))]
pub struct Aes128Gcm(aes_gcm::Aes128Gcm);

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
        sealed: &[u8],
        text: &mut [u8],
        tag: &Tag,
    ) -> bool {
        let both = InOutBuf::new(sealed, text).expect("the two have one length");
        self.0.decrypt_inout_detached(nonce.into(), associated, both, tag.into()).is_ok()
    }
}
