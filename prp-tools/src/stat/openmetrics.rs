//! Counters in the text format of OpenMetrics, for the textfile collector of Prometheus' node
//! exporter or a scraper that runs `prp stat`.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::snapshot::{Process, Snapshot};

/// A number of a connection.
type Of = fn(&super::Connection) -> u64;

/// Families by name: their type, and their samples.
type Families = BTreeMap<String, (&'static str, Vec<String>)>;

/// The text, which ends with `# EOF`.
pub(super) fn text(snapshot: &Snapshot) -> String {
    let mut families = Families::new();
    snapshot.processes.iter().for_each(|process| add(&mut families, process));
    let mut text = String::new();
    for (name, (kind, samples)) in &families {
        let _ = writeln!(text, "# TYPE {name} {kind}");
        let suffix = if *kind == "counter" { "_total" } else { "" };
        for sample in samples {
            let _ = writeln!(text, "{name}{suffix}{sample}");
        }
    }
    text + "# EOF"
}

fn add(families: &mut Families, process: &Process) {
    let owner = format!(
        "node=\"{}\",pid=\"{}\",program=\"{}\"",
        process.node,
        process.pid,
        escaped(&process.program)
    );
    let mut put = |name: String, kind, labels: &str, value: u64| {
        let family = families.entry(name).or_insert_with(|| (kind, Vec::new()));
        family.1.push(format!("{{{owner}{labels}}} {value}"));
    };
    for (name, n) in &process.counters {
        put(format!("prp_{name}"), "counter", "", *n);
    }
    for (why, n) in &process.drops {
        put("prp_dropped_frames".into(), "counter", &format!(",reason=\"{}\"", escaped(why)), *n);
    }
    for device in &process.devices {
        let label = format!(",device=\"{}\"", escaped(&device.name));
        for (name, n) in &device.counters {
            put(format!("prp_device_{name}"), "counter", &label, *n);
        }
    }
    let mut states = BTreeMap::<&str, u64>::new();
    process.connections.iter().for_each(|c| *states.entry(&c.state).or_default() += 1);
    for (state, n) in states {
        put("prp_connections".into(), "gauge", &format!(",state=\"{}\"", escaped(state)), n);
    }
    // Sums over the connections there are would go back when one ends, so they are gauges.
    let sums: [(&str, Of); 4] = [
        ("receive_queue_bytes", |c| c.receive_queue),
        ("send_queue_bytes", |c| c.send_queue),
        ("in_flight_bytes", |c| c.in_flight),
        ("retransmitted_segments", |c| c.counter("retransmitted")),
    ];
    for (name, of) in sums {
        let sum = process.connections.iter().map(of).sum();
        put(format!("prp_connections_{name}"), "gauge", "", sum);
    }
}

/// As the value of a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::super::table::tests::snapshot;
    use super::*;

    #[test]
    fn text__has_types_labels_and_an_end() {
        let mut snapshot = snapshot();
        snapshot.processes[0].program = "a\"b".into();
        let said = text(&snapshot);
        for line in [
            "# TYPE prp_frames_sent counter",
            "prp_frames_sent_total{node=\"1\",pid=\"42\",program=\"a\\\"b\"} 9",
            "prp_dropped_frames_total{node=\"1\",pid=\"42\",program=\"a\\\"b\",reason=\"bad_crc\"} 1",
            "# TYPE prp_connections gauge",
            "prp_connections{node=\"1\",pid=\"42\",program=\"a\\\"b\",state=\"ESTAB\"} 1",
            "prp_connections_in_flight_bytes{node=\"1\",pid=\"42\",program=\"a\\\"b\"} 1514",
        ] {
            assert!(said.lines().any(|other| other == line), "{line} in {said}");
        }
        assert!(said.ends_with("# EOF"));
        assert_eq!(said.matches("# TYPE prp_connections gauge").count(), 1);
    }
}
