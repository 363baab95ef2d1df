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
use prp_proto::addr::{NodeId, Port, UDP_PORTS};

use crate::fork::CloseOnFork;

fn name(node: NodeId, port: Port) -> String {
    format!("prp/{node}/{port}")
}

/// The name that tells at which of the node's UDP ports the owner of `port` is: `offset` ports
/// behind the node's own.
fn udp_name(node: NodeId, port: Port, offset: u16) -> String {
    format!("prp/{node}/{port}/udp/{offset}")
}

/// Binds `name`; none if another process has it.
fn bind(name: &str) -> io::Result<Option<CloseOnFork<UnixDatagram>>> {
    match bind_deaf(name) {
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
    udp_offset: Option<u16>,
    held: HashMap<Port, Claim>,
}

/// What makes a port ours, for as long as we have it.
#[derive(Debug)]
struct Claim {
    _port: CloseOnFork<UnixDatagram>,
    _udp: Option<CloseOnFork<UnixDatagram>>,
}

impl PortClaims {
    /// No ports of `node` yet.
    pub fn new(node: NodeId) -> Self {
        Self { node, udp_offset: None, held: HashMap::new() }
    }

    /// Tells of every port from now on that its owner is `offset` UDP ports behind the node's own
    /// (SPEC PRP-UDP-2).
    pub const fn tell_udp_offset(&mut self, offset: u16) {
        self.udp_offset = Some(offset);
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
        let Some(socket) = bind(&name(self.node, port))? else { return Ok(false) };
        let udp = self.udp_offset.map(|offset| bind(&udp_name(self.node, port, offset)));
        self.held.insert(port, Claim { _port: socket, _udp: udp.transpose()?.flatten() });
        Ok(true)
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
        !self.is_bound(&name(self.node, port))
    }

    /// Whether a process has bound `name`.
    fn is_bound(&self, name: &str) -> bool {
        // Any other answer than "nobody has bound that name" is about a socket that is there.
        let connected =
            SocketAddr::from_abstract_name(name).and_then(|name| self.socket.connect_addr(&name));
        !connected.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
    }
}

/// Finds out at which of the node's UDP ports the owners of PRP's ports are.
#[derive(Debug)]
pub struct UdpOwners {
    probe: OwnerProbe,
    /// What was found. It is asked for again before it is used: one system call, not a hundred.
    known: HashMap<Port, u16>,
}

impl UdpOwners {
    /// For the ports of `node` in the network namespace of the calling thread.
    ///
    /// # Errors
    /// As [`OwnerProbe::new`].
    pub fn new(node: NodeId) -> io::Result<Self> {
        Ok(Self { probe: OwnerProbe::new(node)?, known: HashMap::new() })
    }

    /// How many UDP ports behind the node's own the owner of `port` is; none if no process owns it,
    /// or one that is not on UDP.
    pub fn offset(&mut self, port: Port) -> Option<u16> {
        let Self { probe, known } = self;
        let is_there = |offset: &u16| probe.is_bound(&udp_name(probe.node, port, *offset));
        if let Some(offset) = known.get(&port).copied().filter(is_there) {
            return Some(offset);
        }
        known.remove(&port);
        if probe.is_free(port) {
            return None;
        }
        let found = (1..UDP_PORTS).find(is_there)?;
        known.insert(port, found);
        Some(found)
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
            self.held = bind(&name(self.node, Port::CONTROL)).ok().flatten();
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
