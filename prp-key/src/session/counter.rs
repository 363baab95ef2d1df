//! The counter of a direction's frames, from which their nonces are made (SPEC PRP-KEY-9).

use crate::cipher::CIPHER_NONCE_BYTES;

/// Bits of the place of a frame in its epoch.
const INDEX_BITS: u32 = 24;

/// Frames of an epoch; none has more.
pub(super) const INDICES: u32 = 1 << INDEX_BITS;

/// Bytes of the counter on the wire.
pub(crate) const WIRE_BYTES: usize = 4;

/// The place of a frame among all that a direction has ever sent.
#[derive(Copy, Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Counter {
    /// How often the keys had been renewed.
    pub(super) epoch: u32,
    /// Below [`INDICES`].
    pub(super) index: u32,
}

impl Counter {
    /// The nonce: no two counters have the same.
    pub(super) fn nonce(self) -> [u8; CIPHER_NONCE_BYTES] {
        let number = u64::from(self.epoch) << INDEX_BITS | u64::from(self.index);
        let mut nonce = [0; CIPHER_NONCE_BYTES];
        nonce[CIPHER_NONCE_BYTES - size_of::<u64>()..].copy_from_slice(&number.to_be_bytes());
        nonce
    }

    /// The low 8 bits of the epoch, and the place in it.
    pub(super) const fn wire(self) -> [u8; WIRE_BYTES] {
        (self.epoch << INDEX_BITS | self.index).to_be_bytes()
    }

    /// The counter on the wire, of one of the epochs `near - 1` to `near + 1`.
    pub(super) fn read(wire: [u8; WIRE_BYTES], near: u32) -> Option<Self> {
        let wire = u32::from_be_bytes(wire);
        let (epoch, index) = (wire >> INDEX_BITS, wire & (INDICES - 1));
        let mut epochs = near.saturating_sub(1)..=near.saturating_add(1);
        let epoch = epochs.find(|candidate| candidate & 0xff == epoch)?;
        Some(Self { epoch, index })
    }
}
