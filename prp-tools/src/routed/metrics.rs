//! Prometheus' text (OpenMetrics) as data.

use serde::Serialize;
use serde_json::{Map, Value};

/// A number that is counted or measured.
#[derive(Debug, Serialize)]
pub(super) struct Metric<'a> {
    name: &'a str,
    labels: Map<String, Value>,
    value: Value,
}

/// All of `text`, in its order.
pub(super) fn parse(text: &str) -> Vec<Metric<'_>> {
    text.lines().filter(|line| !line.starts_with('#')).filter_map(metric).collect()
}

/// A line such as `name{label="value",other="value"} 17`.
fn metric(line: &str) -> Option<Metric<'_>> {
    let (what, value) = line.rsplit_once(' ')?;
    let (name, labels) = match what.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}')?),
        None => (what, ""),
    };
    let value =
        value.parse::<u64>().map(Value::from).or_else(|_| value.parse::<f64>().map(Value::from));
    Some(Metric { name, labels: pairs(labels), value: value.ok()? })
}

/// Labels. The daemon's values are numbers and names, in which nothing is escaped but what
/// Prometheus wants to have so.
fn pairs(mut text: &str) -> Map<String, Value> {
    let mut pairs = Map::new();
    while let Some((name, rest)) = text.split_once("=\"") {
        let mut value = String::new();
        let mut chars = rest.char_indices();
        let end = loop {
            match chars.next() {
                Some((at, '"')) => break at + 1,
                Some((_, '\\')) => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, other)) => value.push(other),
                    None => {}
                },
                Some((_, other)) => value.push(other),
                None => break rest.len(),
            }
        };
        pairs.insert(name.trim_start_matches(',').to_owned(), value.into());
        text = &rest[end..];
    }
    pairs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parse__names_labels_and_numbers() {
        let text = "# HELP x Frames, as \"counted\".\n# TYPE x counter\nx_total 17\n\
            drops_total{reason=\"no_route\"} 0\n\
            neighbour{node=\"2\",mac=\"02:00:00:00:00:02\"} 1\nodd{a=\"q\\\"u\\\\o\\nte, b=\"} 0.5\n# EOF\n";
        let expected = json!([
            {"name": "x_total", "labels": {}, "value": 17},
            {"name": "drops_total", "labels": {"reason": "no_route"}, "value": 0},
            {"name": "neighbour", "labels": {"node": "2", "mac": "02:00:00:00:00:02"}, "value": 1},
            {"name": "odd", "labels": {"a": "q\"u\\o\nte, b="}, "value": 0.5},
        ]);
        assert_eq!(serde_json::to_value(parse(text)).expect("JSON"), expected);
    }

    #[test]
    fn parse__survives_what_no_daemon_says() {
        for text in
            ["", "x", "x{ 1", "x{a} 1", "x{a=\"} 1", "x{a=\"\\", "x{a=\"b\\\"} 1", "x nan y"]
        {
            let _ = parse(text);
        }
    }
}
