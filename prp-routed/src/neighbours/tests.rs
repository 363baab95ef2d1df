use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use prp_proto::addr::MacAddr;
use prp_proto::endpoint::Device;
use prp_proto::forward::{Flow, ForwardDrop};
use prp_proto::hosts::Hosts;
use prp_proto::wire::{ETHERTYPE, UDP_PORT};

use super::*;

const MS: Duration = Duration::from_millis(1);

/// Node 1, by 2 or else by 3 to 9; 4 is only itself.
const HOSTS: &str = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n\
    3 02:00:00:00:00:03 eth1\n4 02:00:00:00:00:04 eth1\n9 via 2, via 3 metric 1\n";

struct Bench {
    neighbours: Neighbours,
    forwarder: Forwarder,
    link_up: [bool; 2],
    now: Instant,
    /// The neighbours that are probed and have a router that answers.
    answering: Vec<u16>,
    /// The probes of this node's neighbours are passive.
    passive: bool,
    /// Probes that were sent to them.
    sent: usize,
    peers: Vec<(u16, Session)>,
}

fn node(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

/// A probe that nobody has signed.
fn unsigned(device: DeviceId, addr: LinkAddr, block: LivenessBlock) -> ProbeReceived {
    ProbeReceived { device, addr, block, number: None }
}

impl Bench {
    fn new() -> Self {
        let hosts = Hosts::parse(HOSTS.as_bytes()).unwrap();
        let routes = RouteTable::build(&hosts, node(1), |name| {
            Some(DeviceId(if name == "eth0" { 0 } else { 1 }))
        });
        let device = Device::ethernet(MacAddr([2, 0, 0, 0, 0, 1]), 1500);
        let mut neighbours = Neighbours::new(LivenessSettings::default());
        neighbours.follow(&routes, Instant::ZERO);
        let forwarder = Forwarder::new(ETHERTYPE, routes, vec![device; 2]);
        let config = LivenessSettings::default().probes.unwrap();
        let peers = [2, 3].map(|n| (n, Session::new(config, u32::from(n), Instant::ZERO)));
        Self {
            neighbours,
            forwarder,
            link_up: [true; 2],
            now: Instant::ZERO,
            answering: Vec::new(),
            passive: false,
            sent: 0,
            peers: peers.to_vec(),
        }
    }

    /// Lets `ms` milliseconds pass.
    fn run(&mut self, ms: u64) {
        for _ in 0..ms {
            let mut sent = Vec::new();
            let link_up = self.link_up;
            let up = |device: DeviceId| link_up[usize::from(device.0)];
            self.neighbours.poll(self.now, &mut self.forwarder, up, |p| sent.push(p), |_| ());
            self.sent += sent.len();
            for probe in sent {
                assert_ne!(probe.to.number(), 4, "4 routes for nobody");
                self.exchange(&probe);
            }
            let answering = self.answering.clone();
            for (number, session) in &mut self.peers {
                session.handle_timeout(self.now);
                let (device, mac) =
                    (DeviceId(*number - 2), MacAddr([2, 0, 0, 0, 0, *number as u8]));
                session.set_passive(self.passive);
                while let Some(block) = session.poll(self.now) {
                    if answering.contains(number) && link_up[usize::from(device.0)] {
                        let probe = unsigned(device, mac.into(), block);
                        self.neighbours.receive(self.now, &probe, |_| false).expect("it is taken");
                    }
                }
            }
            self.now = self.now + MS;
        }
    }

    fn exchange(&mut self, probe: &Probe) {
        let number = probe.to.number();
        let link_up = self.link_up[usize::from(probe.device.0)];
        if let Some((_, session)) = self.peers.iter_mut().find(|(n, _)| *n == number)
            && self.answering.contains(&number)
            && link_up
        {
            session.handle(self.now, &probe.block);
        }
    }

    /// The neighbour that frames for 9 go to.
    fn next_node(&self) -> u16 {
        self.next_node_to(9).unwrap()
    }

    /// The neighbour that frames for `dst` go to.
    fn next_node_to(&self, dst: u16) -> Result<u16, ForwardDrop> {
        let flow = Flow { src: 1, dst, src_port: 1, dst_port: 1 };
        self.forwarder.next_hop(node(dst), flow, None).map(|hop| hop.node.number())
    }

    /// Router `number` stops, and says so.
    fn stop(&mut self, number: u16) {
        let goodbye = self.peers.iter().find(|(n, _)| *n == number).unwrap().1.farewell();
        self.answering.retain(|n| *n != number);
        let (device, mac) = (DeviceId(number - 2), MacAddr([2, 0, 0, 0, 0, number as u8]));
        let probe = unsigned(device, mac.into(), goodbye);
        self.neighbours.receive(self.now, &probe, |_| false).expect("it is taken");
    }

    /// Router `number` starts.
    fn start(&mut self, number: u16) {
        let config = LivenessSettings::default().probes.unwrap();
        let started = Session::new(config, 100 + u32::from(number), self.now);
        self.peers.iter_mut().find(|(n, _)| *n == number).unwrap().1 = started;
        self.answering.push(number);
    }

    fn changes(&self) -> Vec<u64> {
        self.neighbours.iter().map(|n| n.changes).collect()
    }
}

/// The routes of node 1 by `text`.
fn routes(text: &str) -> RouteTable {
    let hosts = Hosts::parse(text.as_bytes()).unwrap();
    let number = |name: &str| Some(DeviceId(if name == "eth0" { 0 } else { 1 }));
    RouteTable::build(&hosts, node(1), number)
}

/// A route by 2 and 3 is no longer there, and later nor is theirs by this node.
//= PRP-LIVE-5, type=test
#[test]
fn poll__a_session_that_neither_end_needs_ends() {
    let mut bench = Bench::new();
    bench.answering = vec![2, 3];
    bench.run(2_000);
    let states =
        |bench: &Bench| bench.neighbours.iter().map(Neighbour::liveness).collect::<Vec<_>>();
    let both_up = [Some("up"), Some("up"), None];
    assert_eq!(states(&bench), both_up);
    let (direct, _) = HOSTS.split_once("9 via").unwrap();
    bench.neighbours.follow(&routes(direct), bench.now);
    bench.run(5_000);
    assert_eq!(states(&bench), both_up, "the other ends need it");
    bench.passive = true;
    bench.run(1_000);
    assert_eq!(states(&bench), [None; 3]);
    // Expect: that was no failure, and what was still in flight begins nothing.
    assert_eq!(bench.changes(), vec![0; 3]);
    let sent = std::mem::take(&mut bench.sent);
    assert!(sent > 0);
    bench.run(5_000);
    assert_eq!((states(&bench), bench.sent), (vec![None; 3], 0));
    // Expect: ends that need one get one.
    bench.passive = false;
    bench.run(5_000);
    assert_eq!(states(&bench), both_up);
}

#[test]
fn poll__neighbours_without_a_router_are_used_all_the_same() {
    let mut bench = Bench::new();
    bench.run(5_000);
    assert_eq!((bench.next_node(), bench.changes()), (2, vec![0; 3]));
}

#[test]
fn poll__a_link_that_goes_down_is_followed_at_once_and_one_that_comes_up_after_a_pause() {
    let mut bench = Bench::new();
    bench.run(10);
    bench.link_up[0] = false;
    bench.run(1);
    assert_eq!(bench.next_node(), 3);
    bench.link_up[0] = true;
    bench.run(999);
    assert_eq!(bench.next_node(), 3);
    bench.run(2);
    assert_eq!(bench.next_node(), 2);
}

#[test]
fn poll__a_link_that_comes_and_goes_changes_the_route_once() {
    let mut bench = Bench::new();
    for _ in 0..20 {
        bench.link_up[0] = !bench.link_up[0];
        bench.run(300);
    }
    assert_eq!((bench.next_node(), bench.changes()[0]), (3, 1));
}

#[test]
fn poll__silence_of_a_router_that_was_up_is_its_death() {
    let mut bench = Bench::new();
    bench.answering = vec![2, 3];
    bench.run(2_000);
    assert_eq!((bench.next_node(), bench.changes()), (2, vec![0; 3]));
    bench.answering = vec![3];
    bench.run(301);
    assert_eq!(bench.next_node(), 3, "three intervals of 100 ms");
    bench.run(5_000);
    assert_eq!(bench.next_node(), 3);
    bench.answering = vec![2, 3];
    bench.run(4_000);
    assert_eq!((bench.next_node(), bench.changes()), (2, vec![2, 0, 0]));
}

//= PRP-LIVE-4, type=test
#[test]
fn poll__a_router_that_has_stopped_gets_its_own_frames_alone() {
    let mut bench = Bench::new();
    bench.answering = vec![2, 3];
    bench.run(2_000);
    bench.stop(2);
    bench.run(1);
    assert_eq!((bench.next_node(), bench.next_node_to(2)), (3, Ok(2)));
    bench.run(60_000);
    assert_eq!((bench.next_node(), bench.next_node_to(2)), (3, Ok(2)));
    // It is back, and has not failed: no pause.
    bench.start(2);
    bench.run(10);
    assert_eq!(bench.next_node(), 2);
    // Where it was the only one left, what it would forward goes nowhere.
    bench.stop(2);
    bench.stop(3);
    bench.run(1);
    assert_eq!(bench.next_node_to(9), Err(ForwardDrop::AllDown));
    assert_eq!((bench.next_node_to(2), bench.next_node_to(3)), (Ok(2), Ok(3)));
}

/// A router that stops, is started again and then dies, or loses its link, has failed.
#[test]
fn poll__a_failure_after_a_stop_is_a_failure() {
    let mut bench = Bench::new();
    bench.answering = vec![2, 3];
    bench.run(2_000);
    bench.stop(2);
    bench.run(50);
    bench.link_up[0] = false;
    bench.run(50);
    bench.link_up[0] = true;
    bench.start(2);
    bench.run(900);
    assert_eq!(bench.next_node(), 3, "the link has come back just now");
    bench.run(200);
    assert_eq!(bench.next_node(), 2);
}

/// Over UDP a route has the node's own port, and its router sends from one of the following.
#[test]
fn receive__from_each_udp_port_of_the_neighbour() {
    let hosts = "1 udp:10.0.0.1\n2 udp:10.0.0.2\n3 udp:10.0.0.3\n8 via 2\n9 via 3\n";
    let hosts = Hosts::parse(hosts.as_bytes()).unwrap();
    let routes = RouteTable::build(&hosts, node(1), |_| Some(DeviceId(0)));
    let mut neighbours = Neighbours::new(LivenessSettings::default());
    neighbours.follow(&routes, Instant::ZERO);
    let config = LivenessSettings::default().probes.unwrap();
    let block = Session::new(config, 7, Instant::ZERO).poll(Instant::ZERO).expect("a probe");
    let LinkAddr::Udp { peer, port } = hosts.udp_addrs(node(2))[0].1 else { panic!("over UDP") };
    let from = LinkAddr::Udp { peer, port: port + 127 };
    let probe = unsigned(DeviceId(0), from, block);
    neighbours.receive(Instant::ZERO, &probe, |_| false).expect("it is taken");
    let states: Vec<_> = neighbours.iter().map(|n| (n.hop.node.number(), n.liveness())).collect();
    assert_eq!(states, [(2, Some("init")), (3, Some("down"))]);
}

/// Node 1 of a cluster on UDP, and the routers of others.
struct UdpBench {
    hosts: Hosts,
    neighbours: Neighbours,
    forwarder: Forwarder,
    now: Instant,
    peers: HashMap<IpAddr, Session>,
}

impl UdpBench {
    fn new(text: &str, routers: &[&str]) -> Self {
        let hosts = Hosts::parse(text.as_bytes()).unwrap();
        let routes = RouteTable::build(&hosts, node(1), |_| Some(DeviceId(0)));
        let mut neighbours = Neighbours::new(LivenessSettings::default());
        neighbours.follow(&routes, Instant::ZERO);
        let device = Device::udp(hosts.udp_addrs(node(1))[0].1, 1472, 44);
        let forwarder = Forwarder::new(ETHERTYPE, routes, vec![device]);
        let config = LivenessSettings::default().probes.unwrap();
        let session = |number| Session::new(config, number, Instant::ZERO);
        let peers = (100..).zip(routers).map(|(number, ip)| (ip.parse().unwrap(), session(number)));
        Self { hosts, neighbours, forwarder, now: Instant::ZERO, peers: peers.collect() }
    }

    /// As the daemon does it.
    fn reload(&mut self, text: &str) {
        self.hosts = Hosts::parse(text.as_bytes()).unwrap();
        let routes = RouteTable::build(&self.hosts, node(1), |_| Some(DeviceId(0)));
        self.forwarder.set_routes(routes.clone());
        self.neighbours.follow(&routes, self.now);
    }

    /// Lets a millisecond pass.
    fn step(&mut self) {
        let mut sent = Vec::new();
        let Self { hosts, neighbours, forwarder, now, peers } = self;
        neighbours.poll(*now, forwarder, |_| true, |probe| sent.push(probe), |_| ());
        for probe in sent {
            let to = hosts.socket_addr(probe.addr).expect("an address of the file in force");
            if let Some(peer) = peers.get_mut(&to.ip()) {
                peer.handle(*now, &probe.block);
            }
        }
        for (ip, peer) in peers {
            peer.handle_timeout(*now);
            while let Some(block) = peer.poll(*now) {
                let from = StationAddr::Udp(SocketAddr::new(*ip, UDP_PORT));
                let from = forwarder.routes().link_addr(from).expect("it has a line");
                let probe = unsigned(DeviceId(0), from, block);
                neighbours.receive(*now, &probe, |_| false).expect("it is taken");
            }
        }
        *now = *now + MS;
    }

    fn next_node_to(&self, dst: u16) -> Result<u16, ForwardDrop> {
        let flow = Flow { src: 1, dst, src_port: 1, dst_port: 1 };
        self.forwarder.next_hop(node(dst), flow, None).map(|hop| hop.node.number())
    }
}

/// A UDP address has another number after a line was inserted above its own: sessions, and what is
/// known of neighbours, stay with their addresses.
#[test]
fn follow__neighbours_are_known_by_their_addresses_and_not_by_numbers() {
    let file = "1 udp:10.0.0.1\n2 udp:10.0.0.2\n3 udp:10.0.0.3\n4 udp:10.0.0.4\n\
                8 via 2\n9 via 3, via 4 metric 9\n";
    let above = format!("7 udp:10.0.0.7\n{file}");
    // Each number that was one host's is another one's.
    let below = "9 via 3, via 4 metric 9\n8 via 2\n4 udp:10.0.0.4\n3 udp:10.0.0.3\n\
                 2 udp:10.0.0.2\n1 udp:10.0.0.1\n";
    for text in [&above, below, file] {
        let mut bench = UdpBench::new(file, &["10.0.0.2", "10.0.0.3", "10.0.0.4"]);
        (0..2_000).for_each(|_| bench.step());
        // Router 3 dies.
        bench.peers.remove(&"10.0.0.3".parse().unwrap());
        (0..1_000).for_each(|_| bench.step());
        let known = |bench: &UdpBench| (bench.next_node_to(8), bench.next_node_to(9));
        assert_eq!(known(&bench), (Ok(2), Ok(4)));
        bench.reload(text);
        // From the first frame on.
        for ms in 0..5_000 {
            assert_eq!(known(&bench), (Ok(2), Ok(4)), "after {ms} ms with\n{text}");
            bench.step();
        }
        let states = bench.neighbours.iter().filter(|n| n.routes);
        let mut states: Vec<_> =
            states.map(|n| (n.hop.node.number(), n.liveness(), n.changes)).collect();
        states.sort_unstable();
        assert_eq!(states, [(2, Some("up"), 0), (3, Some("down"), 1), (4, Some("up"), 0)]);
    }
}

/// A neighbour whose probes are signed, and each of them as it was recorded.
struct SignedPeer {
    session: Session,
    sent: u64,
    recorded: Vec<ProbeReceived>,
}

impl SignedPeer {
    fn new(number: u32, now: Instant) -> Self {
        let config = LivenessSettings::default().probes.unwrap();
        Self { session: Session::new(config, number, now), sent: 0, recorded: Vec::new() }
    }

    /// Lets a millisecond pass in which `bench` hears it, if it lives.
    fn step(&mut self, bench: &mut Bench, lives: bool) {
        let mut sent = Vec::new();
        let Bench { neighbours, forwarder, now, .. } = bench;
        neighbours.poll(*now, forwarder, |_| true, |probe| sent.push(probe), |_| ());
        for probe in sent.iter().filter(|probe| probe.to.number() == 2 && lives) {
            self.session.handle(*now, &probe.block);
        }
        self.session.handle_timeout(*now);
        while let Some(block) = self.session.poll(*now).filter(|_| lives) {
            self.sent += 1;
            let addr = MacAddr([2, 0, 0, 0, 0, 2]).into();
            let probe = ProbeReceived { device: DeviceId(0), addr, block, number: Some(self.sent) };
            assert_eq!(neighbours.receive(*now, &probe, |_| true), Ok(()));
            self.recorded.push(probe);
        }
        *now = *now + MS;
    }
}

fn liveness_of_2(bench: &Bench) -> Option<&'static str> {
    bench.neighbours.iter().find(|n| n.hop.node.number() == 2).and_then(Neighbour::liveness)
}

