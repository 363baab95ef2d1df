//! Which IPv4 addresses are nodes.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::OnceLock;

use prp_sock::{NodeId, Port, PrpAddr};

/// The variable with the network.
const VARIABLE: &str = "PRP_PRELOAD_NETWORK";

/// A network in which the host number of an address is a node number.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) struct Network {
    base: u32,
    mask: u32,
}

impl Network {
    /// Parses `address/bits`, with 16 to 30 bits: a node number has 16 bits.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let address: Ipv4Addr = address.parse().ok()?;
        let bits: u32 = bits.parse().ok().filter(|bits| (16..=30).contains(bits))?;
        let mask = u32::MAX << (32 - bits);
        let base = u32::from(address);
        (base & !mask == 0).then_some(Self { base, mask })
    }

    /// The node at an address of this network.
    pub(crate) fn node(self, address: SocketAddrV4) -> Option<PrpAddr> {
        let address_bits = u32::from(*address.ip());
        if address_bits & self.mask != self.base {
            return None;
        }
        let number = u16::try_from(address_bits & !self.mask).ok()?;
        Some(PrpAddr::new(NodeId::new(number)?, Port::new(address.port())))
    }

    /// The address of a node; `None` if its number does not fit into the host bits.
    pub(crate) fn address(self, node: PrpAddr) -> Option<SocketAddrV4> {
        let number = u32::from(node.node.number());
        let ip = Ipv4Addr::from(self.base | number);
        (number & self.mask == 0).then(|| SocketAddrV4::new(ip, node.port.number()))
    }
}

/// The network of this process; `None` if the variable is not set.
///
/// # Errors
/// `InvalidInput` if the variable is no network. The first call prints a message.
pub(crate) fn of_process() -> io::Result<Option<Network>> {
    static NETWORK: OnceLock<Option<Result<Network, ()>>> = OnceLock::new();
    let network = NETWORK.get_or_init(|| {
        let text = std::env::var(VARIABLE).ok()?;
        let parsed = Network::parse(&text);
        if parsed.is_none() {
            let _ = writeln!(
                io::stderr(),
                "prp-preload: {VARIABLE}={text}: expected a network such as 10.99.0.0/24, with 16 \
                 to 30 bits and no bits of a host"
            );
        }
        Some(parsed.ok_or(()))
    });
    network.as_ref().map(|n| n.map_err(|()| io::ErrorKind::InvalidInput.into())).transpose()
}

#[cfg(test)]
mod tests;
