//! The node's own UDP ports (SPEC PRP-UDP-2), one for each of its UDP addresses, as far as this
//! process holds them: a thread hands on what comes there. When the process that holds one ends,
//! another one takes it; connections go on, since each process has a port of its own.
//!
//! One process has them all: it takes them in order, and none behind one that it does not get. If
//! each of two had some, neither would be the steward. A router, which has the first alone, is the
//! steward itself.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};
use std::task::Waker;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_device::{NodePort, NodePortDrops};
use prp_node::{Addressee, StewardClaim, UdpOwners};
use prp_proto::addr::NodeId;
use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::wake_fd::WakeFd;
use crate::{error, threads};

/// A port of the node, and the thread that serves it.
#[derive(Debug)]
struct ServedPort {
    own: SocketAddr,
    /// At how many ports behind it this process receives.
    offset: u16,
    drops: Arc<NodePortDrops>,
    /// Ends the thread that serves it.
    stop: Option<StopOnDrop>,
    served: Weak<()>,
}

/// Those of one engine.
#[derive(Debug)]
pub(super) struct NodePorts {
    node: NodeId,
    ports: Vec<ServedPort>,
    retry_at: Instant,
    /// Has [`Self::check`] called.
    caller: Waker,
}

impl NodePorts {
    /// Serves those that the devices of `engine` have found free. To be called in their network
    /// namespace. `caller` is called when one is served no more.
    pub(super) fn serve(engine: &Engine, caller: Waker) -> Self {
        let mut core = engine.lock();
        let found = core.udp_node_ports();
        let node = core.endpoint.local_node();
        drop(core);
        let mut ports = Vec::new();
        for (mut served_port, port) in found {
            if let Some(port) = port {
                served_port.serve(node, port, &caller);
            }
            ports.push(served_port);
        }
        let retry_at = engine.now() + NodePort::RETRY_INTERVAL;
        let mut ports = Self { node, ports, retry_at, caller };
        // Where a router has the first, the others may be free.
        if ports.ports.len() > 1 {
            ports.find_free();
        }
        ports
    }

    /// Whether this process holds all of them.
    pub(super) fn are_held(&self) -> bool {
        self.ports.iter().all(ServedPort::is_held)
    }

    /// Takes those that have become free; when to be called again. To be called in the network
    /// namespace of the devices.
    pub(super) fn check(&mut self, engine: &Engine) -> Option<Instant> {
        if self.are_held() {
            return None;
        }
        let now = engine.now();
        if self.retry_at <= now {
            self.retry_at = now + NodePort::RETRY_INTERVAL;
            self.find_free();
        }
        (!self.are_held()).then_some(self.retry_at)
    }

    /// Takes the free ports in order, up to the first one that another process holds.
    fn find_free(&mut self) {
        let mut may_hold = true;
        for at in 0..self.ports.len() {
            may_hold &= at == 0 || self.ports[at - 1].is_held() || self.has_router();
            let served_port = &mut self.ports[at];
            if !may_hold {
                served_port.stop = None;
            } else if !served_port.is_held()
                && let Ok(port) = NodePort::open(served_port.own, &served_port.drops)
            {
                served_port.serve(self.node, port, &self.caller);
            }
        }
    }

    /// Whether the node has a router on UDP.
    fn has_router(&self) -> bool {
        UdpOwners::new(self.node).is_ok_and(|mut owners| owners.router().is_some())
    }
}

impl ServedPort {
    fn is_held(&self) -> bool {
        self.served.strong_count() > 0
    }

    /// Serves the port on a thread, which calls `caller` when it ends. Without a thread another
    /// process may take the port, and this one tries again.
    fn serve(&mut self, node: NodeId, port: NodePort, caller: &Waker) {
        let (Ok(owners), Ok(stop)) = (UdpOwners::new(node), WakeFd::new()) else { return };
        let (alive, offset, stopped) = (Arc::new(()), self.offset, stop.clone());
        self.served = Arc::downgrade(&alive);
        self.stop = Some(StopOnDrop(stop));
        let end = WakeOnDrop(caller.clone());
        let work = PortWorker { port, owners, offset, stop: stopped, _alive: alive, _end: end };
        // The port is freed when the closure is dropped.
        let _ = threads::start("prp-node-port", move || work.run());
    }
}

/// Ends a thread when it is dropped. The thread holds the only strong reference but this one.
#[derive(Debug)]
struct StopOnDrop(Arc<WakeFd>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.wake();
    }
}

/// Calls the thread that takes ports when it is dropped.
struct WakeOnDrop(Waker);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.0.wake_by_ref();
    }
}

/// The state of the thread that serves a port. The fields are dropped in order: first the port,
/// which is free then.
struct PortWorker {
    port: NodePort,
    owners: UdpOwners,
    /// At how many ports behind it this process receives.
    offset: u16,
    stop: Arc<WakeFd>,
    _alive: Arc<()>,
    _end: WakeOnDrop,
}

impl PortWorker {
    /// Hands datagrams on until it is stopped, or the socket is of no use any more.
    fn run(mut self) {
        loop {
            let [stop, port] = [self.stop.as_fd(), self.port.as_fd()];
            let mut fds = [stop, port].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            let polled = poll(&mut fds, PollTimeout::NONE);
            if polled.is_ok() && fds[0].any() == Some(true) {
                return;
            }
            let Self { port, owners, offset, .. } = &mut self;
            let handed_on = port.hand_on(|bytes| match owners.addressee(bytes)? {
                Addressee::Process(owner) => Some(owner),
                // A router refuses requests to ports that no process owns; without one this process
                // does: it is the steward.
                Addressee::Unowned => Some(owners.router().unwrap_or(*offset)),
                Addressee::OtherNode => owners.router(),
            });
            if handed_on.is_err() {
                return;
            }
        }
    }
}

impl Engine {
    /// Checks, for a listener, that connections over UDP can get to this node's processes: that no
    /// program that is none of PRP's has one of the node's own ports. To be called in the network
    /// namespace of the devices.
    ///
    /// # Errors
    /// `AddrInUse`, after two seconds, if there is such a program.
    pub(crate) fn check_node_ports(&self) -> io::Result<()> {
        let mut core = self.lock();
        if core.node.steward.is_held() {
            return Ok(());
        }
        let own: Vec<_> = core.udp_devices().flat_map(|udp| udp.own_addrs()).collect();
        drop(core);
        // Who has the ports is the steward, a router, or soon one of both.
        let node = self.local_node();
        if own.is_empty()
            || StewardClaim::is_taken(node)?
            || UdpOwners::new(node)?.router().is_some()
        {
            return Ok(());
        }
        let silent = own.into_iter().find(|own| NodePort::is_silent(*own));
        silent.map_or(Ok(()), |own| Err(error::foreign_port(own)))
    }
}

impl Core {
    /// The node's own UDP addresses and ports, and the sockets there that its devices have opened.
    fn udp_node_ports(&mut self) -> Vec<(ServedPort, Option<NodePort>)> {
        let mut ports = Vec::new();
        for udp in self.udp_devices() {
            let (offset, drops) = (udp.offset(), udp.node_port_drops().clone());
            let own: Vec<_> = udp.own_addrs().collect();
            for (own, port) in own.into_iter().zip(udp.take_node_ports()) {
                let drops = drops.clone();
                let served_port =
                    ServedPort { own, offset, drops, stop: None, served: Weak::new() };
                ports.push((served_port, port));
            }
        }
        ports
    }
}

#[cfg(test)]
mod tests;
