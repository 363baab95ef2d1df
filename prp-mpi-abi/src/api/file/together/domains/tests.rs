use super::super::extent::Extent;
use super::super::extent::tests::{extents_of, strided};
use super::*;

/// What ranks that each access some bytes of a range have.
fn domains(ranges: &[Range<u64>], hints: &[(&str, &str)], nodes: usize) -> Domains {
    let ranks = ranges.iter().map(|range| {
        Extent::of(&strided(range.start, 1, 1), 0, (range.end - range.start) as usize)
    });
    Domains::new(&extents_of(ranks.collect(), hints), ranges.len(), nodes)
}

#[test]
fn windows__are_the_whole_range_once() {
    let hint = |count| [("cb_nodes", count), ("cb_buffer_size", "8192")];
    let ranges = [10..20_000, 20_000..100_001, 0..0, 5..10];
    for (count, nodes) in [("1", 1), ("2", 1), ("3", 3), ("4", 1), ("99", 2)] {
        let domains = domains(&ranges, &hint(count), nodes);
        let mut end = 0;
        for aggregator in 0..domains.aggregators.len() {
            for round in 0..domains.rounds() {
                let window = domains.window(aggregator, round);
                assert!(window.end - window.start <= 8192, "{count}: {window:?}");
                if window.is_empty() {
                    continue;
                }
                assert_eq!(window.start, end, "{count} aggregators, round {round}");
                assert!(window.start.is_multiple_of(ALIGNMENT));
                end = window.end;
            }
        }
        assert_eq!(end, 100_001, "{count} aggregators");
    }
}

#[test]
fn aggregators__are_far_from_each_other_and_none_is_idle() {
    let even = |ranks: u64| -> Vec<_> { (0..ranks).map(|r| r * 8192..(r + 1) * 8192).collect() };
    assert_eq!(domains(&even(8), &[], 1).aggregators, [0, 4]);
    assert_eq!(domains(&even(8), &[], 2).aggregators, [0, 2, 4, 6]);
    assert_eq!(domains(&even(3), &[("cb_nodes", "7")], 1).aggregators, [0, 1, 2]);
    let little = [0..10, 10..20, 20..30];
    assert_eq!(domains(&little, &[], 3).aggregators, [0]);
}

#[test]
fn window__is_smaller_where_ranks_access_the_same() {
    let same: Vec<_> = (0..4).map(|_| 0..1 << 20).collect();
    let of = |buffer| domains(&same, &[("cb_nodes", "1"), ("cb_buffer_size", buffer)], 1);
    assert_eq!(of("65536").window(0, 0), 0..16384);
    assert_eq!(of("4096").window(0, 0), 0..4096);
}
