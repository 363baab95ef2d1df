//! Frames that the tcx receive path takes, and frames that it leaves to the sockets.

use std::io::Read;

use prp_device::{KernelDevice, PacketDevice, PortFilter};
use prp_sock::Port;
use prp_tests::harness::skip;
use prp_tests::namespace::on_node;
use socket2::{Domain, Protocol, Socket, Type};

use crate::link::{BATCH, ETHERTYPE, End, FLOW, Link, NODE, PORT, TIMEOUT, node};

/// All of them (`ETH_P_ALL`), in network order.
const ALL: i32 = 0x0300;

/// Another protocol's EtherType.
const OTHER: u16 = 0x88b7;

/// The 802.1Q tag of this VLAN.
fn tag(frame: &mut Vec<u8>, vlan: u16) {
    let tag = [0x8100u16.to_be_bytes(), vlan.to_be_bytes()].concat();
    frame.splice(12..12, tag);
}

/// A socket on node `at` for all frames of `ethertype`, to any port.
fn listen(at: u8, ethertype: u16) -> Socket {
    on_node(at, || {
        let kind = Protocol::from(i32::from(ethertype.to_be()));
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(kind));
        let socket = socket.expect("a packet socket");
        socket.set_nonblocking(true).expect("it can be");
        socket
    })
}

/// Waits for the next frame at `socket`.
fn read_one(socket: &mut Socket, what: &str) -> Vec<u8> {
    let deadline = std::time::Instant::now() + TIMEOUT;
    let mut buffer = [0; 2048];
    loop {
        if let Some(frame) = read_frame(socket, &mut buffer) {
            return frame;
        }
        assert!(std::time::Instant::now() < deadline, "{what}: it does not come");
        std::thread::yield_now();
    }
}

/// The next frame at `socket`, if there is one.
fn read_frame(socket: &mut Socket, buffer: &mut [u8]) -> Option<Vec<u8>> {
    socket.read(buffer).ok().map(|n| buffer[..n].to_vec())
}

/// Waits for the next frame at `device`.
fn receive_one(device: &mut PacketDevice, what: &str) -> Vec<u8> {
    let deadline = std::time::Instant::now() + TIMEOUT;
    let mut came = None;
    while device.receive_frames(1, &mut |f| came = Some(f.to_vec())).expect("it can be had").frames
        == 0
    {
        assert!(std::time::Instant::now() < deadline, "{what}: it does not come");
        std::thread::yield_now();
    }
    came.expect("there is one")
}

/// Checks that the tcx receive path takes only its own frames: a socket for all EtherTypes receives
/// the others.
pub(crate) fn frames__that_are_not_ours_go_to_the_sockets() {
    type Change = fn(&mut Vec<u8>);
    let cases: [(&str, u16, Change); 13] = [
        ("the next port", ETHERTYPE, |f| f[21] += 1),
        ("a port of the next word", ETHERTYPE, |f| f[21] += 64),
        ("a port far away", ETHERTYPE, |f| f[20] = 0x40),
        ("the last port", ETHERTYPE, |f| f[20..22].fill(0xff)),
        ("another node", ETHERTYPE, |f| f[17] = 3),
        ("a node far away", ETHERTYPE, |f| f[16] = 1),
        ("another EtherType", OTHER, |f| f[13] = OTHER as u8),
        ("broadcast", ETHERTYPE, |f| f[..6].fill(0xff)),
        ("multicast", ETHERTYPE, |f| f[..6].copy_from_slice(&[3, 0, 0, 0, 0, 1])),
        ("another machine", ETHERTYPE, |f| f[5] ^= 1),
        ("a VLAN", ETHERTYPE, |f| tag(f, 5)),
        ("no VLAN, but a tag", ETHERTYPE, |f| tag(f, 0)),
        ("half a header", ETHERTYPE, |f| f.truncate(25)),
    ];
    let mut link = Link::open();
    let [mut here, mut there] = [ETHERTYPE, OTHER].map(|kind| listen(link.at.node, kind));
    for (what, ethertype, change) in cases {
        let mut frame = link.from.frame(0);
        change(&mut frame);
        link.enable();
        link.to.take_tcx_rx();
        link.send(1);
        link.from.send(&[frame.clone()]);
        link.send(1);
        let other = if ethertype == OTHER { &mut there } else { &mut here };
        let came = read_one(other, what);
        if frame[12..14] == [0x81, 0] {
            // The kernel has removed the tag.
            frame.drain(12..16);
        }
        assert!(came == frame, "{what}");
        // The device's own socket has a filter that passes the ports of a block.
        let mut ours = 0;
        while ours < 2 {
            let mut take = |f: &[u8]| ours += u32::from(f != frame);
            if link.to.receive_frames(1, &mut take).expect("they can be had").frames == 0 {
                std::thread::yield_now();
            }
        }
        link.received += 2;
        assert_eq!(link.to.take_tcx_rx(), 2, "{what}: those around it");
        link.to
            .receive_frames(64, &mut |f| assert!(f == frame, "{what}"))
            .expect("they can be had");
    }
    for socket in [&mut here, &mut there] {
        let more = read_frame(socket, &mut [0; 2048]);
        assert_eq!(more, None, "a frame that the tcx receive path took, or one twice");
    }
}

