//! AES-128-GCM of AWS-LC, which has encryption and tag of a frame computed together.

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::{CIPHER_KEY_BYTES, CIPHER_NONCE_BYTES, Cipher, Tag};

/// AES-128-GCM (NIST SP 800-38D).
///
/// It wipes its keys when it is dropped.
pub struct Aes128Gcm {
    prepared: LessSafeKey,
    /// For copies.
    #[cfg(feature = "testing")]
    key: zeroize::Zeroizing<[u8; CIPHER_KEY_BYTES]>,
}

/// A session gives out each nonce once.
fn once(nonce: &[u8; CIPHER_NONCE_BYTES]) -> Nonce {
    Nonce::assume_unique_for_key(*nonce)
}

impl Cipher for Aes128Gcm {
    fn new(key: &[u8; CIPHER_KEY_BYTES]) -> Self {
        let unbound = UnboundKey::new(&AES_128_GCM, key).expect("a key has the cipher's length");
        Self {
            prepared: LessSafeKey::new(unbound),
            #[cfg(feature = "testing")]
            key: zeroize::Zeroizing::new(*key),
        }
    }

    fn seal(&self, nonce: &[u8; CIPHER_NONCE_BYTES], associated: &[u8], text: &mut [u8]) -> Tag {
        let associated = Aad::from(associated);
        let tag = self.prepared.seal_in_place_separate_tag(once(nonce), associated, text);
        let tag = tag.expect("a frame is shorter than the 64 GiB that GCM takes");
        tag.as_ref().try_into().expect("GCM has tags of 16 bytes")
    }

    fn open(
        &self,
        nonce: &[u8; CIPHER_NONCE_BYTES],
        associated: &[u8],
        sealed: &[u8],
        text: &mut [u8],
        tag: &Tag,
    ) -> bool {
        let associated = Aad::from(associated);
        self.prepared.open_separate_gather(once(nonce), associated, sealed, tag, text).is_ok()
    }
}

#[cfg(feature = "testing")]
impl Clone for Aes128Gcm {
    fn clone(&self) -> Self {
        Self::new(&self.key)
    }
}
