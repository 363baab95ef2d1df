//! The wire: what each byte of a frame means, in both directions.
//!
//! ```text
//! Ethernet II 14 | network 4 | transport 12 | payload 0..1484 | CRC-32 trailer 0 or 4
//! ```
//!
//! Over UDP a datagram begins with the network header. All integers are big endian. Parsing never
//! panics and never indexes past what arrived; a frame that does not parse is a [`FrameError`],
//! which the endpoint counts and drops. Emitting into a buffer that is too small panics: sizes are
//! the caller's business and fixed at compile time.

mod control;
mod crc;
mod ethernet;
mod frame;
mod gso_probe;
mod liveness;
mod network;
mod node;
mod options;
mod part;
mod pretty;
mod reader;
mod reset;
mod transport;
mod unreachable_cause;

pub use control::{AckBlock, Bitmap, Control, Echo, MAX_BITMAP_WORDS, MAX_CONTROL_LEN};
pub(crate) use crc::checksum_of_bits;
pub use crc::{CrcKey, checksum, packet_header};
pub use ethernet::{EthernetHeader, ethernet_source};
pub use frame::{Frame, FrameError, Head};
pub use gso_probe::GsoProbe;
pub use liveness::LivenessBlock;
pub use network::NetworkHeader;
pub use node::{NodeBlock, NodeKind, sealed, sealed_by};
pub use options::{Offer, OfferError, Reliability, ReliabilitySet, VERSION};
pub use part::Part;
pub use pretty::{Pretty, SealedFrame};
pub use reset::{ResetBlock, ResetReason};
pub use transport::{Flags, TransportHeader};
pub use unreachable_cause::{DeviceName, UnreachableCause};

/// The EtherType of PRP frames unless prphosts says otherwise: IEEE 802 local experimental 1
/// (SPEC PRP-FRAME-1).
pub const ETHERTYPE: u16 = 0x88b5;
/// The UDP port of a node unless prphosts says otherwise (SPEC PRP-UDP-2).
pub const UDP_PORT: u16 = 5230;
/// Bytes of the Ethernet II header.
pub const ETHERNET_LEN: usize = 14;
/// Bytes of the network header (paper section 2.5).
pub const NETWORK_LEN: usize = 4;
/// Bytes of the transport header (paper section 2.4).
pub const TRANSPORT_LEN: usize = 12;
/// Bytes before the payload.
pub const HEADER_LEN: usize = ETHERNET_LEN + NETWORK_LEN + TRANSPORT_LEN;
/// Bytes of the headers that go over every underlay: those behind Ethernet's.
pub const PACKET_HEADER_LEN: usize = NETWORK_LEN + TRANSPORT_LEN;
/// Bytes of the negotiated CRC-32 trailer.
pub const CRC_LEN: usize = 4;
/// Payload of a full segment on a 1500-byte MTU, and the only segment size of classic peers (paper
/// section 2.4; SPEC PRP-FRAME-3).
pub const CLASSIC_MSS: u16 = 1484;

const _: () =
    assert!(HEADER_LEN + CLASSIC_MSS as usize == 1514, "1514 is Ethernet's largest frame");

/// The largest segment that fits a device of `mtu` bytes, or `None` where not even a control frame
/// would.
pub fn mss_for_mtu(mtu: u32, crc: bool) -> Option<u16> {
    let overhead = (NETWORK_LEN + TRANSPORT_LEN + if crc { CRC_LEN } else { 0 }) as u32;
    let room = mtu.checked_sub(overhead)?.min(u32::from(u16::MAX));
    let fits_control = room as usize >= MAX_CONTROL_LEN;
    fits_control.then_some(room as u16)
}

#[cfg(test)]
mod tests;
