//! Links with a rate and a delay, on the page of results: what `bench --links --json` wrote.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::short;

/// What comes above the tables.
const HEAD: &str = "\
Links of the rates and the delays that machines have, by `bench --links`. Processor time is that of
both programs; raw frames are packet sockets without a protocol. Where there is a delay, a program
forwards each frame, and takes part of the processors.
[Performance](performance.md#links-with-a-rate-and-a-delay) has what these links cost that a card
does not.
";

/// What is measured, as headings and as paths of figures call it. Raw frames only as streams.
const TRANSPORTS: [(&str, &str); 3] = [("PRP", "prp"), ("TCP", "tcp"), ("raw", "raw")];
const PRP_AND_TCP: &[(&str, &str)] = TRANSPORTS.split_at(2).0;

/// The sizes of messages, in bytes, and what the page calls them.
const SIZES: [(&str, &str); 5] = [
    ("64", "64 B"),
    ("1024", "1 KiB"),
    ("8192", "8 KiB"),
    ("65536", "64 KiB"),
    ("1048576", "1 MiB"),
];

/// A link and its figures.
struct Link<'a> {
    underlay: &'static str,
    /// Mbit/s; `None` without a limit.
    rate: Option<u32>,
    /// Microseconds in each direction.
    delay: u32,
    figures: &'a Value,
}

impl Link<'_> {
    /// The figure of a column, as the page has it.
    fn cell(&self, column: &Column) -> Option<String> {
        let path = column.path.replace('.', "/");
        self.figures.pointer(&format!("/{path}"))?.as_f64().map(short)
    }

    fn name(&self) -> String {
        let rate = match self.rate {
            None => "no limit".to_owned(),
            Some(rate) if rate >= 1000 => format!("{} Gbit/s", f64::from(rate) / 1e3),
            Some(rate) => format!("{rate} Mbit/s"),
        };
        format!("{}, {rate}, {} us", self.underlay, self.delay)
    }
}

/// Each link of `links`, by underlay, rate and delay; those without a limit last.
fn each(links: &Value) -> Vec<Link<'_>> {
    let number = |text: &str| text.parse::<u32>().ok();
    let mut found = Vec::new();
    for (key, underlay) in [("ethernet", "Ethernet"), ("udp", "UDP")] {
        let rates = links[key].as_object().into_iter().flatten();
        let mut of_underlay: Vec<_> = rates
            .flat_map(|(rate, delays)| {
                let delays = delays.as_object().into_iter().flatten();
                delays.filter_map(move |(delay, figures)| {
                    let delay = number(delay)?;
                    Some(Link { underlay, rate: number(rate), delay, figures })
                })
            })
            .collect();
        of_underlay.sort_by_key(|link| (link.rate.unwrap_or(u32::MAX), link.delay));
        found.append(&mut of_underlay);
    }
    found
}

/// A column of a table: its heading, and where each link has its figure.
struct Column {
    head: String,
    path: String,
}

/// A column for each of `transports`, of the figures at `path` with `{}` for the transport.
fn columns(transports: &[(&str, &str)], what: &str, path: &str) -> Vec<Column> {
    let each = transports.iter();
    let column = |(name, key): &(&str, &str)| Column {
        head: format!("{name} {what}"),
        path: path.replace("{}", key),
    };
    each.map(column).collect()
}

