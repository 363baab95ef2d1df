//! The next hops that are not to be sent all frames, as a router tells them.

use std::io;
use std::net::{IpAddr, SocketAddr};

use prp_proto::addr::{MacAddr, NodeId, StationAddr};
use prp_proto::route::HopUse;

/// Bytes of a device's name at most, with the zero behind it: that of an interface, fifteen, and of
/// a VLAN behind it, nine.
const NAME: usize = 32;

/// What kind of address it is, a UDP port, and the address. IP addresses are there as they are:
/// their numbers in prphosts differ while router and process have read different ones.
const STATION: usize = 1 + 2 + 16;

/// Its name, its address, and what it is sent.
const HOP: usize = NAME + STATION + 1;

/// Kinds of addresses.
const ETHERNET: u8 = 0;
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const UNIX: u8 = 3;

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
    pub station: StationAddr,
    /// What it is sent.
    pub hop_use: HopUse,
}

/// All next hops that are not to be sent all frames: what a router tells, at first and whenever it
/// changes.
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
            bytes.extend(encode_station(hop.station));
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
            let (station, hop_use) = bytes[NAME..].split_first_chunk()?;
            let station = decode_station(station)?;
            let hop_use = match *hop_use {
                [ITSELF] => HopUse::Itself,
                [LAST_RESORT] => HopUse::LastResort,
                _ => return None,
            };
            Some(DownHop { device: String::from_utf8_lossy(name).into_owned(), station, hop_use })
        };
        let hops = hops.as_chunks::<HOP>().0.iter().map(hop).collect::<Option<_>>();
        let hops = hops.ok_or(io::ErrorKind::InvalidData)?;
        bytes.drain(..4 + count * HOP);
        Ok(Some(Self(hops)))
    }
}

fn encode_station(station: StationAddr) -> [u8; STATION] {
    let mut bytes = [0; STATION];
    let mut write = |kind: u8, address: &[u8], port: u16| {
        bytes[0] = kind;
        bytes[1..3].copy_from_slice(&port.to_be_bytes());
        bytes[3..][..address.len()].copy_from_slice(address);
    };
    match station {
        StationAddr::Ethernet(mac) => write(ETHERNET, &mac.0, 0),
        StationAddr::Udp(SocketAddr::V4(addr)) => write(IPV4, &addr.ip().octets(), addr.port()),
        StationAddr::Udp(SocketAddr::V6(addr)) => write(IPV6, &addr.ip().octets(), addr.port()),
        StationAddr::Unix { node, process } => write(UNIX, &node.number().to_be_bytes(), process),
    }
    bytes
}

fn decode_station(bytes: &[u8; STATION]) -> Option<StationAddr> {
    let [kind, high, low, address @ ..] = bytes;
    let port = u16::from_be_bytes([*high, *low]);
    let udp = |ip| StationAddr::Udp(SocketAddr::new(ip, port));
    match *kind {
        ETHERNET => Some(StationAddr::Ethernet(MacAddr(*address.first_chunk()?))),
        IPV4 => Some(udp(IpAddr::from(*address.first_chunk::<4>()?))),
        IPV6 => Some(udp(IpAddr::from(*address))),
        UNIX => {
            let node = NodeId::new(u16::from_be_bytes(*address.first_chunk()?))?;
            Some(StationAddr::Unix { node, process: port })
        }
        _ => None,
    }
}
