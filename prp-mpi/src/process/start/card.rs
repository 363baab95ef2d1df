//! What a process tells others of itself: where it listens, and a secret by which it knows them
//! from strangers. Those of a job have it through the launcher.

use std::ffi::OsString;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::num::ParseIntError;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use prp_sock::PrpAddr;

use crate::process::peers::Identity;

/// Bytes by which a process introduces itself: the secret, who it is, and what it wants.
pub(in crate::process) const INTRODUCTION_LEN: usize = 36;

/// Known only to those that were given the card: PRP's wire only sees it from one of these.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(in crate::process) struct Secret(u128);

/// A process that has introduced itself.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(in crate::process) struct Caller {
    pub(in crate::process) identity: Identity,
    /// The port that it has a message for; [`LINK`] if it wants to be linked.
    pub(in crate::process) wants: u64,
}

/// The connection is to be a channel.
pub(in crate::process) const LINK: u64 = 0;

impl Secret {
    /// It cannot be guessed: the keys of the hashers come from the system's random numbers.
    pub(in crate::process) fn random() -> Self {
        let half = || u128::from(RandomState::new().hash_one(0));
        Self(half() << 64 | half())
    }

    /// The process that introduces itself by these bytes; none if it does not know the secret.
    pub(in crate::process) fn caller(
        self,
        introduction: &[u8; INTRODUCTION_LEN],
    ) -> Option<Caller> {
        let (secret, rest) = introduction.split_first_chunk()?;
        let (job, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let identity =
            Identity { job: u64::from_le_bytes(*job), number: u32::from_le_bytes(*number) };
        let wants = u64::from_le_bytes(*rest.first_chunk()?);
        (u128::from_le_bytes(*secret) == self.0).then_some(Caller { identity, wants })
    }

    /// What a process says first on a connection to one that has this secret.
    pub(in crate::process) fn introduction(self, caller: Caller) -> [u8; INTRODUCTION_LEN] {
        let mut bytes = [0; INTRODUCTION_LEN];
        bytes[..16].copy_from_slice(&self.0.to_le_bytes());
        bytes[16..24].copy_from_slice(&caller.identity.job.to_le_bytes());
        bytes[24..28].copy_from_slice(&caller.identity.number.to_le_bytes());
        bytes[28..].copy_from_slice(&caller.wants.to_le_bytes());
        bytes
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Secret {
    type Err = ParseIntError;

    fn from_str(text: &str) -> Result<Self, ParseIntError> {
        u128::from_str_radix(text, 16).map(Self)
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
    pub(super) fn introduction(&self, rank: usize) -> [u8; INTRODUCTION_LEN] {
        self.secret.introduction(Caller { identity: Identity::of_rank(rank), wants: LINK })
    }
}

impl fmt::Display for BusinessCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.address, self.secret, escaped(&self.socket))
    }
}

impl FromStr for BusinessCard {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let mut parts = text.splitn(3, ' ');
        let mut parse = || {
            let (address, secret, socket) = (parts.next()?, parts.next()?, parts.next()?);
            let secret = secret.parse().ok()?;
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
    fn caller__believes_one_that_knows_the_secret_and_no_stranger() {
        let secret = Secret::random();
        let caller = Caller { identity: Identity { job: u64::MAX - 1, number: 3 }, wants: 1 << 40 };
        assert_eq!(secret.caller(&secret.introduction(caller)), Some(caller));
        assert_eq!(secret.caller(&Secret::random().introduction(caller)), None);
    }
}
