//! Many seeds, on as many threads as one likes, with one result.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread;

use prp_proto::time::Instant;

use crate::recorder::Recorder;
use crate::simulation::{self, Outcome, Violation};
use crate::tally::Tally;
use crate::{rng, scenario};

/// Most violations that are described one by one. A protocol that is broken breaks in every other
/// run.
const MOST_DESCRIBED: usize = 20;

/// A seed whose run broke a rule.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Failure {
    /// What replays it.
    pub seed: u64,
    /// The rule.
    pub violation: Violation,
}

/// What came of many runs.
#[derive(Debug, Default)]
pub struct Report {
    /// Counts over all runs.
    pub tally: Tally,
    /// Runs that broke a rule.
    pub failed: u64,
    /// Those with the lowest seeds, in order.
    pub failures: Vec<Failure>,
    /// A number that two grids of the same seeds share, whatever the threads: the sum of all
    /// traces.
    pub hash: u64,
}

impl Report {
    /// Adds what came of the run of `seed`.
    fn add(&mut self, seed: u64, outcome: &Outcome) {
        self.tally.add(&outcome.tally);
        self.hash = self.hash.wrapping_add(rng::scramble(outcome.recorder.hash() ^ seed));
        if let Some(violation) = outcome.violation.clone() {
            self.failed += 1;
            self.failures.push(Failure { seed, violation });
            self.trim();
        }
    }

    /// Adds another report.
    pub fn join(&mut self, other: Self) {
        self.tally.add(&other.tally);
        self.hash = self.hash.wrapping_add(other.hash);
        self.failed += other.failed;
        self.failures.extend(other.failures);
        self.trim();
    }

    fn trim(&mut self) {
        self.failures.sort_by_key(|failure| failure.seed);
        self.failures.truncate(MOST_DESCRIBED);
    }
}

/// Runs `seeds` on `threads` threads; `on_run` is told of every run that has ended.
///
/// # Panics
/// If `on_run` does.
pub fn run(seeds: Range<u64>, threads: usize, on_run: impl Fn(Option<&Failure>) + Sync) -> Report {
    let next = AtomicU64::new(seeds.start);
    let total = Mutex::new(Report::default());
    let work = || {
        let mut report = Report::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                break;
            }
            let outcome = run_one(seed, Recorder::default());
            report.add(seed, &outcome);
            on_run(report.failures.iter().find(|failure| failure.seed == seed));
        }
        if let Ok(mut total) = total.lock() {
            total.join(report);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(work);
        }
    });
    total.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs one seed. A panic of the code under test is a violation like any other.
pub fn run_one(seed: u64, recorder: Recorder) -> Outcome {
    let run = || simulation::run(&scenario::plan(seed), recorder);
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|cause| {
        let text = cause.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| cause.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let what = format!("panicked: {text}");
        Outcome {
            tally: Tally { runs: 1, ..Tally::default() },
            violation: Some(Violation { at: Instant::ZERO, what }),
            recorder: Recorder::default(),
        }
    })
}

#[cfg(test)]
mod tests;
