//! The routing decision: by which next hops a node is reached (SPEC PRP-ROUTE).
//!
//! prphosts says how nodes are reached in terms of other nodes. A [`RouteTable`] is that, worked
//! out for one machine: which frames stay here, and hardware address and device for all others. A
//! lookup is two array accesses. Nodes reached by the same next hops share one list of them.

mod build;
mod unusable_hops;

pub use unusable_hops::{Flow, HopUse, UnusableHops};

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::mem::size_of_val;
use core::net::{IpAddr, SocketAddr};

use crate::addr::{DeviceId, LinkAddr, NodeId, StationAddr, UdpPeer};
use crate::hosts::Hosts;

/// Most next hops kept for a node; the worst ones of more are left out (SPEC PRP-ROUTE-2).
pub const MAX_NEXT_HOPS: usize = 16;

/// Where the frames for every node go, seen from one node.
#[derive(Clone, Debug)]
pub struct RouteTable {
    local: NodeId,
    /// By node number, up to the highest in the file.
    slots: Box<[TableEntry]>,
    /// The lists that slots point into, one after another.
    hops: Box<[NextHop]>,
    /// The IP addresses of prphosts, by their numbers.
    udp_peers: Box<[IpAddr]>,
    choice: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum TableEntry {
    Local,
    Via { start: u32, len: u8 },
    NoRoute(NoRoute),
}

/// Where frames for a node go.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Route<'a> {
    /// Nowhere: this is the node.
    Local,
    /// To one of these: at least one, at most [`MAX_NEXT_HOPS`], the best first.
    Via(&'a [NextHop]),
    /// There is no route.
    NoRoute(NoRoute),
}

/// Why there is no route to a node.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
#[non_exhaustive]
pub enum NoRoute {
    /// prphosts has no line for it.
    Unknown,
    /// All routes in prphosts lead through this very machine, which is true for others only.
    Ourselves,
    /// This machine has none of the devices that prphosts names.
    DeviceMissing,
}

/// A neighbour that takes frames for a node.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
pub struct NextHop {
    /// The neighbour: the node whose line has this address on this device at the lowest metric, the
    /// first of several (SPEC PRP-ROUTE-0).
    pub node: NodeId,
    /// This machine's device that reaches it.
    pub device: DeviceId,
    /// Its address there; over UDP with the node's own port.
    pub addr: LinkAddr,
    /// The most bytes after an Ethernet header, or in a datagram, that prphosts allows on this
    /// route; none if only the device decides.
    pub mtu: Option<u32>,
    /// Lower is better.
    pub metric: u32,
}

impl RouteTable {
    /// Works out the routes of `hosts` as node `local` sees them. `devices` finds the machine's
    /// devices by name; it is asked once for each.
    pub fn build(
        hosts: &Hosts,
        local: NodeId,
        devices: impl FnMut(&str) -> Option<DeviceId>,
    ) -> Self {
        build::build(hosts, local, devices)
    }

    /// The node whose view this is.
    pub fn local(&self) -> NodeId {
        self.local
    }

    /// Where frames for `node` go (SPEC PRP-ROUTE-1).
    #[inline]
    pub fn lookup(&self, node: NodeId) -> Route<'_> {
        match self.slots.get(usize::from(node.number())) {
            Some(TableEntry::Local) => Route::Local,
            Some(&TableEntry::Via { start, len }) => {
                let start = start as usize;
                let hops = self.hops.get(start..start + usize::from(len));
                Route::Via(hops.unwrap_or_default())
            }
            Some(&TableEntry::NoRoute(why)) => Route::NoRoute(why),
            None => Route::NoRoute(NoRoute::Unknown),
        }
    }

    /// Whether a frame from `node` may come from `addr` over `device`: whether that is a next hop,
    /// best or backup, by which this machine would reach it (SPEC PRP-ROUTE-5), or over UDP one of
    /// that hop's ports.
    ///
    /// Never true for the local node, whose frames to itself do not cross a network.
    #[inline]
    pub fn is_source(&self, node: NodeId, device: DeviceId, addr: impl Into<LinkAddr>) -> bool {
        let from = addr.into();
        let hops = self.lookup(node).next_hops();
        hops.iter().any(|hop| hop.device == device && hop.addr.covers(from))
    }

    /// Where `addr` is, an address of these routes; none if they have no such number.
    pub fn station(&self, addr: LinkAddr) -> Option<StationAddr> {
        match addr {
            LinkAddr::Ethernet(mac) => Some(StationAddr::Ethernet(mac)),
            LinkAddr::Udp { peer, port } => {
                let ip = *self.udp_peers.get(usize::from(peer.0))?;
                Some(StationAddr::Udp(SocketAddr::new(ip, port)))
            }
            LinkAddr::Unix { node, process } => Some(StationAddr::Unix { node, process }),
        }
    }

    /// The address by which these routes know `station`; none if prphosts does not have it.
    pub fn link_addr(&self, station: StationAddr) -> Option<LinkAddr> {
        match station {
            StationAddr::Ethernet(mac) => Some(LinkAddr::Ethernet(mac)),
            StationAddr::Udp(addr) => {
                let at = self.udp_peers.iter().position(|ip| *ip == addr.ip())?;
                Some(LinkAddr::Udp { peer: UdpPeer(at as u16), port: addr.port() })
            }
            StationAddr::Unix { node, process } => Some(LinkAddr::Unix { node, process }),
        }
    }

    /// The address by which these routes know what `addr` was by the routes `before`; none if
    /// prphosts no longer has it.
    pub fn renumber(&self, before: &Self, addr: LinkAddr) -> Option<LinkAddr> {
        match addr {
            LinkAddr::Ethernet(_) | LinkAddr::Unix { .. } => Some(addr),
            LinkAddr::Udp { .. } => self.link_addr(before.station(addr)?),
        }
    }

    /// Every next hop of any route, each address on a device once: the neighbours this
    /// machine sends to.
    pub fn neighbours(&self) -> Vec<NextHop> {
        let mut all: Vec<NextHop> = self.hops.to_vec();
        all.sort_by_key(|hop| (hop.device, hop.addr, hop.metric));
        all.dedup_by_key(|hop| (hop.device, hop.addr));
        all
    }

    /// Whether some node can be reached by more than one route.
    pub const fn has_choice(&self) -> bool {
        self.choice
    }

    /// The highest number of a node in prphosts, or of the local node.
    pub fn highest(&self) -> u16 {
        self.slots.len().saturating_sub(1) as u16
    }

    /// Heap bytes held, without the allocator's own overhead.
    pub fn heap_size(&self) -> usize {
        size_of_val(&*self.slots) + size_of_val(&*self.hops) + size_of_val(&*self.udp_peers)
    }
}

impl<'a> Route<'a> {
    /// The next hops, best first; none unless the route is [`Route::Via`].
    pub fn next_hops(self) -> &'a [NextHop] {
        match self {
            Self::Via(hops) => hops,
            Self::Local | Self::NoRoute(_) => &[],
        }
    }
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "prphosts has no line for it",
            Self::Ourselves => "all next hops in prphosts lead through this machine itself",
            Self::DeviceMissing => "this machine has none of the devices prphosts names for it",
        })
    }
}

impl core::error::Error for NoRoute {}

#[cfg(test)]
mod tests;
