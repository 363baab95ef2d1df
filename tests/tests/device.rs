//! The packet device itself, on a link between two nodes.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::{Command, ExitCode};

use prp_device::{
    Framing, KernelDevice, PacketDevice, Peek, PortFilter, RouterFilter, Underlay, interfaces,
};
use prp_proto::hosts::Hosts;
use prp_sock::{NodeId, Port};
use prp_tests::harness::{Load, Test};
use prp_tests::namespace::{self, mac, on_node};

/// The EtherType for local experiments (IEEE 802), which nothing else in this project uses.
const ETHERTYPE: u16 = 0x88b6;

fn main() -> ExitCode {
    let tests = [
        Test::new("hold__says_how_many_frames_wait", Load::Light, hold__says_how_many_frames_wait),
        Test::new(
            "lend__frames_stay_until_they_were_taken",
            Load::Light,
            lend__frames_stay_until_they_were_taken,
        ),
        Test::new("send__frames_of_all_sizes", Load::Light, send__frames_of_all_sizes),
        Test::new(
            "receive__what_is_for_this_machine_and_of_no_vlan",
            Load::Light,
            receive__what_is_for_this_machine_and_of_no_vlan,
        ),
        Test::new("vlan__takes_its_own_frames_only", Load::Light, vlan__takes_its_own_frames_only),
        Test::new("vlan__sends_frames_of_all_sizes", Load::Light, vlan__sends_frames_of_all_sizes),
    ];
    namespace::run_on_pair(&tests, |_| None)
}

/// The device of node `number`, for frames to its `port`. Each test uses a different port.
fn device(number: u8, port: u16) -> PacketDevice {
    let filter = PortFilter::new(node(number), false, [Port::new(port)].into_iter());
    let device = unfiltered(number);
    device.set_filter(&filter).expect("a filter");
    device
}

/// The device of node `number`, without a filter yet.
fn unfiltered(number: u8) -> PacketDevice {
    on_node(number, || {
        let found = interfaces().into_iter().find(|i| !i.loopback).expect("a device");
        PacketDevice::open(&found, ETHERTYPE).expect("it opens")
    })
}

/// As [`unfiltered`], for VLAN `vlan` of the device, of which prphosts has the next one as well.
fn in_vlan(number: u8, vlan: u16) -> PacketDevice {
    on_node(number, || {
        let found = interfaces().into_iter().find(|i| !i.loopback).expect("a device");
        let name = &found.name;
        let hosts = format!(
            "ethertype {ETHERTYPE:#06x}\n1 02:00:00:00:00:01 {name} vlan={vlan} priority=3\n\
             2 02:00:00:00:00:02 {name} vlan={}\n",
            vlan + 1
        );
        let hosts = Hosts::parse(hosts.as_bytes()).expect("no mistake");
        let framing = Framing::of(&hosts, &format!("{name}:vlan{vlan}"));
        PacketDevice::open_for(&found, &framing).expect("it opens")
    })
}

fn node(number: u8) -> NodeId {
    NodeId::new(number.into()).expect("a node")
}

/// A frame of `len` bytes for `port` of node 2.
fn frame(len: usize, port: u16) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
    frame[..6].copy_from_slice(&mac(2).0);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[16..18].copy_from_slice(&2u16.to_be_bytes());
    frame[20..22].copy_from_slice(&port.to_be_bytes());
    frame
}

/// On this link a frame has arrived when the call to send returns.
fn send(device: &mut PacketDevice, frames: &[Vec<u8>]) {
    let mut pieces = frames.iter().map(|f| [&f[..14], &f[14..22], &[][..], &f[22..]]);
    let sent = device.send_frames(&mut pieces);
    assert_eq!((sent.done, sent.lost), (frames.len(), 0));
}

fn hold__says_how_many_frames_wait() {
    let (mut from, mut to) = (device(1, 80), device(2, 80));
    let Peek::Ring(ring) = to.peek() else { panic!("no ring") };
    // More frames than the ring has slots.
    for _ in 0..300 {
        assert!(!ring.holds(0) && !ring.holds(1));
        send(&mut from, &[64, 64, 1514].map(|len| frame(len, 80)));
        let holds = [0, 1, 2, 3, 4, 5].map(|frames| ring.holds(frames));
        assert_eq!(holds, [true, true, true, true, false, false]);
        assert_eq!(to.receive_frames(64, &mut |_| {}).expect("they can be had").frames, 3);
    }
}

