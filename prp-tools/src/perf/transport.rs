//! What carries the bytes of a measurement, and how its ends wait for them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What carries the bytes.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Transport {
    /// `PrpStream`.
    Prp,
    /// The kernel's TCP as it comes.
    Tcp,
    /// The kernel's TCP without offloads: frames of the same size as all transports have, and the
    /// checksums that PRP leaves to the link.
    TcpNoOffload,
    /// The kernel's TCP without segmentation offloads: the same frames, but on a virtual link no
    /// checksums.
    TcpNoSegmentation,
    /// Frames of plain packet sockets.
    Raw,
}

impl Transport {
    /// Its name in JSON and in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Prp => "prp",
            Self::Tcp => "tcp",
            Self::TcpNoOffload => "tcp_no_offload",
            Self::TcpNoSegmentation => "tcp_no_segmentation",
            Self::Raw => "raw",
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What to measure beside PRP: an argument such as `tcp` or `tcp=10.0.0.2`.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Versus {
    pub(crate) transport: Transport,
    /// Where the other node's TCP is, if not at the default address.
    pub(crate) addr: Option<IpAddr>,
}

impl FromStr for Versus {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, addr) = match text.split_once('=') {
            Some((name, addr)) => (name, Some(addr)),
            None => (text, None),
        };
        let transport = match name {
            "tcp" => Transport::Tcp,
            "tcp-no-offload" => Transport::TcpNoOffload,
            "tcp-no-segmentation" => Transport::TcpNoSegmentation,
            "raw" if addr.is_none() => Transport::Raw,
            "raw" => {
                return Err("raw frames go to the node itself: `raw`, without an address".into());
            }
            _ => {
                return Err(
                    "expected tcp, tcp=ADDRESS, tcp-no-offload, tcp-no-segmentation or raw".into(),
                );
            }
        };
        let addr = addr
            .map(|addr| addr.parse().map_err(|_| format!("{addr:?} is no IP address")))
            .transpose()?;
        Ok(Self { transport, addr })
    }
}

/// How a thread waits for data.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WaitMode {
    /// Sleeps at once
    Block,
    /// Polls for data without a break
    Spin,
    /// PRP's default: polls for a few microseconds as long as that pays, then sleeps. TCP sleeps
    #[default]
    Adaptive,
}

impl WaitMode {
    /// Its name in JSON and in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Spin => "spin",
            Self::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for WaitMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests;
