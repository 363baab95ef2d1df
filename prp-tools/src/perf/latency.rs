//! `prp perf latency`: how long a small message takes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use clap::Args;
use hdrhistogram::Histogram;
use serde::Serialize;

use super::control::{Job, Work};
use super::display::Display;
use super::report::{Ends, Figure, Report};
use super::session::Session;
use super::transport::{Transport, WaitMode};
use super::{Common, flow, seconds};
use crate::exit::Failure;

/// The part of a leg that is not counted: caches, clocks and estimates settle.
const WARM_UP: f64 = 0.1;

/// Significant digits of a histogram: a thousandth is far below what differs from run to run.
const DIGITS: u8 = 3;

/// Measure the one-way latency of small messages by ping-pong.
///
/// A message goes to the server and comes back, and then the next one; half of that time is the latency.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::HELP)]
pub(crate) struct LatencyArgs {
    #[command(flatten)]
    common: Common,

    /// Bytes in a message
    #[arg(short, long, value_name = "BYTES", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    size: u64,

    /// Seconds for each transport, all rounds together
    #[arg(short, long, value_name = "SECS", default_value = "2", value_parser = seconds)]
    time: f64,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct Settings<'a> {
    node: &'a str,
    size: u64,
    wait: WaitMode,
    rounds: u32,
    seconds: f64,
}

/// What came of it, in microseconds one way.
#[derive(Debug, Serialize)]
struct Latency {
    /// Medians of the rounds.
    p50_us: Figure,
    /// Of all samples of all rounds.
    p99_us: f64,
    p999_us: f64,
    min_us: f64,
    samples: u64,
    /// Pairs of a part of all samples and the time they took at most.
    distribution: Vec<(f64, f64)>,
    ends: Ends,
}

/// What rounds of one transport add up to.
struct Sum {
    all: Histogram<u64>,
    medians: Vec<f64>,
    ends: Ends,
}

/// A histogram of nanoseconds that grows as it must.
fn histogram() -> Histogram<u64> {
    let Ok(histogram) = Histogram::new(DIGITS) else { unreachable!("0 to 5 digits are allowed") };
    histogram
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// Runs `prp perf latency`.
pub(super) fn run(args: &LatencyArgs) -> Result<(), Failure> {
    let common = &args.common;
    let session = Session::open(common)?;
    let transports = common.transports();
    let display = Display::new(common, u64::from(common.rounds) * transports.len() as u64);
    let time = Duration::from_secs_f64(args.time / f64::from(common.rounds));
    let mut sums = BTreeMap::new();
    for _ in 0..common.rounds {
        for transport in &transports {
            let job = Job {
                transport: *transport,
                wait: common.wait,
                work: Work::Echo { size: args.size },
            };
            display.begin(*transport, "...");
            let sum = sums.entry(*transport).or_insert_with(|| Sum {
                all: histogram(),
                medians: Vec::new(),
                ends: Ends::default(),
            });
            let p50 = leg(&session, &job, args.size as usize, time, sum)?;
            display.end(*transport, &format!("{p50:.2} us"));
        }
    }
    drop(display);
    let settings = Settings {
        node: &common.node,
        size: args.size,
        wait: common.wait,
        rounds: common.rounds,
        seconds: args.time,
    };
    let results = sums.into_iter().map(|(transport, sum)| (transport, sum.finish())).collect();
    let report =
        Report::new("latency", settings, results, &session, |r: &Latency| &r.p50_us.rounds);
    report.publish(common.json.as_deref(), |results| table(args, results))
}

/// Plays ping-pong for `time`; the median in microseconds.
fn leg(
    session: &Session,
    job: &Job,
    size: usize,
    time: Duration,
    sum: &mut Sum,
) -> Result<f64, Failure> {
    let leg = session.begin(job)?;
    let failed = |e| leg.failure(&e);
    let conn = leg.connect().map_err(failed)?;
    let mut message = vec![0x5a; size];
    let mut samples = histogram();
    let begun = Instant::now();
    let (warm, end) = (begun + time.mul_f64(WARM_UP), begun + time);
    loop {
        let taken = flow::round_trip(&conn, &mut message).map_err(failed)?;
        let now = Instant::now();
        if now >= warm {
            // It only fails where a histogram must not grow.
            let _ = samples.record((taken.as_nanos() / 2) as u64);
        }
        if now >= end {
            break;
        }
    }
    conn.end().map_err(failed)?;
    let median = micros(samples.value_at_quantile(0.5));
    sum.medians.push(median);
    let _ = sum.all.add(&samples);
    sum.ends.add(leg.end(vec![conn])?);
    Ok(median)
}

impl Sum {
    fn finish(self) -> Latency {
        let at = |quantile| micros(self.all.value_at_quantile(quantile));
        let steps = self.all.iter_quantiles(4).filter(|step| step.count_since_last_iteration() > 0);
        let distribution = steps
            .map(|step| (step.quantile_iterated_to(), micros(step.value_iterated_to())))
            .collect();
        Latency {
            p99_us: at(0.99),
            p999_us: at(0.999),
            min_us: micros(self.all.min()),
            samples: self.all.len(),
            distribution,
            p50_us: Figure::of(self.medians),
            ends: self.ends,
        }
    }
}

fn table(args: &LatencyArgs, results: &BTreeMap<Transport, Latency>) -> Vec<String> {
    let title = format!("one way, {} bytes, {} waits, in us", args.size, args.common.wait);
    let head =
        format!("{:16}{:>10}{:>10}{:>10}{:>10}  spread of p50", "", "p50", "p99", "p99.9", "min");
    let rows = results.iter().map(|(transport, r)| {
        format!(
            "{transport:16}{:>10.2}{:>10.2}{:>10.2}{:>10.2}  {}",
            r.p50_us.median,
            r.p99_us,
            r.p999_us,
            r.min_us,
            r.p50_us.spread_text()
        )
    });
    let losses = results
        .iter()
        .filter_map(|(transport, r)| Some(format!("{transport}: {}", r.ends.losses_text()?)));
    [title, head].into_iter().chain(rows).chain(losses).collect()
}

#[cfg(test)]
mod tests;
