//! Which process of the node owns a port, and which one is the steward (SPEC PRP-PORT-1 and 4).
//!
//! A port belongs to the process that has bound the abstract Unix name of node and port, or that of
//! the block of automatic ports around it (`ClaimedPorts`). The kernel arbitrates, per network
//! namespace, and frees the name however the process ends. Every local user may bind such a name:
//! ports are first come, first served.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{UnixAddr, bind as bind_to};
use prp_proto::addr::{NodeId, Port};

mod claimed_ports;
mod probe;
mod router_name;
mod search_limit;

use self::claimed_ports::{ClaimedPorts, PortBlock};
pub use self::probe::{Addressee, OwnerProbe, UdpOwners};
pub use self::router_name::RouterUdpName;
use crate::fork::CloseOnFork;
use crate::limits::MORE_DESCRIPTORS;
use crate::worded::reworded;

/// How long a process takes to let go of a block of ports that it cannot have: some system calls.
const LETTING_GO: Duration = Duration::from_millis(1);

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
    let fix = match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => format!("; {MORE_DESCRIPTORS}"),
        _ => String::new(),
    };
    reworded(error, format!("{what}: {error}{fix}"))
}

/// Whether no socket has the abstract name `name`, as seen from the network namespace of `socket`.
/// One system call, which never waits. It connects to the name instead of binding it: a bind that
/// succeeds would make the owner-to-be fail for a moment.
fn is_unbound(socket: &UnixDatagram, name: &str) -> bool {
    // Any other answer than "no socket has that name" is about a socket that is there.
    let connected =
        SocketAddr::from_abstract_name(name).and_then(|name| socket.connect_addr(&name));
    connected.is_err_and(|e| e.kind() == io::ErrorKind::ConnectionRefused)
}

/// The ports that this process owns.
#[derive(Debug)]
pub struct PortClaims {
    node: NodeId,
    udp_offset: Option<u16>,
    single: HashMap<Port, Claim>,
    blocks: HashMap<PortBlock, BlockClaim>,
}

/// What makes ports ours, for as long as we have it.
#[derive(Debug)]
struct Claim {
    ports: CloseOnFork<UnixDatagram>,
    _udp: Option<CloseOnFork<UnixDatagram>>,
}

/// What makes a block of ports ours.
#[derive(Debug)]
struct BlockClaim {
    claim: Claim,
    /// A bit for each port that has been claimed and not released.
    claimed: u16,
}

/// Ports that this process has given back: other processes can claim them once this is dropped.
#[derive(Debug)]
#[must_use = "the ports are free as soon as it is dropped"]
pub struct Released {
    ports: ClaimedPorts,
    _claim: Claim,
}

impl Released {
    /// Which ports.
    pub fn ports(&self) -> impl Iterator<Item = Port> + Clone + use<> {
        self.ports.iter()
    }
}

impl PortClaims {
    /// No ports of `node` yet.
    pub fn new(node: NodeId) -> Self {
        Self { node, udp_offset: None, single: HashMap::new(), blocks: HashMap::new() }
    }

    /// Tells of every port from now on that its owner is `offset` UDP ports behind the node's own
    /// (SPEC PRP-UDP-2).
    pub const fn set_udp_offset(&mut self, offset: u16) {
        self.udp_offset = Some(offset);
    }

    /// Makes `port` ours; `false` if another process of the node has it. To be called in the
    /// network namespace of the engine's devices.
    ///
    /// # Errors
    /// The process has no descriptor left, or may not open Unix sockets.
    pub fn claim(&mut self, port: Port) -> io::Result<bool> {
        self.claim_or_wait(port, || thread::sleep(LETTING_GO))
    }

    /// As [`Self::claim`], with `wait` to wait for a process that lets go of the port.
    fn claim_or_wait(&mut self, port: Port, wait: impl FnOnce()) -> io::Result<bool> {
        if self.claim_held(port) {
            return Ok(true);
        }
        let Some(claim) = self.bind(ClaimedPorts::Single(port))? else { return Ok(false) };
        // Bound first, searched for others then: of two processes that do both, at least one sees
        // the other. One that is just taking the block around this port sees the port, and takes
        // another block.
        if let Some(block) = PortBlock::of(port) {
            let name = ClaimedPorts::Block(block).name(self.node);
            if !is_unbound(&claim.ports, &name) {
                wait();
                if !is_unbound(&claim.ports, &name) {
                    return Ok(false);
                }
            }
        }
        self.single.insert(port, claim);
        Ok(true)
    }

