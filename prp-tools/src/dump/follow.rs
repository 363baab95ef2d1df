//! The bytes of one connection, each once and in order.

use std::collections::BTreeMap;
use std::fmt;

use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{Frame, Part};

use super::packet::PacketKind;

/// An end and its peer: nodes and ports.
type FlowKey = (u16, u16, u16, u16);

/// Segments that are kept while one before them is missing: more than a window has, and what a
/// capture lacks never comes.
const MOST_KEPT: usize = 4096;

/// Follows the first connection that it is given bytes of.
#[derive(Debug)]
pub(super) struct Follower {
    /// Only what goes to this port, if it is the receiver's of the first segment.
    port: Option<u16>,
    ends: Option<FlowKey>,
    /// By direction: as the first segment, and back.
    directions: [SentBytes; 2],
    /// Bytes that were passed on, of both.
    passed_on: u64,
    gaps: Vec<Gap>,
}

/// Bytes that the capture does not have.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Gap {
    /// So many bytes were passed on before.
    pub(super) at: u64,
    pub(super) missing: Missing,
}

/// What is missing.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Missing {
    /// So many bytes of a segment that came in parts.
    Bytes(u64),
    /// So many segments, whose lengths nobody knows.
    Segments(u64),
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, one, more) = match self.missing {
            Missing::Bytes(count) => (count, "byte is", "bytes are"),
            Missing::Segments(count) => {
                (count, "segment of unknown length is", "segments of unknown length are")
            }
        };
        let what = if count == 1 { one } else { more };
        write!(f, "{count} {what} missing behind the first {} bytes of the output", self.at)
    }
}

/// What one end has sent.
#[derive(Debug, Default)]
struct SentBytes {
    /// The number of the next segment, once one was seen.
    next: Option<Seq>,
    /// By how far they are ahead of the next one.
    kept: BTreeMap<i32, Segment>,
    /// Segments of which bytes are missing.
    missing: u64,
    /// Those before or in what was just passed on, from its beginning on.
    gaps: Vec<Gap>,
}

/// A segment that is not passed on yet.
#[derive(Debug)]
enum Segment {
    Whole(Vec<u8>),
    /// It comes in parts (SPEC PRP-SIZE-5).
    Partial(SegmentParts),
}

/// What has come of a segment.
#[derive(Debug, Default)]
struct SegmentParts {
    /// Zeros where nothing has come.
    bytes: Vec<u8>,
    /// The beginnings and ends of what has come; none touches another.
    received: BTreeMap<usize, usize>,
}

impl Follower {
    /// Of a connection whose port may be named.
    pub(super) fn new(port: Option<u16>) -> Self {
        Self { port, ends: None, directions: Default::default(), passed_on: 0, gaps: Vec::new() }
    }

    /// What can be told of the connection's bytes with this frame.
    pub(super) fn take(&mut self, frame: &Frame<'_>) -> Vec<u8> {
        if !matches!(PacketKind::of_packet(frame), PacketKind::Data | PacketKind::End) {
            return Vec::new();
        }
        if self.ends.is_none() && frame.payload.is_empty() {
            // A connection without bytes, of a scan perhaps, is not the one that is meant.
            return Vec::new();
        }
        let (n, t) = (frame.head.network, frame.head.transport);
        let ends = (n.src.number(), t.src_port.number(), n.dst.number(), t.dst_port.number());
        let back = (ends.2, ends.3, ends.0, ends.1);
        let followed = *self.ends.get_or_insert(ends);
        let at = if ends == followed {
            0
        } else if back == followed {
            1
        } else {
            return Vec::new();
        };
        let one_way = self.port.is_some_and(|port| [followed.1, followed.3].contains(&port));
        if one_way && self.port != Some(ends.3) {
            return Vec::new();
        }
        let direction = &mut self.directions[at];
        let near = direction.next.unwrap_or_else(|| t.first_seq(SeqWidth::Bits20));
        let seq = t.expand_seq(SeqWidth::Bits20, near);
        let bytes = match Part::of(frame) {
            Some((part, bytes)) => direction.take_part(seq, &part, bytes),
            None => direction.take(seq, frame.payload),
        };
        self.count(at, &bytes);
        bytes
    }

    /// The capture has ended: what was kept behind what is missing.
    pub(super) fn end(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        for at in 0..self.directions.len() {
            let bytes = self.directions[at].end();
            self.count(at, &bytes);
            all.extend(bytes);
        }
        all
    }

    /// Where bytes are missing so far, each gap once.
    pub(super) fn take_gaps(&mut self) -> Vec<Gap> {
        std::mem::take(&mut self.gaps)
    }

    /// A direction has passed on `bytes`.
    fn count(&mut self, direction: usize, bytes: &[u8]) {
        let gaps = self.directions[direction].gaps.drain(..);
        self.gaps.extend(gaps.map(|gap| Gap { at: self.passed_on + gap.at, ..gap }));
        self.passed_on += bytes.len() as u64;
    }

    /// Segments whose bytes are missing.
    pub(super) fn missing(&self) -> u64 {
        self.directions.iter().map(|direction| direction.missing + direction.awaited()).sum()
    }
}

