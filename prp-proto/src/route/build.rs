//! Resolving prphosts lines to next hops.

use alloc::vec;
use alloc::vec::Vec;
use core::hash::BuildHasher;

use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashTable};

use super::{MAX_NEXT_HOPS, NextHop, NoRoute, RouteTable, Slot};
use crate::addr::{DeviceId, MacAddr, NodeId};
use crate::hosts::{Hosts, Row, StoredReach, Visit, walk};

struct Builder<'a> {
    hosts: &'a Hosts,
    local: NodeId,
    /// This machine's, by the file's device numbers.
    devices: Vec<Option<DeviceId>>,
    /// The hardware addresses of the local node's line.
    own: Vec<MacAddr>,
    /// Whose a hardware address on a device is, and at which metric it says so.
    neighbours: HashMap<(DeviceId, MacAddr), (u16, NodeId), FixedState>,
    slots: Vec<Slot>,
    hops: Vec<NextHop>,
    /// Start and length of every list in `hops`, by the hash of the list.
    lists: HashTable<(u32, u8)>,
}

pub(super) fn build(
    hosts: &Hosts,
    local: NodeId,
    devices: impl FnMut(&str) -> Option<DeviceId>,
) -> RouteTable {
    let highest = hosts.nodes().max().map_or(local, |node| node.max(local));
    let mut builder = Builder {
        hosts,
        local,
        devices: hosts.devices().map(devices).collect(),
        own: Vec::new(),
        neighbours: HashMap::default(),
        slots: vec![Slot::NoRoute(NoRoute::Unknown); usize::from(highest.number()) + 1],
        hops: Vec::new(),
        lists: HashTable::new(),
    };
    builder.survey();
    let mut found = Vec::new();
    walk(hosts, |visit| {
        // A parsed file has no loops.
        if let Visit::Done(row) = visit {
            builder.resolve(row, &mut found);
        }
    });
    builder.slots[usize::from(local.number())] = Slot::Local;
    let choice = builder.slots.iter().any(|slot| matches!(slot, Slot::Via { len: 2.., .. }));
    RouteTable {
        local,
        choice,
        slots: builder.slots.into_boxed_slice(),
        hops: builder.hops.into_boxed_slice(),
    }
}

impl Builder<'_> {
    /// Notes whose each hardware address is: a node's own stands on its line as the best way, a
    /// neighbour's as a backup (SPEC PRP-ROUTE-0).
    fn survey(&mut self) {
        for (index, row) in self.hosts.rows().iter().enumerate() {
            for hop in self.hosts.stored_hops(index) {
                let StoredReach::Direct { mac, device } = hop.reach else { continue };
                if row.node == self.local {
                    self.own.push(mac);
                }
                if let Some(device) = self.device(device) {
                    let known = self.neighbours.entry((device, mac));
                    let owner = known.or_insert((hop.metric, row.node));
                    if hop.metric < owner.0 {
                        *owner = (hop.metric, row.node);
                    }
                }
            }
        }
    }

    fn device(&self, number: u32) -> Option<DeviceId> {
        self.devices.get(number as usize).copied().flatten()
    }

    /// Works out the slot of row `index`, after those of the rows it goes via (SPEC PRP-ROUTE-2 to
    /// PRP-ROUTE-4). `found` is scratch.
    fn resolve(&mut self, index: usize, found: &mut Vec<NextHop>) {
        let row = &self.hosts.rows()[index];
        if row.node == self.local {
            self.slots[usize::from(row.node.number())] = Slot::Local;
            return;
        }
        found.clear();
        let mut missing = false;
        for hop in self.hosts.stored_hops(index) {
            match hop.reach {
                // A frame to its own sender's address comes back to nobody (SPEC PRP-ROUTE-3).
                StoredReach::Direct { mac, .. } if self.own.contains(&mac) => {}
                StoredReach::Direct { mac, device } => match self.device(device) {
                    Some(device) => found.push(self.next_hop(row, mac, device, hop.metric)),
                    None => missing = true,
                },
                StoredReach::Via(gateway) => {
                    missing |= self.inherit(row, gateway, hop.metric, found);
                }
            }
        }
        let slot = match best(found) {
            [] if missing => Slot::NoRoute(NoRoute::DeviceMissing),
            [] => Slot::NoRoute(NoRoute::Ourselves),
            list => self.share(list),
        };
        self.slots[usize::from(row.node.number())] = slot;
    }

    fn next_hop(&self, row: &Row, mac: MacAddr, device: DeviceId, metric: u16) -> NextHop {
        let node = self.neighbours.get(&(device, mac)).map_or(row.node, |owner| owner.1);
        let mtu = row.mtu.map(|mtu| u32::from(mtu.get()));
        NextHop { node, device, addr: mac.into(), mtu, metric: u32::from(metric) }
    }

    /// Adds the next hops of `gateway` for `row`; says whether it has none for want of a device.
    fn inherit(&self, row: &Row, gateway: NodeId, metric: u16, found: &mut Vec<NextHop>) -> bool {
        let slot = self.slots[usize::from(gateway.number())];
        let Slot::Via { start, len } = slot else {
            return slot == Slot::NoRoute(NoRoute::DeviceMissing);
        };
        let own = row.mtu.map(|mtu| u32::from(mtu.get()));
        let list = &self.hops[start as usize..][..usize::from(len)];
        found.extend(list.iter().map(|hop| NextHop {
            metric: hop.metric.saturating_add(u32::from(metric)),
            mtu: own.into_iter().chain(hop.mtu).min(),
            ..*hop
        }));
        false
    }

    /// The slot for `list`, which is stored unless an equal one already is.
    fn share(&mut self, list: &[NextHop]) -> Slot {
        let state = FixedState::default();
        let hops = &mut self.hops;
        let stored = |hops: &[NextHop], &(start, len): &(u32, u8)| {
            state.hash_one(&hops[start as usize..][..usize::from(len)])
        };
        let same = |&(start, len): &(u32, u8)| hops[start as usize..][..usize::from(len)] == *list;
        let hash = state.hash_one(list);
        if let Some(&(start, len)) = self.lists.find(hash, same) {
            return Slot::Via { start, len };
        }
        let (start, len) = (hops.len() as u32, list.len() as u8);
        hops.extend_from_slice(list);
        self.lists.insert_unique(hash, (start, len), |span| stored(hops, span));
        Slot::Via { start, len }
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
