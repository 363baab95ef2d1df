//! The name of a program's end of a pair: the addresses of the connection that it stands for.

use std::fmt::Write;
use std::net::SocketAddr;

/// The send buffer of a pair until its connection is there, as the kernel reports it: its smallest.
pub const PENDING_BUFFER: usize = 8 << 10;

/// The send buffer that a program cannot go below. The byte that stays in the holder's queue holds
/// all memory of what it was sent with, up to 65 KiB, and the kernel wakes a sender only when a
/// quarter of its buffer is not exceeded.
pub const SEND_BUFFER: usize = 212_992;

/// What the names of all pairs begin with.
const PREFIX: &[u8] = b"prp-run/";

/// The name of a program's end of a pair. It is the abstract name of a Unix socket, so that the
/// kernel keeps it wherever the descriptor goes.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct PairName {
    /// The holder's random number, since two holders count their connections alike.
    pub session: u32,
    /// The holder's number for the connection.
    pub number: u64,
    /// The address of this end.
    pub local: SocketAddr,
    /// The address of the peer.
    pub peer: SocketAddr,
}

impl PairName {
    /// Reads a name, which is without the zero byte in front of it. Returns `None` for what is no
    /// name of a pair.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(name.strip_prefix(PREFIX)?).ok()?;
        let mut words = text.split('/');
        let session = u32::from_str_radix(words.next()?, 16).ok()?;
        let number = words.next()?.parse().ok()?;
        let local = words.next()?.parse().ok()?;
        let peer = words.next()?.parse().ok()?;
        words.next().is_none().then_some(Self { session, number, local, peer })
    }

    /// Returns the name as bytes, without the zero byte in front of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = String::from_utf8_lossy(PREFIX).into_owned();
        let Self { session, number, local, peer } = self;
        let _ = write!(text, "{session:08x}/{number}/{local}/{peer}");
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of an abstract name, without the zero in front (unix(7)).
    const ROOM: usize = 107;

    #[test]
    fn parse__reads_what_was_written() {
        for (local, peer) in [
            ("198.18.0.1:40000", "198.18.0.2:8080"),
            ("[fd50:5250::fffe]:65535", "[fd50:5250::fffd]:65535"),
            ("[::ffff:198.18.255.254]:65535", "[::ffff:198.18.255.253]:65535"),
        ] {
            let [local, peer] = [local, peer].map(|text| text.parse().expect("an address"));
            let name = PairName { session: 0x7f, number: 4_000_000_000, local, peer };
            let bytes = name.to_bytes();
            assert!(bytes.len() <= ROOM, "{}", bytes.len());
            assert_eq!(PairName::parse(&bytes), Some(name));
        }
    }

    #[test]
    fn parse__refuses_other_names() {
        for name in ["", "prp-run/", "prp-run/1/2/3/4", "other/1/2/1.2.3.4:5/1.2.3.4:6"] {
            assert_eq!(PairName::parse(name.as_bytes()), None, "{name}");
        }
    }
}
