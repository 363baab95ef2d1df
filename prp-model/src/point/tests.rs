use proptest::prelude::*;

use super::*;
use crate::unit::{Bytes, Seconds, SecondsPerByte};

/// Equations 1 and 2 as the paper prints them.
#[test]
fn two_piece__is_equation_1_below_and_equation_2_above() {
    let (a, network, processor, n_min) = (40e-6, 80e-9, 60e-9, 34.0);
    let model = TwoPiece {
        constant: Seconds::new(a),
        network: SecondsPerByte::new(network),
        processor: SecondsPerByte::new(processor),
        n_min: Bytes::new(n_min),
    };
    for n in [0.0, 1.0, 20.0, 34.0] {
        let equation_1 = a + n_min * network + n * processor;
        assert!((model.time(Bytes::new(n)).number() - equation_1).abs() < 1e-15, "{n}");
        let by_l = model.latency().number() + n / model.small_bandwidth().number();
        assert!((by_l - equation_1).abs() < 1e-15, "{n}");
    }
    for n in [34.0, 35.0, 1484.0] {
        let equation_2 = a + n * network + n * processor;
        assert!((model.time(Bytes::new(n)).number() - equation_2).abs() < 1e-15, "{n}");
        let by_l = model.constant.number() + n / model.bandwidth().number();
        assert!((by_l - equation_2).abs() < 1e-15, "{n}");
    }
}

/// Figure 2: a = 1, m = 0.5, p = 2; steps of one packet, and the hyperbola between them.
#[test]
fn packet__figure_2() {
    let steps = Packet {
        fixed: Seconds::new(1.0),
        byte: SecondsPerByte::new(0.5),
        packet: Bytes::new(2.0),
    };
    let curve = steps.hyperbolic();
    let at = |x: f64| (steps.time(Bytes::new(x)).number(), curve.time(Bytes::new(x)).number());
    let expected = [(0.0, 1.0, 1.0), (1.0, 1.5, 1.5), (2.0, 2.0, 7.0 / 3.0), (4.0, 4.0, 4.2)];
    for (x, t, hyperbola) in expected {
        let (step, smooth) = at(x);
        assert!((step - t).abs() < 1e-12 && (smooth - hyperbola).abs() < 1e-12, "{x}");
    }
    // The curve stays within a packet's fixed cost of the steps, everywhere.
    for tenth in 0..200 {
        let (step, smooth) = at(f64::from(tenth) / 10.0);
        assert!((step - smooth).abs() <= 1.0, "{tenth}: {step} {smooth}");
    }
}

#[test]
fn packet__a_message_without_bytes_is_a_packet() {
    assert_eq!(packets(0.0, 1484.0), 1.0);
    assert_eq!(packets(1484.0, 1484.0), 1.0);
    assert_eq!(packets(1485.0, 1484.0), 2.0);
}

proptest! {
    #[test]
    fn hyperbolic__is_exact_in_both_limits_and_between_them_within_a_quarter(
        a in 1e-7..1e-2_f64, b in 1e-11..1e-5_f64, x in 0.0..1e9_f64,
    ) {
        let curve = Hyperbolic { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) };
        prop_assert_eq!(curve.time(Bytes::new(0.0)).number(), a);
        let large = 1e6 * a / b;
        let slope = curve.time(Bytes::new(large)).number() / large;
        prop_assert!((slope / b - 1.0).abs() < 1e-5);
        let ratio = curve.time(Bytes::new(x)).number() / (a + b * x);
        prop_assert!((0.75 - 1e-12..=1.0 + 1e-12).contains(&ratio));
    }
}