    /// Makes `port`, which the program has not named, ours, and with it the block of ports that it
    /// belongs to: a program that makes many connections needs one descriptor for 16 of them.
    /// `false` if another process of the node has one of them. To be called as [`Self::claim`].
    ///
    /// # Errors
    /// As [`Self::claim`].
    pub fn claim_automatic(&mut self, port: Port) -> io::Result<bool> {
        let Some(block) = PortBlock::of(port) else { return self.claim(port) };
        if self.claim_held(port) {
            return Ok(true);
        }
        let Some(claim) = self.bind(ClaimedPorts::Block(block))? else { return Ok(false) };
        let is_free = |port| is_unbound(&claim.ports, &ClaimedPorts::Single(port).name(self.node));
        if !block.ports().all(is_free) {
            return Ok(false);
        }
        self.blocks.insert(block, BlockClaim { claim, claimed: block.bit(port) });
        Ok(true)
    }

    /// The names of `ports`; none if another process has them.
    fn bind(&self, ports: ClaimedPorts) -> io::Result<Option<Claim>> {
        let Some(socket) = bind(&ports.name(self.node))? else { return Ok(None) };
        let udp = self.udp_offset.map(|offset| bind(&ports.udp_name(self.node, offset)));
        Ok(Some(Claim { ports: socket, _udp: udp.transpose()?.flatten() }))
    }

    /// Whether `port` is ours already, by itself or in a block; claimed from now on.
    fn claim_held(&mut self, port: Port) -> bool {
        let block = PortBlock::of(port);
        if let Some((block, held)) = block.and_then(|b| Some((b, self.blocks.get_mut(&b)?))) {
            held.claimed |= block.bit(port);
            return true;
        }
        self.single.contains_key(&port)
    }

    /// Whether no other process can have `port`.
    pub fn holds(&self, port: Port) -> bool {
        self.single.contains_key(&port)
            || PortBlock::of(port).is_some_and(|block| self.blocks.contains_key(&block))
    }

    /// The ports that no other process can have.
    pub fn held(&self) -> impl Iterator<Item = Port> {
        self.single.keys().copied().chain(self.blocks.keys().flat_map(|block| block.ports()))
    }

    /// The ports that the claim of `port`, which is ours, has made ours.
    pub fn held_with(&self, port: Port) -> impl Iterator<Item = Port> + Clone + use<> {
        let block = PortBlock::of(port).filter(|block| self.blocks.contains_key(block));
        block.map_or(ClaimedPorts::Single(port), ClaimedPorts::Block).iter()
    }

    /// Gives `port` back: what the node gets back by that, if anything. Ports of a block return
    /// together.
    pub fn release(&mut self, port: Port) -> Option<Released> {
        if let Some(claim) = self.single.remove(&port) {
            return Some(Released { ports: ClaimedPorts::Single(port), _claim: claim });
        }
        let block = PortBlock::of(port)?;
        let held = self.blocks.get_mut(&block)?;
        held.claimed &= !block.bit(port);
        if held.claimed != 0 {
            return None;
        }
        let BlockClaim { claim, .. } = self.blocks.remove(&block)?;
        Some(Released { ports: ClaimedPorts::Block(block), _claim: claim })
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
            self.held = bind(&ClaimedPorts::Single(Port::CONTROL).name(self.node)).ok().flatten();
        }
        self.is_held()
    }

    /// Whether a process of `node` is the steward. To be called as [`Self::try_take`].
    ///
    /// # Errors
    /// The process has no descriptor left, or may not open Unix sockets.
    pub fn is_taken(node: NodeId) -> io::Result<bool> {
        let name = ClaimedPorts::Single(Port::CONTROL).name(node);
        Ok(!is_unbound(&UnixDatagram::unbound()?, &name))
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
