//! The node's own UDP ports (SPEC PRP-UDP-2), one for each of its UDP addresses, as far as this
//! process holds them: a thread hands on what comes there. When the process that holds one ends,
//! another one takes it; connections go on, since each process has a port of its own.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Weak};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_device::{DeviceIo, NodePort, NodePortDrops};
use prp_node::{Addressee, UdpOwners};
use prp_proto::addr::NodeId;
use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::wake_fd::WakeFd;
use crate::threads;

/// A port of the node, and the thread that serves it.
#[derive(Debug)]
struct Place {
    own: SocketAddr,
    /// At how many ports behind it this process receives.
    offset: u16,
    drops: Arc<NodePortDrops>,
    /// Ends the thread that serves it. The thread holds the only strong reference but this one's.
    stop: Option<Arc<WakeFd>>,
    served: Weak<()>,
}

/// Those of one engine.
#[derive(Debug)]
pub(super) struct NodePorts {
    node: NodeId,
    places: Vec<Place>,
    seek_at: Instant,
}

impl NodePorts {
    /// Serves those that the devices of `engine` have found free. To be called in their network
    /// namespace.
    pub(super) fn serve(engine: &Engine) -> Self {
        let mut core = engine.lock();
        let found = core.udp_places();
        let node = core.endpoint.local_node();
        drop(core);
        let mut places = Vec::new();
        for (mut place, port) in found {
            if let Some(port) = port {
                place.serve(node, port);
            }
            places.push(place);
        }
        Self { node, places, seek_at: engine.now() + NodePort::SEEK_AGAIN }
    }

    /// Whether this process holds all of them.
    pub(super) fn are_held(&self) -> bool {
        self.places.iter().all(Place::is_held)
    }

    /// Takes those that have become free; when to be called again. To be called in the network
    /// namespace of the devices.
    pub(super) fn check(&mut self, engine: &Engine) -> Option<Instant> {
        if self.are_held() {
            return None;
        }
        let now = engine.now();
        if self.seek_at <= now {
            self.seek_at = now + NodePort::SEEK_AGAIN;
            for place in self.places.iter_mut().filter(|place| !place.is_held()) {
                if let Ok(port) = NodePort::open(place.own, &place.drops) {
                    place.serve(self.node, port);
                }
            }
        }
        (!self.are_held()).then_some(self.seek_at)
    }
}

impl Place {
    fn is_held(&self) -> bool {
        self.served.strong_count() > 0
    }

    /// Serves the place on a thread. Without one it is left to others, and tried again.
    fn serve(&mut self, node: NodeId, port: NodePort) {
        let (Ok(owners), Ok(stop)) = (UdpOwners::new(node), WakeFd::new()) else { return };
        let (alive, offset, stopped) = (Arc::new(()), self.offset, stop.clone());
        self.served = Arc::downgrade(&alive);
        self.stop = Some(stop);
        let work = Work { port, owners, offset, stop: stopped, _alive: alive };
        // What is dropped with the closure makes the place free.
        let _ = threads::start("prp-node-port", move || work.run());
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(stop) = &self.stop {
            stop.wake();
        }
    }
}

/// What the thread of a place has.
struct Work {
    port: NodePort,
    owners: UdpOwners,
    /// At how many ports behind it this process receives.
    offset: u16,
    stop: Arc<WakeFd>,
    _alive: Arc<()>,
}

impl Work {
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
                // A router refuses requests to ports that nobody owns; without one this process
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

impl Core {
    /// The node's own UDP addresses and ports, and the sockets there that its devices have opened.
    fn udp_places(&mut self) -> Vec<(Place, Option<NodePort>)> {
        let mut places = Vec::new();
        for udp in self.device_ios().filter_map(DeviceIo::udp_mut) {
            let (offset, drops) = (udp.offset(), udp.node_port_drops().clone());
            let own: Vec<_> = udp.own_addrs().collect();
            for (own, port) in own.into_iter().zip(udp.take_node_ports()) {
                let drops = drops.clone();
                let place = Place { own, offset, drops, stop: None, served: Weak::new() };
                places.push((place, port));
            }
        }
        places
    }
}
