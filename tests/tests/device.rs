//! The packet device itself, on a link between two nodes.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::{Command, ExitCode};

use prp_sock::node::{FrameIo, PacketDevice, Peek, PortFilter, interfaces};
use prp_sock::{NodeId, Port};
use prp_tests::harness::{Load, Test};
use prp_tests::namespace::{self, on_node};

/// For local experiments (IEEE 802), and nobody else's here.
const ETHERTYPE: u16 = 0x88b6;

fn main() -> ExitCode {
    let tests = [
        Test::new("hold__says_how_many_frames_wait", Load::Light, hold__says_how_many_frames_wait),
        Test::new("send__frames_of_all_sizes", Load::Light, send__frames_of_all_sizes),
    ];
    namespace::run_on_pair(&tests, |_| None)
}

/// The device of node `number`, for frames to its `port`: each test has one of its own.
fn device(number: u8, port: u16) -> PacketDevice {
    on_node(number, || {
        let found = interfaces().into_iter().find(|i| !i.loopback).expect("a device");
        let mut device = PacketDevice::open(&found, ETHERTYPE).expect("it opens");
        let node = NodeId::new(number.into()).expect("a node");
        let filter = PortFilter::new(node, false, [Port::new(port)].into_iter());
        device.set_filter(&filter).expect("a filter");
        device
    })
}

/// A frame of `len` bytes for `port` of node 2, that all nodes of the link are sent.
fn frame(len: usize, port: u16) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
    frame[..6].fill(0xff);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[16..18].copy_from_slice(&2u16.to_be_bytes());
    frame[20..22].copy_from_slice(&port.to_be_bytes());
    frame
}

/// On this link what is sent is there when the call returns.
fn send(device: &mut PacketDevice, frames: &[Vec<u8>]) {
    let mut pieces = frames.iter().map(|f| [&f[..14], &f[14..22], &[][..], &f[22..]]);
    let sent = device.send(&mut pieces);
    assert_eq!((sent.done, sent.lost), (frames.len(), 0));
}

fn hold__says_how_many_frames_wait() {
    let (mut from, mut to) = (device(1, 80), device(2, 80));
    let Peek::Ring(ring) = to.peek() else { panic!("no ring") };
    // As many as to come round in the ring.
    for _ in 0..300 {
        assert!(!ring.holds(0) && !ring.holds(1));
        send(&mut from, &[64, 64, 1514].map(|len| frame(len, 80)));
        let holds = [0, 1, 2, 3, 4, 5].map(|frames| ring.holds(frames));
        assert_eq!(holds, [true, true, true, true, false, false]);
        assert_eq!(to.receive(64, &mut |_| {}).expect("they can be had"), 3);
    }
}

/// ... at an MTU at which the kernel is told how long each is.
fn send__frames_of_all_sizes() {
    for (number, mtu) in [(1, "9000"), (2, "9000")] {
        on_node(number, || {
            let device = interfaces().into_iter().find(|i| !i.loopback).expect("a device").name;
            let done = Command::new("ip").args(["link", "set", &device, "mtu", mtu]).status();
            assert!(done.expect("ip runs").success());
        });
    }
    // Blocks of sixteen ports pass together.
    let (mut from, mut to) = (device(1, 160), device(2, 160));
    let sizes = [60, 64, 511, 512, 513, 1514, 4095, 4096, 4097, 8192, 9013, 9014];
    let frames: Vec<_> = sizes.map(|len| frame(len, 160)).into();
    let mut receive = |count: usize| {
        let mut come = Vec::new();
        let n = to.receive(64, &mut |frame| come.push(frame.to_vec())).expect("they can be had");
        assert_eq!(n, count);
        come
    };
    for one in &frames {
        send(&mut from, std::slice::from_ref(one));
        assert!(receive(1)[0] == *one, "{} bytes alone", one.len());
    }
    send(&mut from, &frames);
    assert!(receive(frames.len()) == frames, "all at once");
}
