//! Frames on their way out: headers written here, payload left where it lies.

use alloc::vec::Vec;

use crate::addr::{DeviceId, LinkAddr, NodeId};
use crate::event::ConnHandle;
use crate::wire::{
    CRC_LEN, CrcKey, ETHERNET_LEN, EthernetHeader, HEADER_LEN, Head, NetworkHeader,
    TransportHeader, checksum, packet_header,
};

/// Longest payload of a size probe.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// How frames to a node leave.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub(crate) struct Path {
    pub(crate) device: DeviceId,
    /// Our address on the device.
    pub(crate) own: LinkAddr,
    /// The next hop's, on the same carrier.
    pub(crate) to: LinkAddr,
    pub(crate) ethertype: u16,
    pub(crate) src: NodeId,
    pub(crate) dst: NodeId,
}

impl Path {
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
    /// Right behind the headers in the batch.
    Inline,
    /// In a connection's send buffer, from this stream offset on.
    Stream { conn: ConnHandle, at: u64, len: u16 },
    /// Zeros.
    Zeros(u16),
}

impl Body {
    /// Bytes of it that lie elsewhere.
    const fn len(&self) -> usize {
        match *self {
            Self::Inline => 0,
            Self::Stream { len, .. } | Self::Zeros(len) => len as usize,
        }
    }
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    device: DeviceId,
    to: LinkAddr,
    conn: Option<ConnHandle>,
    /// Where headers, inline payload and then the trailer start in `scratch`.
    at: u32,
    /// Bytes there before the trailer.
    front: u16,
    tail: u8,
    body: Body,
}

/// Frames that [`crate::endpoint::Endpoint::poll_transmit`] made and the device has not taken yet.
///
/// Nothing is allocated once the batch has reached its working size.
#[derive(Debug)]
pub struct TransmitBatch {
    scratch: Vec<u8>,
    entries: Vec<Entry>,
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

    /// Adds a frame whose payload is `payload`, copied here: handshake, control, reset.
    pub(crate) fn push_inline(
        &mut self,
        path: &Path,
        conn: Option<ConnHandle>,
        transport: TransportHeader,
        payload: &[u8],
        crc: Option<CrcKey>,
    ) {
        let at = self.start(&path.head(transport));
        self.scratch.extend_from_slice(payload);
        let tail = self.trailer(crc, at, [payload, &[]]);
        let front = HEADER_LEN + payload.len();
        self.finish(path, conn, at, front, tail, Body::Inline);
    }

    /// Adds a frame whose payload stays in a send buffer; `pieces` is that payload, for the
    /// trailer.
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
        let at = self.start(&path.head(transport));
        let tail = self.trailer(crc, at, pieces);
        let body = Body::Stream { conn, at: at_offset, len: transport.len };
        self.finish(path, Some(conn), at, HEADER_LEN, tail, body);
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
        let at = self.start(&path.head(transport));
        self.scratch.extend_from_slice(block);
        let zeros = usize::from(transport.len).saturating_sub(block.len());
        let tail = self.trailer(crc, at, [block, &ZEROS[..zeros]]);
        let front = HEADER_LEN + block.len();
        self.finish(path, Some(conn), at, front, tail, Body::Zeros(zeros as u16));
    }

    /// The pieces of frame `index`, in order; empty ones may be skipped. `stream` finds the payload
    /// of stream frames.
    pub(crate) fn pieces<'a>(
        &'a self,
        index: usize,
        stream: impl FnOnce(ConnHandle, u64, u16) -> [&'a [u8]; 2],
    ) -> [&'a [u8]; 4] {
        let entry = &self.entries[index];
        let (from, front) = (entry.at as usize, usize::from(entry.front));
        let tail_at = from + front;
        let head = &self.scratch[from..tail_at];
        let tail = &self.scratch[tail_at..tail_at + usize::from(entry.tail)];
        let [a, b] = match entry.body {
            Body::Inline => [&[][..], &[]],
            Body::Stream { conn, at, len } => stream(conn, at, len),
            Body::Zeros(n) => [&ZEROS[..usize::from(n)], &[]],
        };
        [head, a, b, tail]
    }

    /// Begins a frame; where it lies.
    #[inline]
    fn start(&mut self, head: &Head) -> u32 {
        let at = self.scratch.len();
        self.scratch.resize(at + HEADER_LEN, 0);
        if let Some(out) = self.scratch[at..].first_chunk_mut() {
            head.emit_to(out);
        }
        at as u32
    }

    /// Ends the frame that begins at `at`; bytes of its trailer.
    #[inline]
    fn trailer(&mut self, crc: Option<CrcKey>, at: u32, body: [&[u8]; 2]) -> u8 {
        let Some(key) = crc else { return 0 };
        if let Some(head) = self.scratch[at as usize..].first_chunk() {
            let trailer = checksum(key, packet_header(head), body);
            self.scratch.extend_from_slice(&trailer);
        }
        CRC_LEN as u8
    }

    /// Notes the frame whose headers begin at `at`, with `front` bytes of headers and inline
    /// payload. A datagram begins behind the place for the Ethernet header.
    #[inline]
    fn finish(
        &mut self,
        path: &Path,
        conn: Option<ConnHandle>,
        at: u32,
        front: usize,
        tail: u8,
        body: Body,
    ) {
        let skip = if path.to.is_udp() { ETHERNET_LEN } else { 0 };
        let (at, front) = (at + skip as u32, (front - skip) as u16);
        let (device, to) = (path.device, path.to);
        self.bytes += usize::from(front) + usize::from(tail) + body.len();
        self.entries.push(Entry { device, to, conn, at, front, tail, body });
    }
}
