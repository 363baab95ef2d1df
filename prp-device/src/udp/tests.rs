use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use super::node_port::HANDED_ON_LEN;
use super::*;
use crate::{Peek, Received, Refusal, Sent, Underlay};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::geteuid;
use prp_proto::addr::Port;
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{Head, NetworkHeader, TransportHeader, sealed};
use socket2::{Domain, Protocol, Type};

mod gso_batches;

const ONE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 1));
const TWO: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// A device on `ip`, at ports that no other test has.
fn open(ip: IpAddr, port: u16) -> UdpDevice {
    UdpDevice::open(&[SocketAddr::new(ip, port)], true, &[ONE, TWO]).unwrap()
}

fn first_fd(device: &UdpDevice) -> BorrowedFd<'_> {
    device.fds().next().unwrap()
}

fn take_node_port(device: &mut UdpDevice) -> NodePort {
    device.take_node_ports().next().flatten().unwrap()
}

/// Waits until there is something at `fd`; what.
fn wait_for(fd: BorrowedFd<'_>) -> PollFlags {
    let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
    assert_eq!(poll(&mut fds, PollTimeout::from(10_000u16)), Ok(1), "something comes");
    fds[0].revents().unwrap()
}

fn wait(device: &UdpDevice) {
    let timeout = PollTimeout::try_from(Duration::from_secs(10)).unwrap();
    let mut fds: Vec<_> = device.fds().map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
    assert!(poll(&mut fds, timeout).unwrap() > 0, "something comes");
}

/// Receives `count` datagrams.
fn receive(device: &mut UdpDevice, count: usize) -> Vec<(LinkAddr, Vec<u8>)> {
    let mut came = Vec::new();
    while came.len() < count {
        if !device.poll_once() {
            wait(device);
        }
        device.receive_packets(64, &mut |from, bytes| came.push((from, bytes.to_vec()))).unwrap();
    }
    came
}

/// Has `one` send until it has seen that GSO batches get through to `to`, which is `two`.
fn trust_gso_batches(one: &mut UdpDevice, two: &mut UdpDevice, to: LinkAddr) {
    let bytes = [5; 1472];
    while one.counters().gso_batches_sent == 0 {
        one.send(&mut [(to, [&bytes[..], &[], &[], &[]]); 2].into_iter());
        wait(two);
        while two.poll_once() {
            two.receive_packets(64, &mut |_, datagram| assert_eq!(datagram, bytes)).unwrap();
        }
        one.receive_packets(64, &mut |_, _| panic!("reports are not handed out")).unwrap();
    }
}

#[test]
fn send__gso_batch_arrives_whole_and_in_order() {
    let (mut one, mut two) = (open(ONE, 15_230), open(TWO, 15_230));
    let to = LinkAddr::Udp { peer: UdpPeer(1), port: two.local_addr().port() };
    trust_gso_batches(&mut one, &mut two, to);
    let before = one.counters().gso_batches_sent;
    let from = LinkAddr::Udp { peer: UdpPeer(0), port: one.local_addr().port() };
    // 100 of one size, the last shorter: 44 fit a GSO batch.
    let frames: Vec<Vec<u8>> =
        (1..=100u8).map(|i| vec![i; if i == 100 { 700 } else { 1472 }]).collect();
    let sent = one.send(&mut frames.iter().map(|f| (to, [&f[..16], &f[16..], &[], &[]])));
    assert_eq!(sent, Sent { done: 100, ..Sent::default() });
    assert_eq!(one.counters().gso_batches_sent - before, 3);
    let came = receive(&mut two, 100);
    assert!(came.iter().all(|(sender, _)| *sender == from));
    assert!(came.iter().map(|(_, bytes)| bytes).eq(&frames));
    assert!(two.counters().gso_batches_received > 0, "they come as they left");
}

