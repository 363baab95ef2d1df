use proptest::prelude::*;

use super::*;
use crate::unit::Bytes;

fn block(a: f64, b: f64) -> Block {
    Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) }
}

fn blocks(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Block>> {
    let one = (1e-7..1e-2_f64, 1e-11..1e-5_f64).prop_map(|(a, b)| block(a, b));
    prop::collection::vec(one, count)
}

fn dependence() -> impl Strategy<Value = Dependence> {
    prop_oneof![Just(Dependence::Independent), Just(Dependence::Dependent)]
}

/// The same but for rounding.
fn is_same(left: Block, right: Block) -> bool {
    let near = |l: f64, r: f64| (l - r).abs() <= 1e-12 * l.abs().max(r.abs());
    near(left.fixed.number(), right.fixed.number()) && near(left.byte.number(), right.byte.number())
}

/// The limits of the time of a message that goes through all blocks, computed without the rules.
fn serial_limits(blocks: &[Block], how: Dependence) -> (f64, f64) {
    let times = |x: f64| blocks.iter().map(move |block| block.time(Bytes::new(x)).number());
    let large = 1e12;
    let slope = match how {
        Dependence::Independent => times(large).fold(0.0, f64::max) / large,
        Dependence::Dependent => times(large).sum::<f64>() / large,
    };
    (times(0.0).sum(), slope)
}

proptest! {
    #[test]
    fn serial__has_both_limits(blocks in blocks(1..6), how in dependence()) {
        let one = serial(&blocks, how);
        let (small, slope) = serial_limits(&blocks, how);
        let at = |x: f64| one.time(Bytes::new(x)).number();
        prop_assert!((at(0.0) / small - 1.0).abs() < 1e-12);
        prop_assert!((at(1e12) / 1e12 / slope - 1.0).abs() < 1e-6);
    }

    #[test]
    fn parallel__has_both_limits(blocks in blocks(1..6), how in dependence()) {
        let one = parallel(&blocks, how).expect("a block at least");
        let times = |x: f64| blocks.iter().map(move |block| block.time(Bytes::new(x)).number());
        let least = |x: f64| times(x).fold(f64::INFINITY, f64::min);
        let rate: f64 = times(1e12).map(|time| 1e12 / time).sum();
        let slope = match how {
            Dependence::Independent => 1.0 / rate,
            Dependence::Dependent => least(1e12) / 1e12,
        };
        let at = |x: f64| one.time(Bytes::new(x)).number();
        prop_assert!((at(0.0) / least(0.0) - 1.0).abs() < 1e-12);
        prop_assert!((at(1e12) / 1e12 / slope - 1.0).abs() < 1e-6);
    }

    #[test]
    fn concurrent__has_both_limits(
        blocks in blocks(1..2), sizes in prop::collection::vec(1.0..1e6_f64, 1..8),
    ) {
        let (block, all) = (blocks[0], sizes.iter().sum::<f64>());
        let each = concurrent(block, sizes.len() as u32, all / sizes[0]);
        // Small messages take a each; large ones what all their bytes take.
        let small = sizes.len() as f64 * block.time(Bytes::new(0.0)).number();
        prop_assert!((each.time(Bytes::new(0.0)).number() / small - 1.0).abs() < 1e-12);
        let (large, bytes) = (1e12, block.byte.number() * all * 1e12);
        let time = each.time(Bytes::new(sizes[0] * large)).number();
        prop_assert!((time / bytes - 1.0).abs() < 1e-6);
    }

    #[test]
    fn serial__in_any_order_and_grouping(blocks in blocks(3..4), how in dependence()) {
        let [a, b, c] = [blocks[0], blocks[1], blocks[2]];
        let two = |l, r| serial(&[l, r], how);
        prop_assert!(is_same(two(a, b), two(b, a)));
        prop_assert!(is_same(two(two(a, b), c), two(a, two(b, c))));
        prop_assert!(is_same(serial(&blocks, how), two(two(a, b), c)));
    }

    #[test]
    fn parallel__in_any_order_and_grouping(blocks in blocks(3..4), how in dependence()) {
        let [a, b, c] = [blocks[0], blocks[1], blocks[2]];
        let two = |l, r| parallel(&[l, r], how).expect("two blocks");
        prop_assert!(is_same(two(a, b), two(b, a)));
        prop_assert!(is_same(two(two(a, b), c), two(a, two(b, c))));
        prop_assert!(is_same(parallel(&blocks, how).expect("three blocks"), two(two(a, b), c)));
    }

    #[test]
    fn concurrent__of_messages_that_come_in_two_lots(blocks in blocks(1..2), n in 1..9_u32, m in 1..9_u32) {
        // Of one size: n times m messages are m lots of n.
        let twice = concurrent(concurrent(blocks[0], n, f64::from(n)), m, f64::from(m));
        prop_assert!(is_same(twice, concurrent(blocks[0], n * m, f64::from(n * m))));
    }
}

#[test]
fn serial__the_workstation_of_section_2_1() {
    // Application and operating system on one processor, then the adapter.
    let (application, system, adapter) = (block(1.0, 0.2), block(2.0, 0.3), block(4.0, 0.4));
    let processor = serial(&[application, system], Dependence::Dependent);
    let all = serial(&[processor, adapter], Dependence::Independent);
    assert_eq!(all, block(7.0, 0.5));
}

#[test]
fn rules__of_no_blocks() {
    assert_eq!(serial(&[], Dependence::Independent), NOTHING);
    assert_eq!(parallel(&[], Dependence::Independent), None);
    let free = block(1.0, 0.0);
    assert_eq!(parallel(&[free, block(2.0, 1.0)], Dependence::Independent), Some(free));
}
