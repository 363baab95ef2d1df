use prp_device::LimitedDevice;
use prp_proto::addr::MacAddr;

use super::*;

/// Sends the frames `numbers` and says how many the device has by then.
fn send(link: &mut Link, numbers: impl Iterator<Item = u16>, stats: &mut ForwardStats) {
    let frames: Vec<_> = numbers.map(u16::to_be_bytes).collect();
    let to = LinkAddr::Ethernet(MacAddr::ZERO);
    link.send(frames.iter().map(|f| (to, [&f[..1], &f[1..]])), stats);
}

#[test]
fn send__keeps_in_order_as_much_as_there_is_room_for_and_counts_the_rest() {
    let device = LimitedDevice::new(100).unwrap();
    let mut link = Link::new("eth0", Box::new(device.clone()));
    let mut stats = ForwardStats { frames: 1200, bytes: 2400, ..ForwardStats::default() };
    let (first, second) = (0..600u16, 600..1200u16);
    send(&mut link, first, &mut stats);
    assert!(link.is_stalled());
    send(&mut link, second, &mut stats);
    // Expect: 100 sent, the next 512 kept, the others lost.
    assert_eq!((link.counters.sent, link.counters.dropped), (100, 588));
    device.set_room(usize::MAX);
    send(&mut link, 1200..1201, &mut stats);
    assert!(!link.is_stalled());
    let expected: Vec<u16> = (0..612).chain(1200..1201).collect();
    assert_eq!(device.taken(), expected);
    assert_eq!((stats.frames, stats.bytes), (612, 1224));
    assert_eq!(stats.drops[ForwardDrop::SendFailed], 588);
}

#[test]
fn send__a_frame_too_big_for_the_device_does_not_hold_up_others() {
    const TOO_BIG: u16 = LimitedDevice::TOO_BIG;
    let device = LimitedDevice::new(usize::MAX).unwrap();
    let mut link = Link::new("eth0", Box::new(device.clone()));
    let mut stats = ForwardStats::default();
    send(&mut link, [1, TOO_BIG, TOO_BIG, 2, TOO_BIG, 3].into_iter(), &mut stats);
    assert_eq!(device.taken(), [1, 2, 3]);
    assert_eq!((link.counters.sent, link.counters.dropped), (3, 3));
    assert!(!link.is_stalled());
}

#[test]
fn renumber__frames_whose_address_is_gone_are_lost_and_counted() {
    let mut link = Link::new("eth0", Box::new(LimitedDevice::new(0).unwrap()));
    let mut stats = ForwardStats { frames: 7, bytes: 14, ..ForwardStats::default() };
    send(&mut link, 0..7, &mut stats);
    link.renumber(Some, &mut stats);
    assert!(link.is_stalled() && link.counters.dropped == 0);
    link.renumber(|_| None, &mut stats);
    assert!(!link.is_stalled());
    assert_eq!((link.counters.dropped, stats.drops[ForwardDrop::SendFailed]), (7, 7));
}
