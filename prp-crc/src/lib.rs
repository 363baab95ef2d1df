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
//! assert_eq!(prp_crc::checksum(&[b'1'; 24], [b"23", b"4"]), 0x1ba9_d8c3);
//! ```
#![cfg_attr(not(feature = "std"), no_std)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod sys;
#[cfg(test)]
mod tests;

/// Bytes before the payload.
pub const FRONT: usize = 24;

/// CRC-32 over `front` and the two pieces of the payload.
#[inline]
pub fn checksum(front: &[u8; FRONT], payload: [&[u8]; 2]) -> u32 {
    if let [payload, []] = payload
        && let Some(crc) = sys::fold(front, payload)
    {
        return crc;
    }
    checksum_in_steps(front, payload)
}

/// Computes [`checksum`] on any processor.
fn checksum_in_steps(front: &[u8; FRONT], payload: [&[u8]; 2]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(front);
    hasher.update(payload[0]);
    hasher.update(payload[1]);
    hasher.finalize()
}
