//! `prp perf latency`: how long a small message takes.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::display::Display;
use super::pingpong::{Latency, LatencySum, Round};
use super::report::{Report, losses};
use super::rotation::Rotation;
use super::session::Session;
use super::think::{self, Think};
use super::transport::{Transport, WaitMode};
use super::{Common, seconds};
use crate::argument::number;
use crate::exit::{Code, Failure};

/// Measure the one-way latency of small messages by ping-pong.
///
/// A message goes to the server and comes back, and then the next one; half of that time is the
/// latency.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf latency beta --vs tcp
  prp perf latency beta --size 1400 --wait spin --json latency.json
  prp perf latency beta --think 100us --vs tcp    a message now and then, as programs send them
"))]
pub(crate) struct LatencyArgs {
    #[command(flatten)]
    common: Common,

    /// Bytes in a message
    #[arg(short, long, value_name = "BYTES", default_value_t = 64)]
    #[arg(value_parser = number::<u64>(1..=1 << 20))]
    size: u64,

    /// Meanwhile write to this number of other connections of the same programs, without a break
    #[arg(short, long, value_name = "K", default_value_t = 0)]
    #[arg(value_parser = number::<u32>(0..=4096))]
    beside: u32,

    /// Sleep this long between an answer and the next message: 20us, 1ms
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = think::duration)]
    think: Duration,

    /// Compute for as long, in place of sleeping
    #[arg(long, requires = "think")]
    think_busy: bool,

    /// Seconds for each transport, all rounds together
    #[arg(short, long, value_name = "SECS", default_value = "2", value_parser = seconds)]
    time: f64,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct LatencySettings<'a> {
    node: &'a str,
    size: u64,
    wait: WaitMode,
    beside: u32,
    /// Seconds.
    think: f64,
    think_busy: bool,
    rounds: u32,
    seconds: f64,
}

/// Runs `prp perf latency`.
pub(super) fn run(args: &LatencyArgs) -> Result<(), Failure> {
    let common = &args.common;
    let transports = common.transports();
    if transports.contains(&Transport::Raw) && args.beside > 0 {
        let text = "raw frames know no connections: no --vs raw with --beside";
        return Err(Failure::new(Code::Usage, text));
    }
    let session = Session::open(common)?;
    let display = Display::new(common, u64::from(common.rounds()) * transports.len() as u64);
    let time = Duration::from_secs_f64(args.time / f64::from(common.rounds()));
    let mut sums = BTreeMap::<_, LatencySum>::new();
    let mut rotation = Rotation::of(transports);
    for _ in 0..common.rounds() {
        rotation.play(|transport| {
            display.begin(transport, "...");
            let (wait, size) = (common.wait, args.size as usize);
            let round =
                Round { transport, wait, size, beside: args.beside, think: args.think(), time };
            let p50 = round.play(&session, sums.entry(transport).or_default())?;
            display.end(transport, &format!("{p50:.2} us"));
            Ok(())
        });
    }
    sums.retain(|_, sum| sum.has_rounds());
    drop(display);
    if sums.is_empty() {
        return rotation.end();
    }
    let settings = LatencySettings {
        node: &common.node,
        size: args.size,
        wait: common.wait,
        beside: args.beside,
        think: args.think.as_secs_f64(),
        think_busy: args.think_busy,
        rounds: common.rounds(),
        seconds: args.time,
    };
    let results = sums.into_iter().map(|(transport, sum)| (transport, sum.finish())).collect();
    let rounds = |r: &Latency| r.p50_us.rounds.clone();
    let report = Report::new("latency", settings, results, &session, rounds);
    report.publish(common.json.as_deref(), |results| table(args, results))?;
    rotation.end()
}

impl LatencyArgs {
    fn think(&self) -> Think {
        Think { time: self.think, is_busy: self.think_busy }
    }
}

fn table(args: &LatencyArgs, results: &BTreeMap<Transport, Latency>) -> Vec<String> {
    let think = match args.think() {
        Think { time: Duration::ZERO, .. } => String::new(),
        Think { time, is_busy: false } => format!(", asleep for {time:?} between two"),
        Think { time, is_busy: true } => format!(", computing for {time:?} between two"),
    };
    let title = format!("one way, {} bytes, {} waits, in us{think}", args.size, args.common.wait);
    let head = format!(
        "{:16}{:>10}{:>10}{:>10}{:>10}{:>12}{:>12}  spread of p50",
        "", "p50", "p99", "p99.9", "min", "client CPU", "server CPU"
    );
    let rows = results.iter().map(|(transport, r)| {
        let cpu = r.cost_per_message.as_ref().map(|cost| [&cost.client.cpu_s, &cost.server.cpu_s]);
        let cpu = cpu.map_or_else(
            || ["-", "-"].map(str::to_owned),
            |cpu| cpu.map(|figure| format!("{:.2}", figure.median * 1e6)),
        );
        format!(
            "{transport:16}{:>10.2}{:>10.2}{:>10.2}{:>10.2}{:>12}{:>12}  {}",
            r.p50_us.median,
            r.p99_us,
            r.p999_us,
            r.min_us,
            cpu[0],
            cpu[1],
            r.p50_us.spread_text()
        )
    });
    let woken = results.iter().filter_map(|(transport, r)| {
        Some(format!("{transport} {}", r.cost_per_message.as_ref()?.wake_ups_text("a message")))
    });
    let beside = results.iter().filter_map(|(transport, r)| {
        let gbps = r.beside_gbps.as_ref()?;
        Some(format!(
            "{transport} beside, {} connections: {:.2} Gbit/s, spread {}",
            args.beside,
            gbps.median,
            gbps.spread_text()
        ))
    });
    let lost = losses(results, |r| &r.ends);
    [title, head].into_iter().chain(rows).chain(woken).chain(beside).chain(lost).collect()
}
