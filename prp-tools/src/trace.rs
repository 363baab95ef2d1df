//! `prp trace`: by which routers is a node reached?

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::Args;
use prp_proto::wire::{Flags, NodeKind};

use crate::exit::{Code, Failure, say};
use crate::probe::{Heard, Prober};

/// List the routers on the way to a node, and how far each is.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub(crate) struct TraceArgs {
    /// The node: a name or number in prphosts
    node: String,
    /// How often to ask each router
    #[arg(short = 'q', long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=10))]
    queries: u8,
    /// Milliseconds to wait for an answer
    #[arg(short, long, value_name = "MILLISECONDS", default_value_t = 1000)]
    wait: u64,
}

/// Runs `prp trace`.
pub(crate) fn run(args: &TraceArgs) -> Result<(), Failure> {
    let mut prober = Prober::open()?;
    let node = prober.resolve(&args.node)?;
    let mut sequence = 0u16;
    for routers in 0..=Flags::MAX_HOPS {
        let mut answers: Vec<Option<Heard>> = Vec::new();
        for _ in 0..args.queries {
            sequence += 1;
            prober.send(node, sequence, routers, 0)?;
            let until = Instant::now() + Duration::from_millis(args.wait);
            answers.push(loop {
                match prober.hear(until)? {
                    Some(late) if late.sequence != sequence => {}
                    answer => break answer,
                }
            });
        }
        let line = format!("{:2}  {}", routers + 1, describe(&prober, &answers));
        writeln!(io::stdout(), "{line}").map_err(|e| Failure::local("standard output", &e))?;
        if routers == 0 && answers.iter().all(Option::is_none) {
            say("no answer from the first node on the way; does prp-routed run there?");
        }
        let kinds = || answers.iter().flatten().map(|heard| heard.kind);
        if kinds().any(|kind| kind == NodeKind::EchoReply) {
            return Ok(());
        }
        if kinds().any(|kind| kind == NodeKind::Unreachable) {
            let text = format!("{}: no way to it from there", prober.name(node));
            return Err(Failure::new(Code::NoWay, text));
        }
    }
    let text = format!("{}: not reached over {} routers", prober.name(node), Flags::MAX_HOPS);
    Err(Failure::new(Code::TimedOut, text))
}

/// Who answered, and how long each took; `*` for no answer.
fn describe(prober: &Prober, answers: &[Option<Heard>]) -> String {
    let mut words = Vec::new();
    let mut last = None;
    for answer in answers {
        let Some(heard) = answer else {
            words.push("*".into());
            continue;
        };
        if last != Some(heard.from) {
            last = Some(heard.from);
            words.push(prober.name(heard.from));
        }
        words.push(format!("{:.3} ms", heard.took.as_secs_f64() * 1e3));
        if heard.kind == NodeKind::Unreachable {
            words.push("!".into());
        }
    }
    words.join("  ")
}
