//! `prp ping`: is a node there, and how far away? It prints as iputils' ping does.

mod list;
mod tally;

use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use nix::sys::signal::Signal;
use nix::unistd::geteuid;
use prp_proto::addr::NodeId;
use prp_proto::wire::{Flags, NodeKind};

use crate::argument::{input_file, number, seconds};
use crate::exit::{Code, Failure, help};
use crate::print::{notice, print_bytes, print_json, print_line};
use crate::probe::{NO_KEY, ProbeReply, Prober};
use crate::signals::Signals;
use tally::Tally;

/// Without `--timeout` the last answer is waited for no less than this, however quickly echoes
/// follow each other: a machine that is busy answers late.
const MIN_ANSWER_WAIT: Duration = Duration::from_secs(1);

/// The shortest interval of users other than root, as of iputils.
const SHORTEST: Duration = Duration::from_millis(2);

/// A flood sends at least so often, answers or not, as iputils does.
const FLOOD_INTERVAL: Duration = Duration::from_millis(10);

/// Ask nodes whether they are there; their prp-routed answers.
///
/// A node answers when prp-routed runs on it, whatever else does. Goes on until Ctrl-C, or as long
/// as --count and --deadline say, and prints a summary. Ends well if any answer came, and with
/// --count and --deadline if all --count of them came in time.
///
/// Several nodes are asked --count times each (3), and listed with their paths and round-trip
/// times. It ends well if each has answered.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp ping beta                   an echo a second, until Ctrl-C
  prp ping -c 100 -i 0.01 beta    a hundred, ten milliseconds apart
  prp ping -c 4 -s 8000 beta      does the path take large frames?
  prp ping -c 10000 -f beta       as fast as answers come: how many are lost?
  prp ping --all                  a list of all nodes of prphosts, and which are there
"))]
pub(crate) struct PingArgs {
    /// The node, or several: names or numbers in prphosts
    #[arg(value_name = "NODE", required_unless_present = "all")]
    nodes: Vec<String>,
    /// All other nodes of prphosts
    #[arg(long, conflicts_with_all = ["nodes", "flood", "date", "outstanding", "quiet"])]
    all: bool,
    /// How often to ask [default: until Ctrl-C]
    #[arg(short, long, value_name = "N", value_parser = number::<u32>(1..=u32::MAX.into()))]
    count: Option<u32>,
    /// Seconds from one to the next; only root may have less than 0.002
    #[arg(short, long, value_name = "SECS", default_value = "1", value_parser = seconds)]
    interval: Duration,
    /// Send the next one when the last is answered, 100 a second at least; print a dot for each
    /// that is sent and take it back when it is answered. For root
    #[arg(short, long, conflicts_with = "interval")]
    flood: bool,
    /// Bytes of padding, which come back
    #[arg(short, long, value_name = "BYTES", default_value_t = 32)]
    #[arg(value_parser = number::<u16>(0..=60_000))]
    size: u16,
    /// End after this number of seconds, whatever has been answered
    #[arg(short = 'w', long, value_name = "SECS", value_parser = seconds)]
    deadline: Option<Duration>,
    /// Seconds to wait for the last answer [default: the interval, and 1 at least]
    #[arg(short = 'W', long, value_name = "SECS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Print the time before each line: seconds since 1970
    #[arg(short = 'D', long)]
    date: bool,
    /// Say of each echo that it has no answer yet, when the next one is sent
    #[arg(short = 'O', long, conflicts_with = "flood")]
    outstanding: bool,
    /// Print nothing but the first line and the summary
    #[arg(short, long)]
    quiet: bool,
    /// Routers the echo may cross
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = number::<u8>(0..=15))]
    routers: u8,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
    /// Print all of it as JSON when it is over; with --quiet without the single answers
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
    args.check_rate()?;
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    let mut prober = Prober::open(args.hosts.as_deref())?;
    let [only] = &args.nodes[..] else { return list(&mut prober, args) };
    let node = prober.resolve(only)?;
    let keeps_answers = args.json && !args.quiet;
    let tally = Tally::new(node, prober.name(node), prober.is_udp(node), keeps_answers);
    if !args.json {
        let size = args.size;
        print_line(format_args!(
            "PING {} {size}({}) bytes of data.",
            prober.name(node),
            prober.frame_len(node, size.into())
        ))?;
    }
    let tally = Shared::new(Mutex::new(tally));
    let (early, json) = (tally.clone(), args.json);
    signals.set_listener(move |signal| {
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
    let started = Instant::now();
    ask(&mut prober, node, args, &tally)?;
    let is_silent = lock(&tally).is_silent();
    let silent = if is_silent { &[node][..] } else { &[] };
    let without = prober.find_without_key(silent, args.patience_since(started))?;
    signals.clear_listener();
    let tally = lock(&tally);
    end(&tally, json).map_err(|failure| match without.is_empty() {
        true => failure.with_lacks(prober.hosts()),
        false => Failure::new(Code::TimedOut, format!("{}: {NO_KEY}", prober.name(node))),
    })?;
    match (args.count, args.deadline) {
        (Some(count), Some(_)) if tally.replies() < u64::from(count) => {
            Err(Failure::new(Code::TimedOut, format!("{} of {count} answered", tally.replies())))
        }
        _ => Ok(()),
    }
}

/// Asks several nodes, and lists them.
fn list(prober: &mut Prober, args: &PingArgs) -> Result<(), Failure> {
    if args.flood || args.date || args.outstanding || args.quiet {
        let text = "several nodes have a line each when it is over: no -f, -D, -O or -q";
        return Err(Failure::new(Code::Usage, text));
    }
    let nodes = if args.all {
        prober.others()
    } else {
        args.nodes.iter().map(|name| prober.resolve(name)).collect::<Result<_, _>>()?
    };
    list::run(prober, nodes, args).map_err(|failure| failure.with_lacks(prober.hosts()))
}

/// Sends echoes and takes answers down until enough have been sent, or the time is up.
fn ask(prober: &mut Prober, node: NodeId, args: &PingArgs, tally: &Shared) -> Result<(), Failure> {
    let deadline = args.deadline.map(|deadline| Instant::now() + deadline);
    let by_deadline = |until: Instant| deadline.map_or(until, |deadline| deadline.min(until));
    let mut next = Instant::now();
    // It is said once, until it changes.
    let mut refused = None;
    loop {
        let number = lock(tally).note_sent();
        prober.send(node, number as u16, args.routers, usize::from(args.size))?;
        let refusal = prober.refusal();
        if let Some(refusal) = refusal.filter(|_| refusal != refused) {
            notice(prober.refused(node, refusal));
        }
        refused = refusal;
        if args.flood && args.prints_lines() {
            mark(".")?;
        }
        let is_last = args.count.is_some_and(|count| number >= u64::from(count));
        let now = Instant::now();
        // Echoes keep their times, but those that were missed are not made up for.
        next = (next + args.pace()).max(now);
        let until = by_deadline(if is_last { now + args.patience() } else { next });
        // The last one, and each of a flood, is only waited for as long as nothing has come.
        while !(is_last || args.flood) || lock(tally).lacks_last(is_last) {
            let Some(reply) = prober.receive(until)? else { break };
            answered(prober, &reply, args, &mut lock(tally))?;
        }
        if is_last || deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Ok(());
        }
        if args.outstanding && args.prints_lines() && lock(tally).lacks_last(false) {
            let sequence = number as u16;
            print_line(format_args!("{}no answer yet for seq={sequence}", args.time_of_line()))?;
        }
    }
}