#[test]
fn poll__what_it_has_received_is_handed_out_once_and_in_order() {
    let (mut one, mut two) = (open(ONE, 15_830), open(TWO, 15_830));
    let to = LinkAddr::Udp { peer: UdpPeer(1), port: two.local_addr().port() };
    assert!(!two.poll_once(), "nothing was sent");
    for number in 0..3u8 {
        assert_eq!(one.send(&mut [(to, [&[number][..], &[], &[], &[]])].into_iter()).done, 1);
    }
    wait(&two);
    assert!(two.poll_once() && two.poll_once());
    let came: Vec<_> = receive(&mut two, 3).into_iter().map(|(_, bytes)| bytes[0]).collect();
    assert_eq!(came, [0, 1, 2]);
    assert!(!two.poll_once());
}

#[test]
fn peek__tells_how_much_waits() {
    let (mut one, mut two) = (open(ONE, 15_930), open(TWO, 15_930));
    let to = LinkAddr::Udp { peer: UdpPeer(1), port: two.local_addr().port() };
    let Peek::Queue(peek) = two.peek() else { panic!("no queue") };
    assert!(peek.room() >= 4 * peek.datagram_bytes(), "{peek:?}");
    assert!(!peek.holds(first_fd(&two), 1));
    let bytes = vec![7; peek.datagram_bytes()];
    for number in 1..=2 {
        assert_eq!(one.send(&mut [(to, [&bytes[..], &[], &[], &[]])].into_iter()).done, 1);
        wait(&two);
        assert!(peek.holds(first_fd(&two), number));
        // Expect: no more than there is, by what the kernel adds to each.
        assert!(!peek.holds(first_fd(&two), 2 * number));
    }
    receive(&mut two, 2);
    assert!(!peek.holds(first_fd(&two), 1));
}

#[test]
fn receive__counts_strangers_and_hands_out_none() {
    let mut two = open(TWO, 15_330);
    let stranger = std::net::UdpSocket::bind("127.0.0.3:0").unwrap();
    stranger.send_to(b"hello", two.local_addr()).unwrap();
    wait(&two);
    assert_eq!(two.receive_packets(64, &mut |_, _| panic!("from a stranger")).unwrap().frames, 1);
    assert_eq!(two.counters().strangers, 1);
    // Expect: what is no packet comes from no node.
    assert_eq!(two.take_stranger(), None);
    stranger.send_to(&packet_of_node_9(), two.local_addr()).unwrap();
    wait(&two);
    assert_eq!(two.receive_packets(64, &mut |_, _| panic!("from a stranger")).unwrap().frames, 1);
    let expected = NodeId::new(9).map(|node| (node, stranger.local_addr().unwrap()));
    assert_eq!((two.take_stranger(), two.take_stranger()), (expected, None));
}

/// A packet without data, of node 9.
fn packet_of_node_9() -> Vec<u8> {
    let (node, port) = (|n| NodeId::new(n).unwrap(), Port::new(70));
    let network = NetworkHeader { src: node(9), dst: node(2) };
    let transport = TransportHeader::new(port, port, Seq::default(), SeqWidth::Bits20, 0);
    sealed(Head { ethernet: None, network, transport }, &[])
}

#[test]
fn send__no_socket_there_is_an_error_of_the_network_and_stops_nothing() {
    let (mut one, mut two) = (open(ONE, 15_430), open(TWO, 15_430));
    let at = |port| LinkAddr::Udp { peer: UdpPeer(1), port };
    for _ in 0..3 {
        let sent = one.send(&mut [(at(15_440), [&b"x"[..], &[], &[], &[]])].into_iter());
        assert_eq!(sent, Sent { done: 1, ..Sent::default() });
    }
    assert_eq!(
        one.receive_packets(64, &mut |_, _| panic!("nothing was sent here")).unwrap().frames,
        0
    );
    one.take_errors();
    assert_eq!(one.counters().network_errors, 3);
    let sent =
        one.send(&mut [(at(two.local_addr().port()), [&b"x"[..], &[], &[], &[]])].into_iter());
    assert_eq!(sent.done, 1);
    assert_eq!(receive(&mut two, 1)[0].1, b"x");
}

