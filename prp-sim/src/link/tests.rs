use super::*;
use crate::rng::Purpose;

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

fn transmit(link: &mut Link, now: u64, len: usize) -> (Fate, Vec<u64>) {
    let mut rng = SimRng::new(1, Purpose::Links);
    let mut times = Vec::new();
    let fate = link.transmit(at(now), vec![0; len], &mut rng, |at, _| times.push(at.as_nanos()));
    (fate, times)
}

#[test]
fn transmit__frames_follow_each_other_at_the_rate_of_the_link() {
    let mut link = Link::new(LinkConfig::default());
    // 1514 + 24 bytes at 1 Gbit/s are 12,304 ns.
    assert_eq!(transmit(&mut link, 0, 1514), (Fate::Sent, vec![12_804]));
    assert_eq!(transmit(&mut link, 0, 1514), (Fate::Sent, vec![25_108]));
    assert_eq!(link.waiting(at(12_303)), 2);
    assert_eq!(link.waiting(at(12_304)), 1);
    // Short frames are padded: 84 bytes on the link.
    assert_eq!(transmit(&mut link, 100_000, 30), (Fate::Sent, vec![101_172]));
}

#[test]
fn transmit__a_link_that_shrinks_takes_no_full_frames_from_then_on() {
    let shrinks = Some((at(50_000), 1300));
    let mut link = Link::new(LinkConfig { shrinks, ..LinkConfig::default() });
    assert_eq!(transmit(&mut link, 49_999, 1514).0, Fate::Sent);
    assert_eq!(transmit(&mut link, 50_000, 1315).0, Fate::TooLong);
    assert_eq!(transmit(&mut link, 50_000, 1314).0, Fate::Sent);
}

#[test]
fn transmit__a_full_queue_drops_by_bytes_or_frames() {
    for queue in [QueueLimit::Bytes(3028), QueueLimit::Frames(2)] {
        let mut link = Link::new(LinkConfig { queue, ..LinkConfig::default() });
        let fates = [0; 3].map(|_| transmit(&mut link, 0, 1514).0);
        assert_eq!(fates, [Fate::Sent, Fate::Sent, Fate::QueueFull]);
        assert_eq!(link.waits_no_more_than(1), at(12_304));
        assert_eq!(transmit(&mut link, 12_304, 1514).0, Fate::Sent);
    }
}

#[test]
fn transmit__what_is_too_long_or_leaves_during_an_outage_is_gone() {
    let outages = vec![(at(20_000), at(40_000))];
    let mut link = Link::new(LinkConfig { outages, ..LinkConfig::default() });
    assert_eq!(transmit(&mut link, 0, 1515).0, Fate::TooLong);
    let fates = [0; 4].map(|_| transmit(&mut link, 0, 1514).0);
    assert_eq!(fates, [Fate::Sent, Fate::Down, Fate::Down, Fate::Sent]);
}

#[test]
fn transmit__faults_come_in_their_share_and_ends_with_healing() {
    let impairment = Impairment {
        loss: 50_000,
        burst: 3,
        duplicate: 100_000,
        reorder: 100_000,
        corrupt: 100_000,
        late_by: Duration::from_millis(1),
    };
    let config = LinkConfig { impairment, healed: at(1 << 40), ..LinkConfig::default() };
    let mut link = Link::new(config);
    let mut rng = SimRng::new(1, Purpose::Links);
    let mut count = [0; Fate::ALL.len()];
    for i in 0..20_000 {
        let mut copies = Vec::new();
        let fate = link.transmit(at(i * 20_000), vec![7; 100], &mut rng, |_, f| copies.push(f));
        count[fate as usize] += 1;
        let clean = copies.iter().filter(|f| **f == [7; 100]).count();
        let expected = match fate {
            Fate::Lost => (0, 0),
            Fate::Duplicated => (2, 2),
            Fate::Corrupted => (1, 0),
            _ => (1, 1),
        };
        assert_eq!((copies.len(), clean), expected, "{fate:?}");
    }
    assert!((2000..3500).contains(&count[Fate::Lost as usize]), "{count:?}");
    assert!((1200..2000).contains(&count[Fate::Duplicated as usize]), "{count:?}");
    assert_eq!(link.transmit(at(1 << 40), vec![7; 100], &mut rng, |_, _| ()), Fate::Sent);
}

/// Three datagrams of a GSO batch: their fates, and when each that came has come, by its first
/// byte.
fn gso_batch(
    gso_batches: GsoBatches,
    config: LinkConfig,
    seed: u64,
) -> (Vec<Fate>, Vec<(u64, u8)>) {
    let mut link = Link::new(LinkConfig { gso_batches, ..config });
    let mut rng = SimRng::new(seed, Purpose::Links);
    let datagrams = (0..3).map(|number| vec![number; 1214]).collect();
    let mut came = Vec::new();
    let fates = link.transmit_gso_batch(at(0), datagrams, &mut rng, |at, datagram| {
        came.push((at.as_nanos(), datagram[0]));
    });
    (fates, came)
}

#[test]
fn transmit_gso_batch__arrives_at_once_in_one_piece_or_joined() {
    // 1214 + 24 bytes at 1 Gbit/s are 9,904 ns.
    let together = vec![(30_212, 0), (30_212, 1), (30_212, 2)];
    for gso_batches in [GsoBatches::Whole, GsoBatches::Cut] {
        let config = LinkConfig { queue: QueueLimit::Frames(3), ..LinkConfig::default() };
        assert_eq!(gso_batch(gso_batches, config, 1), (vec![Fate::Sent; 3], together.clone()));
    }
    // In one piece it has one place in the queue.
    let config = LinkConfig { queue: QueueLimit::Frames(1), ..LinkConfig::default() };
    assert_eq!(gso_batch(GsoBatches::Whole, config.clone(), 1).1, together);
    let cut = (vec![Fate::Sent, Fate::QueueFull, Fate::QueueFull], vec![(10_404, 0)]);
    assert_eq!(gso_batch(GsoBatches::Cut, config, 1), cut);
    let shrunk = LinkConfig { mtu: 1199, ..LinkConfig::default() };
    assert_eq!(gso_batch(GsoBatches::Whole, shrunk, 1), (vec![Fate::TooLong; 3], vec![]));
}

#[test]
fn transmit_gso_batch__one_fate_in_one_piece_and_one_each_cut() {
    let impairment = Impairment { loss: 500_000, ..Impairment::default() };
    let config = LinkConfig { impairment, healed: at(1 << 40), ..LinkConfig::default() };
    let lost = |gso_batches, seed| {
        let (fates, came) = gso_batch(gso_batches, config.clone(), seed);
        let lost = fates.iter().filter(|fate| **fate == Fate::Lost).count();
        assert_eq!(came.len(), 3 - lost);
        lost
    };
    let counts = |gso_batches| {
        let mut counts = [0; 4];
        (0..200).for_each(|seed| counts[lost(gso_batches, seed)] += 1);
        counts
    };
    let [none, one, two, three] = counts(GsoBatches::Whole);
    assert!(none > 50 && three > 50 && one + two == 0, "{none} {one} {two} {three}");
    assert!(counts(GsoBatches::Cut).iter().all(|count| *count > 10));
}
