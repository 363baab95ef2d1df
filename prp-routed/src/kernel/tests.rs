use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::endpoint::Device;
use prp_proto::forward::{FibEntry, Outcome};
use prp_proto::hosts::Hosts;
use prp_proto::route::{HopUse, RouteTable};
use prp_proto::wire::{ETHERTYPE, HEADER_LEN, ethernet_source};

use super::*;

/// What the program returns for frames it passes up, and for those it sends on.
const UP: u32 = u32::MAX;
const ON: u32 = 7;

/// The two devices' numbers in the kernel: trying a program out sends nothing.
const INDEX: [u32; 2] = [70, 71];

fn node(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn mac(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

/// Node 5, with 1 and 2 on its left and 3 and 4 on its right, as `text` goes on.
fn router(text: &str) -> Forwarder {
    router_of(&format!(
        "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n\
         3 02:00:00:00:00:03 eth1\n4 02:00:00:00:00:04 eth1\n{text}"
    ))
}

/// Node 5, whose prphosts has `text` for the others.
fn router_of(text: &str) -> Forwarder {
    let text = format!("5 02:00:00:00:00:a0 eth0\n{text}");
    let hosts = Hosts::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    let device = |name: &str| name.strip_prefix("eth").and_then(|n| n.parse().ok()).map(DeviceId);
    let routes = RouteTable::build(&hosts, node(5), device);
    let device = |last, mtu| Device::ethernet(mac(last), mtu);
    Forwarder::new(ETHERTYPE, routes, vec![device(0xa0, 1500), device(0xa1, 1400)])
}

/// The programs of node 5's devices, and their table.
struct Bench {
    words: SharedWords,
    layout: Layout,
    programs: Vec<FrameProgram>,
}

impl Bench {
    /// None, and a line about it, where it is not permitted. Root is always permitted.
    fn new(layout: Layout) -> Option<Self> {
        let words = SharedWords::new("test", layout.words());
        let words = match words {
            Err(e)
                if e.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root() =>
            {
                println!("SKIP: needs CAP_BPF and CAP_NET_ADMIN");
                return None;
            }
            other => other.expect("memory shared with the kernel"),
        };
        let load = |device: u16, last| {
            let point =
                AttachPoint { device: DeviceId(device), mac: mac(last), ethertype: ETHERTYPE };
            let text = program(node(5), &point, &layout, words.number());
            FrameProgram::load("test", &text).expect("a program the kernel takes")
        };
        let programs = vec![load(0, 0xa0), load(1, 0xa1)];
        Some(Self { words, layout, programs })
    }

    fn table(&self) -> SharedTable<'_> {
        SharedTable { words: self.words.words(), layout: self.layout }
    }

    fn half(&self, forwarder: &Forwarder) -> Vec<u64> {
        let exit = |device: usize| {
            let longest = forwarder.devices()[device].mtu as usize + ETHERNET_LEN;
            Some(Exit { index: INDEX[device], longest })
        };
        half(&self.layout, forwarder, &[exit(0), exit(1)])
    }

    fn counted(&self) -> [DeviceCounts; 2] {
        [0, 1].map(|device| self.table().counted(device))
    }
}

/// The program does with `frame` what `forwarder` would, or passes it up unchanged, and that only
/// where something is to be decided. Returns whether the frame went on.
fn agrees(bench: &Bench, forwarder: &Forwarder, device: usize, frame: &[u8]) -> bool {
    let before = bench.counted();
    let (verdict, out) = bench.programs[device].try_out(frame).expect("it runs");
    let mut expected = before;
    let on = match forwarder.decide(DeviceId(device as u16), ethernet_source(frame), frame) {
        Outcome::Forward(departure) if verdict == ON => {
            assert_eq!(out, [departure.head(), &frame[HEADER_LEN..]].concat());
            expected[device].frames += 1;
            expected[device].bytes += frame.len() as u64;
            expected[usize::from(departure.device.0)].sent += 1;
            true
        }
        outcome => {
            assert_eq!((verdict, &out[..]), (UP, frame), "{outcome:?}");
            if let Outcome::Forward(departure) = outcome {
                let [src, dst] = [14, 16].map(|at| u16::from_be_bytes([frame[at], frame[at + 1]]));
                let unknown = usize::from(src.max(dst)) >= bench.layout.rows;
                let settled = forwarder.settled(node(dst));
                let from = (DeviceId(device as u16), &frame[6..12]);
                let among = |s: &FibEntry| {
                    s.hops.iter().any(|hop| from == (hop.device, &hop.addr.mac().unwrap().0[..]))
                };
                // Of those that share, one may take longer frames than another.
                let alone = |s: &FibEntry| !s.back && among(s) || frame.len() > s.longest;
                assert!(
                    unknown || settled.as_ref().is_none_or(alone),
                    "{departure:?}: {settled:?}"
                );
            }
            false
        }
    };
    assert_eq!(bench.counted(), expected);
    on
}

/// Routes to 9 by each neighbour, and the frames that it is sent.
fn arb_router() -> impl Strategy<Value = Forwarder> {
    let hop_use = prop_oneof![
        8 => Just(HopUse::All),
        1 => Just(HopUse::Itself),
        1 => Just(HopUse::LastResort),
    ];
    let hops = proptest::array::uniform4((0..4u16, hop_use));
    (hops, 172..1600u32).prop_map(|(hops, mtu)| {
        let via: Vec<String> =
            (1..).zip(hops).map(|(n, (metric, _))| format!("via {n} metric {metric}")).collect();
        let mut forwarder =
            router(&format!("9 {} mtu={mtu}\n4000 via 3\n60000 via 3\n", via.join(", ")));
        for (n, (_, hop_use)) in (1..).zip(hops) {
            forwarder.set_use(DeviceId(u16::from(n > 2)), mac(n), hop_use);
        }
        forwarder
    })
}

/// Frames that are right in most respects, so that many of them go on.
fn arb_frame() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let strange = || proptest::sample::select(vec![0u16, 5, 12, 4095, 4096, 65_535]);
    let known = proptest::sample::select(vec![1u16, 2, 3, 4, 9, 4000, 60_000]);
    // Mostly the neighbour's own frames, or some that it may pass on.
    let src = prop_oneof![8 => Just(None), 2 => known.clone().prop_map(Some), 1 => strange().prop_map(Some)];
    let dst = prop_oneof![9 => known, 1 => strange()];
    let from = (0..6u8, proptest::bool::weighted(0.1));
    let to = prop_oneof![9 => Just(None), 1 => any::<u8>().prop_map(Some)];
    let ethertype = prop_oneof![18 => Just(ETHERTYPE), 1 => Just(0x8100), 1 => any::<u16>()];
    let length = prop_oneof![4 => Just(0i32), 1 => -40..40i32];
    let flags = (any::<u32>(), prop_oneof![9 => 0..15u32, 1 => Just(15)]);
    let size = prop_oneof![3 => 0..100usize, 1 => 1300..1600usize];
    ((to, from), (src, dst), (ethertype, length, flags), (size, 14..1000usize)).prop_map(
        |((to, (from, elsewhere)), (src, dst), (ethertype, length, flags), (size, cut))| {
            let device = usize::from((from > 2) != elsewhere);
            let to = to.unwrap_or([0xa0, 0xa1][device]);
            let mut frame = [&mac(to).0[..], &mac(from).0[..], &ethertype.to_be_bytes()].concat();
            frame.extend(
                [src.unwrap_or_else(|| from.into()).to_be_bytes(), dst.to_be_bytes()].concat(),
            );
            frame.extend([cut as u8, 70, from, size as u8, 0, 3]);
            frame.extend((size as i32 + length).max(0).to_be_bytes().into_iter().skip(2));
            frame.extend((flags.0 & !0xf000 | flags.1 << 12).to_be_bytes());
            frame.extend((0..size).map(|i| i as u8));
            if cut < 100 {
                frame.truncate(cut);
            }
            (device, frame)
        },
    )
}