/// A flood has filled the buffer, so that the kernel cannot keep the error.
#[test]
fn receive__an_error_without_room_for_it_stops_nothing() {
    let mut one = open(ONE, 16_330);
    socket2::SockRef::from(&first_fd(&one)).set_recv_buffer_size(1).unwrap();
    let other = std::net::UdpSocket::bind((TWO, 0)).unwrap();
    for _ in 0..100 {
        other.send_to(&[7; 1000], one.local_addr()).unwrap();
    }
    let nobody = LinkAddr::Udp { peer: UdpPeer(1), port: 16_339 };
    one.send_one(nobody, [b"hello", &[], &[], &[]]);
    let mut fds = [PollFd::new(first_fd(&one), PollFlags::empty())];
    assert!(poll(&mut fds, PollTimeout::from(10_000u16)).unwrap() > 0, "an error");
    let mut came = 0;
    while one.poll_once() {
        one.receive_packets(64, &mut |_, _| came += 1).unwrap();
    }
    assert!((1..100).contains(&came), "{came} of 100 had room");
    assert_eq!(one.counters().network_errors, 1);
}

#[test]
fn open__takes_the_next_port_of_the_node_that_is_free() {
    let (mut first, second) = (open(ONE, 15_530), open(ONE, 15_530));
    assert_eq!((first.local_addr().port(), second.local_addr().port()), (15_531, 15_532));
    assert_eq!((first.offset(), second.offset()), (1, 2));
    // Expect: the node's own port is its first process's, until that gives it up.
    assert!(first.has_node_ports() && !second.has_node_ports());
    first.take_node_ports().for_each(drop);
    assert!(NodePort::open(second.own_addr(), second.node_port_drops()).is_ok());
    let error = UdpDevice::open(&["192.0.2.1:5230".parse().unwrap()], true, &[]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    assert!(error.to_string().contains("udp:192.0.2.1:5231"), "{error}");
}

/// GSO batches and single datagrams for two processes of a node, alternately.
#[test]
fn hand_on__datagrams_reach_their_processes_with_the_address_they_came_from() {
    let (mut one, mut first, mut second) =
        (open(ONE, 15_630), open(TWO, 15_630), open(TWO, 15_630));
    let mut node_port = take_node_port(&mut first);
    let to = LinkAddr::Udp { peer: UdpPeer(1), port: 15_630 };
    let from = LinkAddr::Udp { peer: UdpPeer(0), port: one.local_addr().port() };
    let sizes = [700, 700, 700, 3, 1400, 1400];
    // The first byte says for which process it is; 9 is for none.
    let recipients = [1u8, 2, 2, 9, 1, 1];
    let datagrams: Vec<_> = recipients.iter().zip(sizes).map(|(to, n)| vec![*to; n]).collect();
    let sent = one.send(&mut datagrams.iter().map(|d| (to, [&d[..], &[], &[], &[]])));
    assert_eq!(sent.done, datagrams.len());
    let mut handed_on = 0;
    while handed_on < datagrams.len() {
        let timeout = PollTimeout::try_from(Duration::from_secs(10)).unwrap();
        let mut fds = [PollFd::new(node_port.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut fds, timeout).unwrap(), 1);
        let offset = |bytes: &[u8]| (bytes[0] < 9).then_some(u16::from(bytes[0]));
        handed_on += node_port.hand_on(offset).unwrap();
    }
    for (device, number) in [(&mut first, 1), (&mut second, 2)] {
        let expected: Vec<_> =
            datagrams.iter().filter(|d| d[0] == number).map(|d| (from, d.clone())).collect();
        assert_eq!(receive(device, expected.len()), expected);
        assert_eq!(device.counters().handed_on, expected.len() as u64);
    }
}

#[test]
fn hand_on__strangers_stay_strangers() {
    let mut two = open(TWO, 15_730);
    let mut node_port = take_node_port(&mut two);
    let stranger = std::net::UdpSocket::bind("127.0.0.3:0").unwrap();
    stranger.send_to(&packet_of_node_9(), two.own_addr()).unwrap();
    let timeout = PollTimeout::try_from(Duration::from_secs(10)).unwrap();
    assert_eq!(poll(&mut [PollFd::new(node_port.as_fd(), PollFlags::POLLIN)], timeout), Ok(1));
    assert_eq!(node_port.hand_on(|_| Some(1)).unwrap(), 1);
    wait(&two);
    assert_eq!(two.receive_packets(64, &mut |_, _| panic!("from a stranger")).unwrap().frames, 1);
    assert_eq!((two.counters().strangers, two.counters().handed_on), (1, 0));
    let expected = NodeId::new(9).map(|node| (node, stranger.local_addr().unwrap()));
    assert_eq!(two.take_stranger(), expected);
}

/// With the address in front, no datagram of UDP has this number of bytes.
#[test]
fn hand_on__what_is_too_long_is_counted_and_dropped() {
    for (ip, sizes) in [(TWO, [65_489, 65_490, 65_507]), (V6, [65_470, 65_471, 65_488])] {
        let mut two = open(ip, 16_430);
        let mut node_port = take_node_port(&mut two);
        let sender = std::net::UdpSocket::bind((ip, 0)).unwrap();
        for bytes in sizes {
            sender.send_to(&vec![7; bytes], two.own_addr()).unwrap();
            wait_for(node_port.as_fd());
            assert_eq!(node_port.hand_on(|_| Some(1)).unwrap(), 1);
        }
        let UdpCounters { too_long, not_handed_on, .. } = two.counters();
        assert_eq!((too_long, not_handed_on), (2, 0));
        wait(&two);
        assert_eq!(
            two.receive_packets(64, &mut |_, _| ()).unwrap().frames,
            1,
            "the first one fits"
        );
    }
}

#[test]
fn hand_on__what_has_no_addressee_is_counted() {
    let mut two = open(TWO, 16_530);
    let mut node_port = take_node_port(&mut two);
    let stranger = std::net::UdpSocket::bind((ONE, 0)).unwrap();
    let mut probe = [0; 64];
    GsoProbe::write_probe(&mut probe, 1, 1);
    for bytes in [&b"hello"[..], &probe] {
        stranger.send_to(bytes, two.own_addr()).unwrap();
        wait_for(node_port.as_fd());
        assert_eq!(node_port.hand_on(|_| None).unwrap(), 1);
    }
    // Expect: a probe has come where it was meant to come.
    assert_eq!(two.counters().unaddressed, 1);
}

/// The process that a datagram was handed on to has ended: the kernel says so.
#[test]
fn hand_on__no_error_stays_that_would_end_every_poll() {
    let mut two = open(TWO, 16_630);
    let mut node_port = take_node_port(&mut two);
    let stranger = std::net::UdpSocket::bind((ONE, 0)).unwrap();
    stranger.send_to(b"hello", two.own_addr()).unwrap();
    wait_for(node_port.as_fd());
    assert_eq!(node_port.hand_on(|_| Some(99)).unwrap(), 1);
    assert!(wait_for(node_port.as_fd()).contains(PollFlags::POLLERR));
    // Where a program takes the error of the socket, or its next call has failed by it, what the
    // kernel has to say of it stays.
    assert!(socket2::SockRef::from(&node_port.as_fd()).take_error().unwrap().is_some());
    assert_eq!(node_port.hand_on(|_| None).unwrap(), 0);
    let mut fds = [PollFd::new(node_port.as_fd(), PollFlags::POLLIN)];
    assert_eq!(poll(&mut fds, PollTimeout::ZERO), Ok(0));
}

#[test]
fn handed_on__addresses_of_both_kinds_and_what_is_too_short() {
    for from in ["192.0.2.7:5231", "[fd00::7]:5300"] {
        let from: SocketAddr = from.parse().unwrap();
        let mut bytes = node_port::handed_on_front(from).to_vec();
        bytes.extend(b"rest");
        assert_eq!(read_handed_on(&bytes), Some((from, &b"rest"[..])));
        for short in 0..HANDED_ON_LEN {
            assert_eq!(read_handed_on(&bytes[..short]), None);
        }
    }
}

/// Has `from` send `bytes` to `to`, which is `receiver`, and waits for it to come.
fn pass(from: &mut UdpDevice, to: LinkAddr, receiver: &mut UdpDevice, bytes: &[u8]) {
    assert_eq!(from.send_one(to, [&bytes[..1], &bytes[1..], &[], &[]]).done, 1);
    assert_eq!(receive(receiver, 1)[0].1, bytes);
}

#[test]
fn connect__to_the_peer_that_most_comes_from_and_to_others_as_well() {
    let (mut one, mut two) = (open(ONE, 16_230), open(TWO, 16_230));
    let mut other = open(ONE, 16_230);
    let link = |peer, device: &UdpDevice| LinkAddr::Udp {
        peer: UdpPeer(peer),
        port: device.local_addr().port(),
    };
    let (to_one, to_two, to_other) = (link(0, &one), link(1, &two), link(0, &other));
    let exchange = |one: &mut UdpDevice, two: &mut UdpDevice, to_one| {
        for round in 0..200u8 {
            pass(one, to_two, two, &[1, round]);
            pass(two, to_one, one, &[2, round]);
        }
    };
    exchange(&mut one, &mut two, to_one);
    assert_eq!((one.counters().connects, two.counters().connects), (1, 1));
    // What one has sent comes by the connected socket, and what another one has by the other one.
    one.send_one(to_two, [b"a", &[], &[], &[]]);
    other.send_one(to_two, [b"b", &[], &[], &[]]);
    for fd in two.fds() {
        let timeout = PollTimeout::try_from(Duration::from_secs(10)).unwrap();
        assert_eq!(poll(&mut [PollFd::new(fd, PollFlags::POLLIN)], timeout), Ok(1));
    }
    let mut came: Vec<_> = receive(&mut two, 2);
    came.sort();
    assert_eq!(came, [(to_one, b"a".to_vec()), (to_other, b"b".to_vec())]);
    // The other one says more from now on.
    exchange(&mut other, &mut two, to_other);
    assert_eq!((two.counters().connects, other.counters().connects), (2, 1));
    exchange(&mut one, &mut two, to_one);
    assert_eq!(two.counters().connects, 3);
    // Expect: no other process of this user can have their address and port.
    let third = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    third.set_reuse_port(true).unwrap();
    assert!(third.bind(&two.local_addr().into()).is_err());
    assert_eq!(two.counters().strangers + two.counters().network_errors, 0);
}

/// A peer to which the first datagram of a GSO batch gets through, and no other one of it.
#[test]
fn send__no_gso_batches_where_they_do_not_get_through() {
    let mut one = open(ONE, 16_030);
    let two = std::net::UdpSocket::bind("127.0.0.2:16030").unwrap();
    two.set_nonblocking(true).unwrap();
    let to = LinkAddr::Udp { peer: UdpPeer(1), port: 16_030 };
    let bytes = [5; 1472];
    while one.counters().gso_withdrawn == 0 {
        one.send(&mut [(to, [&bytes[..], &[], &[], &[]]); 32].into_iter());
        let mut buffer = [0; 2000];
        // They are there once they are sent, on loopback.
        while let Ok((len, from)) = two.recv_from(&mut buffer) {
            match GsoProbe::read_whole(&buffer[..len]) {
                None => assert_eq!(buffer[..len], bytes),
                Some(GsoProbe::Probe { test, .. }) => {
                    two.send_to(&GsoProbe::report(test, 0xff01), from).unwrap();
                }
                Some(other) => panic!("{other:?}"),
            }
        }
        one.receive_packets(64, &mut |_, _| panic!("reports are not handed out")).unwrap();
    }
    let UdpCounters { gso_batches_sent, gso_tests_failed, .. } = one.counters();
    assert_eq!((gso_batches_sent, gso_tests_failed), (0, 2));
}

#[test]
fn node_port__answers_probes() {
    let (one, mut two) = (std::net::UdpSocket::bind("127.0.0.1:0").unwrap(), open(TWO, 16_130));
    let mut node_port = take_node_port(&mut two);
    one.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut bytes = [0; 1472];
    GsoProbe::write_probe(&mut bytes, 7, 9);
    one.send_to(&bytes, two.own_addr()).unwrap();
    let timeout = PollTimeout::try_from(Duration::from_secs(10)).unwrap();
    assert_eq!(poll(&mut [PollFd::new(node_port.as_fd(), PollFlags::POLLIN)], timeout), Ok(1));
    assert_eq!(node_port.hand_on(|_| None).unwrap(), 1);
    let len = one.recv(&mut bytes).unwrap();
    assert_eq!(
        GsoProbe::read_whole(&bytes[..len]),
        Some(GsoProbe::Report { test: 7, came: 1 << 9 })
    );
}

/// The kernel reports of the first report that no socket is there, when the second one is sent.
#[test]
fn node_port__answers_probes_of_others_than_the_one_that_has_gone() {
    let mut two = open(TWO, 16_730);
    let mut node_port = take_node_port(&mut two);
    let [gone, there] = [(); 2].map(|()| std::net::UdpSocket::bind((ONE, 0)).unwrap());
    there.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut bytes = [0; 64];
    GsoProbe::write_probe(&mut bytes, 7, 9);
    gone.send_to(&bytes, two.own_addr()).unwrap();
    there.send_to(&bytes, two.own_addr()).unwrap();
    drop(gone);
    wait_for(node_port.as_fd());
    assert_eq!(node_port.hand_on(|_| None).unwrap(), 2);
    assert_eq!(there.recv(&mut bytes).unwrap(), GsoProbe::LEN);
}

/// Has the kernel believe that a datagram of `device` to [`TWO`] was too long for a router; false
/// where the user may not.
fn forge_too_big(device: &UdpDevice) -> bool {
    let raw = match Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4)) {
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied && !geteuid().is_root() => {
            return false;
        }
        raw => raw.unwrap(),
    };
    // Destination unreachable, fragmentation needed, an MTU of 600; the headers of the datagram.
    let mut message = vec![3, 4, 0, 0, 0, 0, 2, 88, 0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0];
    message.extend([127, 0, 0, 1, 127, 0, 0, 2]);
    let [from, to] = [device.local_addr().port(), 9].map(u16::to_be_bytes);
    message.extend([from[0], from[1], to[0], to[1], 0, 30, 0, 0]);
    let words = message.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let sum: u32 = words.sum();
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    raw.send_to(&message, &SocketAddr::new(device.local_addr().ip(), 0).into()).unwrap();
    let mut fds = [PollFd::new(first_fd(device), PollFlags::empty())];
    assert_eq!(poll(&mut fds, PollTimeout::from(10_000u16)), Ok(1), "it has come");
    true
}

