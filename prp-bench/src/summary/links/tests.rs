use super::*;

/// A run with PRP and TCP, of these figures: goodput in Gbit/s, and seconds for a gigabyte, as many
/// of either end. Raw frames take a second, most of it the sender's.
fn stream(prp: (f64, f64), tcp: (f64, f64), raw: Option<f64>) -> Value {
    let of = |(gbps, cpu): (f64, f64), of_sender: f64| {
        let end = |part: f64| {
            let cpu = cpu * part;
            json!({"cpu_s": {"median": cpu, "rounds": [cpu, cpu * 2.0]}, "wake_ups": 7.0})
        };
        json!({
            "gbps": {"median": gbps}, "cpu_s_per_gb": cpu,
            "cost_per_gb": {"client": end(of_sender), "server": end(1.0 - of_sender)},
            "ends": {"server": {"received": 1e9}, "client": {"retransmitted": 0}}
        })
    };
    let (prp_figures, tcp_figures) = (of(prp, 0.5), of(tcp, 0.5));
    let mut results =
        json!({"prp": prp_figures, "tcp": tcp_figures, "tcp_no_segmentation": tcp_figures});
    if let Some(gbps) = raw {
        results["raw"] = of((gbps, 1.0), 0.8);
    }
    json!({"results": results, "ratios": {"tcp": prp.0 / tcp.0}, "client": {"cores": 2}})
}

fn latency(prp: f64, tcp: f64) -> Value {
    let of = |us: f64| {
        let end = json!({"cpu_s": {"median": us * 1e-6, "rounds": [us * 1e-6]}});
        let cost = json!({"client": end, "server": end});
        json!({"p50_us": {"median": us}, "p99_us": us * 2.0, "cost_per_message": cost})
    };
    json!({"results": {"prp": of(prp), "tcp": of(tcp)}, "ratios": {"tcp": prp / tcp}})
}

#[test]
fn link__of_the_name_of_a_run() {
    let (link, what) = Link::of("links.udp.2500.25.think.1000.64").expect("a link");
    assert_eq!((link.is_udp, link.rate, link.delay), (true, Some(2500), 25));
    assert_eq!((link.name, what), ("udp.2500.25", "think.1000.64"));
    assert_eq!(link.run(what), "links.udp.2500.25.think.1000.64");
    assert_eq!(link.to_string(), "UDP, 2500 Mbit/s, 25 us");
    let (link, what) = Link::of("links.ethernet.none.0.stream").expect("a link");
    assert_eq!((link.is_udp, link.rate, link.delay, what), (false, None, 0, "stream"));
    let others = [
        "stream.rate100",
        "links.ethernet.100.0",
        "links.token-ring.100.0.stream",
        "links.udp.fast.0.stream",
        "links.udp.100.-1.stream",
    ];
    assert!(others.iter().all(|name| Link::of(name).is_none()));
}

fn value(runs: &Runs, name: &str) -> Option<f64> {
    let bars = bars(runs);
    let found = bars.iter().find(|bar| bar.name == name);
    found.unwrap_or_else(|| panic!("no bar {name}")).value
}

#[test]
fn bars__of_the_links_that_raw_frames_fill() {
    // What fits on a Gbit/s is 0.980 of frames, and 0.962 over UDP.
    let runs = Runs::of([
        ("links.ethernet.1000.0.stream", stream((0.97, 4.0), (0.95, 2.0), Some(0.98))),
        ("links.ethernet.1000.25.stream", stream((0.49, 4.0), (0.95, 2.0), Some(0.98))),
        ("links.udp.1000.0.stream", stream((0.95, 3.0), (0.95, 2.0), None)),
        ("links.ethernet.none.0.stream", stream((9.0, 2.0), (20.0, 1.0), Some(7.0))),
        // Raw frames do not fill this one.
        ("links.ethernet.10000.100.stream", stream((2.0, 2.0), (2.0, 1.0), Some(3.0))),
    ]);
    let near = |name: &str, want: f64| {
        let found = value(&runs, name).unwrap_or_else(|| panic!("{name} was measured"));
        assert!((found - want).abs() < 1e-3, "{name}: {found} for {want}");
    };
    near("1 Gbit/s: goodput / what fits, worst link", 0.5);
    near("1 Gbit/s over UDP: CPU s/GB, PRP / TCP", 1.5);
    near("1 Gbit/s over Ethernet: CPU s/GB, PRP / TCP without segmentation", 2.0);
    near("1 Gbit/s over Ethernet: CPU s/GB of the sender, PRP / raw frames", 2.5);
    near("1 Gbit/s over Ethernet: CPU s/GB / that of no limit", 2.0);
    assert_eq!(value(&runs, "10 Gbit/s: goodput / what fits, worst link"), None);
    assert_eq!(value(&runs, "100 Mbit/s: CPU s/GB, PRP / TCP, worse underlay"), None);
}

