//! Statistics of nodes and devices.

pub use prp_device::{RefusalCounts, UdpCounters};

use prp_proto::addr::NodeId;
use prp_proto::stats::EndpointStats;

use crate::engine::{Engine, engines};

/// Counters of a node, of what this process has done there.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeStats {
    /// The node.
    pub node: NodeId,
    /// Counters of all connections, with reasons for every drop.
    pub endpoint: EndpointStats,
    /// Those of the devices.
    pub devices: Vec<DeviceStats>,
}

/// Returns the counters of this process for each node that it is: one, unless it uses several files
/// of nodes, network namespaces or devices at a time. None without a stream or a listener.
///
/// ```
/// for stats in prp_sock::process_stats() {
///     println!("node {}: {:?}", stats.node, stats.endpoint);
/// }
/// ```
pub fn process_stats() -> Vec<NodeStats> {
    let of = |engine: &Engine| {
        let node = engine.local_node();
        let endpoint = *engine.lock().endpoint.stats();
        NodeStats { node, endpoint, devices: DeviceStats::of(engine) }
    };
    engines().iter().map(|engine| of(engine)).collect()
}

/// Counters of a device, as this process uses it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct DeviceStats {
    /// Its name.
    pub name: String,
    /// Frames lost because the receiving ring was full: the process did not keep up.
    pub overruns: u64,
    /// Frames that were not sent: the device's queue was full, it was down, or the kernel refused
    /// them for another reason than their size.
    pub send_losses: u64,
    /// Those of them that the kernel refused, by its error.
    pub refused: RefusalCounts,
    /// Frames larger than the device takes: its MTU was lowered under a connection.
    pub too_big: u64,
    /// Frames that were handed straight to the NIC driver: many at a time, in a flow, on a link
    /// without a queue.
    pub xdp_tx: u64,
    /// Frames that a program in the kernel put straight into memory of this process, while it was
    /// polling.
    pub tcx_rx: u64,
    /// Frames of VLANs that prphosts does not name of this device, which has one itself: they were
    /// not taken.
    pub other_vlan: u64,
    /// What a UDP socket counts besides; nothing of an Ethernet device.
    pub udp: Option<UdpCounters>,
}

impl DeviceStats {
    /// The counters of every kind of device, with whether each is of lost frames. Leaving one out
    /// does not compile.
    const fn own(&self) -> [(&'static str, u64, bool); 6] {
        // Refusals are counted as losses in sending, and UDP has a list of its own.
        let &Self {
            name: _,
            overruns,
            send_losses,
            refused: _,
            too_big,
            xdp_tx,
            tcx_rx,
            other_vlan,
            udp: _,
        } = self;
        [
            ("overruns", overruns, true),
            ("send_losses", send_losses, true),
            ("too_big", too_big, true),
            ("xdp_tx", xdp_tx, false),
            ("tcx_rx", tcx_rx, false),
            ("other_vlan", other_vlan, false),
        ]
    }

    /// Every counter by its name, of refusals those that have occurred.
    pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let own = self.own().into_iter().map(|(name, count, _)| (name, count));
        own.chain(self.refused.counters().filter(|(_, n)| *n > 0))
            .chain(self.udp.into_iter().flat_map(UdpCounters::counters))
    }

    /// Returns those of [`Self::counters`] that are lost or dropped frames. Where they stand beside
    /// drops by reason ([`Drops`](prp_proto::stats::Drops)) their names have `device_` in front.
    pub fn losses(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        let own = self.own().into_iter().filter(|(_, _, is_loss)| *is_loss);
        let own = own.map(|(name, count, _)| (name, count));
        own.chain(self.udp.into_iter().flat_map(UdpCounters::losses))
    }

    /// Returns whether the counter `name` is one of [`Self::losses`].
    pub fn is_loss(name: &str) -> bool {
        let every = Self { udp: Some(UdpCounters::default()), ..Self::default() };
        every.losses().any(|(loss, _)| loss == name)
    }

    pub(crate) fn of(engine: &Engine) -> Vec<Self> {
        let names = engine.device_names();
        let mut core = engine.lock();
        let counters = core.device_counters();
        names
            .iter()
            .zip(counters)
            .map(|(name, c)| Self {
                name: name.clone(),
                overruns: c.overruns,
                send_losses: c.send_losses,
                refused: c.refused,
                too_big: c.too_big,
                xdp_tx: c.xdp_tx,
                tcx_rx: c.tcx_rx,
                other_vlan: c.other_vlan,
                udp: c.udp,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_loss__of_frames_and_datagrams_and_nothing_else() {
        let mut udp = UdpCounters::default();
        (udp.strangers, udp.gso_batches_sent) = (7, 8);
        let stats = DeviceStats {
            name: "udp".into(),
            overruns: 1,
            send_losses: 2,
            refused: RefusalCounts::default(),
            too_big: 3,
            xdp_tx: 4,
            tcx_rx: 5,
            other_vlan: 6,
            udp: Some(udp),
        };
        let lost: Vec<_> = stats.losses().filter(|(_, n)| *n > 0).collect();
        let expected = [("overruns", 1), ("send_losses", 2), ("too_big", 3), ("strangers", 7)];
        assert_eq!(lost, expected);
        for (name, _) in stats.counters() {
            let is_lost = stats.losses().any(|(lost, _)| lost == name);
            assert_eq!(DeviceStats::is_loss(name), is_lost, "{name}");
        }
        // A loss that is no counter would never be counted.
        let is_counter = |loss| stats.counters().any(|(name, _)| name == loss);
        assert!(stats.losses().all(|(loss, _)| is_counter(loss)));
    }
}
