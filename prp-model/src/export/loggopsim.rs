//! Flags for LogGOPSim, whose times are whole numbers.

use super::head;
use super::pieces::pieces;
use crate::fit::{Fit, Model};

/// Times shorter than this number of units would be off by more than 1 %.
const EXACT: f64 = 50.0;

/// LogGOPSim's own threshold for asking the receiver first, far above any message: a fit has no
/// such step.
const NEVER: i32 = i32::MAX;

/// A command line with comments. Times are in nanoseconds, or in picoseconds where a byte costs too
/// few of those; LogGOPSim's answers are in the same unit. Overhead and gap that are not told are
/// 0, and all of the time is latency.
#[must_use]
pub fn loggopsim(fit: &Fit) -> String {
    let value =
        |name: &str| fit.parameters.iter().find(|p| p.name == name).map_or(0.0, |p| p.value);
    let is_logp = matches!(fit.model, Model::LogP | Model::LogGp);
    let (overhead, gap) = if is_logp { (value("o"), value("g")) } else { (0.0, 0.0) };
    let pieces = pieces(fit);
    let (first, last) = (pieces[0], pieces[pieces.len() - 1]);
    let latency = (first.intercept - 2.0 * overhead).max(0.0);
    let times = [latency, overhead, gap, last.slope];
    let is_exact = |unit: f64| times.iter().all(|t| *t == 0.0 || t / unit >= EXACT);
    let (unit, name) = if is_exact(1e-9) { (1e-9, "ns") } else { (1e-12, "ps") };
    let [latency, overhead, gap, byte] = times.map(|time| (time / unit).round());
    let mut lines: Vec<String> = head(fit).iter().map(|line| format!("# {line}")).collect();
    lines.push(format!(
        "# times in {name}; it sees no contention, nor many senders to one receiver"
    ));
    lines.push(format!(
        "LogGOPSim -f SCHEDULE.bin -L {latency} -o {overhead} -g {gap} -G {byte} -O 0 -S {NEVER}"
    ));
    lines.join("\n") + "\n"
}