/// A table with a line for each of `links` that has figures.
fn table(out: &mut String, links: &[Link<'_>], columns: &[Column]) {
    let lines: Vec<_> = links
        .iter()
        .filter_map(|link| {
            let cells: Vec<_> = columns.iter().map(|column| link.cell(column)).collect();
            cells.iter().any(Option::is_some).then(|| {
                let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
                format!("| {} | {} |", link.name(), cells.collect::<Vec<_>>().join(" | "))
            })
        })
        .collect();
    if lines.is_empty() {
        return;
    }
    let heads = columns.iter().map(|column| format!(" {} |", column.head));
    let _ = writeln!(out, "\n| |{}", heads.collect::<String>());
    let _ = writeln!(out, "| --- |{}", " --- |".repeat(columns.len()));
    lines.iter().for_each(|line| {
        let _ = writeln!(out, "{line}");
    });
}

/// Lines of messages after a time to think, on the link that is called `name`.
fn think_lines(out: &mut String, name: &str, thinks: &Map<String, Value>) {
    let mut times: Vec<_> = thinks
        .iter()
        .filter_map(|(time, sizes)| Some((time.parse::<u32>().ok()?, sizes)))
        .collect();
    times.sort_by_key(|(time, _)| *time);
    for (time, sizes) in times {
        for (key, size) in SIZES {
            let figures = Link { underlay: "", rate: None, delay: 0, figures: &sizes[key] };
            let cells: Vec<_> = ["p50_us.{}", "p99_us.{}", "cpu_us_per_message.{}"]
                .into_iter()
                .flat_map(|path| columns(PRP_AND_TCP, "", path))
                .filter_map(|column| figures.cell(&column))
                .collect();
            if cells.len() == 6 {
                let _ = writeln!(out, "| {name}; {size}, {time} us | {} |", cells.join(" | "));
            }
        }
    }
}

/// The part of a machine's section that has its `links`: what follows the heading.
pub(super) fn section(links: &Value) -> String {
    let links = each(links);
    let mut out = format!("{HEAD}\nOne stream: Gbit/s, and processor seconds for a gigabyte.\n");
    let of_streams = |figures: [(&str, &str); 2]| {
        figures.map(|(what, path)| columns(&TRANSPORTS, what, path)).into_iter().flatten().collect()
    };
    let stream: Vec<_> = of_streams([("Gbit/s", "goodput_gbps.{}"), ("s/GB", "cpu_s_per_gb.{}")]);
    table(&mut out, &links, &stream);
    out += "\nThe processor seconds of each end.\n";
    let ends: Vec<_> =
        of_streams([("sender", "client.cpu_s_per_gb.{}"), ("receiver", "server.cpu_s_per_gb.{}")]);
    table(&mut out, &links, &ends);
    out += "\nA message one way, in us, with the usual waits.\n";
    let size = |(key, size)| columns(PRP_AND_TCP, size, &format!("message_us.{key}.{{}}"));
    table(&mut out, &links, &SIZES.map(size).into_iter().flatten().collect::<Vec<_>>());
    let mut thinks = String::new();
    for link in &links {
        if let Some(times) = link.figures["think"].as_object() {
            think_lines(&mut thinks, &link.name(), times);
        }
    }
    if !thinks.is_empty() {
        out +=
            "\nA message after the client has computed for a time: us one way in the median and the
99th percentile, and processor time of both ends by message, in us.

| | PRP p50 | TCP p50 | PRP p99 | TCP p99 | PRP CPU | TCP CPU |
| --- | --- | --- | --- | --- | --- | --- |
";
        out += &thinks;
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn section__has_a_line_for_each_link_in_order() {
        let stream = |gbps: f64| json!({"goodput_gbps": {"prp": gbps, "tcp": 0.9}, "cpu_s_per_gb": {"prp": 9.5, "tcp": 0.7}});
        let mut with_raw = stream(3.5);
        with_raw["cpu_s_per_gb"]["raw"] = json!(12.3);
        with_raw["client"] = json!({"cpu_s_per_gb": {"prp": 8.16, "tcp": 0.16, "raw": 8.13}});
        with_raw["server"] = json!({"cpu_s_per_gb": {"prp": 0.7, "tcp": 0.5}});
        let links = json!({
            "udp": {"1000": {"0": stream(0.95)}},
            "ethernet": {
                "10000": {"0": with_raw},
                "none": {"0": {"think": {"1000": {"64": {
                    "p50_us": {"prp": 30.0, "tcp": 40.0},
                    "p99_us": {"prp": 50.0, "tcp": 60.0},
                    "cpu_us_per_message": {"prp": 12.0, "tcp": 10.0},
                }}}}},
                "100": {"25": stream(0.0978), "0": {"message_us": {"64": {"prp": 6.0, "tcp": 16.0}}}},
            },
        });
        let text = section(&links);
        let lines: Vec<_> =
            text.lines().filter(|line| line.contains(", ") && line.starts_with("| ")).collect();
        assert_eq!(
            lines,
            [
                "| Ethernet, 100 Mbit/s, 25 us | 0.10 | 0.90 | - | 9.50 | 0.70 | - |",
                "| Ethernet, 10 Gbit/s, 0 us | 3.50 | 0.90 | - | 9.50 | 0.70 | 12.3 |",
                "| UDP, 1 Gbit/s, 0 us | 0.95 | 0.90 | - | 9.50 | 0.70 | - |",
                "| Ethernet, 10 Gbit/s, 0 us | 8.16 | 0.16 | 8.13 | 0.70 | 0.50 | - |",
                "| Ethernet, 100 Mbit/s, 0 us | 6.00 | 16.0 | - | - | - | - | - | - | - | - |",
                "| Ethernet, no limit, 0 us; 64 B, 1000 us | 30.0 | 40.0 | 50.0 | 60.0 | 12.0 | 10.0 |",
            ],
            "{text}"
        );
        let head = "| | PRP sender | TCP sender | raw sender | PRP receiver | TCP receiver |";
        assert!(text.contains(head), "{text}");
    }

    #[test]
    fn section__of_nothing_has_no_table() {
        assert!(!section(&json!({})).contains("| ---"));
    }
}
