//! A whole frame, or the datagram that is one without an Ethernet header: headers and payload.

use core::fmt;

use prp_key::TRAILER_BYTES;

use super::crc::{CrcKey, checksum, checksum_of_bits};
use super::ethernet::EthernetHeader;
use super::network::NetworkHeader;
use super::reader::Reader;
use super::transport::{Flags, TransportHeader};
use super::{CRC_LEN, ETHERNET_LEN, HEADER_LEN, PACKET_HEADER_LEN};
use crate::addr::LinkAddr;

/// The headers of a frame, to be sent or as they came.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Head {
    /// Ethernet II; none in a datagram.
    pub ethernet: Option<EthernetHeader>,
    /// Nodes.
    pub network: NetworkHeader,
    /// Ports, segment number, length, flags.
    pub transport: TransportHeader,
}

impl Head {
    /// The 30 bytes before the payload of a frame; the first 14 are zeros where there
    /// is no Ethernet header.
    pub fn emit(&self) -> [u8; HEADER_LEN] {
        let mut out = [0; HEADER_LEN];
        self.emit_to(&mut out);
        out
    }

    /// As [`Self::emit`], to where they are to be.
    #[inline]
    pub(crate) fn emit_to(&self, out: &mut [u8; HEADER_LEN]) {
        if let Some((ethernet, packet)) = out.split_first_chunk_mut::<ETHERNET_LEN>() {
            if let Some(header) = &self.ethernet {
                header.emit(ethernet);
            }
            packet.copy_from_slice(&self.packet_bits().to_be_bytes());
        }
    }

    /// The network and the transport header as one number, whose first byte is the highest.
    ///
    /// It is written at once, and the trailer is computed from the number: what has just been
    /// written field by field cannot be read again as a whole until the processor has finished all
    /// that came before.
    #[inline]
    pub(crate) fn packet_bits(&self) -> u128 {
        u128::from(self.network.bits()) << 96 | self.transport.bits()
    }
}

/// A received frame or datagram, borrowed from wherever the device put it.
#[derive(Copy, Clone, Debug)]
pub struct Frame<'a> {
    /// The neighbour that sent it.
    pub from: LinkAddr,
    /// The headers.
    pub head: Head,
    /// `length` bytes after the headers.
    pub payload: &'a [u8],
    bytes: &'a [u8],
    /// The cluster's key, or that of its connection, vouches for it.
    authentic: bool,
}

impl<'a> Frame<'a> {
    /// Reads what came from `from` to the device whose address is `own`: on Ethernet a frame of
    /// `ethertype`, which says itself where it comes from, and otherwise a datagram.
    ///
    /// # Errors
    /// A [`FrameError`] for whatever is not a well-formed PRP packet.
    #[inline]
    pub fn parse_at(
        own: LinkAddr,
        from: LinkAddr,
        bytes: &'a [u8],
        ethertype: u16,
    ) -> Result<Self, FrameError> {
        match own {
            LinkAddr::Ethernet(_) => Self::parse(bytes, ethertype),
            LinkAddr::Udp { .. } | LinkAddr::Unix { .. } => Self::parse_datagram(from, bytes),
        }
    }

    /// Reads a frame of `ethertype`.
    ///
    /// # Errors
    /// A [`FrameError`] for whatever is not a well-formed PRP frame.
    #[inline]
    pub fn parse(bytes: &'a [u8], ethertype: u16) -> Result<Self, FrameError> {
        // Of a known length: whether it ends within a field is asked once.
        let Some((head, rest)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            let ethernet = EthernetHeader::parse(&mut Reader::new(bytes));
            let ours = ethernet.is_none_or(|header| header.ethertype == ethertype);
            return Err(if ours { FrameError::Truncated } else { FrameError::EtherType });
        };
        let mut r = Reader::new(head);
        let ethernet = EthernetHeader::parse(&mut r).ok_or(FrameError::Truncated)?;
        if ethernet.ethertype != ethertype {
            return Err(FrameError::EtherType);
        }
        let network = NetworkHeader::parse(&mut r).ok_or(FrameError::Node)?;
        let transport = TransportHeader::parse(&mut r).ok_or(FrameError::Truncated)?;
        let payload = rest.get(..usize::from(transport.len)).ok_or(FrameError::Length)?;
        let from = LinkAddr::Ethernet(ethernet.src);
        let head = Head { ethernet: Some(ethernet), network, transport };
        Ok(Self { from, head, payload, bytes, authentic: false })
    }

    /// Reads a datagram that came from `from` (SPEC PRP-UDP-1).
    ///
    /// # Errors
    /// A [`FrameError`] for whatever is not a well-formed PRP datagram.
    #[inline]
    pub fn parse_datagram(from: LinkAddr, bytes: &'a [u8]) -> Result<Self, FrameError> {
        let split = bytes.split_first_chunk::<PACKET_HEADER_LEN>();
        let (head, rest) = split.ok_or(FrameError::Truncated)?;
        let mut r = Reader::new(head);
        let network = NetworkHeader::parse(&mut r).ok_or(FrameError::Node)?;
        let transport = TransportHeader::parse(&mut r).ok_or(FrameError::Truncated)?;
        let payload = rest.get(..usize::from(transport.len)).ok_or(FrameError::Length)?;
        let head = Head { ethernet: None, network, transport };
        Ok(Self { from, head, payload, bytes, authentic: false })
    }

