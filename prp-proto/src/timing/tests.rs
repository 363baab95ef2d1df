use alloc::format;
use alloc::string::String;

use super::*;
use crate::config::ConnConfig;

/// A time of the table: its name, its length and the clause that it belongs to.
type Row = (&'static str, Duration, &'static str);

fn rows() -> [Row; 30] {
    let config = ConnConfig::default();
    let idle = config.keepalive.expect("connections are probed by default");
    let user_timeout = config.user_timeout.expect("there is one by default");
    [
        ("first repeat of CREQ", REQUEST_FIRST, "CONN-3"),
        ("longest time between repeats of CREQ", REQUEST_MAX, "CONN-3"),
        ("connect timeout, may be set", config.connect_timeout, "CONN-3"),
        ("wait for a CACK with options after one without", EXTENDED_ANSWER, "OPT-5"),
        ("first probe of an unconfirmed connection", UNCONFIRMED.idle, "CONN-9"),
        ("its next two probes, each after", UNCONFIRMED_EARLY, "CONN-9"),
        ("its further probes, each after", UNCONFIRMED.interval, "CONN-9"),
        ("its place may be taken after", UNCONFIRMED_OVERDUE, "CONN-6"),
        ("first probe of an idle connection, may be set", idle.idle, "CONN-10"),
        ("its further probes, each after, may be set", idle.interval, "CONN-10"),
        ("user timeout, may be set", user_timeout, "CONN-11"),
        ("least time to a question", MIN_PROBE, "LOSS-3"),
        ("least reordering window", MIN_REORDERING, "LOSS-5"),
        ("retransmission timeout before the first measurement", FIRST_RTO, "LOSS-6"),
        ("least retransmission timeout", MIN_RTO, "LOSS-6"),
        ("longest retransmission timeout", MAX_RTO, "LOSS-6"),
        ("longest time between probes of a closed window", MAX_RTO, "WIN-5"),
        ("wait of an acknowledgement for data to ride on", ACK_DELAY, "ACK-3"),
        ("time between probes of a segment size", SIZE_PROBE_PAUSE, "SIZE-1"),
        ("sizes that did not get through are tried again after", SIZE_RETRY, "SIZE-3"),
        ("least time between probes after a RST that is not credible", CHALLENGE_PAUSE, "RST-4"),
        ("TIME-WAIT", TIME_WAIT, "CLOSE-5"),
        ("a closed stream whose peer has everything is reset after", ORPHAN_WAIT, "CLOSE-8"),
        ("one whose peer takes nothing new, after", UNDELIVERED_WAIT, "CLOSE-8"),
        ("longest wait of a process that ends for an answer", MAX_RTO, "CLOSE-10"),
        ("ends that it tells of are no older than", FAREWELL_MEMORY, "CLOSE-10"),
        ("time between its portions of 32", FAREWELL_PAUSE, "CLOSE-10"),
        ("silence after which another path is taken", PATH_SILENCE, "PATH-3"),
        ("probes of a router that is not up, each after", LIVENESS_SLOW, "LIVE-3"),
        ("age of keys at which they are renewed", KEY_AGE, "KEY-18"),
    ]
}

fn text(time: Duration) -> String {
    match time.as_micros() {
        us if us % 1_000_000 == 0 => format!("{} s", us / 1_000_000),
        us if us % 1000 == 0 => format!("{} ms", us / 1000),
        us => format!("{us} us"),
    }
}

/// The SPEC lists the times that this crate has.
#[test]
fn times__are_those_of_the_specification() {
    let mut table = String::from("| time | default | clause |\n| --- | --- | --- |\n");
    for (name, time, clause) in rows() {
        table += &format!("| {name} | {} | PRP-{clause} |\n", text(time));
    }
    let spec = include_str!("../../SPEC.md");
    let section = spec.split_once("## 15. Times").expect("the section").1;
    assert!(section.contains(&table), "the table is\n{table}");
}
