//! Connections in numbers: by state, by process, and what was lost.

use std::collections::BTreeMap;

use prp_node::counted;

use super::snapshot::Snapshot;

/// The lines of the summary.
pub(super) fn lines(snapshot: &Snapshot) -> Vec<String> {
    let mut states = BTreeMap::<&str, usize>::new();
    let mut lines = Vec::new();
    let mut losses = BTreeMap::<String, u64>::new();
    for process in &snapshot.processes {
        for connection in &process.connections {
            *states.entry(&connection.state).or_default() += 1;
            let repeats = connection.counter("retransmitted");
            *losses.entry("segments sent again".into()).or_default() += repeats;
        }
        for (why, n) in process.losses() {
            *losses.entry(why).or_default() += n;
        }
        let sum = |name| process.connections.iter().map(|c| c.counter(name)).sum::<u64>();
        lines.push(format!(
            "{}({}): {}, {} listening, sent {} bytes, received {} bytes",
            process.program,
            process.pid,
            counted(process.connections.len(), "connection"),
            process.listeners.len(),
            sum("bytes_sent"),
            sum("bytes_received"),
        ));
    }
    let total = states.values().sum::<usize>();
    let states: Vec<_> = states.iter().map(|(state, n)| format!("{state} {n}")).collect();
    let states = if states.is_empty() { String::new() } else { format!(": {}", states.join(", ")) };
    lines.insert(
        0,
        format!(
            "{} of {}{states}",
            counted(total, "connection"),
            counted(snapshot.processes.len(), "process")
        ),
    );
    let losses: Vec<_> =
        losses.iter().filter(|(_, n)| **n > 0).map(|(why, n)| format!("{why} {n}")).collect();
    let losses = if losses.is_empty() { "nothing".to_owned() } else { losses.join(", ") };
    lines.push(format!("lost or dropped: {losses}"));
    lines
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Device;
    use super::super::table::tests::snapshot;
    use super::*;

    #[test]
    fn lines__count_by_state_and_reason() {
        let expected = [
            "1 connection of 1 process: ESTAB 1",
            "prp(42): 1 connection, 1 listening, sent 0 bytes, received 0 bytes",
            "lost or dropped: bad_crc 1, segments sent again 3",
        ];
        assert_eq!(lines(&snapshot()), expected);
        let mut snapshot = snapshot();
        let counters = [("overruns".to_owned(), 2), ("tcx_rx".to_owned(), 9)].into();
        snapshot.processes[0].devices = vec![Device { name: "eth0".into(), counters }];
        let expected = "lost or dropped: bad_crc 1, device_overruns 2, segments sent again 3";
        assert_eq!(lines(&snapshot)[2], expected);
        let nothing = ["0 connections of 0 processes", "lost or dropped: nothing"];
        assert_eq!(lines(&Snapshot::default()), nothing);
    }
}