    /// Returns whether it was sent to `own`, the address of the device it came by (SPEC PRP-NET-1).
    /// A datagram reaches only the socket that it is for.
    #[inline]
    pub(crate) fn is_for(&self, own: LinkAddr) -> bool {
        self.head.ethernet.is_none_or(|header| own == LinkAddr::Ethernet(header.dst))
    }

    /// All of it, as it came.
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The same frame, whose payload was `payload` before it was protected.
    pub(crate) const fn opened(self, payload: &'a [u8]) -> Self {
        Self { payload, authentic: true, ..self }
    }

    /// The bytes behind the payload: the trailer, and padding.
    pub fn rest(&self) -> &'a [u8] {
        self.packet().get(PACKET_HEADER_LEN + self.payload.len()..).unwrap_or_default()
    }

    /// Returns whether a key vouches for it, or a trailer made under the zero key does where none
    /// is asked for.
    pub(crate) fn is_whole(&self) -> bool {
        self.authentic || self.crc_ok(CrcKey::NONE)
    }

    /// Returns whether a key vouches for it.
    pub const fn is_authentic(&self) -> bool {
        self.authentic
    }

    /// Returns whether it ends as a frame that a cluster's key has signed does (SPEC PRP-KEY-13).
    pub fn seems_signed(&self) -> bool {
        self.signer().is_some()
    }

    /// Returns whether it ends as a frame that keys of its two nodes have signed (SPEC PRP-KEY-22).
    pub fn names_node_keys(&self) -> bool {
        self.signer().is_some_and(|id| id > u32::from(u16::MAX))
    }

    /// What a frame that is signed says of the key.
    fn signer(&self) -> Option<u32> {
        let rest = Some(self.rest()).filter(|rest| rest.len() >= TRAILER_BYTES)?;
        let id = u32::from_be_bytes(*rest.first_chunk()?);
        Some(id).filter(|id| *id < 1 << 17 && id & 0xffff != 0)
    }

    /// The flags word.
    pub const fn flags(&self) -> Flags {
        self.head.transport.flags
    }

    /// What goes over every underlay: the frame without its Ethernet header.
    #[inline]
    pub const fn packet(&self) -> &'a [u8] {
        match self.head.ethernet {
            // `parse` has seen them.
            Some(_) => self.bytes.split_at(ETHERNET_LEN).1,
            None => self.bytes,
        }
    }

    /// The network and the transport header.
    pub fn packet_header(&self) -> &'a [u8; PACKET_HEADER_LEN] {
        const EMPTY: &[u8; PACKET_HEADER_LEN] = &[0; PACKET_HEADER_LEN];
        // Both parsers have seen 16 bytes.
        self.packet().first_chunk().unwrap_or(EMPTY)
    }

    /// Returns the payload of `packet` if that is the frame that comes `ahead` numbers after this
    /// one: the headers are the same but for the number, and the trailer, if `key` asks for one, is
    /// right. None if the number has a carry, which other bits of the header tell of.
    #[inline]
    pub(crate) fn payload_of_later<'p>(
        &self,
        packet: &'p [u8],
        ahead: u16,
        key: Option<CrcKey>,
    ) -> Option<&'p [u8]> {
        let (ethernet, _) = self.bytes.split_at(self.bytes.len() - self.packet().len());
        let packet = packet.strip_prefix(ethernet)?;
        let (header, rest) = packet.split_first_chunk::<PACKET_HEADER_LEN>()?;
        let seq = self.head.transport.seq.checked_add(ahead)?;
        let transport = TransportHeader { seq, ..self.head.transport };
        let bits = Head { transport, ..self.head }.packet_bits();
        if u128::from_be_bytes(*header) != bits {
            return None;
        }
        let (payload, rest) = rest.split_at_checked(self.payload.len())?;
        let is_whole = key.is_none_or(|key| {
            rest.first_chunk() == Some(&checksum_of_bits(key, bits, [payload, &[]]))
        });
        is_whole.then_some(payload)
    }

    /// Whether a CRC-32 trailer made under `key` follows the payload.
    pub fn crc_ok(&self, key: CrcKey) -> bool {
        let at = PACKET_HEADER_LEN + self.payload.len();
        let Some(trailer) = self.packet().get(at..at + CRC_LEN) else { return false };
        trailer == checksum(key, self.packet_header(), [self.payload, &[]])
    }
}

/// Why bytes are not a PRP frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum FrameError {
    /// Shorter than the headers.
    Truncated,
    /// Another protocol, or a VLAN tag in front of ours.
    EtherType,
    /// A reserved node number.
    Node,
    /// `length` says more than arrived.
    Length,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "frame shorter than the headers",
            Self::EtherType => "not PRP's EtherType",
            Self::Node => "reserved node number",
            Self::Length => "length field beyond the end of the frame",
        })
    }
}
