//! `prp perf stream`: how many bytes a second get through.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde::Serialize;

use super::conn::Conn;
use super::control::{Amount, Outcome, Work};
use super::cost::{Cost, CostSum};
use super::display::Display;
use super::iperf3::OtherStreamOptions;
use super::meter::{Interval, Meter, gbps};
use super::report::{BothEnds, Figure, Report, losses};
use super::rotation::Rotation;
use super::session::{Leg, Session};
use super::transport::{Transport, WaitMode};
use super::{Common, DEFAULT_ROUNDS, flow, parallel, seconds};
use crate::argument::{number, size};
use crate::exit::{Code, Failure};

/// Measure goodput: bytes that have arrived, by the time until the server had the last one.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf stream beta --vs tcp --vs raw
  prp perf stream beta --streams 16 --bidir
  prp perf stream beta -t 10 -i 1 -R     as iperf3: a line a second, beta sends
"))]
pub(crate) struct StreamArgs {
    #[command(flatten)]
    common: Common,

    /// Seconds of sending for each transport, all rounds together. With --interval it is one round
    /// unless --rounds says otherwise
    #[arg(short, long, value_name = "SECS", default_value = "5", value_parser = seconds)]
    time: f64,

    /// Send this number of bytes with each transport instead, all rounds and streams together; K, M
    /// and G are powers of 1024, as iperf3 has them
    #[arg(short = 'n', long, value_name = "N", conflicts_with = "time", value_parser = size)]
    bytes: Option<u64>,

    /// Connections at a time
    #[arg(short, visible_short_alias = 'P', long, value_name = "K", default_value_t = 1)]
    #[arg(value_parser = number::<u32>(1..=4096))]
    streams: u32,

    /// Send in both directions at once; the figure is the sum
    #[arg(long, conflicts_with = "reverse")]
    bidir: bool,

    /// The server sends, and this end receives
    #[arg(short = 'R', long)]
    reverse: bool,

    /// Print what has got through after each such number of seconds
    #[arg(short, long, value_name = "SECS", value_parser = seconds)]
    interval: Option<f64>,

