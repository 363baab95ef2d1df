//! One line of prphosts: how it is stored, and how it is seen.

use core::fmt;
use core::net::SocketAddr;
use core::num::NonZeroU16;

use super::{Hosts, Tag};
use crate::addr::{LinkAddr, MacAddr, NodeId, UdpPeer};
use crate::key::NodeKey;

/// A node's line as stored. Its hops and names reach up to where the next entry's begin.
#[derive(Copy, Clone)]
pub(crate) struct StoredEntry {
    pub(crate) node: NodeId,
    pub(crate) mtu: Option<NonZeroU16>,
    pub(super) line: u32,
    /// First of its hops in the list of all hops.
    pub(super) hops: u32,
    /// First of its names in the list of all names.
    pub(super) names: u32,
}

/// A hop as stored: the device is a number.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) struct StoredHop {
    pub(crate) target: StoredTarget,
    pub(crate) metric: u16,
}

/// See [`HopTarget`].
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum StoredTarget {
    Direct { mac: MacAddr, device: u32 },
    Udp { peer: UdpPeer, port: u16 },
    Unix,
    Via(NodeId),
}

impl StoredTarget {
    /// The address of the neighbour, on the line of `node`; none for one via another node.
    pub(crate) fn addr(self, node: NodeId) -> Option<LinkAddr> {
        match self {
            Self::Direct { mac, .. } => Some(mac.into()),
            Self::Udp { peer, port } => Some(LinkAddr::Udp { peer, port }),
            Self::Unix => Some(LinkAddr::Unix { node, process: 0 }),
            Self::Via(_) => None,
        }
    }
}

/// The line of one node.
#[derive(Copy, Clone)]
pub struct Entry<'a> {
    hosts: &'a Hosts,
    entry: usize,
}

/// One route to a node.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Hop<'a> {
    /// Where frames go.
    pub target: HopTarget<'a>,
    /// Lower is better.
    pub metric: u16,
}

/// Where the frames of a [`Hop`] go.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum HopTarget<'a> {
    /// To a hardware address.
    Direct {
        /// The address.
        mac: MacAddr,
        /// This machine's device that reaches it, with its VLAN: see [`Hosts::devices`].
        device: &'a str,
    },
    /// To an IP address, and the node's own UDP port there.
    Udp(SocketAddr),
    /// To a process of this machine, by its Unix socket in this folder.
    Unix(&'a str),
    /// The route frames for that node go.
    Via(NodeId),
}

impl<'a> Entry<'a> {
    pub(super) fn new(hosts: &'a Hosts, entry: usize) -> Self {
        debug_assert!(entry < hosts.stored_entries.len());
        Self { hosts, entry }
    }

    fn stored(&self) -> &'a StoredEntry {
        &self.hosts.stored_entries[self.entry]
    }

    /// The node.
    pub fn node(self) -> NodeId {
        self.stored().node
    }

    /// The number of its line in the file, from 1.
    pub fn line(self) -> u32 {
        self.stored().line
    }

    /// Its `mtu=` option: the largest Ethernet payload toward it, which an IP packet is as well.
    pub fn mtu(self) -> Option<u32> {
        self.stored().mtu.map(|mtu| u32::from(mtu.get()))
    }

    /// Its public keys, in the order of the line (SPEC PRP-HOSTS-19).
    pub fn keys(self) -> impl ExactSizeIterator<Item = NodeKey> + 'a {
        let (keys, entry) = (&self.hosts.keys, self.entry as u32);
        let first = keys.partition_point(|(of, _)| *of < entry);
        let end = keys.partition_point(|(of, _)| *of <= entry);
        keys[first..end].iter().map(|(_, key)| *key)
    }

    /// The routes to it, in the order of the line.
    pub fn hops(self) -> impl ExactSizeIterator<Item = Hop<'a>> + 'a {
        let Self { hosts, entry } = self;
        hosts.stored_hops(entry).iter().map(|hop| Hop {
            target: match hop.target {
                StoredTarget::Direct { mac, device } => {
                    HopTarget::Direct { mac, device: &hosts.devices[device as usize] }
                }
                StoredTarget::Udp { peer, port } => {
                    HopTarget::Udp(SocketAddr::new(hosts.udp_peers[usize::from(peer.0)], port))
                }
                StoredTarget::Unix => HopTarget::Unix(&hosts.unix_folder),
                StoredTarget::Via(node) => HopTarget::Via(node),
            },
            metric: hop.metric,
        })
    }

    /// The tag of the frames of each of [`Self::hops`].
    pub(super) fn tags(self) -> impl Iterator<Item = Tag> + 'a {
        let Self { hosts, entry } = self;
        hosts.stored_hops(entry).iter().map(|hop| match hop.target {
            StoredTarget::Direct { device, .. } => hosts.tags[device as usize],
            StoredTarget::Udp { .. } | StoredTarget::Unix | StoredTarget::Via(_) => Tag::default(),
        })
    }

    /// Its names, in the order of the line.
    pub fn names(self) -> impl ExactSizeIterator<Item = &'a str> + 'a {
        let Self { hosts, entry } = self;
        let first = self.stored().names as usize;
        let end = hosts
            .stored_entries
            .get(entry + 1)
            .map_or(hosts.names.len(), |next| next.names as usize);
        (first..end).map(|name| hosts.names.get(name))
    }

    /// Its first name.
    pub fn name(self) -> Option<&'a str> {
        self.names().next()
    }
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Where the entry's hops and names begin, and its line, is not what it says.
        let StoredEntry { node, mtu, line: _, hops: _, names: _ } = *self.stored();
        node == other.stored().node
            && mtu == other.stored().mtu
            && self.hops().eq(other.hops())
            && self.names().eq(other.names())
            && self.keys().eq(other.keys())
    }
}

impl Eq for Entry<'_> {}

impl fmt::Debug for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {self}", self.line())
    }
}
