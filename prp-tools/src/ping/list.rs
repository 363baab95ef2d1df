//! Echoes to several nodes: a line for each, with its path and round-trip times.

use std::collections::HashMap;
use std::time::Instant;

use prp_node::counted;
use prp_proto::addr::NodeId;
use prp_proto::wire::NodeKind;
use serde::Serialize;

use super::PingArgs;
use super::tally::Times;
use crate::exit::{Code, Failure};
use crate::print::{print_json, print_line};
use crate::probe::{ProbeReply, Prober};

/// Rounds, unless the user says how many.
const ROUNDS: u32 = 3;

/// The columns; numbers are aligned right.
const COLUMNS: [(&str, bool); 10] = [
    ("Node", true),
    ("Name", false),
    ("Path", false),
    ("Routers", true),
    ("Sent", true),
    ("Answered", true),
    ("Min ms", true),
    ("Mean ms", true),
    ("Max ms", true),
    ("State", false),
];

/// A node that is asked, and what has come of it.
#[derive(Debug)]
struct Asked {
    node: NodeId,
    name: Option<String>,
    path: Option<String>,
    sent: u64,
    times: Times,
    /// On the path that the last answer took.
    routers: Option<u8>,
    /// What another node has answered last, or why nothing could be sent.
    refusal: Option<String>,
}

/// A node, for programs.
#[derive(Debug, Serialize)]
struct NodeReport<'a> {
    node: u16,
    name: Option<&'a str>,
    path: Option<&'a str>,
    routers: Option<u8>,
    sent: u64,
    answered: u64,
    min_seconds: Option<f64>,
    mean_seconds: Option<f64>,
    max_seconds: Option<f64>,
    state: &'a str,
}

/// All of it, for programs.
#[derive(Debug, Serialize)]
struct ListReport<'a> {
    nodes: Vec<NodeReport<'a>>,
}

/// Sends echoes to `nodes` in rounds, and prints what has come of it.
pub(super) fn run(prober: &mut Prober, nodes: Vec<NodeId>, args: &PingArgs) -> Result<(), Failure> {
    let asked = |node| Asked {
        node,
        name: prober.bare_name(node).map(str::to_owned),
        path: prober.path(node),
        sent: 0,
        times: Times::default(),
        routers: None,
        refusal: None,
    };
    let mut asked: Vec<_> = nodes.into_iter().map(asked).collect();
    let started = Instant::now();
    ask(prober, &mut asked, args)?;
    let is_silent = |asked: &&Asked| asked.times.count() == 0 && asked.refusal.is_none();
    let silent: Vec<_> = asked.iter().filter(is_silent).map(|asked| asked.node).collect();
    let without = prober.find_without_key(&silent, args.patience_since(started))?;
    for asked in asked.iter_mut().filter(|asked| without.contains(&asked.node)) {
        asked.refusal = Some("no cluster key, or another one".to_owned());
    }
    if args.json {
        print_json(&ListReport { nodes: asked.iter().map(Asked::report).collect() }, true)?;
    } else {
        print_line(lines(&asked).join("\n"))?;
    }
    match asked.iter().filter(|asked| asked.times.count() == 0).count() {
        0 => Ok(()),
        silent => {
            let of = counted(asked.len(), "node");
            Err(Failure::new(Code::TimedOut, format!("{silent} of {of} not reached")))
        }
    }
}

/// Sends an echo to each node in each round, and takes answers down.
fn ask(prober: &mut Prober, asked: &mut [Asked], args: &PingArgs) -> Result<(), Failure> {
    let deadline = args.deadline.map(|deadline| Instant::now() + deadline);
    let rounds = args.count.unwrap_or(ROUNDS);
    // To whom the echo with this number on the wire went.
    let mut sent_to: HashMap<u16, usize> = HashMap::new();
    let mut number = 0u16;
    for round in 1..=rounds {
        for (at, to) in asked.iter_mut().enumerate() {
            number = number.wrapping_add(1);
            match prober.send(to.node, number, args.routers, args.size.into()) {
                Err(failure) if failure.is(Code::Unreachable) => {
                    to.refusal = Some("no route".into());
                }
                sent => {
                    sent?;
                    sent_to.insert(number, at);
                }
            }
            to.sent += 1;
        }
        let wait = if round == rounds { args.patience() } else { args.pace() };
        let until = Instant::now() + wait;
        let until = deadline.map_or(until, |deadline| deadline.min(until));
        // Only the last answers end the last round early: rounds keep their times.
        while round < rounds || !sent_to.is_empty() {
            let Some(reply) = prober.receive(until)? else { break };
            let from = prober.name(reply.from);
            // Once: another answer to the same echo says nothing more.
            if let Some(at) = sent_to.remove(&reply.sequence) {
                asked[at].note(&reply, args, &from);
            }
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            break;
        }
    }
    Ok(())
}