pub(crate) fn port__is_ours_only_while_it_is() {
    let mut link = Link::open();
    for _ in 0..2 {
        link.tcx_rx.own([Port::new(PORT)], false);
        assert_eq!(link.pass(BATCH), 0);
        // Neighbouring bits in the bitmap of ports do not affect it.
        for other in [0, 64, PORT - 1, PORT + 1, PORT + 64, PORT << 8, u16::MAX] {
            link.tcx_rx.own([Port::new(other)], true);
        }
        assert_eq!(link.pass(BATCH), 0);
        link.tcx_rx.own([Port::new(PORT)], true);
        assert_eq!(link.pass(BATCH), BATCH);
        for other in [0, 64, PORT - 1, PORT + 1, PORT + 64, PORT << 8, u16::MAX] {
            link.tcx_rx.own([Port::new(other)], false);
        }
        assert_eq!(link.pass(BATCH), BATCH);
    }
}

/// Two processes with a port each at the same device: every frame passes both programs until it is
/// taken.
pub(crate) fn devices__take_their_own_frames_each() {
    let mut one = Link::open();
    let mut two = Link::between(&End::of(1), &one.at, 96);
    for _ in 0..BATCH {
        one.enable();
        two.send(1);
        two.receive_all();
    }
    two.open_tcx_rx();
    for (first, second) in [(true, true), (true, false), (false, true), (true, true)] {
        for (link, armed) in [(&mut one, first), (&mut two, second)] {
            link.to.take_tcx_rx();
            if armed {
                link.enable();
            } else {
                link.tcx_rx.disable();
            }
        }
        for _ in 0..BATCH {
            one.send(1);
            two.send(2);
            one.receive_all();
            two.receive_all();
        }
        let came = (one.to.take_tcx_rx(), two.to.take_tcx_rx());
        let [a, b] = [first, second].map(u64::from);
        assert_eq!(came, (a * u64::from(BATCH), b * u64::from(2 * BATCH)));
    }
    // Expect: the end of one process does not affect the other.
    drop(one);
    assert_eq!(two.pass(FLOW), FLOW);
}

/// The node's steward answers requests for ports without an owner. The tcx receive path leaves them
/// to the socket.
pub(crate) fn steward__is_asked_past_tcx_rx() {
    let mut link = Link::open();
    let nothing = PortFilter::new(node(NODE), true, [].into_iter());
    let mut steward = link.at.device(ETHERTYPE, &nothing);
    link.enable();
    let mut request = link.from.frame(8);
    request[20..22].copy_from_slice(&200u16.to_be_bytes());
    request[29] |= 1;
    link.from.send(&[request.clone()]);
    assert!(receive_one(&mut steward, "a request") == request);
}

pub(crate) fn listener__hears_what_tcx_rx_takes() {
    let mut link = Link::open();
    let mut listener = on_node(link.at.node, || {
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(ALL)));
        let Ok(socket) = socket else { skip("packet sockets for everything") };
        socket.set_nonblocking(true).expect("it can be");
        socket
    });
    let first = link.sent;
    assert_eq!(link.pass(BATCH), BATCH);
    let mut buffer = [0; 2048];
    let mut received =
        std::iter::from_fn(|| listener.read(&mut buffer).ok().map(|n| buffer[..n].to_vec()));
    for number in first..link.sent {
        let frame = link.from.frame(number);
        assert!(received.any(|f| f == frame), "frame {number}");
    }
}
