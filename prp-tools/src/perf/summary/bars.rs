//! What PRP is to come up to: ratios within one run, since a machine's absolute figures change from
//! one minute to the next.

use serde::Serialize;

use super::keys::gbps;
use super::runs::Runs;
use crate::perf::rounds;

/// Payload of a full frame at MTU 1500, by the bytes it takes on the wire as a rate limit counts
/// them.
const PAYLOAD_PART: f64 = 1484.0 / 1514.0;

/// One figure and what it is to be.
#[derive(Debug, Serialize)]
pub(super) struct Bar {
    pub(super) name: &'static str,
    /// `None` if it was not measured.
    pub(super) value: Option<f64>,
    pub(super) bar: f64,
    /// What would be better still.
    pub(super) reach: f64,
    /// Smaller is better.
    pub(super) at_most: bool,
    met: Option<bool>,
    reached: Option<bool>,
}

impl Bar {
    pub(super) fn new(
        name: &'static str,
        value: Option<f64>,
        sign: char,
        (bar, reach): (f64, f64),
    ) -> Self {
        let at_most = sign == '<';
        let holds = |limit: f64| value.map(|v| if at_most { v <= limit } else { v >= limit });
        Self { name, value, bar, reach, at_most, met: holds(bar), reached: holds(reach) }
    }

    /// In a word.
    pub(super) fn verdict(&self) -> &'static str {
        match (self.met, self.reached) {
            (None, _) => "not measured",
            (_, Some(true)) => "met, and the reach",
            (Some(true), _) => "met",
            (Some(false), _) => "MISSED",
        }
    }
}

/// All of them.
pub(super) fn all(runs: &Runs) -> Vec<Bar> {
    let ratio = |name: &str, to: &str| runs.number(name, &format!("ratios.{to}"));
    let apart = |name: &str, from: &str| {
        rounds::ratio(&runs.numbers(name, &gbps("prp")), &runs.numbers(from, &gbps("prp")))
    };
    let of_rate = |mbit: u32| {
        let gbps = runs.number(&format!("stream.rate{mbit}"), &gbps("prp"))?;
        Some(gbps * 1e3 / (f64::from(mbit) * PAYLOAD_PART))
    };
    let cpu_ratio = cpu_ratio(runs, "stream.mtu1500", "tcp_no_offload");
    let mut bars = vec![
        Bar::new(
            "64 bytes, both blocking, PRP / TCP",
            ratio("latency.block.64", "tcp"),
            '<',
            (0.75, 0.5),
        ),
        Bar::new(
            "64 bytes, both spinning, PRP / TCP",
            ratio("latency.spin.64", "tcp"),
            '<',
            (0.4, 0.25),
        ),
        Bar::new(
            "64 bytes, defaults, PRP / TCP",
            ratio("latency.adaptive.64", "tcp"),
            '<',
            (0.5, 0.2),
        ),
        Bar::new(
            "64 bytes, both spinning, PRP / raw",
            ratio("latency.spin.64", "raw"),
            '<',
            (1.5, 1.15),
        ),
        Bar::new("goodput MTU 1500, PRP / raw", ratio("stream.mtu1500", "raw"), '>', (0.85, 0.97)),
        Bar::new(
            "goodput MTU 1500, PRP / TCP without offloads",
            ratio("stream.mtu1500", "tcp_no_offload"),
            '>',
            (1.0, 1.2),
        ),
        Bar::new(
            "goodput MTU 9000, PRP / TCP without offloads",
            ratio("stream.mtu9000", "tcp_no_offload"),
            '>',
            (1.1, 1.5),
        ),
        Bar::new("goodput MTU 65535, PRP / TCP", ratio("stream.mtu65535", "tcp"), '>', (1.0, 1.4)),
        Bar::new("100 Mbit/s link, goodput / what fits", of_rate(100), '>', (0.985, 0.998)),
        Bar::new("1 Gbit/s link, goodput / what fits", of_rate(1000), '>', (0.985, 0.998)),
        Bar::new("connections per second, PRP / TCP", ratio("connect", "tcp"), '>', (1.0, 2.0)),
        Bar::new(
            "goodput of 256 streams / of 1",
            apart("stream.streams256", "stream.streams1"),
            '>',
            (0.8, 1.0),
        ),
        Bar::new("CPU s/GB MTU 1500, PRP / TCP without offloads", cpu_ratio, '<', (1.2, 0.8)),
        Bar::new(
            "goodput beside 31 processes with ports / alone",
            apart("stream.ports31", "stream.ports0"),
            '>',
            (0.6, 0.9),
        ),
        Bar::new(
            "64 bytes, both on one core, PRP / TCP",
            ratio("latency.onecore", "tcp"),
            '<',
            (1.0, 0.5),
        ),
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
    let ratio = |name: &str| runs.number(&format!("udp.{name}"), "ratios.tcp");
    let goodput = |mtu: u32| runs.number(&format!("udp.stream.mtu{mtu}"), &gbps("prp"));
    let near = |a: Option<f64>, b: Option<f64>| Some((a? / b?).min(b? / a?));
    let pairs = [(1400, 1499), (1499, 1500), (1500, 9000)];
    let neighbours = pairs.map(|(a, b)| near(goodput(a), goodput(b)));
    let worst = neighbours.into_iter().reduce(|a, b| Some(a?.min(b?))).flatten();
    let cpu = cpu_ratio(runs, "udp.stream.mtu1500", "tcp");
    let bar = Bar::new;
    [
        bar("udp: goodput MTU 1500, PRP / TCP", ratio("stream.mtu1500"), '>', (0.9, 1.2)),
        bar("udp: CPU s/GB MTU 1500, PRP / TCP", cpu, '<', (1.3, 1.0)),
        bar("udp: 8 KiB, both spinning, PRP / TCP", ratio("latency.spin.8192"), '<', (1.1, 0.8)),
        bar("udp: 64 KiB, both spinning, PRP / TCP", ratio("latency.spin.65536"), '<', (1.1, 0.8)),
        bar("udp: 64 bytes, both spinning, PRP / TCP", ratio("latency.spin.64"), '<', (0.85, 0.75)),
        bar("udp: 64 bytes, defaults, PRP / TCP", ratio("latency.adaptive.64"), '<', (0.5, 0.3)),
        bar("udp: goodput without offloads, PRP / TCP", ratio("stream.cut"), '>', (0.8, 1.0)),
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
