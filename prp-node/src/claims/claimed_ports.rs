//! What one descriptor claims: a port, or a block of automatic ports (SPEC PRP-PORT-1).

use prp_proto::addr::{NodeId, Port};

/// Ports of a block. A connection that ends first keeps its port for 150 ms, and longer while its
/// peer has not ended: a client would run out of descriptors (1,024 by default) if each port took
/// one. With 16, all automatic ports take 2,048, and the claim of a block checks 16 names, which
/// takes 10 us.
const PORTS: u16 = 16;

/// Ports in a row from [`Port::FIRST_AUTOMATIC`] up, which a process claims together when it gives
/// one of them to a connection that has named none.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub(super) struct PortBlock {
    first: u16,
}

impl PortBlock {
    /// The block that `port` belongs to; none below the automatic ports.
    pub(super) const fn of(port: Port) -> Option<Self> {
        let number = port.number();
        if number < Port::FIRST_AUTOMATIC.number() {
            return None;
        }
        Some(Self { first: number - number % PORTS })
    }

    /// Its ports, in order.
    pub(super) fn ports(self) -> impl Iterator<Item = Port> + Clone {
        (self.first..=self.first + (PORTS - 1)).map(Port::new)
    }

    /// The bit of `port`, which belongs to it, in a set of its ports.
    pub(super) const fn bit(self, port: Port) -> u16 {
        1 << (port.number() - self.first)
    }
}

/// Ports that a process claims together.
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub(super) enum ClaimedPorts {
    /// One that the program has named, or a classic one.
    Single(Port),
    Block(PortBlock),
}

impl ClaimedPorts {
    /// Each of them, in order.
    pub(super) fn iter(self) -> impl Iterator<Item = Port> + Clone {
        let (single, block) = match self {
            Self::Single(port) => (Some(port), None),
            Self::Block(block) => (None, Some(block)),
        };
        single.into_iter().chain(block.into_iter().flat_map(PortBlock::ports))
    }

    /// The abstract name whose owner has them.
    pub(super) fn name(self, node: NodeId) -> String {
        match self {
            Self::Single(port) => format!("prp/{node}/{port}"),
            Self::Block(PortBlock { first }) => {
                format!("prp/{node}/{first}-{}", first + (PORTS - 1))
            }
        }
    }

    /// The abstract name that tells at which of the node's UDP ports their owner is: `offset` ports
    /// behind the node's own.
    pub(super) fn udp_name(self, node: NodeId, offset: u16) -> String {
        format!("{}/udp/{offset}", self.name(node))
    }
}
