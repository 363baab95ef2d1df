//! `prp perf stream`: how many bytes a second get through.

use std::collections::BTreeMap;
use std::io;
use std::sync::Barrier;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::conn::Conn;
use super::control::{Amount, Outcome, Work};
use super::display::Display;
use super::report::{Ends, Figure, Report, losses};
use super::session::{Leg, Session};
use super::transport::{Transport, WaitMode};
use super::turns::Turns;
use super::{Common, crew, flow, seconds};
use crate::exit::{Code, Failure};

/// Measure goodput: bytes that have arrived, by the time until the server had the last one.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf stream beta --vs tcp --vs raw
  prp perf stream beta --streams 16 --bidir
"))]
pub(crate) struct StreamArgs {
    #[command(flatten)]
    common: Common,

    /// Seconds of sending for each transport, all rounds together
    #[arg(short, long, value_name = "SECS", default_value = "5", value_parser = seconds)]
    time: f64,

    /// Send so many bytes with each transport instead, all rounds and streams together
    #[arg(short, long, value_name = "N", conflicts_with = "time")]
    bytes: Option<u64>,

    /// Connections at a time
    #[arg(short, long, value_name = "K", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=4096))]
    streams: u32,

    /// Send both ways at once; the figure is the sum
    #[arg(long)]
    bidir: bool,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct Settings<'a> {
    node: &'a str,
    wait: WaitMode,
    rounds: u32,
    /// For each stream of each round.
    each: Amount,
    streams: u32,
    bidir: bool,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Goodput {
    gbps: Figure,
    /// Both ends' processor seconds by 10^9 bytes moved.
    cpu_s_per_gb: f64,
    ends: Ends,
}

/// What rounds of one transport add up to.
#[derive(Debug, Default)]
struct Sum {
    gbps: Vec<f64>,
    bytes: u64,
    ends: Ends,
}

/// Runs `prp perf stream`.
pub(super) fn run(args: &StreamArgs) -> Result<(), Failure> {
    let common = &args.common;
    let transports = common.transports();
    if transports.contains(&Transport::Raw) && (args.bidir || args.streams > 1) {
        let text = "raw frames make one stream one way: no --vs raw with --streams or --bidir";
        return Err(Failure::new(Code::Usage, text));
    }
    let session = Session::open(common)?;
    let display = Display::new(common, u64::from(common.rounds) * transports.len() as u64);
    let each = args.each();
    let mut sums = BTreeMap::<_, Sum>::new();
    let mut turns = Turns::of(transports);
    for _ in 0..common.rounds {
        turns.play(|transport| {
            display.begin(transport, "...");
            let sum = sums.entry(transport).or_default();
            let gbps = leg(&session, args, transport, sum, &display)?;
            display.end(transport, &format!("{gbps:.2} Gbit/s"));
            Ok(())
        });
    }
    sums.retain(|_, sum| !sum.gbps.is_empty());
    drop(display);
    if sums.is_empty() {
        return turns.end();
    }
    let settings = Settings {
        node: &common.node,
        wait: common.wait,
        rounds: common.rounds,
        each,
        streams: args.streams,
        bidir: args.bidir,
    };
    let results = sums.into_iter().map(|(transport, sum)| (transport, sum.finish())).collect();
    let report =
        Report::new("stream", settings, results, &session, |r: &Goodput| r.gbps.rounds.clone());
    report.publish(common.json.as_deref(), |results| table(args, results))?;
    turns.end()
}

/// Sends for one round; gigabits a second.
fn leg(
    session: &Session,
    args: &StreamArgs,
    transport: Transport,
    sum: &mut Sum,
    display: &Display,
) -> Result<f64, Failure> {
    let each = args.each();
    let work = Work::Stream { streams: args.streams, send: args.bidir.then_some(each) };
    let leg = session.begin(transport, args.common.wait, work)?;
    let (elapsed, (ours, theirs)) = if transport == Transport::Raw {
        raw(leg, each, display)?
    } else {
        streams(leg, args, display)?
    };
    let bytes = ours.received + theirs.received;
    let gbps = bytes as f64 * 8e-9 / elapsed;
    sum.gbps.push(gbps);
    sum.bytes += bytes;
    sum.ends.add((ours, theirs));
    Ok(gbps)
}

/// A round with connections: how long it took, and what both ends say.
fn streams(
    leg: Leg<'_>,
    args: &StreamArgs,
    display: &Display,
) -> Result<(f64, (Outcome, Outcome)), Failure> {
    let conns = (0..args.streams).map(|_| leg.connect()).collect::<io::Result<Vec<_>>>();
    let conns = conns.map_err(|e| leg.failure(&e))?;
    let (sent, received) = (AtomicU64::new(0), AtomicU64::new(0));
    let how = (args.each(), args.bidir);
    let moved = display.watch(leg.transport(), &sent, || transfer(&conns, how, &sent, &received));
    let elapsed = moved.map_err(|e| leg.failure(&e))?.as_secs_f64();
    let (ours, theirs) = leg.end(conns)?;
    Ok((elapsed, (Outcome { received: received.into_inner(), ..ours }, theirs)))
}

/// A round with raw frames.
fn raw(
    leg: Leg<'_>,
    each: Amount,
    display: &Display,
) -> Result<(f64, (Outcome, Outcome)), Failure> {
    let mut link = leg.raw()?;
    let sent = AtomicU64::new(0);
    let begun = Instant::now();
    let moved = display.watch(leg.transport(), &sent, || link.source(each, &sent));
    let elapsed = begun.elapsed().as_secs_f64();
    match moved {
        Ok(()) => Ok((elapsed, leg.end_raw(link)?)),
        Err(e) => Err(leg.give_up_raw(link, &e)),
    }
}

/// Sends on all connections, and receives until the server has ended its directions, which it does
/// when it has everything. How long that took, from when every stream had its thread to when the
/// last was through, since it is not threads that are measured.
fn transfer(
    conns: &[Conn],
    (each, bidir): (Amount, bool),
    sent: &AtomicU64,
    received: &AtomicU64,
) -> io::Result<Duration> {
    let ready = Barrier::new(conns.len());
    let one = |conn| {
        // Where nothing but the end is to come, there is nothing to receive it into.
        let mut chunk = if bidir { flow::chunk() } else { vec![0] };
        ready.wait();
        // The thread that came last is here at once; others may wait for a processor.
        let begun = Instant::now();
        if !bidir {
            // Not at once: a thread that waited to receive would be in the way of the one that
            // sends.
            flow::source(conn, each, sent)?;
            flow::sink(conn, received, &mut chunk)?;
        } else {
            thread::scope(|both| {
                let reader = both.spawn(|| flow::sink(conn, received, &mut chunk));
                flow::source(conn, each, sent)?;
                crew::joined(reader.join())
            })?;
        }
        Ok((begun, Instant::now()))
    };
    let one = &one;
    let times = crew::each(conns.iter().map(|conn| Ok(move || one(conn))))?;
    let begun = times.iter().map(|(begun, _)| *begun).min();
    let ended = times.iter().map(|(_, ended)| *ended).max();
    Ok(begun.zip(ended).map_or(Duration::ZERO, |(begun, ended)| ended - begun))
}

impl StreamArgs {
    /// How much to send on one stream in one round.
    fn each(&self) -> Amount {
        let rounds = self.common.rounds;
        match self.bytes {
            None => Amount::Seconds(self.time / f64::from(rounds)),
            Some(bytes) => Amount::Bytes(bytes / u64::from(rounds) / u64::from(self.streams)),
        }
    }
}

impl Sum {
    fn finish(self) -> Goodput {
        let gigabytes = self.bytes as f64 / 1e9;
        Goodput {
            cpu_s_per_gb: if gigabytes > 0.0 { self.ends.cpu() / gigabytes } else { 0.0 },
            gbps: Figure::of(self.gbps),
            ends: self.ends,
        }
    }
}

fn table(args: &StreamArgs, results: &BTreeMap<Transport, Goodput>) -> Vec<String> {
    let streams = if args.streams == 1 { "stream" } else { "streams" };
    let ways = if args.bidir { ", both ways" } else { "" };
    let title = format!("goodput, {} {streams}{ways}, {} waits", args.streams, args.common.wait);
    let head = format!("{:16}{:>10}{:>14}  spread", "", "Gbit/s", "CPU s/GB");
    let rows = results.iter().map(|(transport, r)| {
        let gbps = &r.gbps;
        format!(
            "{transport:16}{:>10.3}{:>14.3}  {}",
            gbps.median,
            r.cpu_s_per_gb,
            gbps.spread_text()
        )
    });
    [title, head].into_iter().chain(rows).chain(losses(results, |r| &r.ends)).collect()
}
