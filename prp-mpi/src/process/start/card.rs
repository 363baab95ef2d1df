//! What a rank tells the others of itself through the launcher: where it listens, and a secret by
//! which it knows them from strangers.

use std::ffi::OsString;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use prp_sock::PrpAddr;

/// Bytes by which a rank introduces itself: the secret, and its number.
pub(super) const INTRODUCTION_LEN: usize = 20;

/// Known to the ranks of a job only: the launcher carries it, PRP's wire only sees it from a rank
/// of the job.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Secret(u128);

impl Secret {
    /// It cannot be guessed: the keys of the hashers come from the system's random numbers.
    pub(super) fn random() -> Self {
        let half = || u128::from(RandomState::new().hash_one(0));
        Self(half() << 64 | half())
    }

    /// The rank that introduces itself by these bytes; none if it does not know the secret.
    pub(super) fn rank_of(self, introduction: &[u8; INTRODUCTION_LEN]) -> Option<usize> {
        let (secret, rank) = introduction.split_first_chunk()?;
        let is_known = u128::from_le_bytes(*secret) == self.0;
        is_known.then_some(u32::from_le_bytes(*rank.first_chunk()?) as usize)
    }
}

/// Where a rank listens for other nodes, its secret, and its socket for ranks of its node:
/// `2:40000 0123456789abcdef0123456789abcdef /tmp/prp-mpi-x/rank-0`. Bytes of the socket's path
/// that need not be text, or that end a line, are two digits behind a `%`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct BusinessCard {
    address: String,
    secret: Secret,
    socket: PathBuf,
}

impl BusinessCard {
    /// A card; without an address where all ranks are on one node.
    pub(super) fn new(address: Option<PrpAddr>, secret: Secret, socket: &Path) -> Self {
        let address = address.map_or_else(|| "-".to_owned(), |address| address.to_string());
        Self { address, secret, socket: socket.to_owned() }
    }

    /// Node and port.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// The Unix socket.
    pub(super) fn socket(&self) -> &Path {
        &self.socket
    }

    /// What `rank` says first on a connection to the owner of this card.
    pub(super) fn introduction(&self, rank: u32) -> [u8; INTRODUCTION_LEN] {
        let mut bytes = [0; INTRODUCTION_LEN];
        bytes[..16].copy_from_slice(&self.secret.0.to_le_bytes());
        bytes[16..].copy_from_slice(&rank.to_le_bytes());
        bytes
    }
}

impl fmt::Display for BusinessCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:032x} {}", self.address, self.secret.0, escaped(&self.socket))
    }
}

impl FromStr for BusinessCard {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let mut parts = text.splitn(3, ' ');
        let mut parse = || {
            let (address, secret, socket) = (parts.next()?, parts.next()?, parts.next()?);
            let secret = Secret(u128::from_str_radix(secret, 16).ok()?);
            Some(Self { address: address.to_owned(), secret, socket: unescaped(socket)? })
        };
        let parsed = parse();
        let text = format!("the launcher gave no address and secret of a rank, but {text:?}");
        parsed.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, text))
    }
}

/// A path as text.
fn escaped(path: &Path) -> String {
    let mut out = String::new();
    for &byte in path.as_os_str().as_bytes() {
        if (b' '..=b'~').contains(&byte) && byte != b'%' {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02x}"));
        }
    }
    out
}

/// The path again.
fn unescaped(text: &str) -> Option<PathBuf> {
    let mut pieces = text.split('%');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    for piece in pieces {
        bytes.push(u8::from_str_radix(piece.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn card__paths_need_not_be_text() {
        let path = Path::new(OsStr::from_bytes(b"/tmp/100% \xff\n\xc3\xa9/rank-0"));
        let card = BusinessCard::new(None, Secret::random(), path);
        assert_eq!(card.to_string().parse::<BusinessCard>().unwrap(), card);
        assert!(!card.to_string().contains('\n'));
        assert_eq!(unescaped("/a%"), None);
        assert_eq!(unescaped("/a%é"), None);
    }

    #[test]
    fn card__is_read_as_it_was_written() {
        let address = Some("2:40000".parse().unwrap());
        for address in [address, None] {
            let card = BusinessCard::new(address, Secret::random(), Path::new("/a folder/rank-0"));
            assert_eq!(card.to_string().parse::<BusinessCard>().unwrap(), card);
        }
        assert!("-".parse::<BusinessCard>().is_err());
    }

    #[test]
    fn rank_of__believes_a_rank_that_knows_the_secret_and_no_stranger() {
        let secret = Secret::random();
        let card = |secret| BusinessCard::new(None, secret, Path::new("/rank-0"));
        let known = card(secret).introduction(3);
        assert_eq!(secret.rank_of(&known), Some(3));
        let guessed = card(Secret::random()).introduction(3);
        assert_eq!(secret.rank_of(&guessed), None);
    }
}
