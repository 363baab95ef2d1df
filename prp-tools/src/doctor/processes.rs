//! What the processes of this node have counted.

use std::thread;
use std::time::Duration;

use super::finding::{Finding, Kind, Severity};
use crate::stat::{ANSWER_TIMEOUT, Connection, Process, Snapshot};

/// Segments sent again that are many: 5 % of them, and at least this number, since a few are lost
/// now and then.
const MANY_REPEATS: u64 = 100;

/// Frames dropped for one reason that are more than an accident.
const MANY_DROPS: u64 = 10;

/// What a process has counted since it started, and what may be over long since.
const PASSING: [Kind; 2] = [Kind::Overruns, Kind::TooBig];

/// How long it is waited for more of that.
const OBSERVATION: Duration = Duration::from_secs(1);

/// What is to be said of them.
pub(super) fn findings() -> Vec<Finding> {
    let found = of_all();
    if !found.iter().any(|finding| PASSING.contains(&finding.kind)) {
        return found;
    }
    thread::sleep(OBSERVATION);
    of_all().into_iter().map(|finding| passed(finding, &found)).collect()
}

fn of_all() -> Vec<Finding> {
    let snapshot = Snapshot::take(ANSWER_TIMEOUT).unwrap_or_default();
    snapshot.processes.iter().flat_map(of_process).collect()
}

/// All that a process has lost or dropped, by the names that its counters have everywhere.
fn of_losses(process: &Process, owner: &str) -> Option<Finding> {
    let counted = process.losses().into_iter().filter(|(_, n)| *n > 0);
    let all: Vec<_> = counted.map(|(why, n)| format!("{why} {n}")).collect();
    (!all.is_empty()).then(|| {
        let cause = format!("{owner} has counted since its start: {}", all.join(", "));
        Finding::note(Kind::ProcessDrops, cause, "`prp stat -s` has what still grows")
    })
}

/// A peer that owes `owner` an answer.
fn of_silence(connection: &Connection, owner: &str) -> Option<Finding> {
    let silent = connection.silent_seconds.filter(|_| connection.is_rtt_stale)?;
    let (node, port) = (connection.peer_node, connection.peer_port);
    let cause =
        format!("{owner}: {node}:{port} owes an answer, and has been silent for {silent:.0} s");
    let fix = format!(
        "`prp doctor {node}` here; where that has an answer, `prp stat` and `prp doctor` there: is \
         the process stopped?"
    );
    Some(Finding::warning(Kind::PeerSilent, cause, &fix))
}

/// As `finding`, only a note where the count in it has not grown since `before`.
fn passed(finding: Finding, before: &[Finding]) -> Finding {
    if !PASSING.contains(&finding.kind) || !before.contains(&finding) {
        return finding;
    }
    let cause = format!("{}; none in the last second", finding.cause);
    Finding { severity: Severity::Note, cause, ..finding }
}