    #[command(flatten)]
    others: OtherStreamOptions,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct StreamSettings<'a> {
    node: &'a str,
    wait: WaitMode,
    rounds: u32,
    /// For each stream of each round.
    each: Amount,
    streams: u32,
    bidir: bool,
    reverse: bool,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Goodput {
    gbps: Figure,
    /// Of the slowest and of the fastest stream of each round, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    slowest_stream_gbps: Option<Figure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fastest_stream_gbps: Option<Figure>,
    /// With `--interval`, of all rounds one after another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    intervals: Vec<Interval>,
    /// Both ends' processor seconds by 10^9 bytes moved.
    cpu_s_per_gb: f64,
    /// Of each end by 10^9 bytes moved; absent if nothing was.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_per_gb: Option<Cost>,
    ends: BothEnds,
}

/// What has got through on one connection in a leg.
#[derive(Debug, Default)]
struct Moved {
    sent: AtomicU64,
    received: AtomicU64,
}

/// What rounds of one transport add up to.
#[derive(Debug, Default)]
struct GoodputSum {
    gbps: Vec<f64>,
    slowest: Vec<f64>,
    fastest: Vec<f64>,
    intervals: Vec<Interval>,
    bytes: u64,
    cost: CostSum,
    ends: BothEnds,
}

/// Runs `prp perf stream`.
pub(super) fn run(args: &StreamArgs) -> Result<(), Failure> {
    let common = &args.common;
    let transports = common.transports();
    let is_plain = args.streams == 1 && !args.bidir && !args.reverse;
    if transports.contains(&Transport::Raw) && !is_plain {
        let text = "raw frames make one stream in one direction: no --vs raw with --streams, \
                    --bidir or --reverse";
        return Err(Failure::new(Code::Usage, text));
    }
    let session = Session::open(common)?;
    let display = Display::new(common, u64::from(args.rounds()) * transports.len() as u64);
    let each = args.each();
    let mut sums = BTreeMap::<_, GoodputSum>::new();
    let mut rotation = Rotation::of(transports);
    for _ in 0..args.rounds() {
        rotation.play(|transport| {
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
        return rotation.end();
    }
    let settings = StreamSettings {
        node: &common.node,
        wait: common.wait,
        rounds: args.rounds(),
        each,
        streams: args.streams,
        bidir: args.bidir,
        reverse: args.reverse,
    };
    let results = sums.into_iter().map(|(transport, sum)| (transport, sum.finish())).collect();
    let report =
        Report::new("stream", settings, results, &session, |r: &Goodput| r.gbps.rounds.clone());
    report.publish(common.json.as_deref(), |results| table(args, results))?;
    rotation.end()
}

/// Sends for one round; gigabits a second.
fn leg(
    session: &Session,
    args: &StreamArgs,
    transport: Transport,
    sum: &mut GoodputSum,
    display: &Display,
) -> Result<f64, Failure> {
    let each = args.each();
    let server_sends = (args.bidir || args.reverse).then_some(each);
    let work = Work::Stream { streams: args.streams, send: server_sends };
    let leg = session.begin(transport, args.common.wait, work)?;
    let (elapsed, (ours, theirs)) = if transport == Transport::Raw {
        raw(leg, args, sum, display)?
    } else {
        streams(leg, args, sum, display)?
    };
    let bytes = ours.received + theirs.received;
    let gbps = gbps(bytes, elapsed);
    sum.gbps.push(gbps);
    sum.bytes += bytes;
    sum.cost.add(bytes as f64 / 1e9, &ours, &theirs);
    sum.ends.add((ours, theirs));
    Ok(gbps)
}

/// A round with connections: how long it took, and what both ends say.
fn streams(
    leg: Leg<'_>,
    args: &StreamArgs,
    sum: &mut GoodputSum,
    display: &Display,
) -> Result<(f64, (Outcome, Outcome)), Failure> {
    let conns = (0..args.streams).map(|_| leg.connect()).collect::<io::Result<Vec<_>>>();
    let conns = conns.map_err(|e| leg.failure(&e))?;
    let moved: Vec<_> = conns.iter().map(|_| Moved::default()).collect();
    let received = moved.iter().map(|stream| &stream.received);
    let sent = moved.iter().map(|stream| &stream.sent).filter(|_| !args.reverse);
    let senders = (!args.reverse).then_some(&conns[..]);
    let meter = Meter::new(args, leg.transport(), received.chain(sent).collect(), senders);
    let took = meter.watch(display, &mut sum.intervals, || transfer(&conns, args, &moved));
    let elapsed = took.map_err(|e| leg.failure(&e))?.as_secs_f64();
    let (ours, theirs) = leg.end(conns)?;
    if args.streams > 1 {
        let rates = moved.iter().map(|stream| gbps(stream.bytes(), elapsed));
        sum.slowest.push(rates.clone().fold(f64::INFINITY, f64::min));
        sum.fastest.push(rates.fold(0.0, f64::max));
    }
    let received = moved.into_iter().map(|stream| stream.received.into_inner()).sum();
    Ok((elapsed, (Outcome { received, ..ours }, theirs)))
}

/// A round with raw frames.
fn raw(
    leg: Leg<'_>,
    args: &StreamArgs,
    sum: &mut GoodputSum,
    display: &Display,
) -> Result<(f64, (Outcome, Outcome)), Failure> {
    let mut link = leg.raw()?;
    let sent = AtomicU64::new(0);
    let begun = Instant::now();
    let meter = Meter::new(args, leg.transport(), vec![&sent], None);
    let moved = meter.watch(display, &mut sum.intervals, || link.source(args.each(), &sent));
    let elapsed = begun.elapsed().as_secs_f64();
    match moved {
        Ok(()) => Ok((elapsed, leg.end_raw(link)?)),
        Err(e) => Err(leg.give_up_raw(link, &e)),
    }
}

/// Sends on all connections, and receives until the server has ended its directions, which it does
/// when it has everything. How long that took, from when every stream had its thread to when the
/// last was through, since it is not threads that are measured.
fn transfer(conns: &[Conn], args: &StreamArgs, moved: &[Moved]) -> io::Result<Duration> {
    let ready = Barrier::new(conns.len());
    // What this end has to send: with --reverse nothing but the end.
    let each = if args.reverse { Amount::Bytes(0) } else { args.each() };
    let receives = args.bidir || args.reverse;
    let one = |conn, Moved { sent, received }: &Moved| {
        // Where nothing but the end is to come, there is nothing to receive it into.
        let mut chunk = if receives { flow::chunk() } else { vec![0] };
        ready.wait();
        // The thread that came last is here at once; others may wait for a processor.
        let begun = Instant::now();
        if !args.bidir {
            // Not at once: a thread that waited to receive would hinder the one that
            // sends.
            flow::source(conn, each, sent)?;
            flow::sink(conn, received, &mut chunk)?;
        } else {
            thread::scope(|both| {
                let receive = || flow::sink(conn, received, &mut chunk);
                let reader = thread::Builder::new().spawn_scoped(both, receive)?;
                flow::source(conn, each, sent)?;
                parallel::joined(reader.join())
            })?;
        }
        Ok((begun, Instant::now()))
    };
    let one = &one;
    let streams = conns.iter().zip(moved);
    let times = parallel::each(streams.map(|(conn, moved)| Ok(move || one(conn, moved))))?;
    let begun = times.iter().map(|(begun, _)| *begun).min();
    let ended = times.iter().map(|(_, ended)| *ended).max();
    Ok(begun.zip(ended).map_or(Duration::ZERO, |(begun, ended)| ended - begun))
}

impl StreamArgs {
    /// Rounds of each transport: with interval lines one, since a user of those wants one long run.
    fn rounds(&self) -> u32 {
        let default = if self.interval.is_some() { 1 } else { DEFAULT_ROUNDS };
        self.common.rounds.unwrap_or(default)
    }

    /// Where JSON goes to.
    pub(super) fn json(&self) -> Option<&Path> {
        self.common.json.as_deref()
    }

    /// From one line to the next.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.interval.map(Duration::from_secs_f64)
    }

    /// How much to send on one stream in one round.
    fn each(&self) -> Amount {
        let rounds = self.rounds();
        match self.bytes {
            None => Amount::Seconds(self.time / f64::from(rounds)),
            Some(bytes) => Amount::Bytes(bytes / u64::from(rounds) / u64::from(self.streams)),
        }
    }
}

impl Moved {
    fn bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed) + self.received.load(Ordering::Relaxed)
    }
}

