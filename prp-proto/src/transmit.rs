//! Frames and datagrams that are to be sent.
//!
//! The payload of a frame stays where it lies until the device takes it. A datagram is whole here,
//! and the next one follows it: the kernel takes a GSO batch of them in one piece, where hundreds
//! of pieces cost it more than the copy here does.

use alloc::vec::Vec;

use prp_key::{Aes128Gcm, Keyring, Session};

use crate::addr::{DeviceId, LinkAddr, NodeId};
use crate::event::ConnHandle;
use crate::wire::{
    CRC_LEN, CrcKey, EthernetHeader, HEADER_LEN, Head, NetworkHeader, TransportHeader,
    checksum_of_bits,
};

/// Bytes of the longest packet that is not sent behind larger ones in a GSO batch: a control block
/// with headers and the trailer of a sealed one.
const LONGEST_ALONE: usize = 96;

/// Returns whether a packet of `next` bytes may be sent in a GSO batch behind packets of `size`
/// bytes (SPEC PRP-UDP-6). Where a link takes a GSO batch as a whole or not at all, a question that
/// is to find out whether segments are too long must not share the fate of a segment.
#[inline]
pub const fn joins_gso_batch(size: usize, next: usize) -> bool {
    next == size || next < size && next > LONGEST_ALONE
}

/// How frames to a node leave.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub(crate) struct Path {
    pub(crate) device: DeviceId,
    /// Our address on the device.
    pub(crate) own: LinkAddr,
    /// The next hop's, on the same underlay.
    pub(crate) to: LinkAddr,
    pub(crate) ethertype: u16,
    pub(crate) src: NodeId,
    pub(crate) dst: NodeId,
}

impl Path {
    /// Leads to what `renumber` says is now the address of the next hop; `false` if it has none.
    pub(crate) fn renumber(&mut self, renumber: impl Fn(LinkAddr) -> Option<LinkAddr>) -> bool {
        let to = renumber(self.to);
        self.to = to.unwrap_or(LinkAddr::NOBODY);
        to.is_some()
    }

    /// The headers of a frame along this path.
    pub(crate) fn head(&self, transport: TransportHeader) -> Head {
        Head {
            ethernet: EthernetHeader::between(self.own, self.to, self.ethertype),
            network: NetworkHeader { src: self.src, dst: self.dst },
            transport,
        }
    }
}

/// Where the payload of a frame lies.
#[derive(Copy, Clone, Debug)]
enum Body {
    /// Right behind the headers in the batch, and the trailer behind it.
    Inline,
    /// In a connection's send buffer, from this stream offset on.
    Stream { conn: ConnHandle, at: u64, len: u16 },
}

impl Body {
    /// Bytes of it that lie elsewhere.
    const fn len(&self) -> usize {
        match *self {
            Self::Inline => 0,
            Self::Stream { len, .. } => len as usize,
        }
    }
}

#[derive(Copy, Clone, Debug)]
struct BatchEntry {
    device: DeviceId,
    to: LinkAddr,
    conn: Option<ConnHandle>,
    /// Where headers, inline payload and then the trailer start in `scratch`.
    at: u32,
    /// Bytes there before the trailer.
    front: u32,
    tail: u8,
    body: Body,
}

/// Frames that [`crate::endpoint::Endpoint::poll_transmit`] made and the device has not taken yet.
///
/// Nothing is allocated once the batch has reached its working size.
#[derive(Debug)]
pub struct TransmitBatch {
    scratch: Vec<u8>,
    entries: Vec<BatchEntry>,
    bytes: usize,
    max_frames: usize,
    max_bytes: usize,
}

impl TransmitBatch {
    /// A batch of at most `max_frames` frames, and no more than fit `max_bytes` after the first.
    pub fn new(max_frames: usize, max_bytes: usize) -> Self {
        Self { scratch: Vec::new(), entries: Vec::new(), bytes: 0, max_frames, max_bytes }
    }

