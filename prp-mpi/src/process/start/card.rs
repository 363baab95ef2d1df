//! What a rank tells the others of itself through the launcher: where it listens, and a secret by
//! which it knows them from strangers.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::str::FromStr;

/// Known to the ranks of a job only: the launcher carries it, PRP's wire only sees it from a rank
/// of the job.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Secret(u128);

impl Secret {
    /// Nobody can guess it: the keys of the hashers come from the system's random numbers.
    pub(super) fn random() -> Self {
        let half = || u128::from(RandomState::new().hash_one(0));
        Self(half() << 64 | half())
    }

    /// The rank that introduces itself on `stream`; none if it does not know the secret.
    pub(super) fn read_introduction(self, stream: &mut impl Read) -> Option<usize> {
        let (mut secret, mut rank) = ([0; 16], [0; 4]);
        stream.read_exact(&mut secret).ok()?;
        stream.read_exact(&mut rank).ok()?;
        (u128::from_le_bytes(secret) == self.0).then_some(u32::from_le_bytes(rank) as usize)
    }
}

/// Where a rank listens, and its secret: `2:40000 0123456789abcdef0123456789abcdef`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Card {
    address: String,
    secret: Secret,
}

impl Card {
    pub(super) fn new(address: &impl ToString, secret: Secret) -> Self {
        Self { address: address.to_string(), secret }
    }

    /// Node and port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// What `rank` says first on a connection to the owner of this card.
    pub(super) fn introduction(&self, rank: u32) -> [u8; 20] {
        let mut bytes = [0; 20];
        bytes[..16].copy_from_slice(&self.secret.0.to_le_bytes());
        bytes[16..].copy_from_slice(&rank.to_le_bytes());
        bytes
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:032x}", self.address, self.secret.0)
    }
}

impl FromStr for Card {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let parts = text.split_once(' ');
        let parsed = parts.and_then(|(address, secret)| {
            let secret = Secret(u128::from_str_radix(secret, 16).ok()?);
            Some(Self { address: address.to_owned(), secret })
        });
        let text = format!("the launcher gave no address and secret of a rank, but {text:?}");
        parsed.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card__is_read_as_it_was_written() {
        let card = Card::new(&"2:40000", Secret::random());
        assert_eq!(card.to_string().parse::<Card>().unwrap(), card);
        assert!("-".parse::<Card>().is_err());
    }

    #[test]
    fn read_introduction__believes_a_rank_that_knows_the_secret_and_no_stranger() {
        let secret = Secret::random();
        let known = Card::new(&"2:40000", secret).introduction(3);
        assert_eq!(secret.read_introduction(&mut known.as_slice()), Some(3));
        let guessed = Card::new(&"2:40000", Secret::random()).introduction(3);
        assert_eq!(secret.read_introduction(&mut guessed.as_slice()), None);
        assert_eq!(secret.read_introduction(&mut &known[..19]), None);
    }
}
