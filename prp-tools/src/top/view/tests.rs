use std::time::{Duration, Instant};

use ratatui::backend::TestBackend;
use ratatui::{Frame, Terminal};

use super::super::rates::Rates;
use super::super::rates::tests::snapshot_of;
use super::super::text::{block, lines};
use super::*;

/// Two samples of a connection, a second apart.
fn sample() -> Sample {
    let (mut rates, start) = (Rates::default(), Instant::now());
    rates.sample(&snapshot_of(&[("bytes_sent", 0)]), start, |_| true);
    let mut second =
        snapshot_of(&[("bytes_sent", 154_321_000), ("segments_sent", 97), ("retransmitted", 6)]);
    second.processes[0].drops.insert("bad_crc".into(), 13);
    let mut sample = rates.sample(&second, start + Duration::from_secs(1), |_| true);
    sample.time = 3661.0;
    sample
}

/// The screen of a terminal of this size.
fn screen(sample: &Sample, view: &View, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("memory");
    let draw = |frame: &mut Frame<'_>| {
        view.draw(sample, frame.area(), frame.buffer_mut());
    };
    terminal.draw(draw).expect("memory");
    lines(terminal.backend().buffer())
}

#[test]
fn draw__is_readable_at_80_by_24() {
    let shown = screen(&sample(), &View::default(), 80, 24);
    let expected = [
        "prp top 01:01:01 UTC  1 connection of 1 process: ESTAB 1",
        "bit/s: 1.23G sent, 0 received; frames/s: 0 sent, 0 received",
        "RTT ms: 0.120 min, 0.120 median, 0.120 max; connections/s: 0 new, 0 reset",
        "segments sent again: 3.00 %; drops/s: 12 bad_crc",
        "Local       Peer        State      Send/s Recv/s RTT ms Again Process",
        "1:61000     2:7000      ESTAB       1.23G      0  0.120     3 prp(42)",
    ];
    assert_eq!(shown[..6], expected);
    assert!(shown[6..23].iter().all(String::is_empty), "{shown:?}");
    assert_eq!(shown[23], "q quit  s sort: rate  \u{2191}\u{2193} scroll: 1-1 of 1");
    assert_eq!(shown.len(), 24);
}

/// The longest ends, states and names of programs have room.
#[test]
fn draw__cuts_nothing_off_at_80_columns() {
    let mut sample = sample();
    let row = &mut sample.connections[0];
    row.program = "fifteen-letters".into();
    row.pid = 1;
    let c = &mut row.connection;
    (c.local_node, c.local_port, c.peer_node, c.peer_port) = (65_535, 65_535, 65_534, 65_534);
    c.state = "CLOSE-WAIT".into();
    let line = &screen(&sample, &View::default(), 80, 24)[5];
    for whole in ["65535:65535 65534:65534 CLOSE-WAIT ", " fifteen-letters("] {
        assert!(line.contains(whole), "{whole}: {line}");
    }
}

/// Columns are left out, and no figure is cut.
#[test]
fn draw__narrow_screens_have_fewer_columns() {
    let wide = &screen(&sample(), &View::default(), 200, 24)[5];
    let words: Vec<_> = wide.split_whitespace().collect();
    for width in 23..80 {
        let screen = screen(&sample(), &View::default(), width, 40);
        let row = screen.iter().find(|row| row.starts_with("1:61000 ")).expect("a connection");
        let mut shown = row.split_whitespace();
        assert!(shown.all(|word| words.contains(&word)), "{width}: {row}");
    }
    let narrow = screen(&sample(), &View::default(), 30, 40);
    assert!(narrow.iter().any(|row| row == "Local       Peer        Send/s"), "{narrow:?}");
}

