//! What gets through while a leg lasts: lines as iperf3 prints them, or a rate on a terminal.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::conn::Conn;
use super::counters::retransmitted;
use super::display::Display;
use super::stream::StreamArgs;
use super::transport::Transport;
use crate::print::{notice, print_line};

/// What got through in a part of a leg.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub(super) struct Interval {
    /// Its beginning and end, in seconds since the leg's beginning.
    begin: f64,
    end: f64,
    bytes: u64,
    pub(super) gbps: f64,
    /// Segments that this end sent again; absent where it sends no segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmitted: Option<u64>,
}

/// What has been counted until some moment.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) bytes: u64,
    /// Segments sent again, where this end sends segments.
    pub(super) retransmitted: Option<u64>,
}

/// Reads the counts of a leg while that lasts.
#[derive(Debug)]
pub(super) struct Meter<'a> {
    transport: Transport,
    /// Their sum is what has got through.
    counts: Vec<&'a AtomicU64>,
    /// The connections that this end sends on.
    senders: Option<&'a [Conn]>,
    interval: Option<Duration>,
    /// Whether lines are printed.
    prints: bool,
}

impl Interval {
    /// What was counted from `before` to `now`, at `begin` and `end`, in seconds.
    fn new(begin: f64, end: f64, before: Progress, now: Progress) -> Self {
        let bytes = now.bytes - before.bytes;
        let again = now.retransmitted.zip(before.retransmitted);
        let retransmitted = again.map(|(now, before)| now.saturating_sub(before));
        Self { begin, end, bytes, gbps: gbps(bytes, end - begin), retransmitted }
    }

    /// For people.
    fn line(&self, transport: Transport) -> String {
        let Self { begin, end, bytes, gbps, retransmitted } = self;
        let megabytes = *bytes as f64 / 1e6;
        let again = retransmitted.map(|n| format!(" {n:>6} sent again")).unwrap_or_default();
        format!(
            "{transport:16}{begin:>7.2}-{end:<7.2} s {megabytes:>9.1} MB {gbps:>8.3} Gbit/s{again}"
        )
    }
}

impl<'a> Meter<'a> {
    /// Of a leg with these counts, and the connections that this end sends on.
    pub(super) fn new(
        args: &StreamArgs,
        transport: Transport,
        counts: Vec<&'a AtomicU64>,
        senders: Option<&'a [Conn]>,
    ) -> Self {
        let prints = args.json() != Some(Path::new("-"));
        Self { transport, counts, senders, interval: args.interval(), prints }
    }

    /// Does `work`; what got through meanwhile is told, and added to `intervals`.
    pub(super) fn watch<T>(
        &self,
        display: &Display,
        intervals: &mut Vec<Interval>,
        work: impl FnOnce() -> T,
    ) -> T {
        let Some(interval) = self.interval else {
            return display.watch(self.transport, || self.bytes(), work);
        };
        watch(interval, || self.progress(), |interval| intervals.push(self.note(interval)), work)
    }

    fn progress(&self) -> Progress {
        let retransmitted = self.senders.map(|conns| retransmitted(self.transport, conns));
        Progress { bytes: self.bytes(), retransmitted }
    }

    fn bytes(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Whether this is what was left of a leg after its last whole interval, and too little for a
    /// rate.
    fn is_remainder(&self, interval: &Interval) -> bool {
        let whole = self.interval.map_or(0.0, |whole| whole.as_secs_f64());
        interval.begin > 0.0 && interval.end - interval.begin < whole / 10.0
    }

    fn note(&self, interval: Interval) -> Interval {
        if self.prints && !self.is_remainder(&interval) {
            // The measurement goes on though it is not read.
            let _ = print_line(interval.line(self.transport));
        }
        interval
    }
}

/// Gbit/s of `bytes` in `seconds`.
pub(super) fn gbps(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 * 8e-9 / seconds.max(1e-9)
}

/// Does `work`, and tells `note` by how much what `progress` gives grows in each `interval` of it.
pub(super) fn watch<T>(
    interval: Duration,
    progress: impl Fn() -> Progress + Send,
    mut note: impl FnMut(Interval) + Send,
    work: impl FnOnce() -> T,
) -> T {
    let (stop, stopped) = mpsc::channel::<()>();
    let (begun, at_first) = (Instant::now(), progress());
    thread::scope(|scope| {
        let tell = move || {
            let (mut next, mut then, mut before) = (begun + interval, 0.0, at_first);
            let mut is_over = false;
            while !is_over {
                let left = next.saturating_duration_since(Instant::now());
                is_over = stopped.recv_timeout(left) != Err(RecvTimeoutError::Timeout);
                let (now, counted) = (begun.elapsed().as_secs_f64(), progress());
                // What is left at the end may be nothing.
                if !is_over || counted.bytes > before.bytes {
                    note(Interval::new(then, now, before, counted));
                }
                (next, then, before) = (next + interval, now, counted);
            }
        };
        if let Err(e) = thread::Builder::new().spawn_scoped(scope, tell) {
            // The measurement goes on without.
            notice(format_args!("nothing is told meanwhile: a thread: {e}"));
        }
        let done = work();
        drop(stop);
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval__has_a_rate_and_a_line() {
        let counted = |bytes, retransmitted| Progress { bytes, retransmitted };
        let interval = Interval::new(1.0, 1.5, counted(5, None), counted(125_000_005, None));
        assert!((interval.gbps - 2.0).abs() < 1e-9);
        let line = "prp                1.00-1.50    s     125.0 MB    2.000 Gbit/s";
        assert_eq!(interval.line(Transport::Prp), line);
        let interval = Interval::new(1.0, 1.5, counted(0, Some(3)), counted(125_000_000, Some(7)));
        assert_eq!(interval.line(Transport::Prp), format!("{line}      4 sent again"));
    }

    #[test]
    fn is_remainder__is_what_comes_after_whole_intervals() {
        let meter = Meter {
            transport: Transport::Prp,
            counts: Vec::new(),
            senders: None,
            interval: Some(Duration::from_secs(1)),
            prints: true,
        };
        let interval =
            |begin, end| Interval::new(begin, end, Progress::default(), Progress::default());
        let is_remainder = |begin, end| meter.is_remainder(&interval(begin, end));
        assert!(is_remainder(3.0, 3.001) && is_remainder(3.0, 3.09));
        assert!(!is_remainder(3.0, 3.5) && !is_remainder(2.0, 3.0));
        // The only one there is.
        assert!(!is_remainder(0.0, 0.05));
    }

    #[test]
    fn watch__counts_every_byte_once() {
        let (one, two) = (AtomicU64::new(5), AtomicU64::new(0));
        let meter = Meter {
            transport: Transport::Prp,
            counts: vec![&one, &two],
            senders: None,
            interval: Some(Duration::from_millis(1)),
            prints: false,
        };
        let mut found = Vec::new();
        let display = Display::hidden();
        let done = meter.watch(&display, &mut found, || {
            for _ in 0..100 {
                one.fetch_add(3, Ordering::Relaxed);
                thread::yield_now();
                two.fetch_add(4, Ordering::Relaxed);
            }
            "done"
        });
        assert_eq!(done, "done");
        let bytes = found.iter().map(|interval| interval.bytes).sum::<u64>();
        assert_eq!(bytes, 700, "{found:?}");
        assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].begin), "{found:?}");
    }
}
