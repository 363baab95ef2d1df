//! What a program says about collective access, by the names that ROMIO has for it.

use crate::object::{Info, OpenFile};

/// Bytes of a file that an aggregator has in memory at a time, unless a hint says otherwise. They
/// are copied three times on their way, which takes twice as long where they leave the processor's
/// cache meanwhile. Row: file by 4 ranks in turns, of `bench --mpi`.
const BUFFER: u64 = 1 << 20;

/// What `cb_buffer_size` may be: less would be a page, and more is not known to be of use.
const BUFFERS: std::ops::RangeInclusive<u64> = 4 << 10..=1 << 30;

/// Whether two phases are used.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum Choice {
    /// Where they are worth it.
    #[default]
    Automatic = 0,
    Always = 1,
    Never = 2,
}

impl Choice {
    const ALL: [(&str, Self); 3] =
        [("automatic", Self::Automatic), ("enable", Self::Always), ("disable", Self::Never)];

    /// The choice of a number that was made of one.
    fn of(number: u64) -> Self {
        Self::ALL.into_iter().find(|(_, c)| *c as u64 == number).map_or(Self::Automatic, |c| c.1)
    }
}

/// The hints for collective access.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Hints {
    /// `romio_cb_read`.
    pub(super) read: Choice,
    /// `romio_cb_write`.
    pub(super) write: Choice,
    /// `cb_nodes`: aggregators. None if the program does not say.
    pub(super) aggregators: Option<u64>,
    /// `cb_buffer_size`, in bytes.
    pub(super) buffer: u64,
}

impl Hints {
    /// How many numbers they are.
    pub(super) const WORDS: usize = 4;

    /// The hints of a file. A value that makes no sense is none.
    pub(super) fn of(file: &OpenFile) -> Self {
        Self::parse(&file.info.lock())
    }

    pub(super) fn parse(info: &Info) -> Self {
        let value = |key: &str| info.iter().find(|(k, _)| k == key).map(|(_, v)| v.trim());
        let number = |key| value(key).and_then(|v| v.parse::<u64>().ok());
        let choice = |key| {
            let found = Choice::ALL.into_iter().find(|(name, _)| value(key) == Some(name));
            found.map_or(Choice::Automatic, |(_, choice)| choice)
        };
        Self {
            read: choice("romio_cb_read"),
            write: choice("romio_cb_write"),
            aggregators: number("cb_nodes").filter(|count| *count > 0),
            buffer: number("cb_buffer_size").filter(|b| BUFFERS.contains(b)).unwrap_or(BUFFER),
        }
    }

    /// The hints as numbers, for other ranks.
    pub(super) fn to_words(self) -> [u64; Self::WORDS] {
        [self.read as u64, self.write as u64, self.aggregators.unwrap_or(0), self.buffer]
    }

    /// What [`Self::to_words`] has made of hints.
    pub(super) fn from_words(words: &[u64]) -> Self {
        Self {
            read: Choice::of(words[0]),
            write: Choice::of(words[1]),
            aggregators: Some(words[2]).filter(|count| *count > 0),
            buffer: words[3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__values_that_make_no_sense_are_none() {
        let of = |pairs: &[(&str, &str)]| {
            Hints::parse(&pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect())
        };
        let none = of(&[]);
        assert_eq!((none.read, none.aggregators, none.buffer), (Choice::Automatic, None, BUFFER));
        let odd = [("cb_nodes", "0"), ("cb_buffer_size", "12"), ("romio_cb_read", "perhaps")];
        assert_eq!(of(&odd), none);
        let given = of(&[
            ("cb_nodes", "3"),
            ("cb_buffer_size", "65536"),
            ("romio_cb_read", "disable"),
            ("romio_cb_write", "enable"),
        ]);
        let (read, write) = (Choice::Never, Choice::Always);
        assert_eq!(given, Hints { read, write, aggregators: Some(3), buffer: 65536 });
        for hints in [none, given] {
            assert_eq!(Hints::from_words(&hints.to_words()), hints);
        }
    }
}
