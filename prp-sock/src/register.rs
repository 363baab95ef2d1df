//! What a process and its node's prp-routed tell each other (docs/routing.md).
//!
//! A process that registers hands over a file in memory, its *ledger*, with a row for each connection. It
//! writes a row when a connection begins to stand and when it stands no more; the router reads them when the
//! process has ended. Nothing is said for a connection, and nothing done for a frame. The other way go the
//! neighbours that are not to be used. Both are on one machine, which decides about the order of bytes.

mod ledger;
mod message;

use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;

use prp_proto::addr::NodeId;

pub(crate) use ledger::Ledger;
pub use ledger::LedgerReader;
pub(crate) use message::send_ledger;
pub use message::{DownHop, DownHops, receive_ledger};

use crate::sys::rights;

/// Where the router of `node` takes registrations.
///
/// # Errors
/// None for a number that a node can have.
pub fn name(node: NodeId) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("prp/{node}/register"))
}

/// Whether the process that listened at the other end of `link` may be the node's router: anybody can take
/// an abstract name that is free, and whoever is believed decides which ways are used.
pub(crate) fn is_router(link: &impl AsFd) -> bool {
    rights::peer_user(link.as_fd()).is_ok_and(prp_node::is_trusted)
}

/// The user at the other end of `link`.
///
/// # Errors
/// It is no Unix socket.
pub fn user_of(link: &impl AsFd) -> io::Result<u32> {
    rights::peer_user(link.as_fd())
}

#[cfg(test)]
mod tests;