impl SentBytes {
    /// Takes segment `seq`; the bytes that are next.
    fn take(&mut self, seq: Seq, payload: &[u8]) -> Vec<u8> {
        // It was repeated if it is behind.
        let Some(ahead) = self.ahead(seq) else { return Vec::new() };
        if !matches!(self.kept.get(&ahead), Some(Segment::Whole(_))) {
            self.kept.insert(ahead, Segment::Whole(payload.to_owned()));
        }
        self.passed_on()
    }

    /// Takes a part of segment `seq`; the bytes that are next.
    fn take_part(&mut self, seq: Seq, part: &Part, bytes: &[u8]) -> Vec<u8> {
        let Some(ahead) = self.ahead(seq) else { return Vec::new() };
        let segment =
            self.kept.entry(ahead).or_insert_with(|| Segment::Partial(SegmentParts::default()));
        if let Segment::Partial(parts) = segment
            && let Some(whole) = parts.take(part, bytes)
        {
            *segment = Segment::Whole(whole);
        }
        self.passed_on()
    }

    /// How far segment `seq` is ahead of the next one; none if it was passed on, or given up.
    fn ahead(&mut self, seq: Seq) -> Option<i32> {
        let ahead = seq.since(*self.next.get_or_insert(seq));
        (ahead >= 0).then_some(ahead)
    }

    /// The bytes that are next. Where too many segments are kept, what is missing before one of
    /// them does not come.
    fn passed_on(&mut self) -> Vec<u8> {
        let mut bytes = self.ready();
        while self.kept.len() > MOST_KEPT {
            self.pass_over_gap(&mut bytes);
        }
        bytes
    }

    /// Nothing comes any more: the bytes that are kept.
    fn end(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while !self.kept.is_empty() {
            self.pass_over_gap(&mut bytes);
        }
        bytes
    }

    /// Goes on behind what is missing before or in the first segment that is kept, and adds what
    /// is there to `bytes`.
    fn pass_over_gap(&mut self, bytes: &mut Vec<u8>) {
        let Some((&ahead, _)) = self.kept.first_key_value() else { return };
        if ahead > 0 {
            self.add_gap(bytes, Missing::Segments(ahead as u64));
            self.missing += ahead as u64;
            self.advance(ahead);
        } else if let Some((_, Segment::Partial(parts))) = self.kept.pop_first() {
            let mut at = 0;
            for (begin, end) in &parts.received {
                if at < *begin {
                    self.add_gap(bytes, Missing::Bytes((begin - at) as u64));
                }
                bytes.extend(&parts.bytes[*begin..*end]);
                at = *end;
            }
            if at < parts.bytes.len() {
                self.add_gap(bytes, Missing::Bytes((parts.bytes.len() - at) as u64));
            }
            self.missing += 1;
            self.advance(1);
        }
        bytes.extend(self.ready());
    }

    fn add_gap(&mut self, before: &[u8], missing: Missing) {
        self.gaps.push(Gap { at: before.len() as u64, missing });
    }

    /// Takes out the segments that are next, in a row.
    fn ready(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut count = 0;
        while let Some(entry) = self.kept.first_entry()
            && *entry.key() == count
            && let Segment::Whole(_) = entry.get()
        {
            if let Segment::Whole(payload) = entry.remove() {
                bytes.extend(payload);
            }
            count += 1;
        }
        if count > 0 {
            self.advance(count);
        }
        bytes
    }

    /// The next segment is `by` later.
    fn advance(&mut self, by: i32) {
        self.next = self.next.map(|next| next + by as u32);
        self.kept = std::mem::take(&mut self.kept)
            .into_iter()
            .filter(|(at, _)| *at >= by)
            .map(|(at, segment)| (at - by, segment))
            .collect();
    }

    /// Segments before the first whole one that is kept; all of them where none is.
    fn awaited(&self) -> u64 {
        let mut kept = self.kept.iter();
        let whole = kept.find(|(_, segment)| matches!(segment, Segment::Whole(_)));
        match whole {
            Some((ahead, _)) => *ahead as u64,
            None => self.kept.last_key_value().map_or(0, |(ahead, _)| *ahead as u64 + 1),
        }
    }
}

impl SegmentParts {
    /// Takes `part` with its `bytes`, which do not reach beyond the segment; the segment's bytes
    /// once it is whole. A part of another size begins it anew.
    fn take(&mut self, part: &Part, bytes: &[u8]) -> Option<Vec<u8>> {
        let total = usize::from(part.total);
        if self.bytes.len() != total {
            *self = Self { bytes: vec![0; total], received: BTreeMap::new() };
        }
        let (mut begin, mut end) = (usize::from(part.at), usize::from(part.at) + bytes.len());
        self.bytes.get_mut(begin..end)?.copy_from_slice(bytes);
        // Parts may be sent again in other sizes.
        while let Some((&other, &until)) = self.received.range(..=end).next_back()
            && until >= begin
        {
            self.received.remove(&other);
            (begin, end) = (begin.min(other), end.max(until));
        }
        self.received.insert(begin, end);
        (self.received.get(&0) == Some(&total)).then(|| std::mem::take(&mut self.bytes))
    }
}

#[cfg(test)]
mod tests;
