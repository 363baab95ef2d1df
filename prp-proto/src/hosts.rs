//! prphosts: which node is where, and by which next hops it is reached (SPEC PRP-HOSTS).
//!
//! Text, one line a node; `#` begins a comment anywhere:
//!
//! ```text
//! # node  hardware address     device   names and options
//! 1       02:00:00:00:00:01    eth0     alpha
//! 2       02:00:00:00:00:02    eth0     beta  b.cluster  mtu=9000
//! 7       02:00:00:00:00:02    eth0     gamma     # as in the paper: behind beta's address
//! 8       via 2                         delta     # the same, by node
//! 9       via 2 metric 10, via 3 metric 20  epsilon    # backup next hop
//! ```
//!
//! A UDP address takes the place of a hardware address and a device, since the kernel finds the
//! device: `5 udp:10.0.0.5 omega`, with a port `udp:10.0.0.5:5300` or `udp:[fd00::5]:5300`.
//!
//! `unix:` and a folder say that the node is on this machine, and its processes are reached by Unix
//! sockets in that folder: `6 unix:/run/prp-cluster sigma`.
//!
//! Behind a device `vlan=7` and `priority=5` may say the tag of its frames.
//!
//! `key=` and a public key among the options says that the node is who it says (SPEC PRP-KEY-21).
//!
//! `self 3` and `ethertype 0x88b5` are on lines of their own. This module reads text it is given;
//! the caller reads the file, and knows which hardware addresses are this machine's.
//!
//! A cluster may have 65,534 nodes, so all of it lies in a few flat vectors: entries, hops, and one
//! string that holds every name.

mod entry;
mod error;
mod fields;
mod graph;
mod lexer;
mod local;
mod names;
mod parse;
mod print;
mod tag;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::mem::size_of;
use core::net::{IpAddr, SocketAddr};

use crate::addr::{LinkAddr, NodeId};
use crate::key::NodeKey;
use crate::wire;

pub use entry::{Entry, Hop, HopTarget};
pub use error::{HostsError, HostsErrorKind, HostsErrors};
pub use local::{Candidate, LocalNodeError};
pub use tag::{Tag, interface_name, renamed};

pub(crate) use entry::{StoredEntry, StoredHop, StoredTarget};
pub(crate) use graph::{Visit, walk};
use names::Names;

/// Most next hops a line may list (SPEC PRP-HOSTS-3).
pub const MAX_HOPS: usize = 16;
/// Longest name, in bytes (SPEC PRP-HOSTS-7).
pub const MAX_NAME: usize = 255;
/// Largest file, in bytes: three times what 65,534 nodes with long names need (SPEC PRP-HOSTS-1).
pub const MAX_FILE: usize = 64 << 20;
/// Smallest `mtu=`: any less and an acknowledgement would not fit (SPEC PRP-HOSTS-8).
pub const MIN_MTU: u16 =
    (wire::NETWORK_LEN + wire::TRANSPORT_LEN + wire::MAX_CONTROL_LEN + wire::CRC_LEN) as u16;

/// What the UDP underlay is called among devices: no line of prphosts may name a device so.
pub const UDP_DEVICE: &str = "udp";

/// What Unix sockets are called among devices: no line of prphosts may name a device so.
pub const UNIX_DEVICE: &str = "unix";

/// Longest path of the folder of Unix sockets, in bytes: their names in it fit what a socket's
/// address has room for (SPEC PRP-HOSTS-18).
pub const MAX_UNIX_FOLDER: usize = 90;

/// Marks a node without an entry; 65,534 entries end at index 65,533.
const NO_ENTRY: u16 = u16::MAX;

/// A parsed prphosts file.
///
/// Two are equal when they say the same in the same order: comments, spacing and line numbers do
/// not count, the letters' case of names does.
#[derive(Clone)]
pub struct Hosts {
    ethertype: u16,
    self_node: Option<NodeId>,
    /// In file order.
    stored_entries: Vec<StoredEntry>,
    /// By node number: an index into `stored_entries`, or [`NO_ENTRY`].
    entry_of: Vec<u16>,
    /// Of all entries, in their order.
    hops: Vec<StoredHop>,
    /// Distinct, in order of first mention; a VLAN of a device is one of its own.
    devices: Vec<String>,
    /// Beside `devices`.
    tags: Vec<Tag>,
    /// Distinct, in order of first mention.
    udp_peers: Vec<IpAddr>,
    /// Where the Unix sockets of nodes are; empty if no line has any.
    unix_folder: String,
    /// Public keys of nodes, each with the index of its entry, in their order.
    keys: Vec<(u32, NodeKey)>,
    names: Names,
}

