//! `prp perf sweep`: ping-pong with messages of all sizes, as NetPIPE does it.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use super::display::Display;
use super::pingpong::{Latency, LatencySum, Round};
use super::report::{Report, losses};
use super::rotation::Rotation;
use super::session::Session;
use super::think::Think;
use super::transport::{Transport, WaitMode};
use super::{Common, seconds};
use crate::exit::Failure;

/// The largest message.
const MAX: usize = 1 << 20;

/// The size whose latency stands for a transport where there is room for one.
const TYPICAL: usize = 64;

/// Measure ping-pong with messages from 0 bytes to 1 MiB.
///
/// TCP has no messages of 0 bytes; a PRP message has an end even if it has no bytes.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf sweep beta --json sweep.json
"))]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    common: Common,

    /// Seconds for each transport, all sizes and rounds together
    #[arg(short, long, value_name = "SECS", default_value = "8", value_parser = seconds)]
    time: f64,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct SweepSettings<'a> {
    node: &'a str,
    wait: WaitMode,
    rounds: u32,
    seconds: f64,
}

/// Messages of one size.
#[derive(Debug, Serialize)]
struct Point {
    size: usize,
    /// The larger of a message's bytes over its median time one way.
    gbps: f64,
    #[serde(flatten)]
    latency: Latency,
}

/// Runs `prp perf sweep`.
pub(super) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let common = &args.common;
    let session = Session::open(common)?;
    let transports = common.transports();
    let sizes: Vec<usize> = sizes().collect();
    let legs = u64::from(common.rounds()) * (transports.len() * sizes.len()) as u64;
    let display = Display::new(common, legs);
    let time = args.time / f64::from(common.rounds()) / sizes.len() as f64;
    let time = Duration::from_secs_f64(time);
    let mut results = BTreeMap::<_, Vec<Point>>::new();
    let mut rotation = Rotation::of(transports);
    for size in sizes {
        let mut sums = BTreeMap::<_, LatencySum>::new();
        for _ in 0..common.rounds() {
            rotation.play(|transport| {
                if !has_messages(transport, size) {
                    return Ok(());
                }
                display.begin(transport, &format!("{size} bytes ..."));
                let (wait, think) = (common.wait, Think::default());
                let round = Round { transport, wait, size, beside: 0, think, time };
                let p50 = round.play(&session, sums.entry(transport).or_default())?;
                display.end(transport, &format!("{size} bytes {p50:.2} us"));
                Ok(())
            });
        }
        for (transport, sum) in sums.into_iter().filter(|(_, sum)| sum.has_rounds()) {
            let latency = sum.finish();
            let gbps = size as f64 * 8e-3 / latency.p50_us.median;
            results.entry(transport).or_default().push(Point { size, gbps, latency });
        }
    }
    drop(display);
    if results.is_empty() {
        return rotation.end();
    }
    let settings = SweepSettings {
        node: &common.node,
        wait: common.wait,
        rounds: common.rounds(),
        seconds: args.time,
    };
    let report = Report::new("sweep", settings, results, &session, |points: &Vec<Point>| {
        let typical = points.iter().find(|point| point.size == TYPICAL);
        typical.map(|point| point.latency.p50_us.rounds.clone()).unwrap_or_default()
    });
    report.publish(common.json.as_deref(), |results| table(common.wait, results))?;
    rotation.end()
}

/// Nothing, and the powers of two.
fn sizes() -> impl Iterator<Item = usize> {
    std::iter::once(0).chain((0..).map(|n| 1 << n).take_while(|size| *size <= MAX))
}

fn has_messages(transport: Transport, size: usize) -> bool {
    size > 0 || matches!(transport, Transport::Prp | Transport::Raw)
}

fn table(wait: WaitMode, results: &BTreeMap<Transport, Vec<Point>>) -> Vec<String> {
    let title = format!("one way by size, {wait} waits: median in us, and Gbit/s");
    let mut head = format!("{:>8}", "bytes");
    for transport in results.keys() {
        head += &format!("{transport:>16}{:>9}", "Gbit/s");
    }
    let rows = sizes().map(|size| {
        let mut row = format!("{size:>8}");
        for points in results.values() {
            row += &match points.iter().find(|point| point.size == size) {
                Some(point) => {
                    let figure = &point.latency.p50_us;
                    let mark = if figure.is_noisy() { "~" } else { "" };
                    format!("{:>16}{:>9.2}", format!("{mark}{:.2}", figure.median), point.gbps)
                }
                None => format!("{:>16}{:>9}", "-", ""),
            };
        }
        row
    });
    let note = "~: noisy, the rounds differ by more than a quarter".to_owned();
    let counted: BTreeMap<_, _> = results
        .iter()
        .filter_map(|(transport, points)| Some((*transport, points.last()?)))
        .collect();
    let lost = losses(&counted, |point| &point.latency.ends);
    [title, head].into_iter().chain(rows).chain([note]).chain(lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes__from_nothing_to_a_mebibyte() {
        let all: Vec<_> = sizes().collect();
        assert_eq!((all[..4].to_vec(), all.len()), (vec![0, 1, 2, 4], 22));
        assert_eq!(all.last(), Some(&(1024 * 1024)));
        assert!(all.contains(&TYPICAL));
    }
}
