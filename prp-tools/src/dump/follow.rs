//! The bytes of one connection, each once and in order.

use std::collections::BTreeMap;

use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::Frame;

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
    kept: BTreeMap<i32, Vec<u8>>,
    missing: u64,
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
        direction.take(t.expand_seq(SeqWidth::Bits20, near), frame.payload)
    }

    /// Segments whose bytes are missing.
    pub(super) fn missing(&self) -> u64 {
        let unread = |direction: &Direction| {
            direction.missing
                + direction.kept.first_key_value().map_or(0, |(ahead, _)| *ahead as u64)
        };
        self.directions.iter().map(unread).sum()
    }
}

impl Direction {
    /// Takes segment `seq`; the bytes that are next.
    fn take(&mut self, seq: Seq, payload: &[u8]) -> Vec<u8> {
        let ahead = seq.since(*self.next.get_or_insert(seq));
        if ahead < 0 {
            // It was repeated.
            return Vec::new();
        }
        self.kept.entry(ahead).or_insert_with(|| payload.to_owned());
        let mut bytes = self.ready();
        if self.kept.len() > MOST_KEPT
            && let Some((skipped, _)) = self.kept.first_key_value().map(|(at, b)| (*at, b.len()))
        {
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
        while let Some(payload) = self.kept.remove(&count) {
            bytes.extend(payload);
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
        self.kept =
            std::mem::take(&mut self.kept).into_iter().map(|(at, b)| (at - by, b)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(direction: &mut Direction, segments: &[(u32, &str)]) -> String {
        let mut all = Vec::new();
        for (seq, text) in segments {
            all.extend(direction.take(Seq::new(*seq), text.as_bytes()));
        }
        String::from_utf8(all).expect("text")
    }

    #[test]
    fn take__each_byte_once_and_in_order() {
        let mut direction = Direction::default();
        let segments = [(7, "a"), (9, "c"), (8, "b"), (8, "b"), (7, "a"), (11, "e"), (10, "d")];
        assert_eq!(take(&mut direction, &segments), "abcde");
        assert!(direction.kept.is_empty() && direction.missing == 0);
    }

    #[test]
    fn take__goes_on_after_what_a_capture_lacks() {
        let mut direction = Direction::default();
        assert_eq!(take(&mut direction, &[(1, "a")]), "a");
        // The second is missing.
        let later = MOST_KEPT as u32 + 1;
        for seq in 0..later {
            let came = direction.take(Seq::new(3 + seq), b"x");
            assert_eq!(came.len(), if seq + 1 == later { later as usize } else { 0 }, "{seq}");
        }
        assert_eq!(direction.missing, 1);
    }
}
