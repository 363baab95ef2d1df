//! Programs in C and Python, on the page of results: what `bench --bindings --json` wrote.

use std::fmt::Write as _;

use serde_json::Value;

use super::short;

/// A line: what it is, its unit, and two columns, each with its name and where its figure is.
type Line = (&'static str, &'static str, [(&'static str, &'static str); 2]);

const LINES: [Line; 5] = [
    ("64 bytes one way, both ends spin", "us", [("C", "/spin_us/c"), ("Rust", "/spin_us/rust")]),
    (
        "64 bytes one way, defaults",
        "us",
        [("Python", "/latency_us/python"), ("TCP from Python", "/latency_us/python_tcp")],
    ),
    (
        "NumPy arrays of 8 MiB",
        "Gbit/s",
        [("Python", "/arrays_gbps/python"), ("Rust", "/arrays_gbps/rust")],
    ),
    (
        "requests a second",
        "",
        [
            ("asyncio", "/requests_per_s/asyncio"),
            ("asyncio over TCP", "/requests_per_s/asyncio_tcp"),
        ],
    ),
    (
        "a shuffle of 1 GB",
        "s",
        [("Dask", "/shuffle_s/dask"), ("Dask over TCP", "/shuffle_s/dask_tcp")],
    ),
];

/// The part of a machine's section that has its `bindings`: what follows the heading.
pub(super) fn section(bindings: &Value) -> String {
    let mut out = "\
Programs in [C](c.md) and [Python](python.md), by `bench --bindings`, beside the same in Rust, or
over TCP.

| | over PRP | beside |
| --- | --- | --- |
"
    .to_owned();
    for (what, unit, columns) in LINES {
        let cells = columns.map(|(name, path)| {
            let figure = short(bindings.pointer(path)?.as_f64()?);
            Some(format!("{name}: {figure} {unit}").trim_end().to_owned())
        });
        if let [Some(ours), Some(theirs)] = cells {
            let _ = writeln!(out, "| {what} | {ours} | {theirs} |");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn section__has_a_line_for_what_was_measured() {
        let bindings = json!({
            "spin_us": {"c": 1.6789, "rust": 1.62},
            "latency_us": {"python": 3.0},
            "requests_per_s": {"asyncio": 20_000.0, "asyncio_tcp": 9000.0},
        });
        let text = section(&bindings);
        let lines: Vec<_> =
            text.lines().skip_while(|line| !line.starts_with("| ---")).skip(1).collect();
        assert_eq!(
            lines,
            [
                "| 64 bytes one way, both ends spin | C: 1.68 us | Rust: 1.62 us |",
                "| requests a second | asyncio: 20000 | asyncio over TCP: 9000 |",
            ]
        );
    }
}