/// Frames are lent in order and at once, and are gone when they were taken.
fn lend__frames_stay_until_they_were_taken() {
    let (mut from, mut to) = (device(1, 320), device(2, 320));
    let frames: Vec<_> = (60..65).map(|len| frame(len, 320)).collect();
    let lend = |to: &mut PacketDevice, max: usize, taken: usize| {
        let mut lent = Vec::new();
        let mut borrow = |frames: &mut dyn Iterator<Item = &[u8]>| {
            let held: Vec<&[u8]> = frames.take(taken).collect();
            lent = held.into_iter().map(<[u8]>::to_vec).collect();
        };
        let received = to.lend(max, &mut borrow).expect("they can be had").expect("a ring");
        (received.frames, lent)
    };
    // More frames than the ring has slots.
    for _ in 0..200 {
        send(&mut from, &frames);
        assert_eq!(lend(&mut to, 64, 2), (2, frames[..2].to_vec()));
        assert_eq!(lend(&mut to, 2, 64), (2, frames[2..4].to_vec()));
        assert_eq!(lend(&mut to, 64, 64), (1, frames[4..].to_vec()));
        assert_eq!(lend(&mut to, 64, 64), (0, Vec::new()));
    }
}

/// At this MTU the device passes the length of each frame to the kernel.
fn send__frames_of_all_sizes() {
    for (number, mtu) in [(1, "9000"), (2, "9000")] {
        on_node(number, || {
            let device = interfaces().into_iter().find(|i| !i.loopback).expect("a device").name;
            let done = Command::new("ip").args(["link", "set", &device, "mtu", mtu]).status();
            assert!(done.expect("ip runs").success());
        });
    }
    // The filter passes blocks of sixteen ports.
    let (mut from, mut to) = (device(1, 160), device(2, 160));
    let sizes = [60, 64, 511, 512, 513, 1514, 4095, 4096, 4097, 8192, 9013, 9014];
    let frames: Vec<_> = sizes.map(|len| frame(len, 160)).into();
    let mut receive = |count: u32| {
        let mut come = Vec::new();
        let mut take = |frame: &[u8]| come.push(frame.to_vec());
        let received = to.receive_frames(64, &mut take).expect("they can be had");
        assert_eq!(received.frames, count);
        come
    };
    for one in &frames {
        send(&mut from, std::slice::from_ref(one));
        assert!(receive(1)[0] == *one, "{} bytes alone", one.len());
    }
    send(&mut from, &frames);
    assert!(receive(frames.len() as u32) == frames, "all at once");
}

/// The kernel delivers frames of a VLAN without a device to sockets of their EtherType, without
/// their tag (SPEC PRP-FRAME-1).
fn receive__what_is_for_this_machine_and_of_no_vlan() {
    const PORT: u16 = 240;
    let plain = frame(64, PORT);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = plain.clone();
        change(&mut frame);
        frame
    };
    let tag = |tag: [u8; 4]| with(&|f| drop(f.splice(12..12, tag)));
    let others = [
        ("VLAN 5", tag([0x81, 0, 0, 5])),
        ("VLAN 5, with a priority", tag([0x81, 0, 0x60, 5])),
        ("VLAN 5 of a provider", tag([0x88, 0xa8, 0, 5])),
        (
            "VLAN 5 in a priority",
            with(&|f| drop(f.splice(12..12, [0x81, 0, 0x60, 0, 0x81, 0, 0, 5]))),
        ),
        ("another machine", with(&|f| f[5] ^= 1)),
        ("broadcast", with(&|f| f[..6].fill(0xff))),
        ("multicast", with(&|f| f[0] |= 1)),
    ];
    let priority = tag([0x81, 0, 0x60, 0]);
    let mut from = device(1, PORT);
    let mut closed = device(2, PORT);
    let mut open = unfiltered(2);
    open.set_filter(&PortFilter::open(node(2), false)).expect("a filter");
    let mut router = unfiltered(2);
    router.set_router_filter(&RouterFilter { node: node(7), steward: false }).expect("a filter");
    for (what, frame) in others {
        send(&mut from, &[frame, priority.clone(), plain.clone()]);
        for (kind, device) in
            [("closed", &mut closed), ("open", &mut open), ("router", &mut router)]
        {
            let mut come = Vec::new();
            // Tests beside this one send to other ports on the same link.
            let mut take = |frame: &[u8]| {
                if frame.get(20..22) == Some(&PORT.to_be_bytes()) {
                    come.push(frame.to_vec());
                }
            };
            while device.receive_frames(64, &mut take).expect("they can be had").frames > 0 {}
            // The kernel has removed a tag that has a priority and no VLAN.
            assert!(come == [&plain[..], &plain], "{what}, {kind}: {} frames", come.len());
        }
    }
}