//= PRP-FWD-1, PRP-FWD-2, PRP-FWD-3, PRP-HOPS-2, type=test
#[test]
fn program__does_what_the_forwarder_does() {
    let forwarder = router("9 via 3\n");
    let Some(bench) = Bench::new(Layout::for_cluster(9, 4)) else { return };
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let cases = (arb_router(), proptest::collection::vec(arb_frame(), 200));
    let (went_on, seen) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    // Nothing is in the table yet: all frames go up.
    assert_eq!(bench.programs[0].try_out(&plain(&forwarder)).unwrap().0, UP);
    let ran = runner.run(&cases, |(forwarder, frames)| {
        bench.table().put_in_force(&bench.half(&forwarder));
        for (device, frame) in &frames {
            let on = agrees(&bench, &forwarder, *device, frame);
            went_on.set(went_on.get() + u32::from(on));
            seen.set(seen.get() + 1);
        }
        Ok(())
    });
    ran.unwrap_or_else(|e| panic!("{e}"));
    println!("{} of {} frames went on", went_on.get(), seen.get());
    assert!(went_on.get() * 10 > seen.get(), "{} of {}", went_on.get(), seen.get());
}

/// From 1 to 9, over the left device.
fn plain(forwarder: &Forwarder) -> Vec<u8> {
    let mut frame = [&mac(0xa0).0[..], &mac(1).0[..], &ETHERTYPE.to_be_bytes()].concat();
    frame.extend([0, 1, 0, 9, 0, 70, 0, 80, 0, 3, 0, 10, 0, 0, 0, 0]);
    frame.extend([7; 10]);
    assert!(matches!(
        forwarder.decide(DeviceId(0), ethernet_source(&frame), &frame),
        Outcome::Forward(_)
    ));
    frame
}

