//! The bars of `bench` alone.

use prp_model::rounds;

use super::keys::gbps;
use super::runs::Runs;
use crate::bar::Bar;

/// Payload of a full frame at MTU 1500, by the bytes it takes on the wire as a rate limit counts
/// them.
const PAYLOAD_PART: f64 = 1484.0 / 1514.0;

/// All of them.
pub(super) fn all(runs: &Runs) -> Vec<Bar> {
    let by = |to: &'static str| {
        move |name: &str, run: &str, sign: char, limits: (f64, f64)| {
            Bar::new(name, runs.number(run, &format!("ratios.{to}")), sign, limits)
        }
    };
    let (tcp, raw, no_offload) = (by("tcp"), by("raw"), by("tcp_no_offload"));
    let bar = Bar::new;
    let apart = |name: &str, from: &str| {
        rounds::ratio(&runs.numbers(name, &gbps("prp")), &runs.numbers(from, &gbps("prp")))
    };
    let of_rate = |mbit: u32| {
        let gbps = runs.number(&format!("stream.rate{mbit}"), &gbps("prp"))?;
        Some(gbps * 1e3 / (f64::from(mbit) * PAYLOAD_PART))
    };
    let cpu_ratio = cpu_ratio(runs, "stream.mtu1500", "tcp_no_offload");
    let mut bars = vec![
        tcp("64 bytes, both blocking, PRP / TCP", "latency.block.64", '<', (0.75, 0.5)),
        tcp("64 bytes, both spinning, PRP / TCP", "latency.spin.64", '<', (0.4, 0.25)),
        tcp("64 bytes, defaults, PRP / TCP", "latency.adaptive.64", '<', (0.5, 0.2)),
        raw("64 bytes, both spinning, PRP / raw", "latency.spin.64", '<', (1.5, 1.15)),
        raw("goodput MTU 1500, PRP / raw", "stream.mtu1500", '>', (0.85, 0.97)),
        no_offload(
            "goodput MTU 1500, PRP / TCP without offloads",
            "stream.mtu1500",
            '>',
            (1.0, 1.2),
        ),
        no_offload(
            "goodput MTU 9000, PRP / TCP without offloads",
            "stream.mtu9000",
            '>',
            (1.1, 1.5),
        ),
        tcp("goodput MTU 65535, PRP / TCP", "stream.mtu65535", '>', (1.0, 1.4)),
        bar("100 Mbit/s link, goodput / what fits", of_rate(100), '>', (0.985, 0.998)),
        bar("1 Gbit/s link, goodput / what fits", of_rate(1000), '>', (0.985, 0.998)),
        tcp("connections per second, PRP / TCP", "connect", '>', (1.0, 2.0)),
        bar(
            "goodput of 256 streams / of 1",
            apart("stream.streams256", "stream.streams1"),
            '>',
            (0.8, 1.0),
        ),
        bar("CPU s/GB MTU 1500, PRP / TCP without offloads", cpu_ratio, '<', (1.2, 0.8)),
        bar(
            "goodput beside 31 processes with ports / alone",
            apart("stream.ports31", "stream.ports0"),
            '>',
            (0.6, 0.9),
        ),
        tcp("64 bytes, both on one core, PRP / TCP", "latency.onecore", '<', (1.0, 0.5)),
    ];
    bars.extend(over_udp(runs));
    bars
}

/// Processor time of both ends, PRP's by that of `other`.
fn cpu_ratio(runs: &Runs, name: &str, other: &str) -> Option<f64> {
    let cpu = |transport: &str| runs.number(name, &format!("results.{transport}.cpu_s_per_gb"));
    Some(cpu("prp")? / cpu(other)?)
}

/// Those of the UDP underlay: TCP has all its offloads there.
fn over_udp(runs: &Runs) -> [Bar; 8] {
    let tcp = |name: &str, run: &str, sign: char, limits: (f64, f64)| {
        Bar::new(name, runs.number(&format!("udp.{run}"), "ratios.tcp"), sign, limits)
    };
    let goodput = |mtu: u32| runs.number(&format!("udp.stream.mtu{mtu}"), &gbps("prp"));
    let near = |a: Option<f64>, b: Option<f64>| Some((a? / b?).min(b? / a?));
    let pairs = [(1400, 1499), (1499, 1500), (1500, 9000)];
    let neighbours = pairs.map(|(a, b)| near(goodput(a), goodput(b)));
    let worst = neighbours.into_iter().reduce(|a, b| Some(a?.min(b?))).flatten();
    let cpu = cpu_ratio(runs, "udp.stream.mtu1500", "tcp");
    let bar = Bar::new;
    [
        tcp("udp: goodput MTU 1500, PRP / TCP", "stream.mtu1500", '>', (0.9, 1.2)),
        bar("udp: CPU s/GB MTU 1500, PRP / TCP", cpu, '<', (1.3, 1.0)),
        tcp("udp: 8 KiB, both spinning, PRP / TCP", "latency.spin.8192", '<', (1.1, 0.8)),
        tcp("udp: 64 KiB, both spinning, PRP / TCP", "latency.spin.65536", '<', (1.1, 0.8)),
        tcp("udp: 64 bytes, both spinning, PRP / TCP", "latency.spin.64", '<', (0.85, 0.75)),
        tcp("udp: 64 bytes, defaults, PRP / TCP", "latency.adaptive.64", '<', (0.5, 0.3)),
        tcp("udp: goodput without offloads, PRP / TCP", "stream.cut", '>', (0.8, 1.0)),
        bar("udp: goodput MTU 1400, 1499, 1500, 9000, worst pair", worst, '>', (0.85, 0.95)),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all__says_what_was_met_and_what_not() {
        let rate = |gbps: f64| json!({"results": {"prp": {"gbps": {"median": gbps}}}});
        let runs = Runs::of([
            ("latency.block.64", json!({"ratios": {"tcp": 0.6}})),
            ("latency.spin.64", json!({"ratios": {"tcp": 0.2, "raw": 1.6}})),
            ("stream.rate100", rate(0.098_01)),
            ("stream.streams1.1", rate(8.0)),
            ("stream.streams256.1", rate(6.0)),
            ("udp.latency.spin.8192", json!({"ratios": {"tcp": 1.2}})),
            ("udp.stream.mtu1400", rate(9.5)),
            ("udp.stream.mtu1499", rate(10.0)),
            ("udp.stream.mtu1500", rate(10.5)),
            ("udp.stream.mtu9000", rate(8.5)),
        ]);
        let all = all(&runs);
        let verdict = |name: &str| {
            let bar = all.iter().find(|bar| bar.name == name).expect("such a bar");
            bar.verdict()
        };
        assert_eq!(verdict("64 bytes, both blocking, PRP / TCP"), "met");
        assert_eq!(verdict("64 bytes, both spinning, PRP / TCP"), "met, and the reach");
        assert_eq!(verdict("64 bytes, both spinning, PRP / raw"), "MISSED");
        assert_eq!(verdict("100 Mbit/s link, goodput / what fits"), "met, and the reach");
        assert_eq!(verdict("goodput of 256 streams / of 1"), "MISSED");
        assert_eq!(verdict("connections per second, PRP / TCP"), "not measured");
        assert_eq!(verdict("udp: 8 KiB, both spinning, PRP / TCP"), "MISSED");
        assert_eq!(verdict("udp: goodput MTU 1400, 1499, 1500, 9000, worst pair"), "MISSED");
        assert_eq!(verdict("udp: goodput MTU 1500, PRP / TCP"), "not measured");
    }
}
