use super::*;

#[test]
fn finish__counts_every_sample() {
    let mut sum = LatencySum { medians: vec![2.0, 1.0, 3.0], ..LatencySum::default() };
    for nanos in 1..=1000 {
        sum.all.record(nanos * 1000).expect("it grows");
    }
    let latency = sum.finish();
    assert_eq!((latency.samples, latency.p50_us.median), (1000, 2.0));
    let near = |is: f64, want: f64| assert!((is / want - 1.0).abs() < 0.002, "{is} for {want}");
    near(latency.min_us, 1.0);
    near(latency.p99_us, 990.0);
    near(latency.p999_us, 999.0);
    let (part, most) = latency.distribution.last().copied().expect("samples");
    near(part, 1.0);
    near(most, 1000.0);
    assert!(latency.distribution.is_sorted_by(|a, b| a.0 <= b.0 && a.1 <= b.1));
}
