//! Where frames have come from that are dropped since their source node is elsewhere by prphosts:
//! the file is wrong, here or there, and the router is the one that knows both sides.

use std::time::Duration;

use prp_proto::addr::{DeviceId, NodeId, StationAddr};
use prp_proto::route::Route;
use prp_proto::time::Instant;

use crate::report::Hop;
use crate::table::Table;

/// How long one is told of: probes of routers come ten times a second, and a user tries again
/// sooner.
const LIFETIME: Duration = Duration::from_secs(60);

/// Nodes of which one is kept: a forger of sources finds no more room.
const MAX_NODES: usize = 8;

/// Hops of prphosts that are named.
const MAX_HOPS: usize = 3;

/// The last of each source node.
#[derive(Debug, Default)]
pub struct SourceMismatches {
    list: Vec<SourceMismatch>,
}

/// That of one source node.
#[derive(Copy, Clone, Debug)]
struct SourceMismatch {
    node: NodeId,
    device: DeviceId,
    from: StationAddr,
    at: Instant,
}

impl SourceMismatches {
    /// Notes that a frame of `node` has come from `from`, by `device`.
    pub fn note(&mut self, at: Instant, node: NodeId, device: DeviceId, from: StationAddr) {
        let mismatch = SourceMismatch { node, device, from, at };
        let known = self.list.iter().position(|it| it.node == node);
        match known {
            Some(known) => self.list[known] = mismatch,
            None if self.list.len() < MAX_NODES => self.list.push(mismatch),
            None => {
                // The one that was not seen for longest.
                let oldest = self.list.iter_mut().min_by_key(|it| it.at);
                oldest.into_iter().for_each(|oldest| *oldest = mismatch);
            }
        }
    }

    /// Forgets all: another prphosts is in force.
    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Those of the last minute, each against what `table` has.
    pub fn describe(&self, now: Instant, table: &Table) -> impl Iterator<Item = String> {
        let recent = self.list.iter().filter(move |it| now.since(it.at) < LIFETIME);
        recent.map(|it| it.describe(table))
    }
}

impl SourceMismatch {
    fn describe(&self, table: &Table) -> String {
        let Self { node, device, from, .. } = *self;
        let name = table.file.hosts().name(node);
        let title = name.map_or_else(|| node.to_string(), |name| format!("{node} ({name})"));
        let is_udp = matches!(from, StationAddr::Udp(_));
        let device = table.devices.get(usize::from(device.0)).map_or("?", |device| &device.name);
        let place = if is_udp { String::new() } else { format!(" at {device}") };
        let file = table.file.path().display();
        let expected = match table.routes.lookup(node) {
            Route::Local => {
                let sender = neighbour_at(table, &from.to_string());
                let cause = match sender {
                    Some(sender) => format!(
                        "which is node {sender}'s, and this is that node: routes make a loop \
                         (`prp hosts check --all DIR`), or two machines have its number; mend the \
                         routes, or give each machine its own number"
                    ),
                    None => {
                        "and this is that node: two machines have its number; give each its own"
                            .to_owned()
                    }
                };
                return format!("frames of node {title} come from {from}{place}, {cause}");
            }
            _ if table.file.hosts().entry(node).is_none() => format!("{file} has no line for it"),
            Route::NoRoute(_) => format!("{file} has no route to it"),
            Route::Via(_) => {
                let hops = table.hops(node);
                let hops = hops.iter().take(MAX_HOPS).map(|hop| expected(hop, node, device));
                format!("{file} says {}", hops.collect::<Vec<_>>().join(" or "))
            }
        };
        let end = if is_udp { ", or what translates addresses on the path" } else { "" };
        format!(
            "frames of node {title} come from {from}{place}, {expected}; correct the file here or \
             there{end} (`prp hosts check --all DIR` compares files)"
        )
    }
}

/// Returns the neighbour that has `address`.
fn neighbour_at(table: &Table, address: &str) -> Option<u16> {
    let mut hops = table.file.hosts().nodes().flat_map(|node| table.hops(node));
    hops.find(|hop| hop.mac == address).map(|hop| hop.node)
}

/// A hop to `node` as its frames should come by `device`.
fn expected(hop: &Hop, node: NodeId, device: &str) -> String {
    let place = if hop.device == device { String::new() } else { format!(" at {}", hop.device) };
    let via =
        if hop.node == node.number() { String::new() } else { format!("node {}, ", hop.node) };
    format!("{via}{}{place}", hop.mac)
}

#[cfg(test)]
mod tests;
