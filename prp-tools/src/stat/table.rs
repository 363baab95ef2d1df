//! Connections as a table for people.

use super::snapshot::{Connection, Listener, Process, Snapshot};
use crate::hosts::names::Names;
use crate::print::printable;

/// The columns; numbers are aligned right.
const COLUMNS: [(&str, bool); 11] = [
    ("State", false),
    ("Recv-Q", true),
    ("Send-Q", true),
    ("Local", false),
    ("Peer", false),
    ("RTT ms", true),
    ("Window", true),
    ("Retrans", true),
    ("Policy", false),
    ("Underlay", false),
    ("Process", false),
];

type Row = [String; COLUMNS.len()];

/// The lines of the table.
pub(super) fn lines(snapshot: &Snapshot, header: bool, info: bool, resolve: bool) -> Vec<String> {
    let names = Names::load(resolve);
    let mut rows: Vec<(Row, Option<String>)> = Vec::new();
    for process in &snapshot.processes {
        let listeners = process.listeners.iter().map(|l| (listener_row(l, process, &names), None));
        rows.extend(listeners);
        let more = |c: &Connection| info.then(|| more(c));
        let connections = process.connections.iter();
        rows.extend(connections.map(|c| (row(c, process, &names), more(c))));
    }
    let mut widths = COLUMNS.map(|(name, _)| if header { name.len() } else { 0 });
    for (row, _) in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line =
        |cells: &[String]| {
            let cells = cells.iter().zip(widths).zip(COLUMNS);
            let cells = cells.map(|((cell, width), (_, is_number))| {
                if is_number { format!("{cell:>width$}") } else { format!("{cell:width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
    let head = header.then(|| line(&COLUMNS.map(|(name, _)| name.to_owned())));
    let body = rows.iter().flat_map(|(row, more)| [Some(line(row)), more.clone()]);
    head.into_iter().chain(body.flatten()).collect()
}

fn owner(process: &Process) -> String {
    format!("{}({})", process.program, process.pid)
}

fn listener_row(listener: &Listener, process: &Process, names: &Names) -> Row {
    let Listener { node, port, queue, backlog } = listener;
    let mut row = Row::default();
    row[..3].clone_from_slice(&["LISTEN".into(), queue.to_string(), backlog.to_string()]);
    row[3..5].clone_from_slice(&[names.end(*node, *port), "*".into()]);
    row[10] = owner(process);
    row
}

fn row(connection: &Connection, process: &Process, names: &Names) -> Row {
    let c = connection;
    [
        c.state.clone(),
        c.receive_queue.to_string(),
        c.send_queue.to_string(),
        names.end(c.local_node, c.local_port),
        names.end(c.peer_node, c.peer_port),
        c.rtt_seconds.map_or_else(
            || "-".into(),
            |rtt| format!("{:.3}{}", rtt * 1e3, if c.is_rtt_stale { "?" } else { "" }),
        ),
        c.congestion_window.to_string(),
        c.counter("retransmitted").to_string(),
        c.reliability.clone(),
        c.underlay.clone(),
        owner(process),
    ]
}

/// Returns what the frames of a connection end in, if they do.
fn trailer(c: &Connection) -> String {
    match (c.key_id, c.crc) {
        (Some(id), _) => format!("{} key {id} ", c.security),
        (None, true) => "crc ".to_owned(),
        (None, false) => String::new(),
    }
}

/// Returns what is known beside the columns: times in milliseconds, sizes in bytes, unless a unit
/// is there.
fn more(c: &Connection) -> String {
    let milliseconds = |time: Option<f64>| time.map_or(0.0, |time| time * 1e3);
    let agreed = c.agreed_mss.filter(|agreed| *agreed != c.mss);
    let mut words = vec![
        format!("\t{} {}", c.role, c.congestion),
        format!("dev {}", c.device),
        format!("mss {}", c.mss) + &agreed.map_or_else(String::new, |mss| format!(" of {mss}")),
        format!("{}minrtt {:.3}", trailer(c), milliseconds(c.min_rtt_seconds)),
        format!("rto {:.3}", milliseconds(c.rto_seconds)),
        format!("in-flight {} peer-window {} segs", c.in_flight, c.peer_window),
        format!("sent {} received {}", c.counter("bytes_sent"), c.counter("bytes_received")),
        format!(
            "segs {}/{} acks {}/{}",
            c.counter("segments_sent"),
            c.counter("segments_received"),
            c.counter("acks_sent"),
            c.counter("acks_received")
        ),
        format!("timeouts {} spurious {}", c.counter("timeouts"), c.counter("spurious")),
        format!("dropped {}", c.counter("dropped")),
    ];
    words.extend(c.silent_seconds.map(|silent| format!("silent {}", time(silent))));
    words.extend(c.ends_in_seconds.map(|left| format!("ends in {}", time(left))));
    words.extend(c.blocked_by.as_ref().map(|why| format!("blocked by {}", printable(why))));
    // How often it had to wait, and whatever else has occurred that is in no column.
    let more = c.counters.iter().filter(|(name, n)| **n > 0 && !SHOWN.contains(&name.as_str()));
    words.extend(more.map(|(name, n)| format!("{} {n}", printable(name))));
    words.join(" ")
}

/// Counters that are shown above, or in a column.
const SHOWN: [&str; 10] = [
    "acks_received",
    "acks_sent",
    "bytes_received",
    "bytes_sent",
    "dropped",
    "retransmitted",
    "segments_received",
    "segments_sent",
    "spurious",
    "timeouts",
];

/// A time in seconds, as precise as its size is worth: `0.004 s`, `4.1 s`, `56 s`.
fn time(seconds: f64) -> String {
    let places = if seconds < 1.0 { 3 } else { usize::from(seconds < 9.95) };
    format!("{seconds:.places$} s")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// From 1:61000 to 2:7000.
    pub(crate) fn connection() -> Connection {
        Connection {
            state: "ESTAB".into(),
            local_node: 1,
            local_port: 61000,
            peer_node: 2,
            peer_port: 7000,
            role: "connected".into(),
            receive_queue: 0,
            send_queue: 1484,
            reliability: "selective-repeat".into(),
            underlay: "ethernet".into(),
            device: "eth0".into(),
            congestion: "delay".into(),
            mss: 1484,
            agreed_mss: Some(1484),
            crc: true,
            security: "off".into(),
            key_id: None,
            silent_seconds: Some(0.004),
            ends_in_seconds: None,
            blocked_by: None,
            rtt_seconds: Some(0.000_120),
            is_rtt_stale: false,
            min_rtt_seconds: Some(0.000_05),
            rto_seconds: Some(0.01),
            in_flight: 1514,
            congestion_window: 65536,
            peer_window: 44,
            counters: [("retransmitted".to_owned(), 3)].into(),
        }
    }

    pub(crate) fn snapshot() -> Snapshot {
        let process = Process {
            pid: 42,
            program: "prp".into(),
            node: 1,
            listeners: vec![Listener { node: 1, port: 80, queue: 2, backlog: 4096 }],
            connections: vec![connection()],
            counters: [("frames_sent".to_owned(), 9)].into(),
            drops: [("bad_crc".to_owned(), 1)].into(),
            ..Process::default()
        };
        Snapshot { processes: vec![process], hidden: 0 }
    }

    #[test]
    fn lines__have_columns_of_their_contents_width() {
        let shown = lines(&snapshot(), true, false, false).join("\n");
        let expected = "\
State   Recv-Q  Send-Q  Local    Peer    RTT ms  Window  Retrans  Policy            Underlay  Process
LISTEN       2    4096  1:80     *                                                            prp(42)
ESTAB        0    1484  1:61000  2:7000   0.120   65536        3  selective-repeat  ethernet  prp(42)";
        assert_eq!(shown, expected);
    }

    #[test]
    fn more__says_how_frames_are_protected() {
        let (security, key_id) = ("seal".into(), Some(2));
        let sealed = Connection { crc: false, security, key_id, ..connection() };
        assert!(more(&sealed).contains(" mss 1484 seal key 2 minrtt "), "{}", more(&sealed));
        let none = Connection { crc: false, ..connection() };
        assert!(more(&none).contains(" mss 1484 minrtt "));
    }

    #[test]
    fn lines__with_info_and_without_header() {
        let shown = lines(&snapshot(), false, true, false);
        assert_eq!(shown.len(), 3);
        let expected = "\tconnected delay dev eth0 mss 1484 crc minrtt 0.050 rto 10.000 in-flight \
                        1514 peer-window 44 segs sent 0 received 0 segs 0/0 acks 0/0 timeouts 0 \
                        spurious 0 dropped 0 silent 0.004 s";
        assert_eq!(shown[2], expected);
    }

    #[test]
    fn lines__say_why_a_connection_does_not_move() {
        let mut snapshot = snapshot();
        snapshot.processes[0].listeners.clear();
        let hung = &mut snapshot.processes[0].connections[0];
        (hung.is_rtt_stale, hung.mss) = (true, 1184);
        (hung.silent_seconds, hung.ends_in_seconds) = (Some(4.12), Some(55.9));
        hung.blocked_by = Some("peer_window".into());
        hung.counters.insert("blocked_by_peer_window".into(), 31);
        hung.counters.insert("blocked_by_pace".into(), 0);
        let shown = lines(&snapshot, false, true, false);
        assert!(shown[0].contains("  0.120?  "), "{}", shown[0]);
        assert!(shown[1].contains(" mss 1184 of 1484 "), "{}", shown[1]);
        let end = " silent 4.1 s ends in 56 s blocked by peer_window blocked_by_peer_window 31";
        assert!(shown[1].ends_with(end), "{}", shown[1]);
    }
}