impl Default for Hosts {
    /// The empty file.
    fn default() -> Self {
        Self {
            ethertype: wire::ETHERTYPE,
            self_node: None,
            stored_entries: Vec::new(),
            entry_of: Vec::new(),
            hops: Vec::new(),
            devices: Vec::new(),
            tags: Vec::new(),
            udp_peers: Vec::new(),
            unix_folder: String::new(),
            keys: Vec::new(),
            names: Names::default(),
        }
    }
}

impl Hosts {
    /// Reads the text of a prphosts file.
    ///
    /// All mistakes are reported, up to a cap, and a file with any of them yields no `Hosts`
    /// (SPEC PRP-HOSTS-11).
    pub fn parse(bytes: &[u8]) -> Result<Self, HostsErrors> {
        parse::parse(bytes)
    }

    /// The EtherType of the cluster's frames.
    pub fn ethertype(&self) -> u16 {
        self.ethertype
    }

    /// The node the `self` directive names.
    pub fn self_node(&self) -> Option<NodeId> {
        self.self_node
    }

    /// How many nodes the file lists.
    pub fn len(&self) -> usize {
        self.stored_entries.len()
    }

    /// Whether it lists none.
    pub fn is_empty(&self) -> bool {
        self.stored_entries.is_empty()
    }

