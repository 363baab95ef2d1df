//! What the daemon tells about itself: made here, printed by the program that asked.

use std::collections::BTreeMap;
use std::fmt;

use prp_proto::addr::NodeId;
use prp_proto::forward::{ForwardDrop, ForwardStats};
use prp_proto::route::Route;
use serde::{Deserialize, Serialize};

use crate::counters;
use crate::link::LinkCounters;
use crate::router::Router;
use crate::table::{Change, Table, address_text};

/// A question to the daemon: one line of JSON.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// How it is.
    Status,
    /// Where frames go.
    Routes,
    /// Whom it sends to.
    Neighbours,
    /// What it has moved and dropped.
    Counters,
    /// The same, and more, as text for Prometheus.
    Metrics,
    /// Reads prphosts again.
    Reload {
        /// Only tells what would change.
        dry_run: bool,
    },
}

/// An answer: one line of JSON.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// What was asked for.
    Ok(serde_json::Value),
    /// Why not.
    Error(String),
}

impl Reply {
    /// Returns the answer with this `value`, if it has a form in JSON.
    pub fn of(value: serde_json::Result<serde_json::Value>) -> Self {
        value.map_or_else(|e| Self::Error(e.to_string()), Self::Ok)
    }
}

/// How it is.
#[derive(Clone, Debug, Serialize)]
pub struct Status {
    /// The node.
    pub node: u16,
    /// Its name in prphosts.
    pub name: Option<String>,
    /// This program's version.
    pub version: &'static str,
    /// Its process.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_seconds: u64,
    /// The prphosts in force.
    pub hosts: String,
    /// Nodes in it.
    pub nodes: usize,
    /// How often it was read again and put in force.
    pub reloads: u64,
    /// What is wrong with prphosts as it is now, where it is not in force for that.
    pub last_error: Option<String>,
    /// What to do about that, if it is not enough to correct the file and read it again.
    pub last_error_fix: Option<String>,
    /// What keeps devices that prphosts names, or the cluster's key, from use, whether prphosts
    /// says something else by now, whether frames were too large to go on, and where frames come
    /// from that are dropped since prphosts has their source elsewhere.
    pub troubles: Vec<String>,
    /// The id of the secret of the cluster's key that it signs with, if it has the key.
    pub key_id: Option<u16>,
    /// Whether the kernel forwards by itself what needs no thought.
    pub kernel_forwarding: KernelStatus,
    /// Processes of the node that have registered.
    pub processes: usize,
    /// Devices.
    pub devices: Vec<Device>,
    /// Frames dropped, by reason.
    pub dropped: serde_json::Value,
    /// What the UDP device counts besides, by name, where the node is on UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<serde_json::Value>,
}

/// The kernel's part in forwarding. Prints as a line.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct KernelStatus {
    /// It forwards.
    pub active: bool,
    /// Why not.
    pub why_not: Option<String>,
    /// Devices from which it forwards nothing.
    pub not_from: Vec<String>,
}

impl fmt::Display for KernelStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.active, &self.not_from[..]) {
            (false, _) => write!(f, "no: {}", self.why_not.as_deref().unwrap_or("-")),
            (true, []) => f.write_str("yes"),
            (true, devices) => write!(f, "yes, but for what comes by {}", devices.join(", ")),
        }
    }
}

/// A device.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// Its name.
    pub device: String,
    /// Its hardware address, or its first UDP address.
    pub mac: String,
    /// Bytes after the Ethernet header it takes.
    pub mtu: u32,
    /// Frames received that were for the router.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost because the receiving ring was full.
    pub overruns: u64,
    /// Frames lost because the device took no more, or refused by the kernel.
    pub dropped: u64,
    /// Those of them that the kernel refused to send, by its error.
    pub refused: BTreeMap<&'static str, u64>,
    /// Frames of VLANs that prphosts does not name of the device, which has one itself.
    pub other_vlan: u64,
}

/// Where frames for a node go.
#[derive(Clone, Debug, Serialize)]
pub struct RouteLine {
    /// The node.
    pub node: u16,
    /// Its name in prphosts.
    pub name: Option<String>,
    /// What becomes of them.
    pub route: RouteKind,
    /// Next hops, best first.
    pub next_hops: Vec<Hop>,
    /// Why there are none, where there is no route.
    pub why: Option<String>,
}

/// What becomes of frames for a node.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteKind {
    /// They are for this node.
    Local,
    /// They are sent to a next hop.
    Via,
    /// They are dropped.
    None,
}

/// A next hop. Prints as in prphosts.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Hop {
    /// The neighbour.
    pub node: u16,
    /// Its hardware address, or its UDP address.
    pub mac: String,
    /// The device that reaches it.
    pub device: String,
    /// Lower is better.
    pub metric: u32,
    /// The largest Ethernet payload prphosts allows by this next hop, if it says so.
    pub mtu: Option<u32>,
}

impl fmt::Display for Hop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, mac, device, metric, mtu } = self;
        write!(f, "{node} {mac} {device}")?;
        if *metric > 0 {
            write!(f, " metric {metric}")?;
        }
        mtu.map_or(Ok(()), |mtu| write!(f, " mtu {mtu}"))
    }
}

/// A neighbour.
#[derive(Clone, Debug, Serialize)]
pub struct NeighbourLine {
    /// Which node.
    pub node: u16,
    /// Its name in prphosts.
    pub name: Option<String>,
    /// The device that reaches it.
    pub device: String,
    /// Its hardware address, or its UDP address.
    pub mac: String,
    /// Whether frames are sent to it.
    pub usable: bool,
    /// Whether the device has a link.
    pub link_up: bool,
    /// The state of our session with its router, if it is probed.
    pub liveness: Option<&'static str>,
    /// Whether other nodes are reached by it.
    pub routes: bool,
    /// How often its use has changed.
    pub changes: u64,
}

