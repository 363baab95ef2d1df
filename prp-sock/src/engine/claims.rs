//! Which process of the node owns a port (SPEC PRP-PORT-1).
//!
//! A port belongs to the process that has bound the abstract Unix name of node and port: the kernel
//! arbitrates, per network namespace, and frees it however the process ends.

use std::collections::HashMap;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use prp_node::OwnerProbe;
use prp_proto::addr::{NodeId, Port};

use crate::sys::fork::CloseOnFork;

/// The ports this process owns.
#[derive(Debug)]
pub struct Claims {
    node: NodeId,
    held: HashMap<Port, CloseOnFork<UnixDatagram>>,
    /// None if there was no descriptor for it: then every port is taken for another process's.
    owners: Option<OwnerProbe>,
}

impl Claims {
    /// No ports of `node` yet.
    pub fn new(node: NodeId) -> Self {
        Self { node, held: HashMap::new(), owners: OwnerProbe::new(node).ok() }
    }

    /// Makes `port` ours; `false` if another process of the node has it.
    ///
    /// # Errors
    /// Too many descriptors, most likely.
    pub fn claim(&mut self, port: Port) -> io::Result<bool> {
        if self.held.contains_key(&port) {
            return Ok(true);
        }
        let socket = self.try_bind(port)?;
        let claimed = socket.is_some();
        if let Some(socket) = socket {
            self.held.insert(port, socket);
        }
        Ok(claimed)
    }

    /// Whether nobody on the node owns `port`. Asking never keeps a process from claiming it.
    pub fn is_free(&self, port: Port) -> bool {
        self.owners.as_ref().is_some_and(|owners| owners.is_free(port))
    }

    /// Gives `port` back to the node.
    pub fn release(&mut self, port: Port) {
        self.held.remove(&port);
    }

    fn try_bind(&self, port: Port) -> io::Result<Option<CloseOnFork<UnixDatagram>>> {
        let name = format!("prp/{}/{}", self.node, port);
        let addr = SocketAddr::from_abstract_name(name)?;
        match UnixDatagram::bind_addr(&addr) {
            Ok(socket) => Ok(Some(CloseOnFork::new(socket))),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => Ok(None),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claim__is_exclusive_between_owners_and_ends_with_them() {
        // A node number of its own keeps this test out of the way of others in the namespace.
        let node = NodeId::new(65_001).unwrap();
        let port = Port::new(std::process::id() as u16);
        let (mut a, mut b) = (Claims::new(node), Claims::new(node));
        assert!(a.claim(port).unwrap());
        assert!(a.claim(port).unwrap(), "claiming again what one has");
        assert!(!b.claim(port).unwrap());
        assert!(!b.is_free(port));
        a.release(port);
        assert!(b.is_free(port));
        assert!(b.claim(port).unwrap());
        drop(b);
        assert!(a.claim(port).unwrap());
    }
}
