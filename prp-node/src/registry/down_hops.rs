//! The next hops that are not to be sent all frames, as a router tells them.

use std::io;

use prp_proto::addr::{LinkAddr, MacAddr, UdpPeer};
use prp_proto::route::HopUse;

/// Bytes of an interface's name at most, with the zero behind it.
const NAME: usize = 16;

/// What kind of address it is, and the address.
const ADDR: usize = 7;

/// Its name, its address, and what it is sent.
const HOP: usize = NAME + ADDR + 1;

/// The kind of a hardware address.
const ETHERNET: u8 = 0;
/// The kind of a UDP address: its number in prphosts, which all processes of a node read, and its
/// port.
const UDP: u8 = 1;

/// Next hops a message may carry: more than a node has neighbours.
const MAX_HOPS: usize = 1024;

/// What a next hop is sent.
const ITSELF: u8 = 0;
const LAST_RESORT: u8 = 1;

/// A next hop that is not to be sent all frames.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct DownHop {
    /// The device that reaches it: names, unlike numbers, stay when an interface is made again.
    pub device: String,
    /// Its address.
    pub addr: LinkAddr,
    /// What it is sent.
    pub hop_use: HopUse,
}

/// All next hops that are not to be sent all frames: what a router tells, at first and whenever it changes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DownHops(pub Vec<DownHop>);

impl DownHops {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        let count = self.0.len().min(MAX_HOPS);
        let mut bytes = (count as u32).to_ne_bytes().to_vec();
        for hop in &self.0[..count] {
            let mut name = [0; NAME];
            let len = hop.device.len().min(NAME - 1);
            name[..len].copy_from_slice(&hop.device.as_bytes()[..len]);
            bytes.extend(name);
            bytes.extend(encode_addr(hop.addr));
            bytes.push(if hop.hop_use == HopUse::Itself { ITSELF } else { LAST_RESORT });
        }
        bytes
    }

    /// Takes one off the front of `bytes`, if it is all there.
    ///
    /// # Errors
    /// `InvalidData` if what is there is none.
    pub fn take(bytes: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let Some((count, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let count = u32::from_ne_bytes(*count) as usize;
        if count > MAX_HOPS {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let Some(hops) = rest.get(..count * HOP) else { return Ok(None) };
        let hop = |bytes: &[u8; HOP]| {
            let name = bytes[..NAME].split(|b| *b == 0).next().unwrap_or_default();
            let (addr, hop_use) = bytes[NAME..].split_first_chunk()?;
            let addr = decode_addr(addr)?;
            let hop_use = match *hop_use {
                [ITSELF] => HopUse::Itself,
                [LAST_RESORT] => HopUse::LastResort,
                _ => return None,
            };
            Some(DownHop { device: String::from_utf8_lossy(name).into_owned(), addr, hop_use })
        };
        let hops = hops.as_chunks::<HOP>().0.iter().map(hop).collect::<Option<_>>();
        let hops = hops.ok_or(io::ErrorKind::InvalidData)?;
        bytes.drain(..4 + count * HOP);
        Ok(Some(Self(hops)))
    }
}

fn encode_addr(addr: LinkAddr) -> [u8; ADDR] {
    match addr {
        LinkAddr::Ethernet(MacAddr([a, b, c, d, e, f])) => [ETHERNET, a, b, c, d, e, f],
        LinkAddr::Udp { peer, port } => {
            let ([a, b], [c, d]) = (peer.0.to_be_bytes(), port.to_be_bytes());
            [UDP, a, b, c, d, 0, 0]
        }
    }
}

fn decode_addr([kind, a, b, c, d, e, f]: &[u8; ADDR]) -> Option<LinkAddr> {
    match *kind {
        ETHERNET => Some(LinkAddr::Ethernet(MacAddr([*a, *b, *c, *d, *e, *f]))),
        UDP => {
            let peer = UdpPeer(u16::from_be_bytes([*a, *b]));
            Some(LinkAddr::Udp { peer, port: u16::from_be_bytes([*c, *d]) })
        }
        _ => None,
    }
}
