//! Which datagrams leave together.

use super::*;

#[test]
fn gso_batch_length__the_last_one_is_the_shortest() {
    let bytes = [0; 1472];
    let mut list = SendList::default();
    for (count, gso_batches) in
        [(44, &[44][..]), (46, &[31, 15]), (88, &[44, 44]), (100, &[44, 38, 18])]
    {
        let datagrams = (0..count).map(|_| ((), [&bytes[..], &[], &[], &[]]));
        let loaded = list.load(datagrams);
        let mut lengths = Vec::new();
        while lengths.iter().sum::<usize>() < count {
            lengths.push(gso_batch_length(&loaded, lengths.iter().sum(), MAX_GSO_FRAMES));
        }
        assert_eq!(lengths, gso_batches);
    }
}

#[test]
fn send__sizes_and_recipients_that_change_end_a_gso_batch() {
    let mut list = SendList::default();
    let to = |peer| LinkAddr::Udp { peer: UdpPeer(peer), port: 1 };
    let bytes = [0u8; 40_000];
    let sizes =
        [(0, 500), (0, 500), (0, 300), (0, 300), (1, 300), (1, 400), (1, 40_000), (1, 40_000)];
    let loaded = list.load(sizes.iter().map(|(p, n)| (to(*p), [&bytes[..*n], &[], &[], &[]])));
    let mut at = 0;
    let mut gso_batches = Vec::new();
    while at < sizes.len() {
        gso_batches.push(gso_batch_length(&loaded, at, MAX_GSO_FRAMES));
        at += gso_batches.last().unwrap();
    }
    assert_eq!(gso_batches, [3, 1, 1, 1, 1, 1]);
    assert_eq!(gso_batch_length(&loaded, 0, 1), 1);
}

#[test]
fn gso_batch_length__control_packets_share_no_fate_with_segments() {
    let mut list = SendList::default();
    let bytes = [0u8; 1472];
    let sizes = [1472, 1472, 52, 52, 97, 96];
    let loaded = list.load(sizes.iter().map(|n| ((), [&bytes[..*n], &[], &[], &[]])));
    let lengths = [0, 2, 4].map(|at| gso_batch_length(&loaded, at, MAX_GSO_FRAMES));
    assert_eq!(lengths, [2, 2, 1]);
}
