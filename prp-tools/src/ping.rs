//! `prp ping`: is a node there, and how far away?

mod tally;

use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;
use nix::sys::signal::Signal;
use prp_proto::wire::{Flags, NodeKind};

use crate::argument::seconds;
use crate::exit::{Failure, help, tell};
use crate::probe::{Heard, Prober};
use crate::signals::Signals;
use tally::Tally;

/// The last answer is waited for no less than this, however quickly echoes follow each other: a
/// machine that is busy answers late.
const PATIENCE: Duration = Duration::from_secs(1);

/// Ask a node whether it is there; its prp-routed answers.
///
/// A node answers when prp-routed runs on it, whatever else does. Ends well if any answer came.
/// Ctrl-C ends it with the summary.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp ping beta                   four echoes, a second apart
  prp ping -c 100 -i 0.01 beta    a hundred, ten milliseconds apart
  prp ping -s 8000 beta           does the way take large frames?
"))]
pub(crate) struct PingArgs {
    /// The node: a name or number in prphosts
    node: String,
    /// How often to ask
    #[arg(short, long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..))]
    count: u16,
    /// Seconds from one to the next; the last answer is waited for so long, and for a second at
    /// least
    #[arg(short, long, value_name = "SECS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// Bytes of padding, which come back
    #[arg(short, long, value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(u16).range(..=60000))]
    size: u16,
    /// Routers the echo may cross
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u8).range(..=15))]
    routers: u8,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Print all of it as JSON when it is over
    #[arg(long)]
    json: bool,
}

/// What has come of it so far, for the signal that ends it early.
type Shared = Arc<Mutex<Tally>>;

fn lock(tally: &Shared) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `prp ping`.
pub(crate) fn run(args: &PingArgs) -> Result<(), Failure> {
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    let mut prober = Prober::open(args.hosts.as_deref())?;
    let node = prober.resolve(&args.node)?;
    let tally = Shared::new(Mutex::new(Tally::new(node, prober.name(node))));
    let (early, json) = (tally.clone(), args.json);
    signals.tell(move |signal| {
        let ended = end(&lock(&early), json);
        // A user who asked for the end at a terminal has all of it. The other signals are for the
        // program that started this one.
        if signal == Signal::SIGINT {
            if let Err(failure) = &ended {
                failure.print();
            }
            process::exit(ended.err().map_or(0, |failure| failure.code().into()));
        }
    });
    for sequence in 1..=args.count {
        prober.send(node, sequence, args.routers, usize::from(args.size))?;
        lock(&tally).sent += 1;
        let is_last = sequence == args.count;
        let until =
            Instant::now() + if is_last { args.interval.max(PATIENCE) } else { args.interval };
        // The last one is only waited for as long as nothing has come.
        while !is_last || lock(&tally).lacks_answers() {
            let Some(heard) = prober.hear(until)? else { break };
            let mut tally = lock(&tally);
            let routers = heard.routers.saturating_sub(Flags::MAX_HOPS - args.routers);
            let again = tally.note(&heard, routers, prober.name(heard.from));
            if !json {
                tell(line(&prober.name(heard.from), &heard, routers, again))?;
            }
        }
    }
    signals.tell_nobody();
    end(&lock(&tally), json).map_err(|failure| failure.with_lacks(prober.hosts()))
}

/// Says what has come of it, and how that is to be taken.
fn end(tally: &Tally, json: bool) -> Result<(), Failure> {
    if json {
        let text = serde_json::to_string_pretty(&tally.report());
        tell(text.map_err(|e| Failure::local("JSON", &e.into()))?)?;
    } else {
        tell(tally.summary())?;
    }
    tally.verdict()
}

fn line(from: &str, heard: &Heard, routers: u8, again: bool) -> String {
    let what = match heard.kind {
        NodeKind::EchoReply => format!("routers={routers}"),
        NodeKind::TimeExceeded => "too many routers on the way".into(),
        NodeKind::Unreachable => "no way on from here".into(),
        NodeKind::TooBig => "too big for the link from here".into(),
        NodeKind::Echo => return format!("{from}: an echo"),
    };
    let milliseconds = heard.took.as_secs_f64() * 1e3;
    let again = if again { " (duplicate)" } else { "" };
    format!("{from}: seq={} {what} time={milliseconds:.3} ms{again}", heard.sequence)
}
