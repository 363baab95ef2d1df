//! What flows carry: bytes that say where in their stream they belong.

use crate::rng::scramble;

/// One direction of one flow, as bytes by position. Any byte that is missing, repeated or moved
/// changes what follows it.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) struct Content {
    key: u64,
}

/// Steps of the golden ratio, as in splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bytes made by one call of [`Content::word`].
const WORD: u64 = 8;

impl Content {
    /// The content of one direction of flow number `flow`.
    pub(crate) const fn new(flow: usize, to_server: bool) -> Self {
        Self { key: scramble((flow as u64) << 1 | to_server as u64) }
    }

    /// Bytes 8 `index` to 8 `index` + 7.
    const fn word(self, index: u64) -> [u8; WORD as usize] {
        scramble(self.key ^ index.wrapping_mul(STEP)).to_le_bytes()
    }

    /// Appends the bytes from position `from` to `to` to `out`.
    pub(crate) fn extend(self, out: &mut Vec<u8>, from: u64, to: u64) {
        let start = out.len();
        let first = from / WORD;
        out.reserve((to - from) as usize + 2 * WORD as usize);
        for index in first..to.div_ceil(WORD) {
            out.extend_from_slice(&self.word(index));
        }
        out.truncate(start + (to - first * WORD) as usize);
        out.drain(start..start + (from - first * WORD) as usize);
    }

    /// Where `bytes`, which should lie at position `from`, first differ from the content.
    pub(crate) fn differs(self, from: u64, bytes: &[u8]) -> Option<u64> {
        let mut at = from;
        let mut rest = bytes;
        while !rest.is_empty() {
            let within = (at % WORD) as usize;
            let len = rest.len().min(WORD as usize - within);
            let (head, tail) = rest.split_at(len);
            let expected = &self.word(at / WORD)[within..within + len];
            if head != expected {
                return (at..)
                    .zip(head.iter().zip(expected))
                    .find(|(_, (a, b))| a != b)
                    .map(|d| d.0);
            }
            at += len as u64;
            rest = tail;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extend__pieces_join_to_the_whole() {
        let content = Content::new(3, true);
        let mut whole = Vec::new();
        content.extend(&mut whole, 0, 1000);
        for (from, to) in [(0, 1), (7, 8), (7, 9), (8, 16), (13, 997), (500, 500)] {
            let mut piece = Vec::new();
            content.extend(&mut piece, from, to);
            assert_eq!(piece, whole[from as usize..to as usize], "{from}..{to}");
            assert_eq!(content.differs(from, &piece), None, "{from}..{to}");
        }
    }

    #[test]
    fn differs__names_the_first_wrong_byte() {
        let content = Content::new(3, true);
        let mut bytes = Vec::new();
        content.extend(&mut bytes, 100, 200);
        bytes[57] ^= 1;
        assert_eq!(content.differs(100, &bytes), Some(157));
        // Expect: shifts, other directions and other flows are seen at once.
        bytes[57] ^= 1;
        assert!(content.differs(101, &bytes).is_some());
        assert!(Content::new(3, false).differs(100, &bytes).is_some());
        assert!(Content::new(4, true).differs(100, &bytes).is_some());
    }
}
