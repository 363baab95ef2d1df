//! The CRC-32 (IEEE) of a PRP packet.
//!
//! A packet is 24 bytes and a payload, which mostly has some 1,400 bytes. Libraries for CRC-32 are
//! made for long inputs: of one of this size they spend most of the time on its beginning and its
//! end. Here nothing is left over at the end: zeros before the first byte change nothing, so there
//! are as many as make the whole a multiple of 64 bytes. Processors with AVX-512 and VPCLMULQDQ
//! take 64 bytes a step. Other processors, and payloads of less than 256 bytes, have `crc32fast`.
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

/// Payloads from this size on take 64 bytes a step: shorter ones have too few steps to make up for
/// the layout.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
const LONG: usize = 256;

/// CRC-32 over `front` and the payload, given in pieces.
#[inline]
pub fn checksum(front: &[u8; FRONT], payload: [&[u8]; 2]) -> u32 {
    if let [payload, []] = payload
        && let Some(crc) = sys::fold(front, payload)
    {
        return crc;
    }
    checksum_in_steps(front, payload)
}

/// As [`checksum`], for any processor.
fn checksum_in_steps(front: &[u8; FRONT], payload: [&[u8]; 2]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(front);
    hasher.update(payload[0]);
    hasher.update(payload[1]);
    hasher.finalize()
}