#[test]
fn bars__of_messages_take_the_worst_without_a_delay() {
    let runs = Runs::of([
        ("links.ethernet.none.0.think.0.64", latency(9.0, 1.0)),
        ("links.ethernet.none.0.think.20.64", latency(3.0, 4.0)),
        ("links.udp.none.0.think.1000.1024", latency(2.0, 4.0)),
        ("links.udp.none.25.think.1000.64", latency(8.0, 4.0)),
        ("links.udp.1000.0.message.8192", latency(3.0, 2.0)),
        ("links.udp.1000.0.message.64", latency(4.0, 2.0)),
        ("links.udp.100.0.message.65536", latency(5.0, 2.0)),
    ]);
    let p50 = value(&runs, "64 B, 1 KiB, thinking 20 us to 10 ms: p50, PRP / TCP, worst");
    assert_eq!(p50, Some(0.75));
    let p99 = value(&runs, "64 B, 1 KiB, thinking 20 us to 10 ms: p99, PRP / TCP, worst");
    assert_eq!(p99, Some(0.75));
    assert_eq!(value(&runs, "thinking 1 ms: CPU by message, PRP / TCP, worst"), Some(0.5));
    assert_eq!(value(&runs, "8 KiB to 1 MiB at 1 and 10 Gbit/s, PRP / TCP, worst"), Some(1.5));
}

#[test]
fn keys__by_underlay_rate_and_delay() {
    let raw = |us: f64| json!({"results": {"raw": {"p50_us": {"median": us}}}});
    let runs = Runs::of([
        ("links.ethernet.1000.25.stream", stream((0.97, 4.0), (0.95, 2.0), Some(0.98))),
        ("links.ethernet.1000.25.stream.wire", json!({"cpu_s": 6.0})),
        ("links.timer", json!({"timer_us": 9.04})),
        ("links.ethernet.1000.0.busy.stream", stream((0.5, 4.0), (0.9, 2.0), None)),
        ("links.ethernet.none.0.raw", raw(2.0)),
        ("links.ethernet.none.25.raw", raw(30.5)),
        ("links.udp.none.0.think.20.64", latency(3.0, 4.0)),
        ("links.udp.none.0.message.64", latency(5.0, 4.0)),
    ]);
    let all = keys(&runs);
    for (path, value) in [
        ("ethernet/1000/25/goodput_gbps/prp", 0.97),
        ("ethernet/1000/25/cpu_s_per_gb/tcp_no_segmentation", 2.0),
        ("ethernet/1000/25/server/cpu_s_per_gb/prp", 2.0),
        ("ethernet/1000/25/client/wake_ups_per_gb/tcp", 7.0),
        ("ethernet/1000/25/client/cpu_s_per_gb/raw", 0.8),
        // Of four transports with 1 GB each.
        ("ethernet/1000/25/wire/cpu_s_per_gb", 1.5),
        ("timer_us", 9.04),
        ("ethernet/1000/25/wire/us", 3.5),
        ("ethernet/1000/0/busy/goodput_gbps/tcp", 0.9),
        ("udp/none/0/think/20/64/p99_us/prp", 6.0),
        ("udp/none/0/think/20/64/cpu_us_per_message/tcp", 8.0),
        ("udp/none/0/message_us/64/prp", 5.0),
    ] {
        let found = all.pointer(&format!("/{path}")).and_then(Value::as_f64);
        assert!(found.is_some_and(|found| (found - value).abs() < 1e-9), "{path}: {found:?}");
    }
    let table = table(&runs);
    // Goodput and processor time, with that of raw frames and of what delays; and of each end.
    let lines = table.iter().filter(|line| line.starts_with("Ethernet, 1000 Mbit/s, 25 us"));
    let cells = lines.map(|line| line.split_whitespace().skip(5).collect::<Vec<_>>().join(" "));
    assert_eq!(
        cells.collect::<Vec<_>>(),
        ["0.97 0.95 4.00 2.00 2.00 1.00 1.50", "2.00 1.00 0.80 2.00 1.00 0.20"],
        "{table:#?}"
    );
    assert!(table.iter().any(|line| line.ends_with("takes a processor 9.0 us")), "{table:#?}");
    assert!(table.iter().any(|line| line.contains("adds 3.5 us")), "{table:#?}");
}
