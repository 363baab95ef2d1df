//! Control blocks: the payload of CTL frames (SPEC PRP-CTL-1 to 4).
//!
//! If you add a kind: an arm in `parse`, `emit` and `wire/pretty.rs`, a clause in SPEC PRP-CTL, a
//! line in `etc/wireshark/parmaprp.lua`, and a case in `arb_control` of `wire/tests.rs`, from which
//! the round-trip property draws.

use super::frame::Frame;
use super::part::Part;
use super::reader::Reader;
use super::transport::Flags;
use crate::seq::Seq;

/// Longest bitmap of an acknowledgement, in 64-segment words. 1024 segments are four times what a
/// 1500-byte link keeps in flight at best speed.
pub const MAX_BITMAP_WORDS: usize = 16;

/// Bytes of the longest block an end must be able to send: an acknowledgement with a full bitmap.
pub const MAX_CONTROL_LEN: usize = AckBlock::FIXED_LEN + 8 * MAX_BITMAP_WORDS;

/// Which segments after the next expected one have arrived: bit `i` stands for `next + 1 + i`.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Bitmap {
    words: [u64; MAX_BITMAP_WORDS],
    len: u8,
}

impl Bitmap {
    /// Nothing beyond the gap.
    pub const EMPTY: Self = Self { words: [0; MAX_BITMAP_WORDS], len: 0 };

    /// Segments a bitmap can speak of.
    pub const SPAN: u32 = 64 * MAX_BITMAP_WORDS as u32;

    /// Marks `next + 1 + index` as received; beyond [`Self::SPAN`] nothing is marked.
    pub fn set(&mut self, index: u32) {
        let word = (index / 64) as usize;
        if let Some(w) = self.words.get_mut(word) {
            *w |= 1 << (index % 64);
            self.len = self.len.max(word as u8 + 1);
        }
    }

    /// Returns it without what is beyond its first `words` words.
    #[must_use]
    pub fn limited(mut self, words: usize) -> Self {
        if let Some(beyond) = self.words.get_mut(words..) {
            beyond.fill(0);
            self.len = self.len.min(words as u8);
        }
        self
    }

    /// Whether nothing is marked.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The marked indices in rising order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().take(usize::from(self.len)).zip(0u32..).flat_map(|(word, at)| {
            let mut left = *word;
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                // Clears the lowest set bit; ends at zero.
                left &= left.checked_sub(1)?;
                Some(at * 64 + bit)
            })
        })
    }
}

/// Which arrival an acknowledgement was made after, for the sender's round-trip estimate.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct Echo {
    /// The data segment that arrived last.
    pub seq: Seq,
    /// Whether that copy was marked as sent before.
    pub retransmitted: bool,
    /// Nanoseconds between its arrival and this acknowledgement, saturating at 4.29 s.
    pub held_ns: u32,
}

impl Echo {
    /// Whether the arrival is so far back that the time since then is not known.
    pub const fn is_long_ago(&self) -> bool {
        self.held_ns == u32::MAX
    }
}

/// A full acknowledgement.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct AckBlock {
    /// Next segment number expected: everything before it has arrived.
    pub next: Seq,
    /// Segments beyond `next` the receiver has room for.
    pub window: u32,
    /// Something beyond `next` has arrived: `next` is missing.
    pub gap: bool,
    /// The arrival that caused it, if any data has arrived yet.
    pub echo: Option<Echo>,
    /// The number of the probe it answers, if it answers one.
    pub probe: Option<u8>,
    /// Its sender needs its peer no more: it has all that the peer has to say, and either knows
    /// that the peer has all of its own or was told that the peer leaves.
    pub finished: bool,
    /// Its sender's process is about to end. It has said all it has to say, and knows that its peer
    /// has that.
    pub leaves: bool,
    /// What else has arrived; empty unless out-of-order segments are kept.
    pub received: Bitmap,
}

impl AckBlock {
    pub(crate) const FIXED_LEN: usize = 24;
    const GAP: u8 = 1;
    const HAS_ECHO: u8 = 2;
    const ECHO_RTX: u8 = 4;
    const HAS_PROBE: u8 = 8;
    const FINISHED: u8 = 16;
    const LEAVES: u8 = 32;
}

/// A control block of a connection. `to` is the connection id of the end it is for: a station that
/// never saw the handshake cannot know it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Control {
    /// What has arrived, and how much more may be sent.
    Ack {
        /// Receiver's connection id.
        to: u32,
        /// The acknowledgement.
        ack: AckBlock,
    },
    /// "Are you there?": asks for an acknowledgement, or for a reset if the connection is unknown.
    Probe {
        /// Receiver's connection id.
        to: u32,
        /// Sender's connection id, for the reset to name.
        from: u32,
        /// The sender's count of its probes, wrapping, for the acknowledgement to name.
        number: u8,
    },
    /// A frame padded to a full segment of `size` bytes: does it get through?
    SizeProbe {
        /// Receiver's connection id.
        to: u32,
        /// Payload bytes of the probe.
        size: u16,
    },
    /// It does.
    SizeProbeAck {
        /// Receiver's connection id.
        to: u32,
        /// Payload bytes that arrived.
        size: u16,
    },
}

impl Control {
    const ACK: u8 = 1;
    /// The first byte of a probe.
    pub const PROBE: u8 = 2;
    const SIZE_PROBE: u8 = 3;
    const SIZE_PROBE_ACK: u8 = 4;

