//! `prp-sim grid` and `prp-sim soak`: many seeds, until a number or a time.

use core::num::NonZero;
use core::time::Duration;
use std::io::{self, Write};
use std::thread;
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use prp_sim::grid::{self, Failure, Report};

use super::print_line;

/// Runs that a soak makes between two readings of the clock.
const SOAK_STEP: u64 = 2000;

/// Run many seeds and check the rules in each
#[derive(Debug, Args)]
pub(crate) struct GridArgs {
    /// How many seeds
    #[arg(long, default_value_t = 20_000, conflicts_with = "to")]
    runs: u64,
    /// First seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Seed to stop before
    #[arg(long)]
    to: Option<u64>,
    /// Threads; all processors if not given
    #[arg(long)]
    threads: Option<usize>,
}

/// Run seeds until the time is over
#[derive(Debug, Args)]
pub(crate) struct SoakArgs {
    /// For how long; a fraction will do
    #[arg(long)]
    minutes: f64,
    /// First seed; the grid of the tests begins at 0
    #[arg(long, default_value_t = 1_000_000)]
    from: u64,
    /// Threads; all processors if not given
    #[arg(long)]
    threads: Option<usize>,
}

pub(crate) fn grid(args: &GridArgs) -> bool {
    let to = args.to.unwrap_or_else(|| args.from.saturating_add(args.runs));
    let bar = bar(to.saturating_sub(args.from), "{bar:30} {pos}/{len} runs, {eta} left {msg}");
    let begun = Instant::now();
    let report = grid::run(args.from..to, threads(args.threads), |failure| step(&bar, failure));
    bar.finish_and_clear();
    conclude(&report, begun.elapsed())
}

pub(crate) fn soak(args: &SoakArgs) -> bool {
    let limit = Duration::from_secs_f64((args.minutes * 60.0).clamp(0.0, 1e9));
    let bar = bar(limit.as_secs(), "{elapsed} of {len} s {msg}");
    let begun = Instant::now();
    let mut report = Report::default();
    let mut seed = args.from;
    while begun.elapsed() < limit {
        let next = seed.saturating_add(SOAK_STEP);
        report.join(grid::run(seed..next, threads(args.threads), |failure| {
            if failure.is_some() {
                step(&bar, failure);
            }
        }));
        seed = next;
        bar.set_message(format!("{} runs, seed {seed}", report.tally.runs));
    }
    bar.finish_and_clear();
    print_line(format_args!("seeds {} to {}", args.from, seed.saturating_sub(1)));
    conclude(&report, begun.elapsed())
}

/// Shows that a run has ended, and at once if it ended badly.
fn step(bar: &ProgressBar, failure: Option<&Failure>) {
    bar.inc(1);
    if let Some(failure) = failure {
        bar.suspend(|| {
            let _ = writeln!(io::stderr(), "seed {}: {}", failure.seed, failure.violation);
        });
    }
}

/// Prints what came of it.
fn conclude(report: &Report, took: Duration) -> bool {
    let (tally, failed, hash) = (&report.tally, report.failed, report.hash);
    print_line(format_args!("{tally}{failed:>12} broke a rule; {took:.1?}; trace {hash:016x}"));
    for failure in &report.failures {
        print_line(format_args!("\nseed {}: {}", failure.seed, failure.violation));
        print_line(format_args!(
            "  cargo run --release -p prp-sim -- replay {} --trace",
            failure.seed
        ));
    }
    report.failed == 0
}

fn threads(wanted: Option<usize>) -> usize {
    wanted.unwrap_or_else(|| thread::available_parallelism().map_or(1, NonZero::get))
}

/// A bar on a terminal, nothing elsewhere.
fn bar(len: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    // The templates are ours; one that does not parse shows the default bar.
    ProgressBar::new(len).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
