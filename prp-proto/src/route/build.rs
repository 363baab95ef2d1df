//! Resolving prphosts lines to next hops.

use alloc::vec;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::net::SocketAddr;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use super::{MAX_NEXT_HOPS, NextHop, NoRoute, RouteTable, TableEntry};
use crate::addr::{DeviceId, LinkAddr, NodeId};
use crate::hosts::{
    Hosts, MIN_MTU, StoredEntry, StoredTarget, UDP_DEVICE, UNIX_DEVICE, Visit, walk,
};

/// Bytes of the IPv4 and the UDP header.
const UDP_IPV4_LEN: u16 = 20 + 8;
/// Bytes of the IPv6 and the UDP header.
const UDP_IPV6_LEN: u16 = 40 + 8;

struct Builder<'a> {
    hosts: &'a Hosts,
    local: NodeId,
    /// This machine's, by the file's device numbers.
    devices: Vec<Option<DeviceId>>,
    /// What sends and receives datagrams.
    udp: Option<DeviceId>,
    /// The Unix sockets.
    unix: Option<DeviceId>,
    /// The addresses of the local node's line.
    own: Vec<LinkAddr>,
    /// Whose an address on a device is, and at which metric it says so.
    neighbours: HashMap<(DeviceId, LinkAddr), (u16, NodeId), FixedState>,
    slots: Vec<TableEntry>,
    hops: Vec<NextHop>,
    /// Start and length of every list in `hops`, by the hash of the list.
    lists: HashTable<(u32, u8)>,
}

pub(super) fn build(
    hosts: &Hosts,
    local: NodeId,
    mut devices: impl FnMut(&str) -> Option<DeviceId>,
) -> RouteTable {
    let highest = hosts.nodes().max().map_or(local, |node| node.max(local));
    let mut builder = Builder {
        hosts,
        local,
        devices: hosts.devices().map(&mut devices).collect(),
        udp: if hosts.udp_peers().is_empty() { None } else { devices(UDP_DEVICE) },
        // A node that is not there itself has no socket of its own to send from.
        unix: if hosts.is_on_unix(local) { devices(UNIX_DEVICE) } else { None },
        own: Vec::new(),
        neighbours: HashMap::default(),
        slots: vec![TableEntry::NoRoute(NoRoute::Unknown); usize::from(highest.number()) + 1],
        hops: Vec::new(),
        lists: HashTable::new(),
    };
    builder.survey();
    let mut found = Vec::new();
    walk(hosts, |visit| {
        // A parsed file has no loops.
        if let Visit::Done(entry) = visit {
            builder.resolve(entry, &mut found);
        }
    });
    builder.slots[usize::from(local.number())] = TableEntry::Local;
    let choice = builder.slots.iter().any(|slot| matches!(slot, TableEntry::Via { len: 2.., .. }));
    RouteTable {
        local,
        choice,
        slots: builder.slots.into_boxed_slice(),
        hops: builder.hops.into_boxed_slice(),
        udp_peers: hosts.udp_peers().into(),
    }
}