impl Asked {
    fn note(&mut self, reply: &ProbeReply, args: &PingArgs, from: &str) {
        self.refusal = match reply.kind {
            NodeKind::EchoReply | NodeKind::Echo => {
                self.times.add(reply.took.as_secs_f64());
                self.routers = Some(args.passed(reply));
                None
            }
            NodeKind::TimeExceeded => Some(format!("too many routers, at {from}")),
            NodeKind::Unreachable => Some(format!("no route on from {from}")),
            NodeKind::TooBig => Some(format!("too big for a link of {from}")),
        };
    }

    /// Whether it was reached, in words.
    fn state(&self) -> &str {
        match &self.refusal {
            _ if self.times.count() > 0 => "reached",
            Some(refusal) => refusal,
            None => "no answer",
        }
    }

    fn report(&self) -> NodeReport<'_> {
        let times = self.times.figures();
        NodeReport {
            node: self.node.number(),
            name: self.name.as_deref(),
            path: self.path.as_deref(),
            routers: self.routers,
            sent: self.sent,
            answered: self.times.count(),
            min_seconds: times.map(|times| times[0]),
            mean_seconds: times.map(|times| times[1]),
            max_seconds: times.map(|times| times[2]),
            state: self.state(),
        }
    }

    fn cells(&self) -> [String; COLUMNS.len()] {
        let report = self.report();
        let word = |text: Option<&str>| text.unwrap_or("-").to_owned();
        let time = |time: Option<f64>| {
            time.map_or_else(|| "-".into(), |time| format!("{:.3}", time * 1e3))
        };
        [
            report.node.to_string(),
            word(report.name),
            word(report.path),
            report.routers.map_or_else(|| "-".into(), |routers| routers.to_string()),
            report.sent.to_string(),
            report.answered.to_string(),
            time(report.min_seconds),
            time(report.mean_seconds),
            time(report.max_seconds),
            report.state.to_owned(),
        ]
    }
}

/// The lines of the table.
fn lines(asked: &[Asked]) -> Vec<String> {
    let head = COLUMNS.map(|(name, _)| name.to_owned());
    let rows: Vec<_> = std::iter::once(head).chain(asked.iter().map(Asked::cells)).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<_> = (0..COLUMNS.len()).map(|column| width(column).unwrap_or(0)).collect();
    let line =
        |row: &[String; COLUMNS.len()]| {
            let cells = row.iter().zip(&widths).zip(COLUMNS);
            let cells = cells.map(|((cell, width), (_, is_number))| {
                if is_number { format!("{cell:>width$}") } else { format!("{cell:width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines__have_a_row_for_each_node() {
        let asked = |number, name: Option<&str>| Asked {
            node: NodeId::new(number).expect("a node"),
            name: name.map(str::to_owned),
            path: Some("eth0 via 2".into()),
            sent: 3,
            times: Times::default(),
            routers: None,
            refusal: None,
        };
        let mut reached = asked(2, Some("beta"));
        reached.times.add(0.001);
        reached.times.add(0.003);
        (reached.routers, reached.path) = (Some(0), Some("eth0".into()));
        let mut refused = asked(30, None);
        refused.refusal = Some("no route on from 2 (beta)".into());
        let silent = asked(4, None);
        assert_eq!(
            lines(&[reached, refused, silent]),
            [
                "Node  Name  Path        Routers  Sent  Answered  Min ms  Mean ms  Max ms  State",
                "   2  beta  eth0              0     3         2   1.000    2.000   3.000  reached",
                "  30  -     eth0 via 2        -     3         0       -        -       -  no route on from 2 (beta)",
                "   4  -     eth0 via 2        -     3         0       -        -       -  no answer",
            ]
        );
    }
}
