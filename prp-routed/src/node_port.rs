//! The node's own UDP port, where what other nodes send by this one arrives (SPEC PRP-UDP-2). A
//! process of the node may hold it instead of the router, and hands the router its part then.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use prp_device::{NodePort, NodePortDrops, UdpDevice};
use prp_node::{Addressee, RouterUdpName, UdpOwners};
use prp_proto::addr::NodeId;
use prp_proto::time::Instant;

/// The router's part in its node's own UDP port.
#[derive(Debug)]
pub struct RouterNodePort {
    own: SocketAddr,
    /// At how many ports behind it the router receives.
    offset: u16,
    owners: UdpOwners,
    /// Tells the processes of the node where the router is.
    _name: RouterUdpName,
    port: Option<NodePort>,
    drops: Arc<NodePortDrops>,
    retry_at: Instant,
}

impl RouterNodePort {
    /// That of `node`, whose router receives by `device`: from now on its processes know where.
    ///
    /// # Errors
    /// `AddrInUse` if the node has another router on UDP; there are no descriptors left.
    pub fn new(node: NodeId, device: &mut UdpDevice) -> io::Result<Self> {
        let (own, offset) = (device.own_addr(), device.offset());
        let Some(name) = RouterUdpName::bind(node, offset)? else {
            let message = format!("node {node} has a router on UDP, {own}: end that one");
            return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
        };
        let (owners, port) = (UdpOwners::new(node)?, device.take_node_ports().next().flatten());
        let (drops, retry_at) = (device.node_port_drops().clone(), Instant::ZERO);
        Ok(Self { own, offset, owners, _name: name, port, drops, retry_at })
    }

    /// What to poll, if the router holds the port.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.port.as_ref().map(NodePort::as_fd)
    }

    /// When to check again whether the port is free.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.port.is_none().then_some(self.retry_at)
    }

    /// Hands on what is there, to the processes of the node and to the router itself, and takes the
    /// port if it has become free; how many datagrams there were.
    pub fn poll(&mut self, now: Instant) -> usize {
        let Self { own, offset, owners, port, drops, .. } = self;
        let Some(socket) = port else {
            if self.retry_at <= now {
                self.retry_at = now + NodePort::RETRY_INTERVAL;
                *port = NodePort::open(*own, drops).ok();
            }
            return 0;
        };
        let handed_on = socket.hand_on(|bytes| match owners.addressee(bytes)? {
            Addressee::Process(owner) => Some(owner),
            Addressee::Unowned | Addressee::OtherNode => Some(*offset),
        });
        handed_on.unwrap_or_else(|_| {
            // It is of no use any more, and another one may be.
            *port = None;
            0
        })
    }
}