/// The kernel reports of a datagram that has left at the next call. No ICMP message is believed.
#[test]
fn send__too_big_is_about_the_datagram_itself() {
    let (mut one, mut two) = (open(ONE, 16_830), open(TWO, 16_830));
    let to = LinkAddr::Udp { peer: UdpPeer(1), port: two.local_addr().port() };
    let bytes = [5; 1472];
    trust_gso_batches(&mut one, &mut two, to);
    if !forge_too_big(&one) {
        return;
    }
    let before = one.counters();
    let sent = one.send(&mut [(to, [&bytes[..], &[], &[], &[]]); 2].into_iter());
    assert_eq!(sent, Sent { done: 2, ..Sent::default() });
    let UdpCounters { gso_batches_sent, gso_batches_refused, .. } = one.counters();
    assert_eq!((gso_batches_sent - before.gso_batches_sent, gso_batches_refused), (1, 0));
    assert!(forge_too_big(&one));
    let sent = one.send(&mut [(to, [&bytes[..], &[], &[], &[]])].into_iter());
    assert_eq!(sent, Sent { done: 1, ..Sent::default() });
    assert!(forge_too_big(&one));
    let sent = one.send(&mut [(to, [&[5; 65_508][..], &[], &[], &[]])].into_iter());
    assert_eq!(sent, Sent { refused: Some(Refusal::TOO_BIG), ..Sent::default() });
    receive(&mut two, 3);
}