impl GoodputSum {
    fn finish(self) -> Goodput {
        let gigabytes = self.bytes as f64 / 1e9;
        let figure = |rounds: Vec<f64>| (!rounds.is_empty()).then(|| Figure::of(rounds));
        Goodput {
            slowest_stream_gbps: figure(self.slowest),
            fastest_stream_gbps: figure(self.fastest),
            cpu_s_per_gb: if gigabytes > 0.0 { self.ends.cpu() / gigabytes } else { 0.0 },
            cost_per_gb: self.cost.finish(),
            gbps: Figure::of(self.gbps),
            intervals: self.intervals,
            ends: self.ends,
        }
    }
}

fn table(args: &StreamArgs, results: &BTreeMap<Transport, Goodput>) -> Vec<String> {
    let streams = if args.streams == 1 { "stream" } else { "streams" };
    let directions = match (args.bidir, args.reverse) {
        (true, _) => ", in both directions",
        (_, true) => ", the server sends",
        _ => "",
    };
    let title =
        format!("goodput, {} {streams}{directions}, {} waits", args.streams, args.common.wait);
    let head = format!(
        "{:16}{:>10}{:>14}{:>10}{:>10}  spread",
        "", "Gbit/s", "CPU s/GB", "client", "server"
    );
    let rows = results.iter().map(|(transport, r)| {
        let gbps = &r.gbps;
        let cpu = r.cost_per_gb.as_ref().map(|cost| [&cost.client.cpu_s, &cost.server.cpu_s]);
        let [client, server] = cpu.map_or([0.0; 2], |cpu| cpu.map(|figure| figure.median));
        format!(
            "{transport:16}{:>10.3}{:>14.3}{client:>10.3}{server:>10.3}  {}",
            gbps.median,
            r.cpu_s_per_gb,
            gbps.spread_text()
        )
    });
    let by_stream = results.iter().filter_map(|(transport, r)| {
        let (slowest, fastest) =
            r.slowest_stream_gbps.as_ref().zip(r.fastest_stream_gbps.as_ref())?;
        let [slowest, fastest] = [slowest, fastest].map(|figure| figure.median);
        Some(format!("{transport} by stream: {slowest:.3} to {fastest:.3} Gbit/s"))
    });
    let woken = results.iter().filter_map(|(transport, r)| {
        Some(format!("{transport} {}", r.cost_per_gb.as_ref()?.wake_ups_text("a gigabyte")))
    });
    let lost = losses(results, |r| &r.ends);
    [title, head].into_iter().chain(rows).chain(by_stream).chain(woken).chain(lost).collect()
}
