//! `prp trace`: by which routers is a node reached?

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use prp_proto::addr::NodeId;
use prp_proto::wire::{Flags, NodeKind};
use serde::Serialize;

use crate::argument::{input_file, number, seconds};
use crate::exit::{Code, Failure, help};
use crate::print::{print_json, print_line};
use crate::probe::{NO_KEY, ProbeReply, Prober};

/// Steps in a row without an answer, after which none is expected any more: one router may be
/// silent, since it answers only a limited number of echoes a second, and behind one that does not
/// run there is no node.
const MAX_SILENT: usize = 3;

/// List the routers on the path to a node, and how far each is.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp trace gamma                 three echoes to each router
  prp trace -q 1 -w 0.2 gamma     one, and a short wait
"))]
pub(crate) struct TraceArgs {
    /// The node: a name or number in prphosts
    node: String,
    /// How often to ask each router
    #[arg(short = 'q', long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = number::<u8>(1..=10))]
    queries: u8,
    /// Seconds to wait for an answer
    #[arg(short, long, value_name = "SECS", default_value = "1", value_parser = seconds)]
    wait: Duration,
    /// The most routers and the node itself that are asked
    #[arg(short = 'm', long, value_name = "N", default_value_t = Flags::MAX_HOPS + 1)]
    #[arg(value_parser = number::<u8>(1..=u64::from(Flags::MAX_HOPS) + 1))]
    max_hops: u8,
    /// Numbers of nodes: they are there anyway, as in `traceroute -n`
    #[arg(short = 'n', hide = true)]
    numeric: bool,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
    /// Print all of it as JSON when it is over
    #[arg(long)]
    json: bool,
}

/// The nodes that answered echoes that may cross a given number of routers.
#[derive(Debug, Serialize)]
struct Step {
    hop: u8,
    answers: Vec<Option<HopAnswer>>,
}

/// An answer.
#[derive(Clone, Debug, Serialize)]
struct HopAnswer {
    node: u16,
    /// Its number, and its name if it has one.
    name: String,
    seconds: f64,
    /// There is no route on from there.
    no_route: bool,
    /// Why there is none.
    no_route_cause: Option<String>,
    /// It is the node that is searched for.
    #[serde(skip)]
    is_end: bool,
}

/// All of it, for programs.
#[derive(Debug, Serialize)]
struct TraceReport {
    node: u16,
    name: String,
    reached: bool,
    hops: Vec<Step>,
}

/// Runs `prp trace`.
pub(crate) fn run(args: &TraceArgs) -> Result<(), Failure> {
    let mut prober = Prober::open(args.hosts.as_deref())?;
    let node = prober.resolve(&args.node)?;
    let mut steps = Vec::new();
    for routers in 0..args.max_hops {
        let step = ask(&mut prober, node, routers, args)?;
        if !args.json {
            print_line(step.line())?;
        }
        steps.push(step);
        if is_over(&steps) {
            break;
        }
    }
    let is_reached = steps.iter().any(|step| step.has(|answer| answer.is_end));
    let silent = if is_reached { &[][..] } else { &[node] };
    let without = prober.find_without_key(silent, args.wait)?;
    let verdict = verdict(&steps, &prober, node).map_err(|e| match without.is_empty() {
        true => e.with_lacks(prober.hosts()),
        false => Failure::new(Code::TimedOut, format!("{}: {NO_KEY}", prober.name(node))),
    });
    if args.json {
        let (name, reached) = (prober.name(node), verdict.is_ok());
        let report = TraceReport { node: node.number(), name, reached, hops: steps };
        print_json(&report, true)?;
    }
    verdict
}

/// Sends echoes that may cross `routers` routers, one after another.
fn ask(prober: &mut Prober, node: NodeId, routers: u8, args: &TraceArgs) -> Result<Step, Failure> {
    let mut answers = Vec::new();
    for query in 0..args.queries {
        let sequence = u16::from(routers) * u16::from(args.queries) + u16::from(query);
        prober.send(node, sequence, routers, 0)?;
        let until = Instant::now() + args.wait;
        answers.push(loop {
            match prober.receive(until)? {
                Some(late) if late.sequence != sequence => {}
                answer => break answer.map(|reply| HopAnswer::of(&reply, prober)),
            }
        });
    }
    Ok(Step { hop: routers + 1, answers })
}