    /// Frames in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets all frames.
    pub fn clear(&mut self) {
        self.scratch.clear();
        self.entries.clear();
        self.bytes = 0;
    }

    /// The device frame `index` leaves by.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn device(&self, index: usize) -> DeviceId {
        self.entries[index].device
    }

    /// The neighbour frame `index` is for: a device without an Ethernet header needs to know.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn to(&self, index: usize) -> LinkAddr {
        self.entries[index].to
    }

    /// The connection frame `index` belongs to, if it belongs to one.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn connection(&self, index: usize) -> Option<ConnHandle> {
        self.entries[index].conn
    }

    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= self.max_frames || self.bytes >= self.max_bytes
    }

    /// How many frames of `size` bytes there is room for.
    pub(crate) fn room(&self, size: usize) -> usize {
        let bytes = self.max_bytes.saturating_sub(self.bytes);
        self.max_frames.saturating_sub(self.entries.len()).min(bytes.div_ceil(size))
    }

    /// Adds a frame whose payload is `payload`, copied here: handshake, control, reset.
    pub(crate) fn push_inline(
        &mut self,
        path: &Path,
        conn: Option<ConnHandle>,
        transport: TransportHeader,
        payload: &[u8],
        crc: Option<CrcKey>,
    ) {
        let head = path.head(transport);
        let at = self.start(&head);
        let trailer = trailer(crc, &head, [payload, &[]]);
        self.scratch.extend_from_slice(payload);
        self.finish(path, conn, at, trailer, Body::Inline);
    }

    /// Adds a frame whose payload stays in a send buffer, or a datagram, which has a copy of it;
    /// `pieces` is that payload.
    #[inline]
    pub(crate) fn push_stream(
        &mut self,
        path: &Path,
        conn: ConnHandle,
        transport: TransportHeader,
        at_offset: u64,
        pieces: [&[u8]; 2],
        crc: Option<CrcKey>,
    ) {
        let head = path.head(transport);
        let at = self.start(&head);
        // From the pieces where they lie: what has just been copied cannot be read again in other
        // blocks until the processor has finished all that came before.
        let trailer = trailer(crc, &head, pieces);
        let body = if path.to.is_udp() {
            self.scratch.extend_from_slice(pieces[0]);
            self.scratch.extend_from_slice(pieces[1]);
            Body::Inline
        } else {
            Body::Stream { conn, at: at_offset, len: transport.len }
        };
        self.finish(path, Some(conn), at, trailer, body);
    }

    /// Adds a size probe: `block`, then zeros up to the length the header says.
    pub(crate) fn push_padded(
        &mut self,
        path: &Path,
        conn: ConnHandle,
        transport: TransportHeader,
        block: &[u8],
        crc: Option<CrcKey>,
    ) {
        let head = path.head(transport);
        let at = self.start(&head);
        let payload_at = self.scratch.len();
        self.scratch.extend_from_slice(block);
        let len = block.len().max(usize::from(transport.len));
        self.scratch.resize(payload_at + len, 0);
        let trailer = trailer(crc, &head, [&self.scratch[payload_at..], &[]]);
        self.finish(path, Some(conn), at, trailer, Body::Inline);
    }

    /// Adds a frame that `session` protects: a copy of the payload in `pieces`, with zeros up to
    /// the length the header says. None if its counter has come to its end: the connection is
    /// over.
    pub(crate) fn push_protected(
        &mut self,
        path: &Path,
        conn: ConnHandle,
        transport: TransportHeader,
        pieces: [&[u8]; 2],
        session: &mut Session<Aes128Gcm>,
    ) {
        let head = path.head(transport);
        let at = self.start(&head);
        let payload_at = self.scratch.len();
        self.scratch.extend_from_slice(pieces[0]);
        self.scratch.extend_from_slice(pieces[1]);
        self.scratch.resize(payload_at + usize::from(transport.len), 0);
        let header = head.packet_bits().to_be_bytes();
        match session.protect(&header, &mut self.scratch[payload_at..]) {
            Ok(trailer) => {
                self.finish(path, Some(conn), at, Some(trailer), Body::Inline);
            }
            Err(_exhausted) => self.scratch.truncate(at),
        }
    }

    /// Adds a frame of mode sign whose `payload` stays in a send buffer, at `at_offset`. None if
    /// the counter of `session` has come to its end.
    pub(crate) fn push_signed_stream(
        &mut self,
        path: &Path,
        conn: ConnHandle,
        transport: TransportHeader,
        (at_offset, payload): (u64, &[u8]),
        session: &mut Session<Aes128Gcm>,
    ) {
        let head = path.head(transport);
        let at = self.start(&head);
        match session.sign(&head.packet_bits().to_be_bytes(), payload) {
            Ok(trailer) => {
                let body = Body::Stream { conn, at: at_offset, len: transport.len };
                self.finish(path, Some(conn), at, Some(trailer), body);
            }
            Err(_exhausted) => self.scratch.truncate(at),
        }
    }

    /// Adds a frame outside connections that the cluster's key signs (SPEC PRP-KEY-13).
    pub(crate) fn push_signed(
        &mut self,
        path: &Path,
        conn: Option<ConnHandle>,
        transport: TransportHeader,
        payload: &[u8],
        keyring: &Keyring,
    ) {
        let head = path.head(transport);
        let at = self.start(&head);
        self.scratch.extend_from_slice(payload);
        let trailer = keyring.sign(&head.packet_bits().to_be_bytes(), payload);
        self.finish(path, conn, at, Some(trailer), Body::Inline);
    }

    /// The pieces of frame `index`, in order; empty ones may be skipped. `stream` finds the payload
    /// of stream frames.
    pub(crate) fn pieces<'a>(
        &'a self,
        index: usize,
        stream: impl FnOnce(ConnHandle, u64, u16) -> [&'a [u8]; 2],
    ) -> [&'a [u8]; 4] {
        let entry = &self.entries[index];
        let (from, front) = (entry.at as usize, entry.front as usize);
        let tail_at = from + front;
        let end = tail_at + usize::from(entry.tail);
        let [a, b] = match entry.body {
            Body::Inline => return [&self.scratch[from..end], &[], &[], &[]],
            Body::Stream { conn, at, len } => stream(conn, at, len),
        };
        [&self.scratch[from..tail_at], a, b, &self.scratch[tail_at..end]]
    }

    /// Begins a frame, or a datagram, which has no Ethernet header; where it lies.
    // A call would write all headers to memory once more.
    #[inline(always)]
    fn start(&mut self, head: &Head) -> usize {
        let at = self.scratch.len();
        if head.ethernet.is_some() {
            self.scratch.resize(at + HEADER_LEN, 0);
            if let Some(out) = self.scratch[at..].first_chunk_mut() {
                head.emit_to(out);
            }
        } else {
            self.scratch.extend_from_slice(&head.packet_bits().to_be_bytes());
        }
        at
    }

    /// Ends the frame that begins at `at` with `trailer`, and notes it.
    #[inline]
    fn finish<const N: usize>(
        &mut self,
        path: &Path,
        conn: Option<ConnHandle>,
        at: usize,
        trailer: Option<[u8; N]>,
        body: Body,
    ) {
        let front = self.scratch.len() - at;
        let tail = trailer.map_or(0, |trailer| {
            self.scratch.extend_from_slice(&trailer);
            N
        });
        self.bytes += front + tail + body.len();
        let (at, front, tail) = (at as u32, front as u32, tail as u8);
        self.entries.push(BatchEntry {
            device: path.device,
            to: path.to,
            conn,
            at,
            front,
            tail,
            body,
        });
    }
}

/// The trailer of the frame with `head` and `payload`.
#[inline]
fn trailer(crc: Option<CrcKey>, head: &Head, payload: [&[u8]; 2]) -> Option<[u8; CRC_LEN]> {
    crc.map(|key| checksum_of_bits(key, head.packet_bits(), payload))
}
