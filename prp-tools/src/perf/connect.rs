//! `prp perf connect`: how many short connections a second.

use std::collections::BTreeMap;
use std::time::Instant;

use clap::Args;
use serde::Serialize;

use super::Common;
use super::control::Work;
use super::display::Display;
use super::flow;
use super::iperf3::OtherConnectOptions;
use super::report::{BothEnds, Figure, Report, losses};
use super::rotation::Rotation;
use super::session::Session;
use super::transport::{Transport, WaitMode};
use crate::argument::number;
use crate::exit::{Code, Failure};

/// Measure connections per second: one after another, each with a full handshake, a byte in each
/// direction and an end.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf connect beta --vs tcp
"))]
pub(crate) struct ConnectArgs {
    #[command(flatten)]
    common: Common,

    /// Connections with each transport, all rounds together
    #[arg(short, long, value_name = "N", default_value_t = 5000)]
    #[arg(value_parser = number::<u64>(1..=100_000_000))]
    count: u64,

    #[command(flatten)]
    others: OtherConnectOptions,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct ConnectSettings<'a> {
    node: &'a str,
    wait: WaitMode,
    rounds: u32,
    count: u64,
}

/// What came of it.
#[derive(Debug, Serialize)]
struct Rate {
    per_s: Figure,
    ends: BothEnds,
}

/// Runs `prp perf connect`.
pub(super) fn run(args: &ConnectArgs) -> Result<(), Failure> {
    let common = &args.common;
    let transports = common.transports();
    if transports.contains(&Transport::Raw) {
        return Err(Failure::new(Code::Usage, "raw frames know no connections: no --vs raw here"));
    }
    let session = Session::open(common)?;
    let display = Display::new(common, u64::from(common.rounds()) * transports.len() as u64);
    let count = args.count.div_ceil(u64::from(common.rounds()));
    let mut sums = BTreeMap::<_, (Vec<f64>, BothEnds)>::new();
    let mut rotation = Rotation::of(transports);
    for _ in 0..common.rounds() {
        rotation.play(|transport| {
            display.begin(transport, "...");
            let (rates, ends) = sums.entry(transport).or_default();
            let rate = leg(&session, transport, common.wait, count, ends)?;
            rates.push(rate);
            display.end(transport, &format!("{rate:.0} connections/s"));
            Ok(())
        });
    }
    sums.retain(|_, (rates, _)| !rates.is_empty());
    drop(display);
    if sums.is_empty() {
        return rotation.end();
    }
    let settings = ConnectSettings {
        node: &common.node,
        wait: common.wait,
        rounds: common.rounds(),
        count: args.count,
    };
    let results = sums
        .into_iter()
        .map(|(transport, (rates, ends))| (transport, Rate { per_s: Figure::of(rates), ends }))
        .collect();
    let rounds = |r: &Rate| r.per_s.rounds.clone();
    let report = Report::new("connect", settings, results, &session, rounds);
    report.publish(common.json.as_deref(), |results| table(common.wait, results))?;
    rotation.end()
}

/// Makes `count` connections; how many a second.
fn leg(
    session: &Session,
    transport: Transport,
    wait: WaitMode,
    count: u64,
    ends: &mut BothEnds,
) -> Result<f64, Failure> {
    let leg = session.begin(transport, wait, Work::Accept { count })?;
    let begun = Instant::now();
    for _ in 0..count {
        let done = leg.connect().and_then(|conn| flow::request(&conn));
        done.map_err(|e| leg.failure(&e))?;
    }
    let elapsed = begun.elapsed().as_secs_f64();
    ends.add(leg.end(Vec::new())?);
    Ok(count as f64 / elapsed)
}

fn table(wait: WaitMode, results: &BTreeMap<Transport, Rate>) -> Vec<String> {
    let title = format!("connections, one after another, {wait} waits");
    let head = format!("{:16}{:>10}  spread", "", "per s");
    let rows = results.iter().map(|(transport, r)| {
        format!("{transport:16}{:>10.0}  {}", r.per_s.median, r.per_s.spread_text())
    });
    [title, head].into_iter().chain(rows).chain(losses(results, |r| &r.ends)).collect()
}
