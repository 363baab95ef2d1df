//! The CRC-32 trailer (SPEC PRP-CRC-1 to 4).

use super::transport::Flags;
use super::{CRC_LEN, HEADER_LEN, PACKET_HEADER_LEN};

/// What a trailer is bound to beside the bytes of its frame.
///
/// Both connection ids are folded in, sender's first, so that a recorded frame of an earlier
/// connection with the same ports does not pass, nor one made by a host that never saw the
/// handshake. Frames outside a connection use the zero key.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct CrcKey {
    /// Connection id of the end that sends.
    pub sender: u32,
    /// Connection id of the end that receives.
    pub receiver: u32,
}

impl CrcKey {
    /// For handshake, reset and control-port frames.
    pub const NONE: Self = Self { sender: 0, receiver: 0 };
}

/// The network and the transport header among a frame's first 30 bytes.
pub const fn packet_header(head: &[u8; HEADER_LEN]) -> &[u8; PACKET_HEADER_LEN] {
    match head.last_chunk() {
        Some(header) => header,
        None => unreachable!(),
    }
}

/// CRC-32 (IEEE) over the key, the network header, the transport header with HOPS as zero, and the
/// payload given in pieces. `head` is those two headers, so that the underlay does not matter.
pub fn checksum(key: CrcKey, head: &[u8; PACKET_HEADER_LEN], payload: [&[u8]; 2]) -> [u8; CRC_LEN] {
    checksum_of_bits(key, u128::from_be_bytes(*head), payload)
}

/// As [`checksum`], with the two headers as one number, whose first byte is the highest.
pub(crate) fn checksum_of_bits(key: CrcKey, head: u128, payload: [&[u8]; 2]) -> [u8; CRC_LEN] {
    let flags = Flags::from_bits(head as u32).with_hops(0).bits();
    let [high, low] = [(head >> 64) as u64, head as u64 >> 32 << 32 | u64::from(flags)];
    let key = u64::from(key.sender) << 32 | u64::from(key.receiver);
    prp_crc::checksum([key, high, low], payload).to_be_bytes()
}
