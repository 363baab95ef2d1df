use prp_proto::wire::UnreachableCause;

use super::*;

/// Four echoes are sent.
fn tally() -> Tally {
    let mut tally = Tally::new(NodeId::MIN, "1 (alpha)".into(), false, true);
    for number in 1..=4 {
        assert_eq!(tally.note_sent(), number);
    }
    tally
}

fn reply(sequence: u16, kind: NodeKind, ms: u64) -> ProbeReply {
    let (unreachable_cause, took) = (UnreachableCause::default(), Duration::from_millis(ms));
    ProbeReply { from: NodeId::MIN, kind, unreachable_cause, sequence, routers: 0, took }
}

fn summary(tally: &Tally) -> String {
    tally.summary_after(Duration::from_millis(3004))
}

#[test]
fn verdict__distinguishes_silence_from_an_answer() {
    let mut tally = tally();
    let expected = "\n--- 1 (alpha) ping statistics ---\n\
                4 packets transmitted, 0 received, 100% packet loss, time 3004ms";
    assert_eq!(summary(&tally), expected);
    let printed = format!("{:?}", tally.verdict().expect_err("no answer"));
    assert!(printed.contains("TimedOut"), "{printed}");
    tally.note(&reply(1, NodeKind::Unreachable, 1), 0, "9");
    let printed = format!("{:?}", tally.verdict().expect_err("no route"));
    assert!(printed.contains("Unreachable"), "{printed}");
    assert!(tally.lacks_last(true));
}

#[test]
fn summary__has_loss_and_times() {
    let mut tally = tally();
    for (sequence, ms) in [(1, 1), (2, 3), (4, 2)] {
        assert!(!tally.note(&reply(sequence, NodeKind::EchoReply, ms), 0, "1"));
    }
    let expected = "4 packets transmitted, 3 received, 25% packet loss, time 3004ms\n\
                rtt min/avg/max/mdev = 1.000/2.000/3.000/0.816 ms";
    assert!(summary(&tally).ends_with(expected), "{}", summary(&tally));
    assert_eq!(tally.verdict(), Ok(()));
    assert!(tally.lacks_last(true) && !tally.lacks_last(false), "the third, and not the last");
}

#[test]
fn note__a_second_answer_is_a_duplicate_and_counts_once() {
    let mut tally = tally();
    tally.note(&reply(1, NodeKind::EchoReply, 1), 0, "1");
    assert!(tally.note(&reply(1, NodeKind::EchoReply, 9), 0, "1"));
    let printed = summary(&tally);
    assert!(printed.contains("1 received, +1 duplicates, 75% packet loss"), "{printed}");
    assert!(printed.contains("does another machine have"), "{printed}");
    let report = serde_json::to_value(tally.report()).expect("JSON");
    assert_eq!((&report["answered"], &report["duplicates"]), (&1.into(), &1.into()));
    assert_eq!(report["lost_percent"], 75.0);
    assert_eq!((&report["max_seconds"], &report["mdev_seconds"]), (&0.001.into(), &0.0.into()));
    assert_eq!(report["answers"][1]["kind"], "reply");
}

/// Over UDP any process of the node that holds its own port answers.
#[test]
fn verdict__asks_for_what_would_answer_by_this_underlay() {
    for (is_udp, wanted) in [
        (false, "does prp-routed run there and on the path?"),
        (
            true,
            "does prp-routed, or a program that uses PRP, run there, and prp-routed on the path?",
        ),
    ] {
        let tally = Tally::new(NodeId::MIN, "1".into(), is_udp, false);
        let printed = format!("{:?}", tally.verdict().expect_err("no answer"));
        assert!(printed.contains(&format!("1: no answer; {wanted}")), "{printed}");
    }
}

/// After 65,536 echoes a number means another one.
#[test]
fn note__numbers_that_come_again_are_no_duplicates() {
    let mut tally = Tally::new(NodeId::MIN, "1".into(), true, false);
    for number in 1..=NUMBERS + 2 {
        assert_eq!(tally.note_sent(), number);
        assert!(tally.lacks_last(false), "{number}");
        assert!(!tally.note(&reply(number as u16, NodeKind::EchoReply, 1), 0, "1"), "{number}");
    }
    let printed = summary(&tally);
    assert!(
        printed.contains("65538 packets transmitted, 65538 received, 0% packet loss"),
        "{printed}"
    );
    assert!(serde_json::to_value(tally.report()).expect("JSON")["answers"].is_null());
}

#[test]
fn report__without_answers_has_no_times() {
    let report = serde_json::to_value(tally().report()).expect("JSON");
    assert!(report["min_seconds"].is_null() && report["answers"] == serde_json::json!([]));
}

#[test]
fn rounded__has_the_digits_it_needs() {
    for (percent, text) in [(0.0, "0"), (100.0, "100"), (12.5, "12.5"), (100.0 / 3.0, "33.3333")] {
        assert_eq!(rounded(percent), text);
    }
}