/// A program that reads while tables are written sees one table or the other, never some of each.
#[test]
fn put_in_force__is_all_at_once() {
    // Small, so that it is written often.
    let layout = Layout { rows: 16, bits: 4 };
    // In one frames for 9 go to the address that ends in 3. In the other they go to another one,
    // and its former point among the neighbours is another's.
    let home = |last| layout.home(layout::key(DeviceId(1), mac(last)));
    let place_of_3 = home(3);
    let same = (0x10..=0xff).find(|last| home(*last) == place_of_3).unwrap();
    let other = (0x10..=0xff).find(|last| home(*last).abs_diff(place_of_3) == 5).unwrap();
    let one = "1 02:00:00:00:00:01 eth0\n9 via 3\n";
    let routers = [
        router_of(&format!("{one}3 02:00:00:00:00:03 eth1\n")),
        router_of(&format!(
            "{one}3 02:00:00:00:00:{other:02x} eth1\n4 02:00:00:00:00:{same:02x} eth1\n"
        )),
    ];
    let frame = plain(&routers[0]);
    let expected = routers.each_ref().map(|router| {
        match router.decide(DeviceId(0), ethernet_source(&frame), &frame) {
            Outcome::Forward(departure) => [departure.head(), &frame[HEADER_LEN..]].concat(),
            other => panic!("{other:?}"),
        }
    });
    let Some(bench) = Bench::new(layout) else { return };
    let halves = routers.each_ref().map(|router| bench.half(router));
    let done = AtomicBool::new(false);
    let mut seen = [0u32; 3];
    let mut wrong = None;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // Each twice, so that it also replaces the other one in its point.
                for half in [&halves[0], &halves[0], &halves[1], &halves[1]] {
                    bench.table().put_in_force(half);
                }
            }
        });
        for _ in 0..200_000 {
            let ran = bench.programs[0].try_out(&frame).expect("it runs");
            match (ran.0, expected.iter().position(|expected| *expected == ran.1)) {
                (ON, Some(which)) => seen[which] += 1,
                (UP, None) if ran.1 == frame => seen[2] += 1,
                _ => wrong = Some(ran),
            }
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(wrong, None);
    println!("one {}, the other {}, up {}", seen[0], seen[1], seen[2]);
    assert!(seen[0] > 0 && seen[1] > 0);
    assert_eq!(bench.counted()[1].sent, u64::from(seen[0] + seen[1]));
}

#[test]
fn for_cluster__has_room_to_grow_and_an_end() {
    assert_eq!(Layout::for_cluster(1, 0), Layout { rows: 4096, bits: 8 });
    assert_eq!(Layout::for_cluster(5000, 100), Layout { rows: 16_384, bits: 9 });
    assert_eq!(Layout::for_cluster(65_534, 65_534), Layout { rows: 65_536, bits: 15 });
}
