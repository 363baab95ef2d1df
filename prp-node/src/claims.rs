//! Which process of the node owns a port, and which one is the steward (SPEC PRP-PORT-1 and 4).
//!
//! A port belongs to the process that has bound the abstract Unix name of node and port. The kernel
//! arbitrates, per network namespace, and frees the name however the process ends. Every local user
//! may bind such a name: ports are first come, first served.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use nix::sys::socket::{UnixAddr, bind as bind_to};
use prp_proto::addr::{NodeId, Port};

use crate::fork::CloseOnFork;

fn name(node: NodeId, port: Port) -> String {
    format!("prp/{node}/{port}")
}

/// Binds the name of `port`; none if another process has it.
fn bind(node: NodeId, port: Port) -> io::Result<Option<CloseOnFork<UnixDatagram>>> {
    match bind_deaf(&name(node, port)) {
        Ok(socket) => Ok(Some(CloseOnFork::new(socket))),
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(e) => Err(explain(&e)),
    }
}

/// A socket with the abstract name `name` at which nothing arrives. It is shut before it has the
/// name: the kernel keeps what a stranger has sent, descriptors included, until the socket is
/// closed, and closing those may take as long as the stranger likes.
fn bind_deaf(name: &str) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.shutdown(Shutdown::Read)?;
    bind_to(socket.as_raw_fd(), &UnixAddr::new_abstract(name.as_bytes())?)?;
    Ok(socket)
}

/// Names the cause where a sandbox leaves out the address family.
fn explain(error: &io::Error) -> io::Error {
    let what = match error.raw_os_error() {
        Some(libc::EAFNOSUPPORT | libc::EPERM | libc::EACCES) => {
            "ports are claimed by Unix sockets, which this process may not open: allow AF_UNIX"
        }
        _ => "a port is claimed by a Unix socket",
    };
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// The ports that this process owns.
#[derive(Debug)]
pub struct PortClaims {
    node: NodeId,
    held: HashMap<Port, CloseOnFork<UnixDatagram>>,
}

impl PortClaims {
    /// No ports of `node` yet.
    pub fn new(node: NodeId) -> Self {
        Self { node, held: HashMap::new() }
    }

    /// Makes `port` ours; `false` if another process of the node has it. To be called in the
    /// network namespace of the engine's devices.
    ///
    /// # Errors
    /// The process has no descriptor left, or may not open Unix sockets.
    pub fn claim(&mut self, port: Port) -> io::Result<bool> {
        if self.held.contains_key(&port) {
            return Ok(true);
        }
        let socket = bind(self.node, port)?;
        let claimed = socket.is_some();
        if let Some(socket) = socket {
            self.held.insert(port, socket);
        }
        Ok(claimed)
    }

    /// Gives `port` back to the node.
    pub fn release(&mut self, port: Port) {
        self.held.remove(&port);
    }
}

/// Finds out whether any process of a node owns a port, in the network namespace where the probe
/// was made, whichever thread asks.
///
/// It connects to the name instead of binding it: a bind that succeeds would make the owner-to-be
/// fail for a moment.
#[derive(Debug)]
pub struct OwnerProbe {
    node: NodeId,
    socket: UnixDatagram,
}

impl OwnerProbe {
    /// A probe for the ports of `node` in the network namespace of the calling thread.
    ///
    /// # Errors
    /// The process has no descriptor left, or may not open Unix sockets.
    pub fn new(node: NodeId) -> io::Result<Self> {
        let socket = UnixDatagram::unbound().map_err(|e| explain(&e))?;
        Ok(Self { node, socket })
    }

    /// Whether no process owns `port`. One system call, which never waits.
    pub fn is_free(&self, port: Port) -> bool {
        // Any other answer than "nobody has bound that name" is about a socket that is there.
        let connected = SocketAddr::from_abstract_name(name(self.node, port))
            .and_then(|name| self.socket.connect_addr(&name));
        connected.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
    }
}

/// This process's claim to be the node's steward, which answers for ports that no process owns.
#[derive(Debug)]
pub struct StewardClaim {
    node: NodeId,
    held: Option<CloseOnFork<UnixDatagram>>,
}

impl StewardClaim {
    /// No claim of the place of `node` yet.
    pub const fn new(node: NodeId) -> Self {
        Self { node, held: None }
    }

    /// Takes the place if it is free; whether it is ours now. To be called in the network namespace
    /// of the engine's devices. Without descriptors the place stays another process's.
    pub fn try_take(&mut self) -> bool {
        if self.held.is_none() {
            self.held = bind(self.node, Port::CONTROL).ok().flatten();
        }
        self.is_held()
    }

    /// Whether this process is the steward.
    pub const fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Leaves the place to others.
    pub fn release(&mut self) {
        self.held = None;
    }
}

#[cfg(test)]
mod tests;