fn of_process(process: &Process) -> Vec<Finding> {
    let owner = format!("{} ({})", process.program, process.pid);
    let mut found = Vec::new();
    if process.is_stale {
        let fix = match process.is_stopped {
            true => format!("`kill -CONT {}`", process.pid),
            false => "a processor for it, or look what it waits for".to_owned(),
        };
        let cause = format!("{}: its peers wait for it", process.silence());
        found.push(Finding::warning(Kind::ProcessSilent, cause, &fix));
    }
    for device in &process.devices {
        let count = |name| device.counters.get(name).copied().unwrap_or(0);
        let name = &device.name;
        if count("overruns") > 0 {
            let n = count("overruns");
            found.push(Finding::warning(
                Kind::Overruns,
                format!(
                    "{owner} has lost {n} frames at {name} since its start: its receiving ring was full"
                ),
                "a processor for it when frames come: it was stopped, or other programs had them all",
            ));
        }
        if count("too_big") > 0 {
            let n = count("too_big");
            found.push(Finding::warning(
                Kind::TooBig,
                format!(
                    "{owner} could not send {n} frames since its start: {name} had a smaller MTU than \
                     before"
                ),
                "`ip link set DEVICE mtu` as it was; lower MTUs before programs start",
            ));
        }
    }
    let drops = |reason: &str| process.drops.get(reason).copied().unwrap_or(0);
    for (kind, reason, what, fix) in [
        (
            Kind::BadCrc,
            "bad_crc",
            "frames came changed",
            "a cable, a port or memory of a switch: `ethtool -S` counts at each device",
        ),
        (
            Kind::BadSource,
            "bad_source",
            "frames came in a node's name from another hardware address",
            "two machines with one number, or an old address in prphosts",
        ),
        (
            Kind::Unsigned,
            "unsigned",
            "frames came without the cluster key",
            "copy the key file to the node that sends them",
        ),
        (
            Kind::UnknownKey,
            "unknown_key",
            "frames came with a cluster key that this process does not have",
            "the same key file on all nodes: `prp key list` shows fingerprints",
        ),
        (
            Kind::BadTag,
            "bad_tag",
            "frames came with a wrong tag of the cluster key",
            "`prp key list` on all nodes: two secrets may have one id; or someone forges frames",
        ),
    ] {
        if drops(reason) >= MANY_DROPS {
            let cause = format!("{owner}: {} {what}", drops(reason));
            found.push(Finding::warning(kind, cause, fix));
        }
    }
    found.extend(of_losses(process, &owner));
    for c in &process.connections {
        found.extend(of_silence(c, &owner));
        let (repeats, sent) = (c.counter("retransmitted"), c.counter("segments_sent"));
        if repeats >= MANY_REPEATS && repeats * 20 >= sent {
            let percent = 100 * repeats / sent.max(1);
            let (node, port) = (c.peer_node, c.peer_port);
            found.push(Finding::warning(
                Kind::Repeats,
                format!("{owner}: {percent} % of the segments to {node}:{port} were sent again"),
                "frames are lost on the path: `prp doctor NODE`, and counters of the switch",
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::Device;

    #[test]
    fn of_process__has_losses_and_silence() {
        let mut process = Process { program: "p".into(), pid: 3, ..Process::default() };
        assert_eq!(of_process(&process), []);
        process.is_stale = true;
        process.drops = [("bad_crc".to_owned(), MANY_DROPS), ("bad_id".to_owned(), 99)].into();
        let found = of_process(&process);
        let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [Kind::ProcessSilent, Kind::BadCrc, Kind::ProcessDrops]);
        let counters = [("overruns".to_owned(), 1), ("too_big".to_owned(), 2)].into();
        process.devices = vec![Device { name: "eth0".into(), counters }];
        let found = of_process(&process);
        let kinds: Vec<_> = found.iter().map(|finding| finding.kind).collect();
        let [silent, overruns, too_big, bad_crc] =
            [Kind::ProcessSilent, Kind::Overruns, Kind::TooBig, Kind::BadCrc];
        assert_eq!(kinds, [silent, overruns, too_big, bad_crc, Kind::ProcessDrops]);
        let all = "p (3) has counted since its start: bad_crc 10, bad_id 99, device_overruns 1, \
                   device_too_big 2";
        assert_eq!((found[4].cause.as_str(), found[4].severity), (all, Severity::Note));
    }

    #[test]
    fn of_process__names_a_cluster_key_that_one_of_two_nodes_lacks() {
        for (reason, kind) in [
            ("unsigned", Kind::Unsigned),
            ("unknown_key", Kind::UnknownKey),
            ("bad_tag", Kind::BadTag),
        ] {
            let mut process = Process { program: "p".into(), pid: 3, ..Process::default() };
            process.drops = [(reason.to_owned(), MANY_DROPS)].into();
            let kinds: Vec<_> = of_process(&process).iter().map(|found| found.kind).collect();
            assert_eq!(kinds, [kind, Kind::ProcessDrops]);
        }
    }

    #[test]
    fn of_process__names_a_peer_that_owes_an_answer() {
        let connection = Connection {
            peer_node: 2,
            peer_port: 7000,
            silent_seconds: Some(12.3),
            ..Connection::default()
        };
        let mut process = Process { program: "p".into(), pid: 3, ..Process::default() };
        process.connections = vec![connection];
        assert_eq!(of_process(&process), [], "nothing is due");
        process.connections[0].is_rtt_stale = true;
        let found = of_process(&process);
        let [Finding { kind: Kind::PeerSilent, severity: Severity::Warning, cause, .. }] =
            &found[..]
        else {
            panic!("{found:?}")
        };
        assert!(cause.contains("2:7000") && cause.contains("12 s"), "{cause}");
    }

    #[test]
    fn passed__is_what_has_not_grown() {
        let of = |n: u64, kind| Finding::warning(kind, format!("{n} frames"), "more room");
        let before = [of(3, Kind::Overruns), of(7, Kind::BadCrc)];
        let same = passed(of(3, Kind::Overruns), &before);
        assert_eq!(same.severity, Severity::Note, "{same:?}");
        for finding in [of(4, Kind::Overruns), of(7, Kind::BadCrc), of(3, Kind::TooBig)] {
            assert_eq!(passed(finding.clone(), &before), finding);
        }
    }
}
