//! `prp ping`: is a node there, and how far away?

use std::io::{self, Write};
use std::time::{Duration, Instant};

use clap::Args;
use prp_proto::wire::{Flags, NodeKind};

use crate::exit::{Code, Failure};
use crate::probe::{Heard, Prober};

/// The last answer is waited for no less than this, however quickly echoes follow each other: a machine that is busy
/// answers late.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ask a node whether it is there; its prp-routed answers.
///
/// A node answers when prp-routed runs on it, whatever else does. Ends well if any answer came.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub(crate) struct PingArgs {
    /// The node: a name or number in prphosts
    node: String,
    /// How often to ask
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Milliseconds from one to the next; the last answer is waited for so long, and for a second at least
    #[arg(short, long, value_name = "MILLISECONDS", default_value_t = 1000)]
    interval: u64,
    /// Bytes of padding, which come back
    #[arg(short, long, value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(u16).range(..=60000))]
    size: u16,
    /// Routers the echo may cross
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u8).range(..=15))]
    routers: u8,
}

/// Runs `prp ping`.
pub(crate) fn run(args: &PingArgs) -> Result<(), Failure> {
    let mut prober = Prober::open()?;
    let node = prober.resolve(&args.node)?;
    let mut tally = Tally::default();
    let interval = Duration::from_millis(args.interval);
    for sequence in 1..=args.count {
        prober.send(node, sequence, args.routers, usize::from(args.size))?;
        tally.sent += 1;
        let is_last = sequence == args.count;
        let until = Instant::now() + if is_last { interval.max(PATIENCE) } else { interval };
        // The last one is only waited for as long as nothing has come.
        while !is_last || tally.heard < tally.sent {
            let Some(heard) = prober.hear(until)? else { break };
            tally.note(&heard);
            let first = Flags::MAX_HOPS - args.routers;
            say(&line(&prober, &heard, first))?;
        }
    }
    say(&tally.summary())?;
    tally.verdict(&prober.name(node))
}

fn say(line: &str) -> Result<(), Failure> {
    writeln!(io::stdout(), "{line}").map_err(|e| Failure::local("standard output", &e))
}

fn line(prober: &Prober, heard: &Heard, first_hops: u8) -> String {
    let from = prober.name(heard.from);
    let what = match heard.kind {
        NodeKind::EchoReply => format!("routers={}", heard.routers.saturating_sub(first_hops)),
        NodeKind::TimeExceeded => "too many routers on the way".into(),
        NodeKind::Unreachable => "no way on from here".into(),
        NodeKind::TooBig => "too big for the link from here".into(),
        NodeKind::Echo => return format!("{from}: an echo"),
    };
    let milliseconds = heard.took.as_secs_f64() * 1e3;
    format!("{from}: seq={} {what} time={milliseconds:.3} ms", heard.sequence)
}

/// What came of it.
#[derive(Debug, Default)]
struct Tally {
    sent: u32,
    heard: u32,
    /// Those that were answered by the node itself.
    replies: Vec<Duration>,
    unreachable: bool,
}

impl Tally {
    fn note(&mut self, heard: &Heard) {
        self.heard += 1;
        match heard.kind {
            NodeKind::EchoReply => self.replies.push(heard.took),
            _ => self.unreachable = true,
        }
    }

    fn summary(&self) -> String {
        let answered = format!("{} sent, {} answered", self.sent, self.replies.len());
        let (Some(least), Some(most)) = (self.replies.iter().min(), self.replies.iter().max())
        else {
            return answered;
        };
        let mean = self.replies.iter().sum::<Duration>() / self.replies.len() as u32;
        let ms = |d: &Duration| d.as_secs_f64() * 1e3;
        format!("{answered}; min {:.3} mean {:.3} max {:.3} ms", ms(least), ms(&mean), ms(most))
    }

    fn verdict(&self, name: &str) -> Result<(), Failure> {
        if !self.replies.is_empty() {
            return Ok(());
        }
        if self.unreachable {
            return Err(Failure::new(Code::NoWay, format!("{name}: cannot be reached")));
        }
        let text = format!("{name}: no answer; does prp-routed run there and on the way?");
        Err(Failure::new(Code::TimedOut, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdict__tells_silence_from_being_told() {
        let mut tally = Tally { sent: 3, ..Tally::default() };
        assert_eq!(tally.summary(), "3 sent, 0 answered");
        let said = format!("{:?}", tally.verdict("7").expect_err("no answer"));
        assert!(said.contains("TimedOut"), "{said}");
        tally.unreachable = true;
        let said = format!("{:?}", tally.verdict("7").expect_err("no way"));
        assert!(said.contains("NoWay"), "{said}");
        tally.replies = vec![Duration::from_millis(1), Duration::from_millis(3)];
        assert_eq!(tally.summary(), "3 sent, 2 answered; min 1.000 mean 2.000 max 3.000 ms");
        assert_eq!(tally.verdict("7"), Ok(()));
    }
}
