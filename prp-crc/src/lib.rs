//! The CRC-32 (IEEE) of a PRP packet.
//!
//! A packet is a header of 24 bytes and a payload of about 1,400 bytes. CRC-32 libraries are made
//! for long inputs. On an input of this size they spend most of the time on the first and the last
//! bytes. This crate pads the packet with zeros in front of the first byte to a multiple of a step,
//! which does not change the result, so that no bytes remain at the end. Processors with VPCLMULQDQ
//! process 64 bytes per step where they have AVX-512, and 32 where they have AVX2. On other
//! processors, and for payloads of less than 32 bytes, the crate calls `crc32fast`.
//!
//! ```
//! let ones = u64::from_be_bytes([b'1'; 8]);
//! assert_eq!(prp_crc::checksum([ones; 3], [b"23", b"4"]), 0x1ba9_d8c3);
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod sys;
#[cfg(test)]
mod tests;

/// The bytes before the payload, in words whose first byte is the highest.
///
/// Words stay in registers. What has just been written to memory in words cannot be read again in
/// larger pieces until the processor has finished all that came before.
pub type Front = [u64; 3];

/// Bytes before the payload.
const FRONT: usize = size_of::<Front>();

/// CRC-32 over `front` and the two pieces of the payload.
#[inline]
pub fn checksum(front: Front, payload: [&[u8]; 2]) -> u32 {
    if let [payload, []] = payload
        && let Some(crc) = sys::fold(front, payload)
    {
        return crc;
    }
    checksum_in_steps(front, payload)
}

/// Computes [`checksum`] on any processor.
fn checksum_in_steps(front: Front, payload: [&[u8]; 2]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    let mut bytes = [0; FRONT];
    for (bytes, word) in bytes.chunks_exact_mut(size_of::<u64>()).zip(front) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    hasher.update(&bytes);
    hasher.update(payload[0]);
    hasher.update(payload[1]);
    hasher.finalize()
}
