//! Paths that carry less than both ends' devices, or less than a moment ago.

use super::*;
use crate::wire::CRC_LEN;

/// Frames of more bytes than this behind the Ethernet header vanish.
fn hole(pair: &mut Pair, mtu: usize) {
    pair.rule =
        Box::new(
            move |_, bytes| {
                if bytes.len() > mtu + 14 { FrameAction::Drop } else { FrameAction::Pass }
            },
        );
}

fn reductions(pair: &mut Pair, c: ConnHandle) -> u64 {
    pair.client.endpoint.conn_stats(c).unwrap().segment_reductions
}

//= PRP-SIZE-4, type=test
//= PRP-SIZE-5, type=test
#[test]
fn size__a_hole_that_opens_under_a_stream_is_got_through() {
    for policy in [Reliability::SelectiveRepeat, Reliability::GoBackN] {
        for (mtu, crc) in [(1400, true), (1230, true), (1400, false)] {
            let mut pair = Pair::default();
            let config = ConnConfig { crc, ..with_policy(policy) };
            let (c, s) = pair.established_with(config, config);
            assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(50_000)), pattern(50_000));
            // Full segments are in flight when it opens.
            pair.write_all(ToServer, c, &pattern(100_000));
            hole(&mut pair, mtu);
            let start = pair.time;
            let mut got = Vec::new();
            assert!(pair.drive_until(|pair| {
                got.extend(pair.read_available(ToServer, s));
                got.len() >= 100_000
            }));
            assert_eq!(got, pattern(100_000), "{policy} {mtu}");
            assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(300_000)), pattern(300_000));
            assert_eq!(reductions(&mut pair, c), 1, "{policy} {mtu}");
            let took = pair.time.since(start);
            assert!(took < Duration::from_secs(5), "{policy} {mtu} {took:?}");
        }
    }
}

//= PRP-SIZE-3, type=test
#[test]
fn size__is_found_between_and_again_once_the_hole_is_gone() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    hole(&mut pair, 1400);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(100_000)), pattern(100_000));
    let largest = |pair: &mut Pair, total: usize| {
        let seen = alloc::sync::Arc::new(core::sync::atomic::AtomicUsize::new(0));
        let (noted, mut rule) =
            (seen.clone(), core::mem::replace(&mut pair.rule, Box::new(|_, _| FrameAction::Pass)));
        pair.rule = Box::new(move |d, bytes| {
            if d == ToServer && is_data(bytes) {
                noted.fetch_max(bytes.len() - 30, core::sync::atomic::Ordering::Relaxed);
            }
            rule(d, bytes)
        });
        let data = pattern(total);
        assert_eq!(transfer(pair, ToServer, c, s, &data), data);
        seen.load(core::sync::atomic::Ordering::Relaxed)
    };
    // Let the search come to its end.
    for _ in 0..20 {
        transfer(&mut pair, ToServer, c, s, &pattern(10_000));
        pair.drive_for(50 * MS);
    }
    let found = largest(&mut pair, 100_000) - CRC_LEN;
    assert!((1400 - 20 - 64..=1400 - 20).contains(&found), "{found}");
    pair.rule = Box::new(|_, _| FrameAction::Pass);
    for _ in 0..10 {
        transfer(&mut pair, ToServer, c, s, &pattern(10_000));
        pair.drive_for(10_000 * MS);
    }
    assert_eq!(largest(&mut pair, 100_000), 1484, "with its trailer");
}

/// Losses of all sizes alike are no hole: where 25 % of frames are lost, eight vain answers in a
/// row are as rare as one in 65,536.
//= PRP-SIZE-4, type=test
#[test]
fn size__losses_alone_make_no_segment_smaller() {
    for one_in in [4, 10] {
        let mut pair = Pair::default();
        let (c, s) = pair.established();
        let mut dice: u64 = 42;
        pair.rule = Box::new(move |_, _| {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            if (dice >> 33).is_multiple_of(one_in) { FrameAction::Drop } else { FrameAction::Pass }
        });
        assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(300_000)), pattern(300_000));
        assert_eq!(reductions(&mut pair, c), 0, "one in {one_in}");
    }
}

/// A peer's word is not enough: sizes that were not probed are not believed.
//= PRP-SIZE-3, type=test
#[test]
fn size__an_answer_to_no_probe_changes_nothing() {
    let mut pair = Pair::new(9000);
    let (c, s) = pair.established();
    let now = pair.time;
    let server = &mut pair.server.endpoint;
    server.table.get_mut(s).unwrap().pending.size_ack = Some(8000);
    server.settle(s, now);
    pair.drive();
    hole(&mut pair, 1500);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(100_000)), pattern(100_000));
    assert_eq!(reductions(&mut pair, c), 0);
}

/// The next connection to the node begins with what is known of the path.
#[test]
fn size__is_remembered_for_the_node() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    hole(&mut pair, 1400);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(100_000)), pattern(100_000));
    let now = pair.time;
    pair.client.endpoint.release(now, c, true);
    pair.server.endpoint.release(now, s, true);
    pair.drive_for(1000 * MS);
    let (c, s) = pair.established();
    assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(100_000)), pattern(100_000));
    assert_eq!(reductions(&mut pair, c), 0);
}