impl HopAnswer {
    fn of(reply: &ProbeReply, prober: &Prober) -> Self {
        Self {
            node: reply.from.number(),
            name: prober.name(reply.from),
            seconds: reply.took.as_secs_f64(),
            no_route: reply.kind == NodeKind::Unreachable,
            no_route_cause: (reply.kind == NodeKind::Unreachable)
                .then(|| reply.unreachable_cause.to_string()),
            is_end: reply.kind == NodeKind::EchoReply,
        }
    }
}

impl Step {
    fn is_silent(&self) -> bool {
        self.answers.iter().all(Option::is_none)
    }

    fn has(&self, what: impl Fn(&HopAnswer) -> bool) -> bool {
        self.answers.iter().flatten().any(what)
    }

    /// The nodes that answered, and how long each took; `*` for no answer.
    fn line(&self) -> String {
        let mut words = vec![format!("{:2}", self.hop)];
        let mut last = None;
        for answer in &self.answers {
            let Some(HopAnswer { node, name, seconds, no_route, .. }) = answer else {
                words.push("*".into());
                continue;
            };
            if last != Some(*node) {
                last = Some(*node);
                words.push(name.clone());
            }
            words.push(format!("{:.3} ms", seconds * 1e3));
            if *no_route {
                words.push("!".into());
            }
        }
        words.join("  ")
    }
}

/// Whether asking farther would tell nothing.
fn is_over(steps: &[Step]) -> bool {
    let silent = steps.iter().rev().take_while(|step| step.is_silent()).count();
    silent >= MAX_SILENT || steps.last().is_some_and(|step| step.has(|a| a.is_end || a.no_route))
}

fn verdict(steps: &[Step], prober: &Prober, node: NodeId) -> Result<(), Failure> {
    let name = prober.name(node);
    if steps.iter().any(|step| step.has(|answer| answer.is_end)) {
        return Ok(());
    }
    let last = steps.iter().rev().find_map(|step| step.answers.iter().flatten().next_back());
    match last {
        Some(last) if last.no_route => {
            let cause = last.no_route_cause.as_deref().unwrap_or("its prphosts has none");
            let text = format!("{name}: no route to it from {}: {cause}", last.name);
            Err(Failure::new(Code::Unreachable, text))
        }
        Some(last) => {
            let text = format!(
                "{name}: no answer from behind {}; does prp-routed run on the node after it, or do \
                 routes make a loop (`prp hosts check --all`)?",
                last.name
            );
            Err(Failure::new(Code::TimedOut, text))
        }
        None => {
            let first = prober.name(prober.first_hop(node).unwrap_or(node));
            let answerer = if prober.is_udp(node) {
                "prp-routed, or a program that uses PRP,"
            } else {
                "prp-routed"
            };
            let text = format!(
                "{name}: no answer; does {answerer} run on {first}, the first node on the path?"
            );
            Err(Failure::new(Code::TimedOut, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(node: u16, is_end: bool, no_route: bool) -> Option<HopAnswer> {
        let name = format!("{node} (n{node})");
        let no_route_cause = no_route.then(|| "eth1 is down".to_owned());
        Some(HopAnswer { node, name, seconds: 0.0015, no_route, no_route_cause, is_end })
    }

    fn step(hop: u8, answers: &[Option<HopAnswer>]) -> Step {
        Step { hop, answers: answers.to_vec() }
    }

    #[test]
    fn line__names_each_router_once() {
        let both = step(1, &[answer(2, false, false), None, answer(2, false, false)]);
        assert_eq!(both.line(), " 1  2 (n2)  1.500 ms  *  1.500 ms");
        assert_eq!(step(12, &[answer(3, false, true)]).line(), "12  3 (n3)  1.500 ms  !");
        assert_eq!(step(2, &[None, None]).line(), " 2  *  *");
    }

    #[test]
    fn is_over__at_the_end_and_after_a_silence() {
        let (router, silent) =
            (|hop| step(hop, &[answer(2, false, false)]), |hop| step(hop, &[None]));
        assert!(!is_over(&[router(1), silent(2), silent(3)]));
        assert!(is_over(&[router(1), silent(2), silent(3), silent(4)]));
        assert!(!is_over(&[silent(1), silent(2), router(3)]));
        assert!(is_over(&[silent(1), silent(2), silent(3)]));
        assert!(is_over(&[router(1), step(2, &[None, answer(3, true, false)])]));
        assert!(is_over(&[step(1, &[answer(2, false, true)])]));
    }
}
