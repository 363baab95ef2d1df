//! Every counter of the daemon, each once: what it tells as JSON and as text for Prometheus is made
//! of these lists.

use prp_device::UdpDevice;
use prp_proto::forward::ForwardStats;

use crate::kernel::DeviceCounts;
use crate::router::{PresenceCounters, Router};

/// A counter of the daemon as a whole.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Total {
    /// Its name in JSON.
    pub name: &'static str,
    /// Its name for Prometheus.
    pub metric: &'static str,
    /// What it counts.
    pub help: &'static str,
    /// How much.
    pub value: u64,
}

/// Those of `router`, without drops and devices. Leaving out a field does not compile.
pub fn of_router(router: &Router) -> [Total; 8] {
    // Drops have a list of their own, and devices have what the kernel sends by each.
    let ForwardStats { frames, bytes, local, drops: _ } = router.forwarder.stats();
    let DeviceCounts { frames: by_kernel, bytes: bytes_by_kernel, sent: _ } = router.kernel.total();
    let &PresenceCounters { echoes, refusals, resets, suppressed } = router.presence_counters();
    let counter = |name, help, value| Total { name, metric: name, help, value };
    [
        counter("forwarded_frames", "Frames sent on", frames + by_kernel),
        counter("forwarded_bytes", "Bytes of frames sent on", bytes + bytes_by_kernel),
        Total {
            metric: "kernel_forwarded_frames",
            ..counter("forwarded_by_kernel", "Of those, by the kernel itself", by_kernel)
        },
        counter("local_frames", "Frames for this node's control port", *local),
        counter("echoes_answered", "Echoes answered", echoes),
        counter(
            "requests_refused",
            "Requests to ports without an owner, or without a route",
            refusals,
        ),
        counter("connections_reset", "Resets in the name of dead processes", resets),
        counter("answers_suppressed", "Answers beyond the limit", suppressed),
    ]
}

/// What the UDP device of `router` counts besides, by name; none where the node is not on UDP.
pub fn of_udp(router: &Router) -> Option<impl Iterator<Item = (&'static str, u64)> + use<>> {
    let udp = router.links.iter().find_map(|link| link.io.udp())?;
    Some(UdpDevice::counters(udp).counters())
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::time::Duration;

    use nix::errno::Errno;
    use prp_device::{LimitedDevice, Refusal, UdpCounters, Underlay};
    use prp_proto::addr::NodeId;
    use prp_proto::device::Device;
    use prp_proto::forward::Forwarder;
    use prp_proto::hosts::Hosts;
    use prp_proto::route::RouteTable;
    use prp_proto::time::Instant;
    use serde_json::json;

    use super::*;
    use crate::link::Link;
    use crate::neighbours::Neighbours;
    use crate::node_port::RouterNodePort;
    use crate::{metrics, report};

    /// A router on UDP, and the node's own port, which it holds. Tests run at the same time: each
    /// has a node and a port that no other test has.
    fn router(node: u16, port: u16) -> (Router, SocketAddr) {
        let text = format!("1 udp:127.0.0.1:{port}\n2 udp:127.0.0.2:{port}\n");
        let hosts = Hosts::parse(text.as_bytes()).expect("no mistake");
        let local = NodeId::new(node).expect("a node");
        let own = hosts.udp_addrs(NodeId::MIN)[0];
        let mut io = UdpDevice::open(&[own.0], false, hosts.udp_peers()).expect("a free port");
        let port = RouterNodePort::new(local, &mut io).expect("no other router");
        let routes = RouteTable::build(&hosts, NodeId::MIN, |_| None);
        let ours = Device::new(own.1, io.capabilities());
        let forwarder = Forwarder::new(hosts.ethertype(), routes, vec![ours]);
        let link = Link::new("udp", Box::new(io));
        let mut router = Router::new(forwarder, vec![link]).expect("a Unix socket");
        router.node_port = Some(port);
        (router, own.0)
    }

    #[test]
    fn note_received__what_a_device_has_lost_is_an_overrun() {
        let (mut router, _) = router(65_041, 17_830);
        let device = LimitedDevice::new(0).expect("a pipe");
        router.links.push(Link::new("eth0", Box::new(device)));
        router.poll(Instant::ZERO).expect("a socket");
        let overruns: Vec<_> = router.links.iter().map(|link| link.counters.overruns).collect();
        assert_eq!(overruns, [0, LimitedDevice::OVERRUNS.into()]);
    }

    /// Each has one name everywhere, and what counts each device too.
    #[test]
    fn drops__every_reason_is_in_each_form() {
        let (mut router, _) = router(65_042, 17_930);
        let reasons: Vec<_> = router.forwarder.stats().drops.iter().map(|(why, _)| why).collect();
        for (count, why) in (1..).zip(&reasons) {
            (0..count).for_each(|_| router.forwarder.stats_mut().not_sent(0, *why));
        }
        let link = &mut router.links[0].counters;
        (link.overruns, link.dropped, link.other_vlan) = (98, 99, 97);
        link.refused.note(Refusal::of_frame(Errno::EPERM as i32));
        let text = metrics::text(&mut router, &Neighbours::default(), 0, 0);
        for (count, why) in (1_u64..).zip(&reasons) {
            let name = why.name();
            assert_eq!(report::counters(&router)["dropped"][name], count, "{name}");
            assert_eq!(report::dropped(&router)[name], count, "{name}");
            let line = format!("prp_routed_dropped_frames_total{{reason=\"{name}\"}} {count}\n");
            assert!(text.contains(&line), "{name}: {text}");
        }
        let device = serde_json::to_value(&report::devices(&mut router)[0]).expect("JSON");
        assert_eq!(device["refused"], json!({ "refused_eperm": 1 }));
        let line = "prp_routed_device_refused_total{device=\"udp\",error=\"eperm\"} 1\n";
        assert!(text.contains(line), "{text}");
        for (name, count) in [("overruns", 98), ("dropped", 99), ("other_vlan", 97)] {
            assert_eq!(device[name], count);
            let line = format!("prp_routed_device_{name}_total{{device=\"udp\"}} {count}\n");
            assert!(text.contains(&line), "{name}: {text}");
        }
    }

    /// What is too short, carries no packet, or comes from no node is counted in each form.
    #[test]
    fn of_udp__every_counter_is_in_each_form() {
        let (mut router, own) = router(65_040, 17_730);
        let stranger = UdpSocket::bind("127.0.0.9:0").expect("an address of this machine");
        for bytes in [&b"no packet"[..], &[]] {
            stranger.send_to(bytes, own).expect("it is there");
        }
        let begun = std::time::Instant::now();
        while of_udp(&router).expect("a UDP device").map(|(_, count)| count).sum::<u64>() < 2 {
            assert!(begun.elapsed() < Duration::from_secs(20), "both datagrams come");
            router.poll(Instant::ZERO).expect("a socket");
        }
        let json = report::counters(&router);
        let text = metrics::text(&mut router, &Neighbours::default(), 0, 0);
        for (name, _) in UdpCounters::default().counters() {
            let count = u64::from(["unaddressed", "too_short"].contains(&name));
            assert_eq!(json["udp"][name], count, "{name}: {json}");
            let line = format!("prp_routed_udp_{name}_total {count}\n");
            assert!(text.contains(&line), "{name}: {text}");
        }
    }
}
