//! Where the node's router is on UDP (SPEC PRP-UDP-2).

use std::io;
use std::os::unix::net::UnixDatagram;

use prp_proto::addr::NodeId;

use super::bind;
use crate::fork::CloseOnFork;

/// The abstract name that says that the router of `node` is on UDP.
pub(super) fn router_name(node: NodeId) -> String {
    format!("prp/{node}/router/udp")
}

/// The abstract name that says that it is `offset` UDP ports behind the node's own.
pub(super) fn router_udp_name(node: NodeId, offset: u16) -> String {
    format!("{}/{offset}", router_name(node))
}

/// Tells the processes of a node at which UDP port its router is, for as long as it lives.
#[derive(Debug)]
pub struct RouterUdpName {
    _names: [CloseOnFork<UnixDatagram>; 2],
}

impl RouterUdpName {
    /// Tells that the router of `node` is `offset` UDP ports behind the node's own; none if another
    /// process says so of itself. In the network namespace of the calling thread.
    ///
    /// # Errors
    /// The process has no descriptor left, or may not open Unix sockets.
    pub fn bind(node: NodeId, offset: u16) -> io::Result<Option<Self>> {
        // The one that is tried first comes last.
        let Some(place) = bind(&router_udp_name(node, offset))? else { return Ok(None) };
        let Some(name) = bind(&router_name(node))? else { return Ok(None) };
        Ok(Some(Self { _names: [place, name] }))
    }
}
