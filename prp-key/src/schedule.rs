//! Derivation of keys: HKDF with SHA-256 (RFC 5869), and HMAC with SHA-256 (RFC 2104).

use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::cipher::{CIPHER_KEY_BYTES, TAG_BYTES, Tag};
use crate::secret::{Fingerprint, Secret};

/// The salt of what follows from a secret of the cluster.
const CLUSTER_SALT: &[u8] = b"PRP cluster key, version 1";

/// What a derived secret is for: the first bytes of HKDF's `info`. Each ends in a zero byte, so
/// that none is the beginning of another.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Purpose {
    /// Tags of requests (PRP-KEY-5).
    Request,
    /// Tags of frames outside connections (PRP-KEY-13).
    Outside,
    /// The secret of two processes (PRP-KEY-6).
    Pair,
    /// Tags of answers (PRP-KEY-7).
    Answer,
    /// The first secret of a direction (PRP-KEY-8).
    Frames,
    /// The key of a direction's frames of one epoch (PRP-KEY-11).
    EpochKey,
    /// The secret of a direction's next epoch (PRP-KEY-11).
    NextEpoch,
    /// The secret of two nodes (PRP-KEY-21).
    Nodes,
    /// What is shown of a secret.
    Fingerprint,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Request => b"prp request\0",
            Self::Outside => b"prp outside\0",
            Self::Pair => b"prp pair\0",
            Self::Answer => b"prp answer\0",
            Self::Frames => b"prp frames\0",
            Self::EpochKey => b"prp epoch key\0",
            Self::NextEpoch => b"prp next epoch\0",
            Self::Nodes => b"prp nodes\0",
            Self::Fingerprint => b"prp fingerprint\0",
        }
    }
}

/// Returns HKDF-Extract of `input`.
pub(crate) fn extract(salt: &[u8], input: &[u8]) -> Secret {
    let (mut key, _) = Hkdf::<Sha256>::extract(Some(salt), input);
    let mut secret = Secret::new([0; 32]);
    secret.bytes_mut().copy_from_slice(&key);
    zeroize::Zeroize::zeroize(key.as_mut_slice());
    secret
}

/// Returns the secret from which all that follows of the cluster's `secret`.
pub(crate) fn cluster(secret: &Secret) -> Secret {
    extract(CLUSTER_SALT, secret.bytes())
}

/// Returns the secret for `purpose` and `context` that follows from `secret`.
pub(crate) fn derive(secret: &Secret, purpose: Purpose, context: &[&[u8]]) -> Secret {
    let mut derived = Secret::new([0; 32]);
    expand(secret, purpose, context, derived.bytes_mut());
    derived
}

/// Returns the key of an epoch's cipher.
pub(crate) fn cipher_key(epoch: &Secret) -> Zeroizing<[u8; CIPHER_KEY_BYTES]> {
    let mut key = Zeroizing::new([0; CIPHER_KEY_BYTES]);
    expand(epoch, Purpose::EpochKey, &[], &mut *key);
    key
}

/// Returns what is shown of a cluster's secret.
pub(crate) fn fingerprint(secret: &Secret) -> Fingerprint {
    name(&cluster(secret))
}

/// Returns what tells `root`, from which keys follow, from others.
pub(crate) fn name(root: &Secret) -> Fingerprint {
    let mut bytes = [0; 8];
    expand(root, Purpose::Fingerprint, &[], &mut bytes);
    Fingerprint(bytes)
}

fn expand(secret: &Secret, purpose: Purpose, context: &[&[u8]], out: &mut [u8]) {
    // The longest context has an input of a direction: six pieces.
    let mut info: [&[u8]; 8] = [&[]; 8];
    info[0] = purpose.label();
    info[1..=context.len()].copy_from_slice(context);
    Hkdf::<Sha256>::from_prk(secret.bytes())
        .expect("32 bytes are a key of SHA-256")
        .expand_multi_info(&info[..=context.len()], out)
        .expect("32 bytes are one block");
}

/// An authentication code over several pieces, cut to the size of a tag.
pub(crate) fn code(key: &Secret, pieces: &[&[u8]]) -> Tag {
    let code = with_pieces(key, pieces).finalize().into_bytes();
    let mut tag = [0; TAG_BYTES];
    tag.copy_from_slice(&code[..TAG_BYTES]);
    tag
}

/// Whether `tag` is the authentication code over `pieces`, in constant time.
pub(crate) fn is_code(key: &Secret, pieces: &[&[u8]], tag: &Tag) -> bool {
    with_pieces(key, pieces).verify_truncated_left(tag).is_ok()
}

fn with_pieces(key: &Secret, pieces: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key.bytes()).expect("a key of HMAC has any length");
    for piece in pieces {
        // Lengths go first: no two lists of pieces are the same bytes.
        mac.update(&u32::try_from(piece.len()).unwrap_or(u32::MAX).to_be_bytes());
        mac.update(piece);
    }
    mac
}

#[cfg(test)]
mod tests;
