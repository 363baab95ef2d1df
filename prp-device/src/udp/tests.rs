use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
const TWO: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// A device on `ip`, at ports that no other test has.
fn open(ip: IpAddr, port: u16) -> UdpDevice {
    UdpDevice::open(SocketAddr::new(ip, port), &[ONE, TWO]).unwrap()
}

fn wait(device: &UdpDevice) {
    let timeout = PollTimeout::try_from(Duration::from_secs(10)).unwrap();
    let ready = poll(&mut [PollFd::new(device.as_fd(), PollFlags::POLLIN)], timeout).unwrap();
    assert_eq!(ready, 1, "something comes");
}

/// Receives `count` datagrams.
fn receive(device: &mut UdpDevice, count: usize) -> Vec<(LinkAddr, Vec<u8>)> {
    let mut came = Vec::new();
    while came.len() < count {
        wait(device);
        device.receive(64, &mut |from, bytes| came.push((from, bytes.to_vec()))).unwrap();
    }
    came
}

#[test]
fn send__train_arrives_whole_and_in_order() {
    let (mut one, mut two) = (open(ONE, 15_230), open(TWO, 15_230));
    let to = LinkAddr::Udp { peer: UdpPeer(1), port: two.local_addr().port() };
    let from = LinkAddr::Udp { peer: UdpPeer(0), port: one.local_addr().port() };
    // 100 of one size, the last shorter: trains of 44, 44 and 12.
    let frames: Vec<Vec<u8>> =
        (0..100u8).map(|i| vec![i; if i == 99 { 700 } else { 1472 }]).collect();
    let sent = one.send(frames.iter().map(|f| (to, [&f[..16], &f[16..], &[], &[]])));
    assert_eq!(sent, Sent { done: 100, ..Sent::default() });
    assert_eq!(one.counters().trains_sent, 3);
    let came = receive(&mut two, 100);
    assert!(came.iter().all(|(sender, _)| *sender == from));
    assert!(came.iter().map(|(_, bytes)| bytes).eq(&frames));
    assert!(two.counters().trains_received > 0, "they come as they left");
}

#[test]
fn send__sizes_and_recipients_that_change_end_a_train() {
    let mut list = SendList::default();
    let to = |peer| LinkAddr::Udp { peer: UdpPeer(peer), port: 1 };
    let bytes = [0u8; 40_000];
    let sizes = [(0, 5), (0, 5), (0, 3), (0, 3), (1, 3), (1, 4), (1, 40_000), (1, 40_000)];
    let loaded = list.load(sizes.iter().map(|(p, n)| (to(*p), [&bytes[..*n], &[], &[], &[]])));
    let mut at = 0;
    let mut trains = Vec::new();
    while at < sizes.len() {
        trains.push(train_length(&loaded, at, MAX_TRAIN));
        at += trains.last().unwrap();
    }
    assert_eq!(trains, [3, 1, 1, 1, 1, 1]);
    assert_eq!(train_length(&loaded, 0, 1), 1);
}

#[test]
fn receive__counts_strangers_and_hands_out_none() {
    let mut two = open(TWO, 15_330);
    let stranger = std::net::UdpSocket::bind("127.0.0.3:0").unwrap();
    stranger.send_to(b"hello", two.local_addr()).unwrap();
    wait(&two);
    assert_eq!(two.receive(64, &mut |_, _| panic!("from a stranger")).unwrap(), 1);
    assert_eq!(two.counters().strangers, 1);
}

#[test]
fn send__nobody_there_is_an_error_of_the_network_and_stops_nothing() {
    let (mut one, mut two) = (open(ONE, 15_430), open(TWO, 15_430));
    let at = |port| LinkAddr::Udp { peer: UdpPeer(1), port };
    for _ in 0..3 {
        let sent = one.send([(at(15_431), [&b"x"[..], &[], &[], &[]])].into_iter());
        assert_eq!(sent, Sent { done: 1, ..Sent::default() });
    }
    assert_eq!(one.receive(64, &mut |_, _| panic!("nothing was sent here")).unwrap(), 0);
    one.take_errors();
    assert_eq!(one.counters().network_errors, 3);
    let sent = one.send([(at(15_430), [&b"x"[..], &[], &[], &[]])].into_iter());
    assert_eq!(sent.done, 1);
    assert_eq!(receive(&mut two, 1)[0].1, b"x");
}

#[test]
fn open__takes_the_next_port_of_the_node_that_is_free() {
    let (first, second) = (open(ONE, 15_530), open(ONE, 15_530));
    assert_eq!((first.local_addr().port(), second.local_addr().port()), (15_530, 15_531));
    let error = UdpDevice::open("192.0.2.1:5230".parse().unwrap(), &[]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    assert!(error.to_string().contains("udp:192.0.2.1:5230"), "{error}");
}

#[test]
fn offload__refused_is_off_for_all_ports_of_that_address() {
    let mut offload = Offload::default();
    let at = |peer, port| LinkAddr::Udp { peer: UdpPeer(peer), port };
    offload.refuse(at(0, 1));
    assert!(!offload.is_on(at(0, 2)) && offload.is_on(at(1, 1)));
}
