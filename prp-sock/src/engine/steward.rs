//! Who answers for ports that nobody owns (SPEC PRP-PORT-4).
//!
//! One process of a node is its steward: the one that has bound the abstract name of port 0, the
//! node's control port. It refuses requests to ports that no process owns. The others hold a connection
//! to it that breaks when it ends, and then compete for its place.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;

use prp_proto::addr::NodeId;
use socket2::SockRef;

use crate::sys::fork::CloseOnFork;

/// Processes that may be connected to the steward. They are never accepted: a connection in the backlog
/// breaks as well when its listener is gone.
const BACKLOG: i32 = 4096;

/// Our part in it.
#[derive(Debug)]
pub enum Stewardship {
    /// We are the steward, as long as we hold this.
    Ours(CloseOnFork<UnixListener>),
    /// Somebody else is; this breaks when they end.
    Theirs(Arc<CloseOnFork<UnixStream>>),
    /// It could not be found out: too many descriptors, most likely.
    Unknown,
}

impl Stewardship {
    /// Takes the place if it is free, and watches who has it otherwise.
    pub fn seek(node: NodeId) -> Self {
        // Between a failed bind and the connect the steward may end; then the place is free again.
        for _ in 0..3 {
            match Self::try_bind(node) {
                Ok(listener) => return Self::Ours(CloseOnFork::new(listener)),
                Err(e) if e.kind() == io::ErrorKind::AddrInUse => {}
                Err(_) => return Self::Unknown,
            }
            if let Ok(stream) = Self::name(node).and_then(|name| UnixStream::connect_addr(&name)) {
                return Self::Theirs(Arc::new(CloseOnFork::new(stream)));
            }
        }
        Self::Unknown
    }

    /// Whether we are the steward.
    pub const fn is_ours(&self) -> bool {
        matches!(self, Self::Ours(_))
    }

    /// What breaks when the steward ends.
    pub fn link(&self) -> Option<Arc<CloseOnFork<UnixStream>>> {
        match self {
            Self::Theirs(stream) => Some(stream.clone()),
            Self::Ours(_) | Self::Unknown => None,
        }
    }

    fn try_bind(node: NodeId) -> io::Result<UnixListener> {
        let listener = UnixListener::bind_addr(&Self::name(node)?)?;
        SockRef::from(&listener).listen(BACKLOG)?;
        Ok(listener)
    }

    fn name(node: NodeId) -> io::Result<SocketAddr> {
        SocketAddr::from_abstract_name(format!("prp/{node}/0"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn seek__one_is_steward_and_the_next_one_follows_when_it_ends() {
        let node = NodeId::new(65_002).unwrap();
        let first = Stewardship::seek(node);
        assert!(first.is_ours());
        let second = Stewardship::seek(node);
        let link = second.link().expect("somebody else is steward");
        drop(first);
        // Expect: the link breaks, never having been accepted.
        assert!(!matches!(link.get_ref().read(&mut [0; 1]), Ok(1..)));
        assert!(Stewardship::seek(node).is_ours());
    }
}
