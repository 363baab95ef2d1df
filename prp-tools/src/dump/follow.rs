//! The bytes of one connection, each once and in order.

use std::collections::BTreeMap;

use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{Frame, Part};

use super::packet::Kind;

/// An end and its peer: nodes and ports.
type Ends = (u16, u16, u16, u16);

/// Segments that are kept while one before them is missing: more than a window has, and what a
/// capture lacks never comes.
const MOST_KEPT: usize = 4096;

/// Follows the first connection that it is given bytes of.
#[derive(Debug)]
pub(super) struct Follower {
    /// Only what goes to this port, if it is the receiver's of the first segment.
    port: Option<u16>,
    ends: Option<Ends>,
    /// By direction: as the first segment, and back.
    directions: [Direction; 2],
}

/// What one end has sent.
#[derive(Debug, Default)]
struct Direction {
    /// The number of the next segment, once one was seen.
    next: Option<Seq>,
    /// By how far they are ahead of the next one.
    kept: BTreeMap<i32, Segment>,
    missing: u64,
}

/// A segment that is not passed on yet.
#[derive(Debug)]
enum Segment {
    Whole(Vec<u8>),
    /// It comes in parts (SPEC PRP-SIZE-5).
    Partial(Parts),
}

/// What has come of a segment.
#[derive(Debug, Default)]
struct Parts {
    /// Zeros where nothing has come.
    bytes: Vec<u8>,
    /// The beginnings and ends of what has come; none touches another.
    received: BTreeMap<usize, usize>,
}

impl Follower {
    /// Of a connection whose port may be named.
    pub(super) fn new(port: Option<u16>) -> Self {
        Self { port, ends: None, directions: Default::default() }
    }

    /// What can be told of the connection's bytes with this frame.
    pub(super) fn take(&mut self, frame: &Frame<'_>) -> Vec<u8> {
        if !matches!(Kind::of_packet(frame), Kind::Data | Kind::End) {
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
        match Part::of(frame) {
            Some((part, bytes)) => direction.take_part(seq, &part, bytes),
            None => direction.take(seq, frame.payload),
        }
    }

    /// Segments whose bytes are missing.
    pub(super) fn missing(&self) -> u64 {
        self.directions.iter().map(|direction| direction.missing + direction.awaited()).sum()
    }
}

impl Direction {
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
        let segment = self.kept.entry(ahead).or_insert_with(|| Segment::Partial(Parts::default()));
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

    /// The bytes that are next. Where too many segments are kept, those before the first whole one
    /// are missing.
    fn passed_on(&mut self) -> Vec<u8> {
        let mut bytes = self.ready();
        if self.kept.len() > MOST_KEPT {
            let whole = self.kept.iter().find(|(_, segment)| matches!(segment, Segment::Whole(_)));
            let last = self.kept.last_key_value().map_or(0, |(ahead, _)| *ahead);
            let skipped = whole.map_or(last, |(ahead, _)| *ahead);
            self.missing += skipped as u64;
            self.advance(skipped);
            bytes.extend(self.ready());
        }
        bytes
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

impl Parts {
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