/// PRP-LIVE-6: who records the probes of a neighbour cannot make it seem alive.
#[test]
fn receive__recorded_probes_keep_no_session_up_and_bring_none_up() {
    let mut bench = Bench::new();
    let mut before = SignedPeer::new(2, Instant::ZERO);
    (0..4000).for_each(|_| before.step(&mut bench, true));
    assert_eq!(liveness_of_2(&bench), Some("up"));
    // It is killed, and another one comes in its place once its silence was noticed.
    (0..1000).for_each(|_| before.step(&mut bench, false));
    let mut peer = SignedPeer::new(77, bench.now);
    (0..4000).for_each(|_| peer.step(&mut bench, true));
    assert_eq!(liveness_of_2(&bench), Some("up"));
    for at in 0..4000 {
        for recorded in [&before.recorded, &peer.recorded] {
            let probe = &recorded[at % recorded.len()];
            let _ = bench.neighbours.receive(bench.now, probe, |_| true);
        }
        peer.step(&mut bench, false);
        assert!(at < 400 || liveness_of_2(&bench) != Some("up"), "after {at} ms");
    }
}

/// PRP-LIVE-6: nor can they end the session of one that lives, also those of before its restart.
#[test]
fn receive__recorded_probes_end_no_session() {
    let mut bench = Bench::new();
    let mut before = SignedPeer::new(2, Instant::ZERO);
    (0..2000).for_each(|_| before.step(&mut bench, true));
    let mut goodbye = *before.recorded.last().expect("it has probed");
    goodbye.block = before.session.farewell();
    goodbye.number = Some(before.sent + 1);
    assert_eq!(bench.neighbours.receive(bench.now, &goodbye, |_| true), Ok(()));
    let mut peer = SignedPeer::new(77, bench.now);
    (0..4000).for_each(|_| peer.step(&mut bench, true));
    assert_eq!(liveness_of_2(&bench), Some("up"));
    let recorded = [&before.recorded[..], &[goodbye], &peer.recorded].concat();
    for probe in recorded {
        let taken = bench.neighbours.receive(bench.now, &probe, |_| true);
        assert_eq!(taken, Err(ForwardDrop::Replayed), "{probe:?}");
        peer.step(&mut bench, true);
        assert_eq!(liveness_of_2(&bench), Some("up"));
    }
}