/// Of all VLANs of a trunk only one is taken, in the ring and by filters, and VLANs that prphosts
/// does not name are counted (SPEC PRP-FRAME-1).
fn vlan__takes_its_own_frames_only() {
    const PORT: u16 = 400;
    let plain = frame(64, PORT);
    let with = |tag: &[u8]| [&plain[..12], tag, &plain[12..]].concat();
    let own = with(&[0x81, 0, 0, 105]);
    let mut elsewhere = own.clone();
    elsewhere[5] ^= 1;
    let others = [
        ("no tag", plain.clone(), 0),
        ("a priority", with(&[0x81, 0, 0x60, 0]), 0),
        ("a VLAN of another line", with(&[0x81, 0, 0, 106]), 0),
        ("a VLAN of no line", with(&[0x81, 0, 0xe0, 107]), 1),
        ("a provider's VLAN", with(&[0x88, 0xa8, 0, 105]), 0),
        ("a VLAN in a VLAN", with(&[0x81, 0, 0, 105, 0x81, 0, 0, 105]), 0),
        ("another machine", elsewhere, 0),
    ];
    let mut from = device(1, PORT);
    let [mut closed, mut open, mut router] = [105; 3].map(|vlan| in_vlan(2, vlan));
    let filter = PortFilter::new(node(2), false, [Port::new(PORT)].into_iter());
    closed.set_filter(&filter).expect("a filter");
    open.set_filter(&PortFilter::open(node(2), false)).expect("a filter");
    router.set_router_filter(&RouterFilter { node: node(7), steward: false }).expect("a filter");
    let urgent = with(&[0x81, 0, 0xe0, 105]);
    for (what, frame, counted) in others {
        send(&mut from, &[frame, urgent.clone(), own.clone()]);
        for (kind, device) in
            [("closed", &mut closed), ("open", &mut open), ("router", &mut router)]
        {
            let mut come = Vec::new();
            let mut take = |frame: &[u8]| come.push(frame.to_vec());
            while device.receive_frames(64, &mut take).expect("they can be had").frames > 0 {}
            assert!(come == [&plain[..], &plain], "{what}, {kind}: {} frames", come.len());
            assert_eq!(device.take_other_vlan(), counted, "{what}, {kind}");
        }
    }
}

/// With a tag a full frame is longer than the MTU, which counts what is behind it.
fn vlan__sends_frames_of_all_sizes() {
    const PORT: u16 = 480;
    let (mut from, mut to) = (in_vlan(1, 115), in_vlan(2, 115));
    to.set_filter(&PortFilter::open(node(2), false)).expect("a filter");
    let frames: Vec<_> = [60, 64, 511, 512, 513, 1513, 1514].map(|len| frame(len, PORT)).into();
    let mut receive = || {
        let mut come = Vec::new();
        let mut take = |frame: &[u8]| come.push(frame.to_vec());
        while to.receive_frames(64, &mut take).expect("they can be had").frames > 0 {}
        come
    };
    for one in &frames {
        send(&mut from, std::slice::from_ref(one));
        assert!(receive() == [&one[..]], "{} bytes alone", one.len());
    }
    send(&mut from, &frames);
    assert!(receive() == frames, "all at once");
}
