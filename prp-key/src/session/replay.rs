//! Which frames of an epoch have come (RFC 6479).

/// Words of the bitmap.
const WORDS: usize = 33;

/// How far behind the newest frame another one is still taken: twice the segments that may be in
/// flight (SPEC PRP-KEY-12).
pub(super) const WINDOW: u32 = (WORDS as u32 - 1) * u64::BITS;

/// The frames of an epoch that have come, up to [`WINDOW`] behind the newest.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "testing", derive(Hash))]
pub(super) struct ReplayWindow {
    /// One more than the newest one.
    reached: u32,
    /// A ring: bit `i % 64` of word `i / 64 % WORDS` stands for frame `i`.
    words: [u64; WORDS],
}

impl ReplayWindow {
    pub(super) const fn new() -> Self {
        Self { reached: 0, words: [0; WORDS] }
    }

    /// One more than the newest frame that has come.
    pub(super) const fn reached(&self) -> u32 {
        self.reached
    }

    /// Whether the frame `index` can be new.
    pub(super) fn is_new(&self, index: u32) -> bool {
        if index >= self.reached {
            return true;
        }
        let (word, bit) = Self::place(index);
        self.reached - index <= WINDOW && self.words[word] & bit == 0
    }

    /// Notes the frame `index`, which is new and authenticated.
    pub(super) fn note(&mut self, index: u32) {
        if index >= self.reached {
            let (newest, before) = (index / u64::BITS, self.reached.div_ceil(u64::BITS));
            // Words that come into the ring are empty; all of them if it went round.
            for entering in (before..=newest).take(WORDS) {
                self.words[entering as usize % WORDS] = 0;
            }
            self.reached = index + 1;
        }
        let (word, bit) = Self::place(index);
        self.words[word] |= bit;
    }

    const fn place(index: u32) -> (usize, u64) {
        ((index / u64::BITS) as usize % WORDS, 1 << (index % u64::BITS))
    }
}

#[cfg(test)]
mod tests;