impl Builder<'_> {
    /// Notes whose each hardware address is: a node's own is on its line as the best next hop, a
    /// neighbour's as a backup (SPEC PRP-ROUTE-0).
    fn survey(&mut self) {
        for (index, entry) in self.hosts.stored_entries().iter().enumerate() {
            for hop in self.hosts.stored_hops(index) {
                let Some(addr) = hop.target.addr(entry.node) else { continue };
                if entry.node == self.local {
                    self.own.push(addr);
                }
                if let Some(device) = self.device(hop.target) {
                    let known = self.neighbours.entry((device, addr));
                    let owner = known.or_insert((hop.metric, entry.node));
                    if hop.metric < owner.0 {
                        *owner = (hop.metric, entry.node);
                    }
                }
            }
        }
    }

    /// This machine's device that reaches a neighbour.
    fn device(&self, target: StoredTarget) -> Option<DeviceId> {
        match target {
            StoredTarget::Direct { device, .. } => {
                self.devices.get(device as usize).copied().flatten()
            }
            StoredTarget::Udp { .. } => self.udp,
            StoredTarget::Unix => self.unix,
            StoredTarget::Via(_) => None,
        }
    }

    /// Works out the slot of entry `index`, after those of the entries it goes via (SPEC
    /// PRP-ROUTE-2 to PRP-ROUTE-4). `found` is scratch.
    fn resolve(&mut self, index: usize, found: &mut Vec<NextHop>) {
        let entry = &self.hosts.stored_entries()[index];
        if entry.node == self.local {
            self.slots[usize::from(entry.node.number())] = TableEntry::Local;
            return;
        }
        found.clear();
        let mut missing = false;
        for hop in self.hosts.stored_hops(index) {
            match (hop.target, hop.target.addr(entry.node)) {
                // A frame to its own sender's address reaches no host (SPEC PRP-ROUTE-3).
                (_, Some(addr)) if self.own.contains(&addr) => {}
                (target, Some(addr)) => match self.device(target) {
                    Some(device) => found.push(self.next_hop(entry, addr, device, hop.metric)),
                    None => missing = true,
                },
                (StoredTarget::Via(gateway), None) => {
                    missing |= self.inherit(entry, gateway, hop.metric, found);
                }
                (_, None) => {}
            }
        }
        let slot = match best(found) {
            [] if missing => TableEntry::NoRoute(NoRoute::DeviceMissing),
            [] => TableEntry::NoRoute(NoRoute::Ourselves),
            list => self.share(list),
        };
        self.slots[usize::from(entry.node.number())] = slot;
    }

    fn next_hop(
        &self,
        entry: &StoredEntry,
        addr: LinkAddr,
        device: DeviceId,
        metric: u16,
    ) -> NextHop {
        let node = self.neighbours.get(&(device, addr)).map_or(entry.node, |owner| owner.1);
        NextHop { node, device, addr, mtu: self.room(entry, addr), metric: u32::from(metric) }
    }

    /// What the `mtu` option of a line leaves for PRP on the path to `addr`: over UDP all but IP's
    /// header and UDP's (SPEC PRP-HOSTS-8).
    fn room(&self, entry: &StoredEntry, addr: LinkAddr) -> Option<u32> {
        let mtu = entry.mtu?.get();
        let headers = match self.hosts.socket_addr(addr) {
            None => 0,
            Some(SocketAddr::V4(_)) => UDP_IPV4_LEN,
            Some(SocketAddr::V6(_)) => UDP_IPV6_LEN,
        };
        Some(u32::from(mtu.saturating_sub(headers).max(MIN_MTU.min(mtu))))
    }

    /// Adds the next hops of `gateway` for `entry`; says whether it has none for want of a device.
    fn inherit(
        &self,
        entry: &StoredEntry,
        gateway: NodeId,
        metric: u16,
        found: &mut Vec<NextHop>,
    ) -> bool {
        let slot = self.slots[usize::from(gateway.number())];
        let TableEntry::Via { start, len } = slot else {
            return slot == TableEntry::NoRoute(NoRoute::DeviceMissing);
        };
        let list = &self.hops[start as usize..][..usize::from(len)];
        found.extend(list.iter().map(|hop| NextHop {
            metric: hop.metric.saturating_add(u32::from(metric)),
            mtu: self.room(entry, hop.addr).into_iter().chain(hop.mtu).min(),
            ..*hop
        }));
        false
    }

    /// The slot for `list`, which is stored unless an equal one already is.
    fn share(&mut self, list: &[NextHop]) -> TableEntry {
        let state = FixedState::default();
        let hops = &mut self.hops;
        let stored = |hops: &[NextHop], &(start, len): &(u32, u8)| {
            state.hash_one(&hops[start as usize..][..usize::from(len)])
        };
        let same = |&(start, len): &(u32, u8)| hops[start as usize..][..usize::from(len)] == *list;
        let hash = state.hash_one(list);
        if let Some(&(start, len)) = self.lists.find(hash, same) {
            return TableEntry::Via { start, len };
        }
        let (start, len) = (hops.len() as u32, list.len() as u8);
        hops.extend_from_slice(list);
        self.lists.insert_unique(hash, (start, len), |span| stored(hops, span));
        TableEntry::Via { start, len }
    }
}

/// The best of `found`, best first: each hardware address once, equal metrics in the order found.
fn best(found: &mut [NextHop]) -> &[NextHop] {
    found.sort_by_key(|hop| hop.metric);
    let mut kept = 0;
    for i in 0..found.len() {
        let hop = found[i];
        let known = found[..kept].iter().any(|k| (k.device, k.addr) == (hop.device, hop.addr));
        if !known && kept < MAX_NEXT_HOPS {
            found[kept] = hop;
            kept += 1;
        }
    }
    &found[..kept]
}
