//! An end of the proxy, as a user writes it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use prp_node::printable_path;

use crate::argument::port;

/// An end of the proxy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ProxyAddr {
    /// A host and a port.
    Tcp(String),
    /// The path of a socket of the Unix family.
    Unix(PathBuf),
    /// A node and a port; no node where it listens.
    Prp { node: Option<String>, port: u16 },
}

impl ProxyAddr {
    /// Whether it is an end in the PRP network.
    pub(super) const fn is_prp(&self) -> bool {
        matches!(self, Self::Prp { .. })
    }
}

impl FromStr for ProxyAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("tcp", rest)) if rest.contains(':') => {
                let (_, number) = rest.rsplit_once(':').unwrap_or_default();
                port(number)?;
                Ok(Self::Tcp(rest.to_owned()))
            }
            Some(("unix", path)) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(("prp", rest)) => match rest.rsplit_once(':') {
                Some((node, number)) => {
                    Ok(Self::Prp { node: Some(node.to_owned()), port: port(number)? })
                }
                None => Ok(Self::Prp { node: None, port: port(rest)? }),
            },
            _ => {
                Err("expected tcp:HOST:PORT, unix:PATH, prp:NODE:PORT, or prp:PORT to listen"
                    .into())
            }
        }
    }
}

impl fmt::Display for ProxyAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Unix(path) => write!(f, "unix:{}", printable_path(path)),
            Self::Prp { node: Some(node), port } => write!(f, "prp:{node}:{port}"),
            Self::Prp { node: None, port } => write!(f, "prp:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address__is_of_each_kind() {
        for text in [
            "tcp:127.0.0.1:80",
            "tcp:[::1]:80",
            "unix:/run/web.sock",
            "prp:beta:80",
            "prp:2:0",
            "prp:80",
        ] {
            let address: ProxyAddr = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "80",
            "tcp:80",
            "tcp:localhost:http",
            "tcp:[::1]:65536",
            "udp:1:2",
            "unix:",
            "prp:",
            "prp:beta:http",
            "prp:beta:65536",
        ] {
            assert!(text.parse::<ProxyAddr>().is_err(), "{text}");
        }
    }
}
