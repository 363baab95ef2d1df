//! The headers of raw frames: as long as PRP's, so that frames of both carry the same payload.

use prp_sock::MacAddr;

/// Bytes after the Ethernet header: as PRP has without options.
pub(super) const OWN_LEN: usize = 16;

/// All headers.
pub(super) const LEN: usize = 14 + OWN_LEN;

/// What a frame is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum RawFrameKind {
    /// Bytes, and the number of the frame.
    Data = 1,
    /// The number of the last frame that has come.
    Credit = 2,
    /// It is over; the answer is the same.
    End = 3,
}

/// What all frames of one leg have in common.
#[derive(Copy, Clone, Debug)]
pub(super) struct Header {
    template: [u8; LEN],
}

impl Header {
    /// Of frames from `source` to `destination`.
    pub(super) fn new(destination: MacAddr, source: MacAddr, ethertype: u16, leg: u32) -> Self {
        let mut template = [0; LEN];
        template[..6].copy_from_slice(&destination.0);
        template[6..12].copy_from_slice(&source.0);
        template[12..14].copy_from_slice(&ethertype.to_be_bytes());
        template[14..18].copy_from_slice(&leg.to_be_bytes());
        Self { template }
    }

    /// The headers of one frame.
    pub(super) fn bytes(&self, kind: RawFrameKind, number: u32) -> [u8; LEN] {
        let mut bytes = self.template;
        bytes[18..22].copy_from_slice(&number.to_be_bytes());
        bytes[22] = kind as u8;
        bytes
    }

    /// What a frame says that came from the other end of this leg; `None` for all others.
    pub(super) fn parse<'a>(&self, frame: &'a [u8]) -> Option<(RawFrameKind, u32, &'a [u8])> {
        let (head, payload) = frame.split_first_chunk::<LEN>()?;
        let from_peer = head[6..12] == self.template[..6];
        if !from_peer || head[14..18] != self.template[14..18] {
            return None;
        }
        let kind = match head[22] {
            1 => RawFrameKind::Data,
            2 => RawFrameKind::Credit,
            3 => RawFrameKind::End,
            _ => return None,
        };
        Some((kind, u32::from_be_bytes([head[18], head[19], head[20], head[21]]), payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
    const THEIRS: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

    #[test]
    fn parse__reads_what_the_peer_wrote() {
        let (ours, theirs) =
            (Header::new(THEIRS, OURS, 0x88b6, 7), Header::new(OURS, THEIRS, 0x88b6, 7));
        for kind in [RawFrameKind::Data, RawFrameKind::Credit, RawFrameKind::End] {
            let frame = [&theirs.bytes(kind, 0xdead_beef)[..], b"payload"].concat();
            assert_eq!(ours.parse(&frame), Some((kind, 0xdead_beef, &b"payload"[..])));
            // Expect: not from the peer, not of this leg, cut short, of no kind.
            assert_eq!(theirs.parse(&frame), None);
            assert_eq!(Header::new(THEIRS, OURS, 0x88b6, 8).parse(&frame), None);
            for len in 0..LEN {
                assert_eq!(ours.parse(&frame[..len]), None);
            }
            for byte in [0, 4, 255] {
                let mut wrong = frame.clone();
                wrong[22] = byte;
                assert_eq!(ours.parse(&wrong), None);
            }
        }
    }
}
