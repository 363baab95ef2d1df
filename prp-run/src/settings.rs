//! The settings of a run, which the library reads from the environment.

use std::fmt;
use std::str::FromStr;

use crate::mapping::Mapping;
use crate::message::TOKEN_SIZE;

/// The variable of the environment with the settings.
pub const VARIABLE: &str = "PRP_RUN";

/// What a listener at all addresses serves.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Protocols {
    /// TCP and PRP.
    Both,
    /// PRP only.
    Prp,
    /// TCP only.
    Tcp,
}

/// The settings of a run.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Settings {
    /// The random number in the name of the holder's socket.
    pub session: u64,
    /// What each request must have.
    pub token: [u8; TOKEN_SIZE],
    /// The user that the holder belongs to.
    pub user: u32,
    /// This node.
    pub node: u16,
    /// Which addresses stand for nodes.
    pub mapping: Mapping,
    /// What listeners serve.
    pub listen: Protocols,
    /// No connection to a node may go over TCP.
    pub is_required: bool,
    /// Connections of TCP are counted as well.
    pub is_reported: bool,
    /// Programs' sockets of TCP have connections of PRP; else only those of `AF_PRPF` have.
    pub is_tcp_carried: bool,
}

impl Settings {
    /// Returns the abstract name of the holder's socket, without the zero byte in front of it.
    pub fn socket_name(&self) -> [u8; 24] {
        let mut name = *b"prp-run/0000000000000000";
        for (at, digit) in name[8..].iter_mut().enumerate() {
            let nibble = self.session >> (60 - 4 * at) & 15;
            *digit = b"0123456789abcdef"[nibble as usize];
        }
        name
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1,{:016x},", self.session)?;
        for byte in self.token {
            write!(f, "{byte:02x}")?;
        }
        let Self { user, node, mapping, listen, .. } = self;
        let listen = match listen {
            Protocols::Both => "both",
            Protocols::Prp => "prp",
            Protocols::Tcp => "tcp",
        };
        let (network, loopback) = (mapping.network, mapping.loopback.unwrap_or(0));
        write!(f, ",{user},{node},{network},{loopback},{listen}")?;
        for is_set in [self.is_required, self.is_reported, self.is_tcp_carried] {
            write!(f, ",{}", u8::from(is_set))?;
        }
        Ok(())
    }
}

impl FromStr for Settings {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut words = text.split(',');
        let mut next = || words.next().ok_or(());
        if next()? != "1" {
            return Err(());
        }
        let session = u64::from_str_radix(next()?, 16).map_err(drop)?;
        let digits = next()?;
        let mut token = [0; TOKEN_SIZE];
        for (at, byte) in token.iter_mut().enumerate() {
            let digits = digits.get(2 * at..2 * at + 2).ok_or(())?;
            *byte = u8::from_str_radix(digits, 16).map_err(drop)?;
        }
        let user = next()?.parse().map_err(drop)?;
        let node = next()?.parse().map_err(drop)?;
        let network = next()?.parse().map_err(drop)?;
        let loopback = next()?.parse().map_err(drop)?;
        let mapping = Mapping { network, loopback: Some(loopback).filter(|node| *node != 0) };
        let listen = match next()? {
            "both" => Protocols::Both,
            "prp" => Protocols::Prp,
            "tcp" => Protocols::Tcp,
            _ => return Err(()),
        };
        let is_required = next()? == "1";
        let is_reported = next()? == "1";
        let is_tcp_carried = next()? == "1";
        Ok(Self {
            session,
            token,
            user,
            node,
            mapping,
            listen,
            is_required,
            is_reported,
            is_tcp_carried,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::Network;

    #[test]
    fn settings__read_back() {
        for listen in [Protocols::Both, Protocols::Prp, Protocols::Tcp] {
            let settings = Settings {
                session: 0x12_3456_789a,
                token: std::array::from_fn(|at| 7 * at as u8),
                user: 1000,
                node: 3,
                mapping: Mapping { network: Network::PRIVATE, loopback: Some(9) },
                listen,
                is_required: true,
                is_reported: false,
                is_tcp_carried: listen != Protocols::Tcp,
            };
            assert_eq!(settings.to_string().parse(), Ok(settings));
            assert_eq!(&settings.socket_name(), b"prp-run/000000123456789a");
        }
        for text in ["", "1,", "2,0,0"] {
            assert_eq!(text.parse::<Settings>(), Err(()), "{text}");
        }
    }
}