    /// The line of `node`.
    pub fn entry(&self, node: NodeId) -> Option<Entry<'_>> {
        self.entry_index(node).map(|entry| Entry::new(self, entry))
    }

    /// All lines, in file order.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = Entry<'_>> + '_ {
        (0..self.stored_entries.len()).map(|entry| Entry::new(self, entry))
    }

    /// All nodes, in file order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + '_ {
        self.stored_entries.iter().map(|entry| entry.node)
    }

    /// The devices the file mentions, each once, in order of first mention. A VLAN of a device is
    /// one of its own, as `eth0:vlan7`; [`interface_name`] has the name that Linux knows.
    pub fn devices(&self) -> impl ExactSizeIterator<Item = &str> + Clone + '_ {
        self.devices.iter().map(String::as_str)
    }

    /// The tag of frames by the device that [`Self::devices`] calls so.
    pub fn tag(&self, device: &str) -> Tag {
        let at = self.devices.iter().position(|known| known == device);
        at.and_then(|at| self.tags.get(at)).copied().unwrap_or_default()
    }

    /// The IP addresses of the file's UDP addresses, each once, by
    /// [`UdpPeer`](crate::addr::UdpPeer).
    pub fn udp_peers(&self) -> &[IpAddr] {
        &self.udp_peers
    }

    /// The public keys of the nodes that have some, each node's in the order of its line (SPEC
    /// PRP-HOSTS-19).
    pub fn node_keys(&self) -> BTreeMap<u16, Vec<NodeKey>> {
        let mut nodes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (entry, key) in &self.keys {
            if let Some(entry) = self.stored_entries.get(*entry as usize) {
                nodes.entry(entry.node.number()).or_default().push(*key);
            }
        }
        nodes
    }

    /// The folder of the Unix sockets by which nodes of this machine are reached, if any are.
    pub fn unix_folder(&self) -> Option<&str> {
        Some(self.unix_folder.as_str()).filter(|folder| !folder.is_empty())
    }

    /// Whether the line of `node` says that it is reached by Unix sockets.
    pub fn is_on_unix(&self, node: NodeId) -> bool {
        let mut hops = self.entry(node).into_iter().flat_map(Entry::hops);
        hops.any(|hop| matches!(hop.target, HopTarget::Unix(_)))
    }

    /// The UDP addresses on the line of `node`, the best first, as the file has them and as routes
    /// and the endpoint know them.
    pub fn udp_addrs(&self, node: NodeId) -> Vec<(SocketAddr, LinkAddr)> {
        let hops = self.entry_index(node).map_or(&[][..], |entry| self.stored_hops(entry));
        let udp = |hop: &StoredHop| {
            let addr = hop.target.addr(node).filter(|addr| addr.is_udp())?;
            Some((hop.metric, (self.socket_addr(addr)?, addr)))
        };
        let mut found: Vec<_> = hops.iter().filter_map(udp).collect();
        found.sort_by_key(|(metric, _)| *metric);
        found.into_iter().map(|(_, addrs)| addrs).collect()
    }

    /// The IP address and port of a UDP address of this file's routes.
    pub fn socket_addr(&self, addr: LinkAddr) -> Option<SocketAddr> {
        match addr {
            LinkAddr::Udp { peer, port } => {
                Some(SocketAddr::new(*self.udp_peers.get(usize::from(peer.0))?, port))
            }
            LinkAddr::Ethernet(_) | LinkAddr::Unix { .. } => None,
        }
    }

    /// The node a user means by `name`: one of the file's names in any case of letters, or a plain
    /// node number, listed or not (SPEC PRP-HOSTS-14).
    ///
    /// `self` and `localhost` are not resolved here, since the file alone does not say which node
    /// is local; see [`is_local_name`].
    pub fn resolve(&self, name: &str) -> Option<NodeId> {
        if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) {
            return name.parse().ok();
        }
        let entry = self.names.find(name)?;
        self.stored_entries.get(entry).map(|entry| entry.node)
    }

    /// The names of `node`, in the order of its line.
    pub fn names(&self, node: NodeId) -> impl Iterator<Item = &str> + '_ {
        self.entry(node).into_iter().flat_map(Entry::names)
    }

    /// The first name of `node`.
    pub fn name(&self, node: NodeId) -> Option<&str> {
        self.entry(node)?.name()
    }

    /// Heap bytes held: capacities times element sizes, without the allocator's own overhead.
    pub fn heap_size(&self) -> usize {
        let Self {
            ethertype: _,
            self_node: _,
            stored_entries,
            entry_of,
            hops,
            devices,
            tags,
            udp_peers,
            unix_folder,
            keys,
            names,
        } = self;
        stored_entries.capacity() * size_of::<StoredEntry>()
            + entry_of.capacity() * size_of::<u16>()
            + hops.capacity() * size_of::<StoredHop>()
            + devices.capacity() * size_of::<String>()
            + devices.iter().map(String::capacity).sum::<usize>()
            + tags.capacity() * size_of::<Tag>()
            + udp_peers.capacity() * size_of::<IpAddr>()
            + unix_folder.capacity()
            + keys.capacity() * size_of::<(u32, NodeKey)>()
            + names.heap_size()
    }

    pub(crate) fn stored_entries(&self) -> &[StoredEntry] {
        &self.stored_entries
    }

    pub(crate) fn entry_index(&self, node: NodeId) -> Option<usize> {
        let entry = *self.entry_of.get(usize::from(node.number()))?;
        (entry != NO_ENTRY).then_some(usize::from(entry))
    }

    /// The hops of the stored entry: from its first to the next one's first.
    pub(crate) fn stored_hops(&self, entry: usize) -> &[StoredHop] {
        let bounds = self.stored_entries.get(entry).map(|r| {
            let end = self
                .stored_entries
                .get(entry + 1)
                .map_or(self.hops.len(), |next| next.hops as usize);
            r.hops as usize..end
        });
        bounds.and_then(|range| self.hops.get(range)).unwrap_or_default()
    }

    /// Appends a line for `node`, which has none yet, still without hops and names.
    fn add_entry(&mut self, node: NodeId, line: u32) -> usize {
        let entry = self.stored_entries.len();
        let number = usize::from(node.number());
        if self.entry_of.len() <= number {
            self.entry_of.resize(number + 1, NO_ENTRY);
        }
        self.entry_of[number] = entry as u16;
        let (hops, names) = (self.hops.len() as u32, self.names.len() as u32);
        self.stored_entries.push(StoredEntry { node, mtu: None, line, hops, names });
        entry
    }

    fn shrink(&mut self) {
        self.stored_entries.shrink_to_fit();
        self.entry_of.shrink_to_fit();
        self.hops.shrink_to_fit();
        self.devices.shrink_to_fit();
        self.tags.shrink_to_fit();
        self.udp_peers.shrink_to_fit();
        self.unix_folder.shrink_to_fit();
        self.keys.shrink_to_fit();
        self.names.shrink();
    }
}

/// Whether `name` means the local node whatever the file says: `self` or `localhost`, in any case
/// of letters (SPEC PRP-HOSTS-7).
pub fn is_local_name(name: &str) -> bool {
    ["self", "localhost"].iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

impl PartialEq for Hosts {
    fn eq(&self, other: &Self) -> bool {
        // The others are what entries are made of.
        let Self {
            ethertype,
            self_node,
            stored_entries: _,
            entry_of: _,
            hops: _,
            devices: _,
            tags,
            udp_peers: _,
            unix_folder: _,
            keys: _,
            names: _,
        } = self;
        *ethertype == other.ethertype
            && *self_node == other.self_node
            && self.entries().eq(other.entries())
            && *tags == other.tags
    }
}

impl Eq for Hosts {}

impl fmt::Debug for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hosts")
            .field("ethertype", &format_args!("{:#06x}", self.ethertype))
            .field("self_node", &self.self_node)
            .field("nodes", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
