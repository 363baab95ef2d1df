//! What has come of echoes: counts, times, and the verdict.

use std::collections::HashSet;
use std::time::Duration;

use prp_proto::addr::NodeId;
use prp_proto::wire::NodeKind;
use serde::Serialize;

use crate::exit::{Code, Failure};
use crate::probe::Heard;

/// What has come of it.
#[derive(Debug)]
pub(super) struct Tally {
    node: NodeId,
    /// Its number, and its name if it has one.
    name: String,
    pub(super) sent: u32,
    answers: Vec<Answer>,
    /// Echoes that were answered, by whomever.
    answered: HashSet<u16>,
    /// Those that the node itself answered, and how long each took.
    replies: Vec<Duration>,
}

/// An answer, for programs.
#[derive(Clone, Debug, Serialize)]
struct Answer {
    sequence: u16,
    /// The node that says it.
    from: u16,
    name: String,
    kind: &'static str,
    routers: u8,
    seconds: f64,
    /// The echo had been answered before.
    duplicate: bool,
}

/// All of it, for programs.
#[derive(Debug, Serialize)]
pub(super) struct Report<'a> {
    node: u16,
    name: &'a str,
    sent: u32,
    /// Echoes that the node itself has answered.
    answered: usize,
    lost_percent: f64,
    duplicates: usize,
    min_seconds: Option<f64>,
    mean_seconds: Option<f64>,
    max_seconds: Option<f64>,
    answers: &'a [Answer],
}

impl Tally {
    /// Nothing yet, of `node`, called `name`.
    pub(super) fn new(node: NodeId, name: String) -> Self {
        Self {
            node,
            name,
            sent: 0,
            answers: Vec::new(),
            answered: HashSet::new(),
            replies: Vec::new(),
        }
    }

    /// Whether echoes have not been answered.
    pub(super) fn lacks_answers(&self) -> bool {
        self.answered.len() < self.sent as usize
    }

    /// Takes down an answer that came over `routers` from the node that is called `name`; whether
    /// the echo had one.
    pub(super) fn note(&mut self, heard: &Heard, routers: u8, name: String) -> bool {
        let duplicate = !self.answered.insert(heard.sequence);
        if heard.kind == NodeKind::EchoReply && !duplicate {
            self.replies.push(heard.took);
        }
        self.answers.push(Answer {
            sequence: heard.sequence,
            from: heard.from.number(),
            name,
            kind: kind(heard.kind),
            routers,
            seconds: heard.took.as_secs_f64(),
            duplicate,
        });
        duplicate
    }

    fn duplicates(&self) -> usize {
        self.answers.iter().filter(|answer| answer.duplicate).count()
    }

    fn lost_percent(&self) -> f64 {
        let lost = f64::from(self.sent) - self.replies.len() as f64;
        if self.sent == 0 { 0.0 } else { 100.0 * lost / f64::from(self.sent) }
    }

    /// Least, mean and greatest time.
    fn times(&self) -> Option<[Duration; 3]> {
        let (least, most) = (self.replies.iter().min()?, self.replies.iter().max()?);
        let mean = self.replies.iter().sum::<Duration>() / self.replies.len() as u32;
        Some([*least, mean, *most])
    }

    /// In a line.
    pub(super) fn summary(&self) -> String {
        let mut text = format!(
            "{} sent, {} answered, {:.0} % lost",
            self.sent,
            self.replies.len(),
            self.lost_percent()
        );
        match self.duplicates() {
            0 => {}
            n => text.push_str(&format!(
                ", {n} duplicate: does another machine have this node's number?"
            )),
        }
        if let Some(times) = self.times() {
            let [least, mean, most] = times.map(|time| time.as_secs_f64() * 1e3);
            text.push_str(&format!("; min {least:.3} mean {mean:.3} max {most:.3} ms"));
        }
        text
    }

    /// For programs.
    pub(super) fn report(&self) -> Report<'_> {
        let times = self.times().map(|times| times.map(|time| time.as_secs_f64()));
        Report {
            node: self.node.number(),
            name: &self.name,
            sent: self.sent,
            answered: self.replies.len(),
            lost_percent: self.lost_percent(),
            duplicates: self.duplicates(),
            min_seconds: times.map(|[least, ..]| least),
            mean_seconds: times.map(|[_, mean, _]| mean),
            max_seconds: times.map(|[.., most]| most),
            answers: &self.answers,
        }
    }

    /// How it is to be taken.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let name = &self.name;
        if !self.replies.is_empty() {
            return Ok(());
        }
        if !self.answers.is_empty() {
            return Err(Failure::new(Code::NoWay, format!("{name}: cannot be reached")));
        }
        let text = format!("{name}: no answer; does prp-routed run there and on the way?");
        Err(Failure::new(Code::TimedOut, text))
    }
}

fn kind(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Echo => "echo",
        NodeKind::EchoReply => "reply",
        NodeKind::TimeExceeded => "hop_limit",
        NodeKind::Unreachable => "no_route",
        NodeKind::TooBig => "too_big",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        Tally { sent: 4, ..Tally::new(NodeId::MIN, "1 (alpha)".into()) }
    }

    fn heard(sequence: u16, kind: NodeKind, ms: u64) -> Heard {
        Heard { from: NodeId::MIN, kind, sequence, routers: 0, took: Duration::from_millis(ms) }
    }

    #[test]
    fn verdict__tells_silence_from_being_told() {
        let mut tally = tally();
        assert_eq!(tally.summary(), "4 sent, 0 answered, 100 % lost");
        let said = format!("{:?}", tally.verdict().expect_err("no answer"));
        assert!(said.contains("TimedOut"), "{said}");
        tally.note(&heard(1, NodeKind::Unreachable, 1), 0, "9".into());
        let said = format!("{:?}", tally.verdict().expect_err("no way"));
        assert!(said.contains("NoWay"), "{said}");
        assert!(tally.lacks_answers());
    }

    #[test]
    fn summary__has_loss_and_times() {
        let mut tally = tally();
        for (sequence, ms) in [(1, 1), (2, 3), (4, 2)] {
            assert!(!tally.note(&heard(sequence, NodeKind::EchoReply, ms), 0, "1".into()));
        }
        let summary = "4 sent, 3 answered, 25 % lost; min 1.000 mean 2.000 max 3.000 ms";
        assert_eq!(tally.summary(), summary);
        assert_eq!(tally.verdict(), Ok(()));
        assert!(tally.lacks_answers(), "the third");
    }

    #[test]
    fn note__a_second_answer_is_a_duplicate_and_counts_once() {
        let mut tally = tally();
        tally.note(&heard(1, NodeKind::EchoReply, 1), 0, "1".into());
        assert!(tally.note(&heard(1, NodeKind::EchoReply, 9), 0, "1".into()));
        assert!(
            tally.summary().contains("1 answered, 75 % lost, 1 duplicate"),
            "{}",
            tally.summary()
        );
        let report = serde_json::to_value(tally.report()).expect("JSON");
        assert_eq!((&report["answered"], &report["duplicates"]), (&1.into(), &1.into()));
        assert_eq!(report["lost_percent"], 75.0);
        assert_eq!(report["max_seconds"], 0.001);
        assert_eq!(report["answers"][1]["kind"], "reply");
    }

    #[test]
    fn report__without_answers_has_no_times() {
        let report = serde_json::to_value(tally().report()).expect("JSON");
        assert!(report["min_seconds"].is_null() && report["answers"] == serde_json::json!([]));
    }
}