    /// Whether `frame` says that it is a probe.
    pub(crate) fn is_probe(frame: &Frame<'_>) -> bool {
        frame.flags().contains(Flags::CTL) && frame.payload.first() == Some(&Self::PROBE)
    }

    /// The kind in words and the receiver's connection id of a block of which the rest is encrypted
    /// (SPEC PRP-KEY-10).
    pub(super) fn front(payload: &[u8]) -> Option<(&'static str, u32)> {
        let mut r = Reader::new(payload);
        let kind = match r.u8()? {
            Self::ACK => "acknowledgement",
            Self::PROBE => "probe",
            Self::SIZE_PROBE => "size probe",
            Self::SIZE_PROBE_ACK => "size probe answer",
            Part::KIND => "part",
            _ => return None,
        };
        let _ = (r.u8()?, r.u16()?);
        Some((kind, r.u32()?))
    }

    /// Receiver's connection id.
    pub const fn to(&self) -> u32 {
        match *self {
            Self::Ack { to, .. }
            | Self::Probe { to, .. }
            | Self::SizeProbe { to, .. }
            | Self::SizeProbeAck { to, .. } => to,
        }
    }

    /// Writes the block to the front of `out` and returns its length. A size probe writes only its
    /// fixed part; the sender pads it with zeros.
    pub fn emit(&self, out: &mut [u8; MAX_CONTROL_LEN]) -> usize {
        out[4..8].copy_from_slice(&self.to().to_be_bytes());
        out[1..4].fill(0);
        match self {
            Self::Ack { ack, .. } => {
                out[0] = Self::ACK;
                Self::emit_ack(ack, out)
            }
            Self::Probe { from, number, .. } => {
                out[0] = Self::PROBE;
                out[3] = *number;
                out[8..12].copy_from_slice(&from.to_be_bytes());
                12
            }
            Self::SizeProbe { size, .. } => {
                out[0] = Self::SIZE_PROBE;
                out[8..10].copy_from_slice(&size.to_be_bytes());
                10
            }
            Self::SizeProbeAck { size, .. } => {
                out[0] = Self::SIZE_PROBE_ACK;
                out[8..10].copy_from_slice(&size.to_be_bytes());
                10
            }
        }
    }

    fn emit_ack(ack: &AckBlock, out: &mut [u8; MAX_CONTROL_LEN]) -> usize {
        let mut flags = 0;
        if ack.gap {
            flags |= AckBlock::GAP;
        }
        let (mut seq, mut held) = (0, 0);
        if let Some(echo) = ack.echo {
            flags |= AckBlock::HAS_ECHO;
            if echo.retransmitted {
                flags |= AckBlock::ECHO_RTX;
            }
            (seq, held) = (echo.seq.bits(), echo.held_ns);
        }
        if let Some(number) = ack.probe {
            flags |= AckBlock::HAS_PROBE;
            out[3] = number;
        }
        if ack.finished {
            flags |= AckBlock::FINISHED;
        }
        if ack.leaves {
            flags |= AckBlock::LEAVES;
        }
        out[1] = flags;
        out[2] = ack.received.len;
        out[8..12].copy_from_slice(&ack.next.bits().to_be_bytes());
        out[12..16].copy_from_slice(&ack.window.to_be_bytes());
        out[16..20].copy_from_slice(&seq.to_be_bytes());
        out[20..24].copy_from_slice(&held.to_be_bytes());
        let words = usize::from(ack.received.len);
        let (bitmap, _) = out[AckBlock::FIXED_LEN..].as_chunks_mut::<8>();
        for (chunk, word) in bitmap.iter_mut().zip(&ack.received.words[..words]) {
            *chunk = word.to_be_bytes();
        }
        AckBlock::FIXED_LEN + 8 * words
    }

    /// Reads a block; `None` for one that is short, of unknown kind or inconsistent.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        let (kind, flags, words, number) = (r.u8()?, r.u8()?, r.u8()?, r.u8()?);
        let to = r.u32()?;
        match kind {
            Self::ACK => {
                let mut ack = Self::parse_ack(flags, words, r)?;
                ack.probe = (flags & AckBlock::HAS_PROBE != 0).then_some(number);
                Some(Self::Ack { to, ack })
            }
            Self::PROBE => Some(Self::Probe { to, from: r.u32()?, number }),
            Self::SIZE_PROBE => Some(Self::SizeProbe { to, size: r.u16()? }),
            Self::SIZE_PROBE_ACK => Some(Self::SizeProbeAck { to, size: r.u16()? }),
            _ => None,
        }
    }

    fn parse_ack(flags: u8, words: u8, mut r: Reader<'_>) -> Option<AckBlock> {
        let (next, window) = (Seq::new(r.u32()?), r.u32()?);
        let (seq, held_ns) = (Seq::new(r.u32()?), r.u32()?);
        let mut received = Bitmap::EMPTY;
        for word in received.words.get_mut(..usize::from(words))? {
            *word = r.u64()?;
        }
        // Trailing empty words are dropped, so that equal bitmaps compare equal.
        let used = received.words.iter().rposition(|w| *w != 0).map_or(0, |at| at + 1);
        received.len = used as u8;
        let echo = (flags & AckBlock::HAS_ECHO != 0).then_some(Echo {
            seq,
            retransmitted: flags & AckBlock::ECHO_RTX != 0,
            held_ns,
        });
        let gap = flags & AckBlock::GAP != 0;
        let finished = flags & AckBlock::FINISHED != 0;
        let leaves = flags & AckBlock::LEAVES != 0;
        Some(AckBlock { next, window, gap, echo, probe: None, finished, leaves, received })
    }
}