/// Takes an answer down, and says so.
fn answered(
    prober: &Prober,
    reply: &ProbeReply,
    args: &PingArgs,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let routers = args.passed(reply);
    let from = prober.name(reply.from);
    let again = tally.note(reply, routers, &from);
    if !args.prints_lines() {
        return Ok(());
    }
    if args.flood && reply.kind == NodeKind::EchoReply {
        // Takes the dot back; an answer once more has none.
        return if again { Ok(()) } else { mark("\x08 \x08") };
    }
    let line = line(&from, reply, prober.frame_len(reply.from, args.size.into()), routers, again);
    print_line(format_args!("{}{line}", args.time_of_line()))
}

/// Prints a mark of a flood.
fn mark(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Says what has come of it, and how that is to be taken.
fn end(tally: &Tally, json: bool) -> Result<(), Failure> {
    if json {
        print_json(&tally.report(), true)?;
    } else {
        print_line(tally.summary())?;
    }
    tally.verdict()
}

fn line(from: &str, reply: &ProbeReply, len: usize, routers: u8, again: bool) -> String {
    let milliseconds = reply.took.as_secs_f64() * 1e3;
    let again = if again { " (DUP!)" } else { "" };
    let unreachable;
    let what = match reply.kind {
        NodeKind::EchoReply => {
            return format!(
                "{len} bytes from {from}: seq={} routers={routers} time={milliseconds:.3} ms{again}",
                reply.sequence
            );
        }
        NodeKind::TimeExceeded => "too many routers on the path",
        NodeKind::Unreachable => {
            unreachable = format!("no route on from here: {}", reply.unreachable_cause);
            &unreachable
        }
        NodeKind::TooBig => "too big for the link from here",
        NodeKind::Echo => "an echo",
    };
    format!("From {from}: seq={} {what} time={milliseconds:.3} ms{again}", reply.sequence)
}

impl PingArgs {
    /// The routers that the echo of an answer has passed, or the answer.
    fn passed(&self, reply: &ProbeReply) -> u8 {
        reply.routers.saturating_sub(Flags::MAX_HOPS - self.routers)
    }

    /// Whether there is a line for each answer.
    fn prints_lines(&self) -> bool {
        !self.json && !self.quiet
    }

    /// What a line begins with, as iputils prints it.
    fn time_of_line(&self) -> String {
        if !self.date {
            return String::new();
        }
        // A clock before 1970 is as good as none.
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        format!("[{}.{:06}] ", now.as_secs(), now.subsec_micros())
    }

    /// From an echo to the next.
    fn pace(&self) -> Duration {
        if self.flood { FLOOD_INTERVAL } else { self.interval }
    }

    /// How long the last answer is waited for.
    fn patience(&self) -> Duration {
        self.timeout.unwrap_or_else(|| self.pace().max(MIN_ANSWER_WAIT))
    }

    /// That, or what is left of the time that all of it may take, which began at `started`.
    fn patience_since(&self, started: Instant) -> Duration {
        let left = self.deadline.map(|deadline| deadline.saturating_sub(started.elapsed()));
        left.map_or_else(|| self.patience(), |left| left.min(self.patience()))
    }

    /// Whether the user may ask so often: a flood can fill a link and the router behind it.
    fn check_rate(&self) -> Result<(), Failure> {
        if geteuid().is_root() || !self.flood && self.interval >= SHORTEST {
            return Ok(());
        }
        let text = "only root may flood, or ask more often than every 0.002 seconds: `sudo`, or `-i 0.002`";
        Err(Failure::new(Code::NotPermitted, text))
    }
}
