//! What has come of echoes: counts, times, and the verdict.

use std::time::{Duration, Instant};

use prp_proto::addr::NodeId;
use prp_proto::wire::NodeKind;
use serde::Serialize;

use crate::exit::{Code, Failure};
use crate::probe::ProbeReply;

/// Sequence numbers on the wire, of 16 bits.
const NUMBERS: u64 = 1 << 16;

/// What has come of it.
#[derive(Debug)]
pub(super) struct Tally {
    node: NodeId,
    /// Its number, and its name if it has one.
    name: String,
    /// Any program of the node that uses PRP answers then.
    is_udp: bool,
    begun: Instant,
    /// Echoes sent; the last one's number, from 1.
    sent: u64,
    /// For each number on the wire, whether the last echo that had it was answered, by whomever.
    answered: Vec<bool>,
    /// Echoes that were answered, by whomever.
    replied: u64,
    duplicates: u64,
    /// Times of the echoes that the node itself answered, in seconds.
    times: Times,
    /// Each answer, where the user wants to read them.
    answers: Option<Vec<EchoAnswer>>,
}

/// How long answers took, in seconds.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Times {
    count: u64,
    least: f64,
    most: f64,
    sum: f64,
    /// Of the squares.
    squares: f64,
}

/// An answer, for programs.
#[derive(Clone, Debug, Serialize)]
struct EchoAnswer {
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
pub(super) struct PingReport<'a> {
    node: u16,
    name: &'a str,
    sent: u64,
    /// Echoes that the node itself has answered.
    answered: u64,
    lost_percent: f64,
    duplicates: u64,
    /// From the first echo to the end.
    seconds: f64,
    min_seconds: Option<f64>,
    mean_seconds: Option<f64>,
    max_seconds: Option<f64>,
    /// The standard deviation.
    mdev_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<&'a [EchoAnswer]>,
}

impl Times {
    /// Takes down that an answer took `time` seconds.
    pub(super) fn add(&mut self, time: f64) {
        self.least = if self.count == 0 { time } else { self.least.min(time) };
        self.most = self.most.max(time);
        self.count += 1;
        self.sum += time;
        self.squares += time * time;
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Least, mean, greatest, and the standard deviation; `None` where there are none.
    pub(super) fn figures(&self) -> Option<[f64; 4]> {
        let count = self.count as f64;
        let mean = self.sum / count;
        // Rounding may leave less than nothing.
        let deviation = (self.squares / count - mean * mean).max(0.0).sqrt();
        (self.count > 0).then_some([self.least, mean, self.most, deviation])
    }
}

impl Tally {
    /// Nothing yet, of `node`, called `name`, to which echoes leave over UDP or as frames. It keeps
    /// each answer if that is asked for.
    pub(super) fn new(node: NodeId, name: String, is_udp: bool, keeps_answers: bool) -> Self {
        Self {
            node,
            name,
            is_udp,
            begun: Instant::now(),
            sent: 0,
            answered: vec![false; NUMBERS as usize],
            replied: 0,
            duplicates: 0,
            times: Times::default(),
            answers: keeps_answers.then(Vec::new),
        }
    }

    /// Takes down that an echo is sent now; its number. The lower 16 bits go on the wire.
    pub(super) fn note_sent(&mut self) -> u64 {
        self.sent += 1;
        self.answered[(self.sent % NUMBERS) as usize] = false;
        self.sent
    }

    /// Whether the last echo has not been answered, or with `any` one of all.
    pub(super) fn lacks_last(&self, any: bool) -> bool {
        if any { self.replied < self.sent } else { !self.answered[(self.sent % NUMBERS) as usize] }
    }

    /// Echoes that the node itself has answered.
    pub(super) fn replies(&self) -> u64 {
        self.times.count
    }

    /// Whether nobody has answered.
    pub(super) fn is_silent(&self) -> bool {
        self.replied == 0
    }

    /// Takes down an answer that came over `routers` from the node that is called `name`; whether
    /// the echo had one.
    pub(super) fn note(&mut self, reply: &ProbeReply, routers: u8, name: &str) -> bool {
        let duplicate = std::mem::replace(&mut self.answered[usize::from(reply.sequence)], true);
        if duplicate {
            self.duplicates += 1;
        } else {
            self.replied += 1;
            if reply.kind == NodeKind::EchoReply {
                self.times.add(reply.took.as_secs_f64());
            }
        }
        if let Some(answers) = &mut self.answers {
            answers.push(EchoAnswer {
                sequence: reply.sequence,
                from: reply.from.number(),
                name: name.to_owned(),
                kind: reply.kind.name(),
                routers,
                seconds: reply.took.as_secs_f64(),
                duplicate,
            });
        }
        duplicate
    }

    fn lost_percent(&self) -> f64 {
        let lost = self.sent.saturating_sub(self.replies()) as f64;
        if self.sent == 0 { 0.0 } else { 100.0 * lost / self.sent as f64 }
    }

    /// As iputils prints it.
    pub(super) fn summary(&self) -> String {
        self.summary_after(self.begun.elapsed())
    }

    fn summary_after(&self, elapsed: Duration) -> String {
        let mut text = format!("\n--- {} ping statistics ---\n", self.name);
        text.push_str(&format!("{} packets transmitted, {} received, ", self.sent, self.replies()));
        if self.duplicates > 0 {
            text.push_str(&format!("+{} duplicates, ", self.duplicates));
        }
        let (lost, elapsed) = (rounded(self.lost_percent()), elapsed.as_millis());
        text.push_str(&format!("{lost}% packet loss, time {elapsed}ms"));
        if self.duplicates > 0 {
            text.push_str("\nduplicates: does another machine have this node's number?");
        }
        if let Some(times) = self.times.figures() {
            let [least, mean, most, deviation] = times.map(|time| time * 1e3);
            text.push_str(&format!(
                "\nrtt min/avg/max/mdev = {least:.3}/{mean:.3}/{most:.3}/{deviation:.3} ms"
            ));
        }
        text
    }

    /// For programs.
    pub(super) fn report(&self) -> PingReport<'_> {
        let times = self.times.figures();
        PingReport {
            node: self.node.number(),
            name: &self.name,
            sent: self.sent,
            answered: self.replies(),
            lost_percent: self.lost_percent(),
            duplicates: self.duplicates,
            seconds: self.begun.elapsed().as_secs_f64(),
            min_seconds: times.map(|times| times[0]),
            mean_seconds: times.map(|times| times[1]),
            max_seconds: times.map(|times| times[2]),
            mdev_seconds: times.map(|times| times[3]),
            answers: self.answers.as_deref(),
        }
    }

    /// How it is to be taken.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let name = &self.name;
        if self.replies() > 0 {
            return Ok(());
        }
        if self.replied > 0 {
            return Err(Failure::new(Code::Unreachable, format!("{name}: cannot be reached")));
        }
        let question = if self.is_udp {
            "does prp-routed, or a program that uses PRP, run there, and prp-routed on the path?"
        } else {
            "does prp-routed run there and on the path?"
        };
        let text = format!("{name}: no answer; {question}");
        Err(Failure::new(Code::TimedOut, text))
    }
}

/// A percentage with as many digits as it needs, six at most, as iputils prints it.
fn rounded(percent: f64) -> String {
    let text = format!("{percent:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests;
