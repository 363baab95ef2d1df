//! Frames arrive by the tcx receive path, by the socket, and by both alternately.

use std::time::Duration;

use prp_device::KernelDevice;
use prp_tests::{seed, wait};

use crate::link::{BATCH, End, FLOW, Link, Restore, SERVICE_INTERVAL, SLOTS, WITHIN, number};

pub(crate) fn flow__comes_by_tcx_rx_whole_and_in_order() {
    let mut link = Link::new();
    link.tcx_rx.disable();
    link.send(SLOTS);
    link.receive_all();
    assert_eq!(link.calls(), 0, "nobody looks");

    assert_eq!(link.pass(FLOW / 2 - 1), 0, "not before it is a flow");
    assert_eq!(link.calls(), 0);
    assert_eq!(link.pass(1), 0);
    assert_eq!(link.calls(), 1);
    assert!(link.service(Duration::ZERO).is_some());
    assert_eq!(link.pass(FLOW), 0, "not before it is known for one");
    assert_eq!(link.calls(), 1, "nobody is called twice");
    // The path is opened while frames are in transit.
    link.send(BATCH);
    assert!(link.service(WITHIN).is_some());
    link.send(BATCH);
    link.receive_all();
    link.pass_until_open();
    assert_eq!(link.pass(10 * FLOW), 10 * FLOW);
    assert_eq!(link.pass(1), 1, "a frame alone as well");
    assert!(link.service(SERVICE_INTERVAL).is_some(), "it stays open in a flow");
    assert_eq!(link.pass(BATCH), BATCH);
}

/// Random steps of a thread that polls and one that sends, with at most as many frames in transit
/// as the socket's ring holds.
pub(crate) fn frames__stay_in_order_however_it_is_armed() {
    let mut dice = seed::generator(seed::of("frames__stay_in_order_however_it_is_armed"));
    let mut link = Link::open();
    link.to.take_tcx_rx();
    let first = link.sent;
    for _ in 0..100_000 {
        match dice.below(5) {
            0 | 1 if link.sent - link.received < SLOTS - BATCH => link.send(dice.number() % 8),
            0 | 1 => link.receive_all(),
            2 => {
                link.receive(dice.below(16));
            }
            3 => {
                while link.receive(16) > 0 {}
                link.enable();
            }
            _ => {
                link.tcx_rx.disable();
            }
        }
    }
    link.receive_all();
    let (count, sent) = (link.to.take_tcx_rx(), u64::from(link.sent - first));
    assert!(count > sent / 10 && count < sent - sent / 10, "{count} of {sent}: by both");
}

/// The kernel keeps frames of several pages in pieces, the first of which has no more than the
/// Ethernet header.
pub(crate) fn frames__of_several_pages_come_by_tcx_rx_too() {
    let ends = [1, 2].map(End::of);
    let resize = |mtu: u32| {
        let ends = ends.clone();
        move || ends.iter().for_each(|end| end.run("ip", &format!("link set DEV mtu {mtu}")))
    };
    let _restore = Restore(Box::new(resize(1500)));
    resize(65_535)();
    let mut link = Link::open();
    let lengths = [100, 2_000, 4_096, 9_014, 20_000, 65_000, 65_549];
    let frames = lengths.map(|len| {
        let mut frame = link.from.frame(0);
        frame.resize(len, len as u8);
        frame
    });
    link.to.take_tcx_rx();
    link.enable();
    let mut received = Vec::new();
    for frame in &frames {
        link.from.send(std::slice::from_ref(frame));
        wait::until("a frame", || {
            let mut take = |f: &[u8]| received.push(f.to_vec());
            let taken = link.to.receive_frames(1, &mut take).expect("they can be had");
            (taken.frames > 0).then_some(())
        });
    }
    assert!(received == frames, "in order, and whole");
    assert_eq!(link.to.take_tcx_rx(), frames.len() as u64);
}

/// The polling threads have received nothing since they enabled it.
pub(crate) fn frames__that_waited_at_an_enabled_tcx_rx_come_before_later_ones() {
    let mut link = Link::open();
    for max in [1, 2, 3, 64] {
        link.enable();
        link.send(3);
        assert!(link.tcx_rx.disable(), "they wait in the tcx receive path");
        link.send(3);
        while link.received < link.sent {
            assert!(link.receive(max) > 0);
        }
        // So does a frame that arrived at the socket before.
        link.send(1);
        link.tcx_rx.enable(true);
        link.send(2);
        link.receive_all();
    }
}

/// More frames than the rings of the tcx receive path and of the socket hold: the last ones are
/// lost, as in any queue.
pub(crate) fn slots__that_are_full_close_it_until_they_are_empty() {
    let mut link = Link::open();
    for (round, settled) in [false, true, false, true].into_iter().enumerate() {
        if settled {
            assert_eq!(link.pass(1), 1);
        }
        link.enable();
        link.to.take_tcx_rx();
        let first = link.sent;
        link.send(2000);
        assert!(link.tcx_rx.holds(SLOTS), "round {round}");
        let mut came = Vec::new();
        let mut receive = |link: &mut Link, max| {
            let mut take = |f: &[u8]| {
                assert!(f == link.from.frame(number(f)), "frame {} is whole", number(f));
                came.push(number(f));
            };
            link.to.receive_frames(max, &mut take).expect("they can be had").frames
        };
        // Expect: frames go to the socket until the path is enabled again, even if it has room.
        assert_eq!(receive(&mut link, 100), 100);
        link.enable();
        link.send(1);
        while receive(&mut link, 100) > 0 {}
        let (last, of_slots) = (link.sent - 1, SLOTS as usize);
        let next: Vec<_> = (first..).take(of_slots).collect();
        assert_eq!(came[..of_slots], next, "round {round}");
        assert!(came.is_sorted_by(|a, b| a < b), "in order and once: {:?}", &came[of_slots..]);
        assert!(came.len() > of_slots && came.len() < 2000, "{} frames", came.len());
        assert_eq!(link.to.take_tcx_rx(), u64::from(SLOTS), "round {round}, up to {last}");
        link.received = link.sent;
        assert_eq!(link.pass(2 * FLOW), 2 * FLOW, "round {round}");
    }
}

pub(crate) fn flow__ends_and_frames_come_to_the_socket_again() {
    let mut link = Link::open();
    assert_eq!(link.pass(BATCH), BATCH);
    let calls = link.calls();
    link.enable();
    link.send(BATCH);
    let mut services = 0;
    while link.service(SERVICE_INTERVAL).is_some() {
        services += 1;
        assert!(services < 3, "it stays open");
    }
    // The path is closed with frames in its ring, which must come first.
    link.send(BATCH);
    link.to.take_tcx_rx();
    link.receive_all();
    assert_eq!(link.to.take_tcx_rx(), u64::from(BATCH));
    assert_eq!(link.pass(FLOW / 4), 0);
    // Expect: the path is opened again for the next flow, which is in order as well.
    assert_eq!(link.calls(), calls);
    link.flow();
    assert_eq!(link.calls(), calls + 1, "somebody is called anew");
    link.pass_until_open();
    assert_eq!(link.pass(FLOW), FLOW);
}