/// A line of totals goes on in the next row, and connections have half of a small screen.
#[test]
fn draw__narrow_screens_have_all_totals() {
    let shown = screen(&sample(), &View::default(), 40, 24);
    let expected = [
        "prp top 01:01:01 UTC 1 connection of 1",
        "process: ESTAB 1",
        "bit/s: 1.23G sent, 0 received;",
        "frames/s: 0 sent, 0 received",
        "RTT ms: 0.120 min, 0.120 median, 0.120",
        "max;",
        "connections/s: 0 new, 0 reset",
        "segments sent again: 3.00 %;",
        "drops/s: 12 bad_crc",
    ];
    assert_eq!(shown[..9], expected);
    assert!(shown[9].starts_with("Local ") && shown[10].starts_with("1:61000 "), "{shown:?}");
    let small = screen(&sample(), &View::default(), 40, 8);
    assert_eq!(small[..4], expected[..4]);
    assert!(small[5].starts_with("1:61000 "), "{small:?}");
    assert!(small[7].starts_with("q quit"), "{small:?}");
}

#[test]
fn draw__wide_screens_have_more_columns() {
    let shown = screen(&sample(), &View::default(), 120, 24);
    assert!(shown[4].contains("Recv-Q Send-Q Window Underlay Process"), "{}", shown[4]);
    assert!(shown[5].contains("     0  1.48k  65.5k ethernet prp(42)"), "{}", shown[5]);
}

#[test]
fn draw__the_widest_screens_say_why_a_connection_does_not_move() {
    let mut sample = sample();
    let connection = &mut sample.connections[0].connection;
    (connection.is_rtt_stale, connection.silent_seconds) = (true, Some(4.12));
    connection.blocked_by = Some("peer_window".into());
    let shown = screen(&sample, &View::default(), 140, 24);
    assert!(shown[4].contains("Window Underlay Silent Blocked by  Process"), "{}", shown[4]);
    assert!(shown[5].contains(" 0.120? "), "{}", shown[5]);
    assert!(shown[5].contains("ethernet    4.1 peer_window prp(42)"), "{}", shown[5]);
    assert_eq!(block(&sample, &View::default()), shown[..6].join("\n"));
}

/// Down to a single cell.
#[test]
fn draw__takes_any_size() {
    let mut view = View::default();
    for width in 1..90 {
        for height in [1, 2, 4, 5, 6, 24] {
            view.first_row = usize::from(height % 3);
            assert_eq!(screen(&sample(), &view, width, height).len(), usize::from(height));
        }
    }
}

/// What a process calls itself does nothing to the terminal.
#[test]
fn draw__shows_control_characters() {
    let mut sample = sample();
    sample.connections[0].program = "a\u{1b}[2J".into();
    let line = &screen(&sample, &View::default(), 80, 24)[5];
    assert!(line.contains("a\\u{1b}[2J(42)"), "{line}");
}

#[test]
fn draw__without_rates_and_of_a_silent_process() {
    let mut rates = Rates::default();
    let mut snapshot = snapshot_of(&[]);
    snapshot.processes[0].is_stale = true;
    let shown =
        screen(&rates.sample(&snapshot, Instant::now(), |_| true), &View::default(), 80, 24);
    assert!(shown[0].ends_with("ESTAB 1; 1 silent"), "{}", shown[0]);
    assert_eq!(shown[1], "bit/s: - sent, - received; frames/s: - sent, - received");
    assert!(shown[3].ends_with("again: -; drops/s: -"), "{}", shown[3]);
    assert!(shown[5].ends_with("      -      -  0.120     - prp(42)?"), "{}", shown[5]);
}

#[test]
fn apply__puts_the_most_first_and_keeps_the_order_of_processes() {
    let of = |pid, rate, rtt| {
        let mut row = sample().connections.remove(0);
        (row.pid, row.send_bits_per_second, row.connection.rtt_seconds) = (pid, rate, rtt);
        row
    };
    let mut rows = [of(3, Some(1.0), Some(2.0)), of(1, None, None), of(2, Some(9.0), Some(1.0))];
    let mut order = |sort: Sort| {
        sort.apply(&mut rows);
        rows.iter().map(|row| row.pid).collect::<Vec<_>>()
    };
    assert_eq!(order(Sort::Rate), [2, 3, 1]);
    assert_eq!(order(Sort::Rtt), [3, 2, 1]);
    assert_eq!(order(Sort::Process), [1, 2, 3]);
    assert_eq!(Sort::Process.next(), Sort::Rate);
}
