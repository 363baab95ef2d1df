//! The cluster key, on the page of results: what `bench --key --json` wrote.

use std::fmt::Write as _;

use serde_json::Value;

use super::short;

/// What comes above the lines.
const HEAD: &str = "\
PRP without a [cluster key](security.md), and with one that signs or seals, by `bench --key`; and,
on the same link as PRP over UDP, TLS over the kernel's TCP (rustls) and QUIC (quinn), with PRP's
cipher. [Performance](performance.md#the-cluster-key) says what is compared.

| | off | sign | seal | TLS | QUIC |
| --- | --- | --- | --- | --- | --- |
";

/// A figure of the page: what it is, its unit, and its key.
const LINES: [(&str, &str, &str); 5] = [
    ("64 bytes one way, both ends spin", "us", "spin_us"),
    ("one stream, MTU 1500", "Gbit/s", "ethernet_gbps"),
    ("connections a second", "", "connects_per_s"),
    ("over UDP: one stream, MTU 1500", "Gbit/s", "udp_gbps"),
    ("over UDP: 64 bytes one way, defaults", "us", "udp_latency_us"),
];

/// The columns, as JSON has them.
const COLUMNS: [&str; 5] = ["off", "sign", "seal", "tls", "quic"];

/// The part of a machine's section that has its `key`: what follows the heading.
pub(super) fn section(key: &Value) -> String {
    let mut out = HEAD.to_owned();
    for (what, unit, name) in LINES {
        let Some(figures) = key.get(name) else { continue };
        let cells = COLUMNS.map(|column| {
            figures[column].as_f64().map_or_else(
                || "-".to_owned(),
                |value| format!("{} {unit}", short(value)).trim_end().to_owned(),
            )
        });
        let _ = writeln!(out, "| {what} | {} |", cells.join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn section__has_a_line_for_what_was_measured() {
        let key = json!({
            "udp_latency_us": {"seal": 5.5, "tls": 15.0, "quic": 30.25},
            "spin_us": {"off": 1.5, "sign": 1.75, "seal": 1.8},
            "connects_per_s": {"off": 20_000.0, "seal": 15_000.0},
        });
        let text = section(&key);
        let lines: Vec<_> =
            text.lines().skip_while(|line| !line.starts_with("| ---")).skip(1).collect();
        assert_eq!(
            lines,
            [
                "| 64 bytes one way, both ends spin | 1.50 us | 1.75 us | 1.80 us | - | - |",
                "| connections a second | 20000 | - | 15000 | - | - |",
                "| over UDP: 64 bytes one way, defaults | - | - | 5.50 us | 15.0 us | 30.2 us |",
            ]
        );
    }
}
