//! Addresses.

use std::io;

use prp_sock::{NodeId, Port, PrpAddr};

use crate::error_number::invalid;

/// `prp_address`.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub(crate) struct Address {
    pub(crate) node: u16,
    pub(crate) port: u16,
}

impl From<PrpAddr> for Address {
    fn from(addr: PrpAddr) -> Self {
        Self { node: addr.node.number(), port: addr.port.number() }
    }
}

impl Address {
    /// As text.
    ///
    /// # Errors
    /// `EINVAL` if the number is no node's.
    pub(crate) fn text(self) -> io::Result<String> {
        let node = NodeId::new(self.node)
            .ok_or_else(|| invalid(format!("{}: expected a node from 1 to 65534", self.node)))?;
        Ok(PrpAddr::new(node, Port::new(self.port)).to_string())
    }
}
