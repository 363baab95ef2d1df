//! Counters in the text format of OpenMetrics.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Page, Record};

/// Families by name: their type, and values by labels.
type Families = BTreeMap<String, (&'static str, BTreeMap<String, u64>)>;

/// The family of frames that were dropped, by reason.
const DROPPED: &str = "prp_dropped_frames";

/// Numbers of connections and the names of their sums. What ends with a connection goes back, so
/// all of these are gauges.
const SUMS: [(&str, &str); 4] = [
    ("receive_queue", "prp_connections_receive_queue_bytes"),
    ("send_queue", "prp_connections_send_queue_bytes"),
    ("in_flight", "prp_connections_in_flight_bytes"),
    ("retransmitted", "prp_connections_retransmitted_segments"),
];

/// The counters of `pages` as the text format of OpenMetrics has them, with the labels `node`,
/// `pid` and `program`.
pub fn openmetrics(pages: &[Page]) -> String {
    let mut families = Families::new();
    if !pages.is_empty() {
        // It is there before anything is dropped, as the others are.
        families.insert(DROPPED.into(), ("counter", BTreeMap::new()));
    }
    pages.iter().for_each(|page| add_page(&mut families, page));
    let mut text = String::new();
    for (name, (kind, samples)) in &families {
        let _ = writeln!(text, "# TYPE {name} {kind}");
        let suffix = if *kind == "counter" { "_total" } else { "" };
        for (labels, value) in samples {
            let _ = writeln!(text, "{name}{suffix}{{{labels}}} {value}");
        }
    }
    text + "# EOF\n"
}

fn add_page(families: &mut Families, page: &Page) {
    let program = escaped(&page.program);
    let owner = format!("node=\"{}\",pid=\"{}\",program=\"{program}\"", page.node, page.pid);
    let mut add = |name: String, kind, labels: &str, value: u64| {
        let family = families.entry(name).or_insert_with(|| (kind, BTreeMap::new()));
        // A process may be the same node twice, by two files of hosts.
        *family.1.entry(format!("{owner}{labels}")).or_default() += value;
    };
    for record in &page.records {
        match record.kind.as_str() {
            "process" => {
                for (name, n) in counters(record).filter(|(name, _)| *name != "node") {
                    add(format!("prp_{name}"), "counter", "", n);
                }
            }
            "drops" => {
                for (why, n) in counters(record) {
                    let label = format!(",reason=\"{}\"", escaped(why));
                    add(DROPPED.into(), "counter", &label, n);
                }
            }
            "device" => {
                let device = escaped(record.text("name").unwrap_or_default());
                let label = format!(",device=\"{device}\"");
                for (name, n) in counters(record).filter(|(name, _)| *name != "name") {
                    add(format!("prp_device_{name}"), "counter", &label, n);
                }
            }
            "connection" => {
                let state = escaped(record.text("state").unwrap_or_default());
                add("prp_connections".into(), "gauge", &format!(",state=\"{state}\""), 1);
                for (field, name) in SUMS {
                    add(name.into(), "gauge", "", record.number(field).unwrap_or(0));
                }
            }
            // Listeners, and kinds of a later version.
            _ => {}
        }
    }
}

/// The fields of `record` that are numbers.
fn counters(record: &Record) -> impl Iterator<Item = (&str, u64)> {
    record.fields().filter_map(|(name, value)| Some((name, value.parse().ok()?)))
}

/// As the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::RecordText;
    use super::*;

    fn page() -> Page {
        let mut records = RecordText::default();
        records.begin("process").field("node", 1).field("hosts", "/h").field("frames_sent", 9);
        records.begin("drops").field("bad_crc", 1);
        records.begin("device").field("name", "eth0").field("overruns", 3);
        for bytes in [14, 1500] {
            records.begin("connection").field("state", "ESTAB").field("in_flight", bytes);
        }
        let records = records.parse();
        Page { pid: 42, program: "a\"b".into(), node: 1, is_stale: false, records }
    }

    #[test]
    fn openmetrics__has_types_labels_sums_and_an_end() {
        let owner = r#"node="1",pid="42",program="a\"b""#;
        let expected = format!(
            "# TYPE prp_connections gauge\n\
             prp_connections{{{owner},state=\"ESTAB\"}} 2\n\
             # TYPE prp_connections_in_flight_bytes gauge\n\
             prp_connections_in_flight_bytes{{{owner}}} 1514\n\
             # TYPE prp_connections_receive_queue_bytes gauge\n\
             prp_connections_receive_queue_bytes{{{owner}}} 0\n\
             # TYPE prp_connections_retransmitted_segments gauge\n\
             prp_connections_retransmitted_segments{{{owner}}} 0\n\
             # TYPE prp_connections_send_queue_bytes gauge\n\
             prp_connections_send_queue_bytes{{{owner}}} 0\n\
             # TYPE prp_device_overruns counter\n\
             prp_device_overruns_total{{{owner},device=\"eth0\"}} 3\n\
             # TYPE prp_dropped_frames counter\n\
             prp_dropped_frames_total{{{owner},reason=\"bad_crc\"}} 1\n\
             # TYPE prp_frames_sent counter\n\
             prp_frames_sent_total{{{owner}}} 9\n\
             # EOF\n"
        );
        assert_eq!(openmetrics(&[page()]), expected);
    }

    #[test]
    fn openmetrics__has_the_family_of_drops_before_there_is_one() {
        let quiet = Page { records: RecordText::default().parse(), ..page() };
        assert_eq!(openmetrics(&[quiet]), "# TYPE prp_dropped_frames counter\n# EOF\n");
        assert_eq!(openmetrics(&[]), "# EOF\n");
    }

    /// Nothing may be there twice.
    #[test]
    fn openmetrics__adds_up_what_has_the_same_labels() {
        let text = openmetrics(&[page(), page()]);
        let sent = text.lines().filter(|line| line.starts_with("prp_frames_sent_total"));
        let values: Vec<_> = sent.filter_map(|line| line.rsplit(' ').next()).collect();
        assert_eq!(values, ["18"]);
    }
}
