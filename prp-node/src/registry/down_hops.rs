//! The next hops that are not to be used, as a router tells them.

use std::io;

use prp_proto::addr::MacAddr;

/// Bytes of an interface's name at most, with the zero behind it.
const NAME: usize = 16;

/// Its name, the hardware address, and two bytes of nothing.
const HOP: usize = NAME + 8;

/// Next hops a message may carry: more than a node has neighbours.
const MAX_HOPS: usize = 1024;

/// A next hop that is not to be used.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct DownHop {
    /// The device that reaches it: names, unlike numbers, stay when an interface is made again.
    pub device: String,
    /// Its hardware address.
    pub mac: MacAddr,
}

/// All next hops that are not to be used: what a router tells, at first and whenever it changes.
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
            bytes.extend(hop.mac.0);
            bytes.extend([0; 2]);
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
            let mut mac = [0; 6];
            mac.copy_from_slice(&bytes[NAME..NAME + 6]);
            DownHop { device: String::from_utf8_lossy(name).into_owned(), mac: MacAddr(mac) }
        };
        let hops = hops.as_chunks::<HOP>().0.iter().map(hop).collect();
        bytes.drain(..4 + count * HOP);
        Ok(Some(Self(hops)))
    }
}