#[test]
fn receive__datagrams_without_a_byte_count() {
    let mut two = open(TWO, 16_930);
    let mut node_port = take_node_port(&mut two);
    let stranger = std::net::UdpSocket::bind((ONE, 0)).unwrap();
    for _ in 0..20 {
        stranger.send_to(&[], two.local_addr()).unwrap();
    }
    // Expect: it stops when it has had enough, though there are more.
    let first = two.receive_packets(2, &mut |_, _| panic!("nothing")).unwrap().frames;
    let second = two.receive_packets(2, &mut |_, _| panic!("nothing")).unwrap().frames;
    assert!(first > 0 && second > 0 && first + second < 20, "{first} {second}");
    let mut came = first + second;
    while came < 20 {
        came += two.receive_packets(64, &mut |_, _| panic!("nothing")).unwrap().frames;
    }
    stranger.send_to(&[], two.own_addr()).unwrap();
    wait_for(node_port.as_fd());
    assert_eq!(node_port.hand_on(|_| panic!("it has no owner")).unwrap(), 1);
    assert_eq!(two.counters().too_short, 21);
}

/// The kernel says what it has dropped with the datagram that comes next.
#[test]
fn receive__counts_what_found_no_room() {
    const SENT: u32 = 40_000;
    // A socket that connects to the sender would get the last one, and says nothing of the other.
    let own = [SocketAddr::new(TWO, 17_230)];
    let mut two = UdpDevice::open(&own, false, &[ONE, TWO]).unwrap();
    let one = std::net::UdpSocket::bind((ONE, 0)).unwrap();
    let send = |two: &UdpDevice| {
        one.send_to(b"hello", two.local_addr()).unwrap();
    };
    (0..SENT).for_each(|_| send(&two));
    let mut sum = Received::default();
    let mut receive = |two: &mut UdpDevice| {
        let Received { frames, lost } = two.receive_packets(64, &mut |_, _| ()).unwrap();
        sum = Received { frames: sum.frames + frames, lost: sum.lost + lost };
        frames
    };
    while receive(&mut two) > 0 {}
    send(&two);
    wait(&two);
    receive(&mut two);
    assert!(sum.lost > 0 && sum.frames + sum.lost <= SENT + 1, "{sum:?}");
}

