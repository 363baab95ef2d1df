//! The option of CREQ and CACK (SPEC PRP-KEY-4).

use alloc::vec::Vec;

use crate::cipher::{TAG_BYTES, Tag};
use crate::mode::Mode;
use crate::refusal::Refusal;

use super::{NONCE_BYTES, SHARE_BYTES};

/// The type of the option.
pub const OPTION_TYPE: u8 = 1;

/// Bytes of the option, with type and length.
pub const OPTION_BYTES: usize = 2 + VALUE_BYTES;

/// Version, mode, id of the key, public key, nonce, tag.
const VALUE_BYTES: usize = 4 + SHARE_BYTES + NONCE_BYTES + TAG_BYTES;

/// The option's length on the wire.
const LENGTH: u8 = VALUE_BYTES as u8;

/// Bytes of a block of options without any.
const BLOCK_BYTES: usize = 20;

/// The version of the handshake without node keys, and with (PRP-KEY-22).
const VERSIONS: [u8; 2] = [1, 2];

/// What an end says of its protection.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Offer {
    /// In a request the least that the sender takes, in an answer the one that is agreed.
    pub(super) mode: Mode,
    /// Node keys vouch for it as well.
    pub(super) with_nodes: bool,
    pub(super) key_id: u16,
    /// The public key of the process.
    pub(super) share: [u8; SHARE_BYTES],
    pub(super) nonce: [u8; NONCE_BYTES],
}

impl Offer {
    /// Adds it to `block` as the last option, with the tag that `sign` makes of the rest.
    pub(super) fn append(&self, block: &mut Vec<u8>, sign: impl FnOnce(&[u8]) -> Tag) {
        assert!(block.len() >= BLOCK_BYTES, "{} bytes are no block of options", block.len());
        let version = VERSIONS[usize::from(self.with_nodes)];
        block.extend([OPTION_TYPE, LENGTH, version, self.mode.wire()]);
        block.extend(self.key_id.to_be_bytes());
        block.extend(self.share);
        block.extend(self.nonce);
        let tag = sign(block);
        block.extend(tag);
    }

    /// Reads it from the end of `block`; with the bytes that its tag is over, and the tag.
    ///
    /// # Errors
    /// The block has no such option, or one of another version.
    pub(super) fn read(block: &[u8]) -> Result<(Self, &[u8], &Tag), Refusal> {
        let (unsigned, tag) = block.split_last_chunk().ok_or(Refusal::Unsigned)?;
        let at = unsigned.len().checked_sub(OPTION_BYTES - TAG_BYTES).ok_or(Refusal::Unsigned)?;
        let (fixed, option) = unsigned.split_at(at);
        let [OPTION_TYPE, LENGTH, version, mode, id @ ..] = option else {
            return Err(Refusal::Unsigned);
        };
        if fixed.len() < BLOCK_BYTES {
            return Err(Refusal::Unsigned);
        }
        let mode = Mode::from_wire(*mode).filter(|_| VERSIONS.contains(version));
        let (key_id, rest) = id.split_first_chunk().ok_or(Refusal::Unsigned)?;
        let (share, rest) = rest.split_first_chunk().ok_or(Refusal::Unsigned)?;
        let nonce = rest.first_chunk().ok_or(Refusal::Unsigned)?;
        let offer = Self {
            mode: mode.ok_or(Refusal::Unsigned)?,
            with_nodes: *version == VERSIONS[1],
            key_id: u16::from_be_bytes(*key_id),
            share: *share,
            nonce: *nonce,
        };
        Ok((offer, unsigned, tag))
    }
}
