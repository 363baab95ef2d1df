//! Frames on their way out: headers written here, payload left where it lies.

use alloc::vec::Vec;

use crate::addr::{DeviceId, MacAddr, NodeId};
use crate::event::ConnHandle;
use crate::wire::{
    CRC_LEN, CrcKey, EthernetHeader, HEADER_LEN, Head, NetworkHeader, TransportHeader, checksum,
};

/// Longest payload of a size probe.
static ZEROS: [u8; u16::MAX as usize] = [0; u16::MAX as usize];

/// How frames to a node leave.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub(crate) struct Path {
    pub(crate) device: DeviceId,
    pub(crate) src_mac: MacAddr,
    pub(crate) dst_mac: MacAddr,
    pub(crate) ethertype: u16,
    pub(crate) src: NodeId,
    pub(crate) dst: NodeId,
}

impl Path {
    /// The headers of a frame along this path.
    pub(crate) fn head(&self, transport: TransportHeader) -> Head {
        Head {
            ethernet: EthernetHeader {
                dst: self.dst_mac,
                src: self.src_mac,
                ethertype: self.ethertype,
            },
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

#[derive(Copy, Clone, Debug)]
struct Entry {
    device: DeviceId,
    conn: Option<ConnHandle>,
    /// Where headers, inline payload and then the trailer start in `scratch`.
    at: u32,
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
        let front = (HEADER_LEN + payload.len()) as u16;
        self.finish(Entry { device: path.device, conn, at, front, tail, body: Body::Inline }, 0);
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
        let entry = Entry {
            device: path.device,
            conn: Some(conn),
            at,
            front: HEADER_LEN as u16,
            tail,
            body,
        };
        self.finish(entry, usize::from(transport.len));
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
        let entry = Entry {
            device: path.device,
            conn: Some(conn),
            at,
            front: (HEADER_LEN + block.len()) as u16,
            tail,
            body: Body::Zeros(zeros as u16),
        };
        self.finish(entry, zeros);
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
            let trailer = checksum(key, head, body);
            self.scratch.extend_from_slice(&trailer);
        }
        CRC_LEN as u8
    }

    fn finish(&mut self, entry: Entry, body: usize) {
        self.bytes += usize::from(entry.front) + usize::from(entry.tail) + body;
        self.entries.push(entry);
    }
}