/// Neither of two processes would be the steward if each had the port of one address.
#[test]
fn window__follows_the_room_of_the_socket() {
    let mut device = open(ONE, 17_130);
    let mut window = |room| {
        device.room = room;
        assert_eq!(device.capabilities().window, device.window());
        device.window()
    };
    assert_eq!(window(2 * 212_992), Device::WINDOW, "ordinary users of older kernels");
    assert_eq!(window(6 << 20), 768 * 1024);
    assert_eq!([8 << 20, 1 << 30].map(window), [Device::MAX_WINDOW; 2]);
}

#[test]
fn open__node_ports_go_to_one_process() {
    let own = [ONE, TWO].map(|ip| SocketAddr::new(ip, 17_030));
    let open = || UdpDevice::open(&own, true, &[ONE, TWO]).unwrap();
    let held = |device: &mut UdpDevice| device.take_node_ports().map(|p| p.is_some()).collect();
    let other = std::net::UdpSocket::bind(own[0]).unwrap();
    let (mut first, mut second) = (open(), open());
    let none: Vec<bool> = held(&mut first);
    assert_eq!(none, [false, false]);
    // Expect: where that is a router, which has the first alone, a process may have the others.
    second.open_node_ports();
    assert_eq!(held(&mut second), [false, true]);
    drop(other);
    assert_eq!(held(&mut open()), [true, true]);
}