/// A reload.
#[derive(Clone, Debug, Serialize)]
pub struct Reloaded {
    /// Whether the new routes are in force.
    pub applied: bool,
    /// How many nodes have other routes than before.
    pub changed: usize,
    /// The first of them.
    pub changes: Vec<ChangeLine>,
}

/// A node with other routes than before.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeLine {
    /// The node.
    pub node: u16,
    /// Next hops before, best first.
    pub before: Vec<Hop>,
    /// Next hops after.
    pub after: Vec<Hop>,
}

/// Changes told of one reload: a cluster that was renumbered altogether fills no pipe.
const MAX_CHANGES: usize = 1000;

impl Reloaded {
    /// The report of `changes`.
    pub fn new(applied: bool, changes: &[Change]) -> Self {
        let line = |c: &Change| ChangeLine {
            node: c.node.number(),
            before: c.before.clone(),
            after: c.after.clone(),
        };
        let listed = changes.iter().take(MAX_CHANGES).map(line).collect();
        Self { applied, changed: changes.len(), changes: listed }
    }
}

/// The devices of `router`.
pub fn devices(router: &mut Router) -> Vec<Device> {
    let Router { forwarder, links, kernel, .. } = router;
    let links = links.iter_mut().zip(forwarder.devices()).enumerate();
    links
        .map(|(index, (link, device))| {
            let by_kernel = kernel.counted(index);
            let LinkCounters { received, sent, overruns, dropped, other_vlan, refused } =
                link.counters;
            Device {
                device: link.name().to_owned(),
                mac: address_text(forwarder.routes(), device.addr),
                mtu: device.mtu,
                received: received + by_kernel.frames,
                sent: sent + by_kernel.sent,
                overruns,
                dropped,
                refused: refused.counters().filter(|(_, frames)| *frames > 0).collect(),
                other_vlan,
            }
        })
        .collect()
}

/// The routes of `table`, by node number.
pub fn routes(table: &Table) -> Vec<RouteLine> {
    let hosts = table.file.hosts();
    let mut nodes: Vec<NodeId> = hosts.nodes().collect();
    nodes.sort_unstable();
    let line = |node: NodeId| {
        let (route, why) = match table.routes.lookup(node) {
            Route::Local => (RouteKind::Local, None),
            Route::Via(_) => (RouteKind::Via, None),
            Route::NoRoute(why) => (RouteKind::None, Some(why.to_string())),
        };
        let name = hosts.name(node).map(str::to_owned);
        RouteLine { node: node.number(), name, route, next_hops: table.hops(node), why }
    };
    nodes.into_iter().map(line).collect()
}

/// What to do about frames that the next link does not take, if there were any. Their senders hear
/// nothing of it: they see that full segments do not get through. `mtus` are those of the router's
/// devices, by their names.
pub fn oversized(stats: &ForwardStats, mtus: &[(&str, u32)]) -> Option<String> {
    let (_, frames) = stats.drops.iter().find(|(why, _)| *why == ForwardDrop::TooBig)?;
    let largest = mtus.iter().map(|(_, mtu)| *mtu).max().unwrap_or_default();
    let smaller = mtus.iter().filter(|(_, mtu)| *mtu < largest);
    let smaller: Vec<_> = smaller.map(|(name, mtu)| format!("{name} {mtu}")).collect();
    let named =
        if smaller.is_empty() { String::new() } else { format!(" ({})", smaller.join(", ")) };
    (frames > 0).then(|| {
        format!(
            "{frames} frames were larger than the MTU of their next link{named}; state the least \
             MTU of the path with mtu= in prphosts of both ends"
        )
    })
}

/// What `router` has moved, dropped and said, and what its UDP device counts.
pub fn counters(router: &Router) -> serde_json::Value {
    let of_router = counters::of_router(router);
    let totals = of_router.iter().map(|counter| (counter.name.to_owned(), counter.value.into()));
    let mut all: serde_json::Map<_, _> = totals.collect();
    all.insert("dropped".to_owned(), dropped(router));
    all.extend(udp(router).map(|udp| ("udp".to_owned(), udp)));
    all.into()
}

/// The frames that `router` has dropped, by reason.
pub fn dropped(router: &Router) -> serde_json::Value {
    by_name(router.forwarder.stats().drops.iter().map(|(why, n)| (why.name(), n)))
}

/// What the UDP device of `router` counts; none where the node is not on UDP.
pub fn udp(router: &Router) -> Option<serde_json::Value> {
    counters::of_udp(router).map(by_name)
}

fn by_name(counters: impl Iterator<Item = (&'static str, u64)>) -> serde_json::Value {
    counters
        .map(|(name, count)| (name.to_owned(), count.into()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized__says_how_many_and_what_to_do() {
        let mut stats = ForwardStats::default();
        stats.not_sent(1500, ForwardDrop::NoRoute);
        let mtus = [("eth0", 1500), ("eth1", 1000)];
        assert_eq!(oversized(&stats, &mtus), None);
        stats.not_sent(1500, ForwardDrop::TooBig);
        let message = oversized(&stats, &mtus).expect("one was too large");
        assert!(
            message.starts_with("1 frames were larger") && message.contains("mtu="),
            "{message}"
        );
        assert!(message.contains("(eth1 1000)"), "{message}");
        // A line of prphosts says mtu=: no device is to blame.
        let message = oversized(&stats, &mtus[..1]).expect("one was too large");
        assert!(!message.contains('('), "{message}");
    }
}
