use super::*;
use crate::graph::{Graph, NOTHING, Reduction};
use crate::unit::{Bytes, Seconds, SecondsPerByte};

fn block(a: f64, b: f64) -> Block {
    Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) }
}

/// Section 4's, with a delay, of which the paper gives no number.
const W: (f64, f64) = (859.52, 1.42);
const C: (f64, f64) = (345.60, 0.92);
const L: f64 = 50.0;

fn parts() -> Parts {
    Parts { workstation: block(W.0, W.1), network: block(C.0, C.1), delay: block(L, 0.0) }
}

fn reduced(kind: PatternKind, processes: u32) -> Reduction {
    parts().graph(kind, processes, true).reduce()
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

/// The fixed time and the time of a byte, with the expressions that the paper has for them.
fn expressions(reduction: &Reduction) -> (String, String) {
    let order = reduction.order.as_ref().expect("an order");
    let small = order.small.as_ref().expect("plain paths").to_string();
    (small, order.large.as_ref().expect("plain paths").to_string())
}

#[test]
fn tree_broadcast__of_11_is_the_paper_s() {
    let reduction = reduced(PatternKind::TreeBroadcast, 11);
    let (small, large) = expressions(&reduction);
    assert_eq!(small, "8 a_W + 3 a_C + 3 a_L");
    assert_eq!(large, "2 max(b_C, b_W) + max(2 b_C, b_W) + 2 max(3 b_C, b_W)");
    assert!(near(reduction.whole.fixed.number(), 8.0 * W.0 + 3.0 * C.0 + 3.0 * L));
    let byte = 2.0 * C.1.max(W.1) + (2.0 * C.1).max(W.1) + 2.0 * (3.0 * C.1).max(W.1);
    assert!(near(reduction.whole.byte.number(), byte));
    // In a step of three a message has a_G = 2 a_W + 3 a_C + a_L and b_G = max(3 b_C, b_W).
    let third = reduction.messages.iter().find(|m| m.step == Some(3)).expect("a third step");
    assert!(near(third.total.fixed.number(), 2.0 * W.0 + 3.0 * C.0 + L));
    assert!(near(third.total.byte.number(), 3.0 * C.1));
}

/// Section 3.1: h (3 a_W + a_C + a_L) for a complete tree of height h.
#[test]
fn tree_broadcast__of_complete_trees() {
    for height in 1..6_u32 {
        let reduction = reduced(PatternKind::TreeBroadcast, (2 << height) - 1);
        let each = 3.0 * W.0 + C.0 + L;
        assert!(near(reduction.whole.fixed.number(), f64::from(height) * each), "{height}");
    }
}

/// Section 3.1: (N + 1) a_W + a_C + a_L, and N max(b_C, b_W).
#[test]
fn flat_broadcast__of_any_number_is_the_paper_s() {
    for others in [1, 2, 10, 63] {
        let reduction = reduced(PatternKind::FlatBroadcast, others + 1);
        let count = f64::from(others);
        assert!(near(reduction.whole.fixed.number(), (count + 1.0) * W.0 + C.0 + L));
        assert!(near(reduction.whole.byte.number(), count * C.1.max(W.1)));
    }
    let (small, large) = expressions(&reduced(PatternKind::FlatBroadcast, 11));
    assert_eq!(small, "11 a_W + a_C + a_L");
    assert_eq!(large, "10 max(b_C, b_W)");
}

/// What all messages pass is busy with each of them, and a sender with what it sends.
#[test]
fn least_fixed__is_the_busiest_block() {
    let least = |parts: Parts, kind| parts.graph(kind, 8, true).least_fixed().number();
    for kind in [PatternKind::TreeBroadcast, PatternKind::FlatBroadcast] {
        let slow = Parts { network: block(1000.0, 0.0), ..parts() };
        assert!(near(least(slow, kind), 7.0 * 1000.0), "{kind:?}");
    }
    assert!(near(least(parts(), PatternKind::FlatBroadcast), 7.0 * W.0));
    // Process 1 receives one and sends two.
    assert!(near(least(parts(), PatternKind::TreeBroadcast), 3.0 * W.0));
    assert!(near(least(parts(), PatternKind::Reduction), 14.0 * C.0.max(9.0 / 14.0 * W.0)));
}

/// Where the network is the bottleneck no broadcast is better for large messages than the flat one.
#[test]
fn flat_broadcast__is_the_best_on_a_slow_network() {
    let parts = Parts { network: block(1.0, 2.0), ..parts() };
    for processes in 2..40 {
        let of = |kind| parts.graph(kind, processes, true).reduce().whole.byte.number();
        assert!(near(of(PatternKind::FlatBroadcast), f64::from(processes - 1) * 2.0));
        assert!(of(PatternKind::TreeBroadcast) >= of(PatternKind::FlatBroadcast) * (1.0 - 1e-12));
    }
}

/// Section 3.2: 19 a_W + 4 a_C + 4 a_L.
#[test]
fn reduction__of_11_is_the_paper_s() {
    let reduction = reduced(PatternKind::Reduction, 11);
    let (small, large) = expressions(&reduction);
    assert_eq!(small, "19 a_W + 4 a_C + 4 a_L");
    // The paper has no large messages here; by its rule a parent receives from one child after the
    // other.
    assert_eq!(large, "2 max(3 b_C, b_W) + max(2 b_C, b_W) + 12 max(b_C, b_W)");
    let fixed = 19.0 * W.0 + 4.0 * C.0 + 4.0 * L;
    assert!(near(reduction.whole.fixed.number(), fixed));
    assert_eq!(reduction.messages.len(), 20);
}

/// Section 3.3: a = 2 K a_W + K N a_C + a_L and b = max(K N b_C, b_W). Rule 3 gives K b_W where the
/// paper has b_W, which is the same wherever a workstation is not N times slower than the network.
#[test]
fn neighbours__of_16_with_4_are_the_paper_s() {
    let reduction = reduced(PatternKind::Neighbours(4), 16);
    for message in &reduction.messages {
        assert!(near(message.total.fixed.number(), 8.0 * W.0 + 64.0 * C.0 + L), "{message:?}");
        assert!(near(message.total.byte.number(), 64.0 * C.1), "{message:?}");
    }
    assert_eq!(reduction.messages.len(), 64);
    assert!(near(reduction.whole.byte.number(), 64.0 * C.1));
}

/// With a switch only messages to one receiver meet on a link.
#[test]
fn neighbours__over_a_switch() {
    let reduction = parts().graph(PatternKind::Neighbours(4), 16, false).reduce();
    let message = &reduction.messages[0].total;
    assert!(near(message.fixed.number(), 8.0 * W.0 + 4.0 * C.0 + L));
    assert!(near(message.byte.number(), 4.0 * W.1.max(C.1)));
}

/// Equation 16.
#[test]
fn pairs__are_equation_16() {
    for pairs in 1..9 {
        let reduction = parts().graph(PatternKind::Pairs, 2 * pairs, true).reduce();
        let count = f64::from(pairs);
        assert!(near(reduction.whole.fixed.number(), 2.0 * W.0 + count * C.0 + L));
        assert!(near(reduction.whole.byte.number(), W.1.max(count * C.1)));
    }
}

/// Figure 20 of the paper: sending times of a multigrid cycle among p_x p_t processors, without
/// contention and with all of it. The paper does not print how many messages there are and how
/// large. Planes send large messages to the next one, p_x (p_t - 1) at a time; within a plane each
/// processor sends small ones to two neighbours, 2 p_x at a time. Three of its numbers then tell
/// the messages of a processor for p_x = 2; for p_x = 4 edges and planes are half as large, and the
/// other two follow, to 2.5 %.
#[test]
fn figure_20__its_third_row_follows_from_the_first_two() {
    // T_s of a non-preemptive send (figure 8): as the own block for small messages, T_c for large
    // ones.
    let sending = |pairs: f64, size: f64| {
        let byte = W.1.max(pairs * C.1);
        block(W.0, byte).time(Bytes::new(size)).number()
    };
    let large = |pairs: f64| W.1.max(pairs * C.1);
    let (alone, two, four) = (925_480.0, 1_374_963.0, 3_162_490.0);
    // For each size of the small messages: their number and the bytes of the large ones from two
    // numbers.
    let mix = |size: f64| {
        let (s1, g1, s2, g2) = (sending(1.0, size), large(1.0), sending(4.0, size), large(2.0));
        let determinant = s1 * g2 - g1 * s2;
        let count = (alone * g2 - g1 * two) / determinant;
        (count, (s1 * two - s2 * alone) / determinant)
    };
    let off = |size: &f64| {
        let (count, bytes) = mix(*size);
        (count * sending(4.0, *size) + bytes * large(6.0) - four).abs()
    };
    let sizes = (1..2000).map(f64::from).filter(|size| mix(*size).0 > 0.0 && mix(*size).1 > 0.0);
    let size = sizes.min_by(|l, r| off(l).total_cmp(&off(r))).expect("a size");
    let (count, bytes) = mix(size);
    assert!(off(&size) / four < 0.001, "{size} {count} {bytes}");
    // "A large number of small messages (several hundreds)": those of both directions.
    assert!((100.0..500.0).contains(&count) && size < 2000.0, "{count} of {size}");
    let row = |within: f64, between: f64| {
        count * sending(within, size / 2.0) + bytes / 2.0 * large(between)
    };
    for (is, printed) in [(row(1.0, 1.0), 509_125.0), (row(8.0, 4.0), 1_343_780.0)] {
        assert!((is / printed - 1.0_f64).abs() < 0.025, "{is} {printed}");
    }
}

#[test]
fn graph__of_two_processes() {
    for kind in [PatternKind::TreeBroadcast, PatternKind::FlatBroadcast] {
        let reduction = reduced(kind, 2);
        assert!(near(reduction.whole.fixed.number(), 2.0 * W.0 + C.0 + L));
        assert!(near(reduction.whole.byte.number(), W.1));
    }
    let graph: Graph = parts().graph(PatternKind::Reduction, 2, true);
    assert_eq!(graph.processes().len(), 2);
    let nothing = Parts { workstation: NOTHING, network: NOTHING, delay: NOTHING };
    let reduction = nothing.graph(PatternKind::Reduction, 9, true).reduce();
    assert_eq!(reduction.whole, NOTHING);
}