/// PRP-LIVE-6: nor can they bring up the session of one that has stopped on purpose.
#[test]
fn receive__recorded_probes_bring_up_no_session_that_was_ended() {
    let mut bench = Bench::new();
    let mut before = SignedPeer::new(2, Instant::ZERO);
    (0..4000).for_each(|_| before.step(&mut bench, true));
    (0..1000).for_each(|_| before.step(&mut bench, false));
    let mut peer = SignedPeer::new(77, bench.now);
    (0..4000).for_each(|_| peer.step(&mut bench, true));
    assert_eq!(liveness_of_2(&bench), Some("up"));
    let mut goodbye = *peer.recorded.last().expect("it has probed");
    goodbye.block = peer.session.farewell();
    goodbye.number = Some(peer.sent + 1);
    assert_eq!(bench.neighbours.receive(bench.now, &goodbye, |_| true), Ok(()));
    for probe in before.recorded.iter().chain(&peer.recorded) {
        let _ = bench.neighbours.receive(bench.now, probe, |_| true);
        assert_ne!(liveness_of_2(&bench), Some("up"), "{probe:?}");
    }
}

/// PRP-KEY-19: a node behind the neighbour's address that need not sign does not get around it.
#[test]
fn receive__unsigned_where_the_neighbour_is_to_sign() {
    let mut bench = Bench::new();
    let config = LivenessSettings::default().probes.unwrap();
    let block = Session::new(config, 7, Instant::ZERO).poll(Instant::ZERO).expect("a probe");
    let probe = unsigned(DeviceId(0), MacAddr([2, 0, 0, 0, 0, 2]).into(), block);
    let taken = bench.neighbours.receive(Instant::ZERO, &probe, |asked| asked == node(2));
    assert_eq!(taken, Err(ForwardDrop::Unsigned));
    assert_eq!(liveness_of_2(&bench), Some("down"));
    let taken = bench.neighbours.receive(Instant::ZERO, &probe, |asked| asked != node(2));
    assert_eq!(taken, Ok(()));
    assert_eq!(liveness_of_2(&bench), Some("init"));
}
