//! What `netns-scripts/bench --key` has run: PRP with the cluster key off, signing and sealing, and
//! TLS and QUIC on the same link.
//!
//! A run is called `key.FIGURE.MODE.ROUND`, with `prp perf`'s own JSON. Those of the peers are
//! called `key.tls.ROUND` and `key.quic.ROUND`, and have both of their figures.

use serde_json::Value;

use super::measured::Measured;
use super::runs::Runs;
use crate::bar::Bar;

const MEASURED: Measured = Measured {
    prefix: "key",
    figures: &[
        ("spin.off", P50, "spin_us.off"),
        ("spin.sign", P50, "spin_us.sign"),
        ("spin.seal", P50, "spin_us.seal"),
        ("ethernet.off", GBPS, "ethernet_gbps.off"),
        ("ethernet.sign", GBPS, "ethernet_gbps.sign"),
        ("ethernet.seal", GBPS, "ethernet_gbps.seal"),
        ("udp.off", GBPS, "udp_gbps.off"),
        ("udp.seal", GBPS, "udp_gbps.seal"),
        ("tls", "gbps", "udp_gbps.tls"),
        ("quic", "gbps", "udp_gbps.quic"),
        ("udp_latency.seal", P50, "udp_latency_us.seal"),
        ("tls", "p50_us", "udp_latency_us.tls"),
        ("quic", "p50_us", "udp_latency_us.quic"),
        ("connect.off", PER_S, "connects_per_s.off"),
        ("connect.sign", PER_S, "connects_per_s.sign"),
        ("connect.seal", PER_S, "connects_per_s.seal"),
    ],
};

const P50: &str = "results.prp.p50_us.median";
const GBPS: &str = "results.prp.gbps.median";
const PER_S: &str = "results.prp.per_s.median";

/// The bars.
pub(super) fn bars(runs: &Runs) -> Vec<Bar> {
    let ratio = |ours: &str, theirs: &str| MEASURED.ratio(runs, ours, theirs);
    let added = |mode: &str| MEASURED.difference(runs, &format!("spin_us.{mode}"), "spin_us.off");
    let bar = Bar::new;
    vec![
        bar("64 bytes, both spinning, us: seal - off", added("seal"), '<', (0.35, 0.2)),
        bar("64 bytes, both spinning, us: sign - off", added("sign"), '<', (0.3, 0.15)),
        bar(
            "one stream, MTU 1500: seal / off",
            ratio("ethernet_gbps.seal", "ethernet_gbps.off"),
            '>',
            (0.75, 0.9),
        ),
        bar(
            "one stream, MTU 1500: sign / off",
            ratio("ethernet_gbps.sign", "ethernet_gbps.off"),
            '>',
            (0.8, 0.95),
        ),
        bar(
            "one stream over UDP: seal / off",
            ratio("udp_gbps.seal", "udp_gbps.off"),
            '>',
            (0.6, 0.8),
        ),
        bar(
            "one stream: PRP seal over UDP / QUIC",
            ratio("udp_gbps.seal", "udp_gbps.quic"),
            '>',
            (1.5, 3.0),
        ),
        bar(
            "one stream: PRP seal over UDP / TLS over TCP",
            ratio("udp_gbps.seal", "udp_gbps.tls"),
            '>',
            (1.5, 3.0),
        ),
        bar(
            "64 bytes, defaults: PRP seal over UDP / QUIC",
            ratio("udp_latency_us.seal", "udp_latency_us.quic"),
            '<',
            (0.7, 0.4),
        ),
        bar(
            "64 bytes, defaults: PRP seal over UDP / TLS over TCP",
            ratio("udp_latency_us.seal", "udp_latency_us.tls"),
            '<',
            (0.7, 0.4),
        ),
        bar(
            "connections a second: seal / off",
            ratio("connects_per_s.seal", "connects_per_s.off"),
            '>',
            (0.7, 0.9),
        ),
    ]
}

/// All figures.
pub(super) fn keys(runs: &Runs) -> Value {
    MEASURED.keys(runs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runs() -> Runs {
        let perf =
            |figure: &str, value: f64| json!({"results": {"prp": {figure: {"median": value}}}});
        let peer = |gbps: f64, us: f64| json!({"gbps": gbps, "p50_us": us});
        Runs::of([
            ("key.spin.off.1", perf("p50_us", 1.5)),
            ("key.spin.off.2", perf("p50_us", 3.0)),
            ("key.spin.off.3", perf("p50_us", 1.5)),
            ("key.spin.seal.1", perf("p50_us", 1.75)),
            ("key.spin.seal.2", perf("p50_us", 3.5)),
            ("key.spin.seal.3", perf("p50_us", 2.0)),
            ("key.ethernet.off.1", perf("gbps", 10.0)),
            ("key.ethernet.sign.1", perf("gbps", 8.5)),
            ("key.udp.off.1", perf("gbps", 16.0)),
            ("key.udp.seal.1", perf("gbps", 8.0)),
            ("key.udp_latency.seal.1", perf("p50_us", 5.0)),
            ("key.quic.1", peer(2.0, 20.0)),
            ("key.tls.1", peer(10.0, 10.0)),
            ("key.connect.off.1", perf("per_s", 20_000.0)),
            ("key.connect.seal.1", perf("per_s", 15_000.0)),
        ])
    }

    #[test]
    fn bars__are_of_neighbouring_rounds() {
        let found: Vec<_> = bars(&runs()).iter().map(|bar| (bar.value, bar.verdict())).collect();
        assert_eq!(
            found,
            [
                (Some(0.5), "MISSED"),
                (None, "not measured"),
                (None, "not measured"),
                (Some(0.85), "met"),
                (Some(0.5), "MISSED"),
                (Some(4.0), "met, and the reach"),
                (Some(0.8), "MISSED"),
                (Some(0.25), "met, and the reach"),
                (Some(0.5), "met"),
                (Some(0.75), "met"),
            ]
        );
    }

    #[test]
    fn keys__are_medians_of_what_was_measured() {
        let expected = json!({
            "spin_us": {"off": 1.5, "seal": 2.0},
            "ethernet_gbps": {"off": 10.0, "sign": 8.5},
            "udp_gbps": {"off": 16.0, "seal": 8.0, "tls": 10.0, "quic": 2.0},
            "udp_latency_us": {"seal": 5.0, "tls": 10.0, "quic": 20.0},
            "connects_per_s": {"off": 20_000.0, "seal": 15_000.0},
        });
        assert_eq!(keys(&runs()), expected);
    }
}
