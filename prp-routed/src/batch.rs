//! Frames between receiving and sending.

use prp_proto::addr::{DeviceId, LinkAddr};

/// Frames that will leave soon, copied from the ring they came by, which goes on. Nothing is
/// allocated once it has reached its working size.
#[derive(Debug, Default)]
pub struct Batch {
    bytes: Vec<u8>,
    frames: Vec<Entry>,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    device: DeviceId,
    to: LinkAddr,
    start: usize,
    end: usize,
}

impl Batch {
    /// Adds a frame of two pieces for the neighbour `to`.
    pub fn push(&mut self, device: DeviceId, to: LinkAddr, head: &[u8], rest: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(rest);
        self.frames.push(Entry { device, to, start, end: self.bytes.len() });
    }

    /// Frames in it.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The frames for `device`, in order, and the neighbours they are for.
    pub fn frames_for(&self, device: DeviceId) -> impl Iterator<Item = (LinkAddr, &[u8])> + '_ {
        let of = self.frames.iter().filter(move |f| f.device == device);
        of.map(|f| (f.to, &self.bytes[f.start..f.end]))
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }
}
