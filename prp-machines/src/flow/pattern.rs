//! Bytes that follow from a number and from their place.

/// Sizes of messages, again and again: those that Ethernet pads, those around a frame's payload,
/// and some of several frames.
const MESSAGES: [usize; 14] = [0, 1, 2, 7, 22, 23, 45, 46, 47, 1458, 1460, 1484, 1500, 70_000];

/// The size of message `number`.
pub(super) fn message_len(number: u64) -> usize {
    MESSAGES[(number % MESSAGES.len() as u64) as usize]
}

/// An endless stream of bytes; no two words of it are equal within any length that is sent.
#[derive(Debug)]
pub(super) struct Pattern {
    seed: u64,
    at: u64,
    word: u64,
}

impl Pattern {
    /// The stream of a direction.
    pub(super) const fn new(direction: u64) -> Self {
        Self { seed: direction << 48, at: 0, word: 0 }
    }

    /// Fills `piece` with the next bytes.
    pub(super) fn fill(&mut self, piece: &mut [u8]) {
        for byte in piece {
            *byte = self.next();
        }
    }

    /// Where `piece` first differs from the next bytes, if anywhere.
    pub(super) fn first_difference(&mut self, piece: &[u8]) -> Option<usize> {
        piece.iter().position(|byte| *byte != self.next())
    }

    fn next(&mut self) -> u8 {
        if self.at.is_multiple_of(8) {
            self.word = scramble(self.seed + self.at / 8);
        }
        let byte = self.word as u8;
        self.word >>= 8;
        self.at += 1;
        byte
    }
}

/// Splitmix64's last step: a permutation of all words, so that neighbours have nothing in common.
const fn scramble(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_difference__names_the_place_in_any_pieces() {
        let mut bytes = vec![0; 1000];
        Pattern::new(1).fill(&mut bytes);
        let mut pattern = Pattern::new(1);
        for piece in bytes.chunks(7) {
            assert_eq!(pattern.first_difference(piece), None);
        }
        bytes[500] ^= 1;
        assert_eq!(Pattern::new(1).first_difference(&bytes), Some(500));
        assert!(Pattern::new(2).first_difference(&bytes).is_some());
        bytes.remove(20);
        assert!(Pattern::new(1).first_difference(&bytes).is_some_and(|at| (20..28).contains(&at)));
    }
}
