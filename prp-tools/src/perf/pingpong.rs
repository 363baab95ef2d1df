//! Ping-pong: a message goes to the server and comes back, and then the next one. Half of that time
//! is the latency one way.

use std::io;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use serde::Serialize;

use super::control::Work;
use super::cost::{Cost, CostSum};
use super::report::{BothEnds, Figure};
use super::session::Session;
use super::think::{Think, Thought};
use super::transport::{Transport, WaitMode};
use super::usage::Spent;
use super::{flood, flow};
use crate::exit::Failure;

/// The part of a leg that is not counted: caches, clocks and estimates settle.
const WARM_UP: f64 = 0.1;

/// Significant digits of a histogram: a thousandth is far below what differs from run to run.
const DIGITS: u8 = 3;

/// Steps of a distribution between a quantile and the one that halves what is left.
const STEPS: u32 = 4;

/// How long messages took, in microseconds one way.
#[derive(Debug, Serialize)]
pub(super) struct Latency {
    /// Medians of the rounds.
    pub(super) p50_us: Figure,
    /// Of all samples of all rounds.
    pub(super) p99_us: f64,
    pub(super) p999_us: f64,
    pub(super) min_us: f64,
    samples: u64,
    /// Pairs of a part of all samples and the time they took at most.
    distribution: Vec<(f64, f64)>,
    /// Of the connections beside, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) beside_gbps: Option<Figure>,
    /// From an answer to the next message, if the client thinks: the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) think_us: Option<f64>,
    /// By message one way, without thinking; not beside other connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost_per_message: Option<Cost>,
    pub(super) ends: BothEnds,
}

/// What rounds of one transport add up to.
#[derive(Debug)]
pub(super) struct LatencySum {
    all: Histogram<u64>,
    medians: Vec<f64>,
    beside_gbps: Vec<f64>,
    cost: CostSum,
    thoughts: u64,
    thinking: Duration,
    ends: BothEnds,
}

impl Default for LatencySum {
    fn default() -> Self {
        Self {
            all: histogram(),
            medians: Vec::new(),
            beside_gbps: Vec::new(),
            cost: CostSum::default(),
            thoughts: 0,
            thinking: Duration::ZERO,
            ends: BothEnds::default(),
        }
    }
}

/// A histogram of nanoseconds that grows as it must.
fn histogram() -> Histogram<u64> {
    let Ok(histogram) = Histogram::new(DIGITS) else { unreachable!("0 to 5 digits are allowed") };
    histogram
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1e3
}

/// One round.
#[derive(Copy, Clone, Debug)]
pub(super) struct Round {
    pub(super) transport: Transport,
    pub(super) wait: WaitMode,
    /// Bytes in a message.
    pub(super) size: usize,
    /// Connections that are written to meanwhile.
    pub(super) beside: u32,
    /// What the client does before each message.
    pub(super) think: Think,
    pub(super) time: Duration,
}

/// What came of the messages of a round.
#[derive(Debug)]
struct Sampled {
    /// Nanoseconds one way of those that count.
    samples: Histogram<u64>,
    /// All of them, there and back.
    round_trips: u64,
    thinking: Duration,
    /// What this process spent meanwhile, without thinking.
    spent: Spent,
}

impl Round {
    /// Plays it, and adds it to `sum`; the median in microseconds.
    pub(super) fn play(self, session: &Session, sum: &mut LatencySum) -> Result<f64, Failure> {
        let Self { transport, wait, size, beside, think, time } = self;
        let leg = session.begin(transport, wait, Work::Echo { size: size as u64, beside })?;
        let failed = |e| leg.failure(&e);
        let (sampled, (ours, theirs)) = if transport == Transport::Raw {
            let mut link = leg.raw()?;
            let sampled = sample(time, think, || link.round_trip(size));
            match sampled.and_then(|sampled| link.finish().map(|()| sampled)) {
                Ok(sampled) => (sampled, leg.end_raw(link)?),
                Err(e) => return Err(leg.give_up_raw(link, &e)),
            }
        } else {
            let conn = leg.connect().map_err(failed)?;
            let mut message = vec![0x5a; size];
            // The server must have this one first: to TCP a connection is there when the last frame
            // of its handshake comes, which may get lost, or data does.
            flow::round_trip(&conn, &mut message).map_err(failed)?;
            let others = (0..beside).map(|_| leg.connect()).collect::<io::Result<Vec<_>>>();
            let mut others = others.map_err(failed)?;
            let ping = || sample(time, think, || flow::round_trip(&conn, &mut message));
            let (sampled, gbps) = flood::beside(&others, ping).map_err(failed)?;
            sum.beside_gbps.extend(gbps);
            conn.end().map_err(failed)?;
            others.push(conn);
            (sampled, leg.end(others)?)
        };
        let median = micros(sampled.samples.value_at_quantile(0.5));
        sum.medians.push(median);
        // It only fails where a histogram must not grow.
        let _ = sum.all.add(&sampled.samples);
        let ours = ours.spending((beside == 0).then_some(sampled.spent));
        if beside == 0 {
            sum.cost.add(2.0 * sampled.round_trips as f64, &ours, &theirs);
        }
        if think != Think::default() {
            sum.thoughts += sampled.round_trips;
            sum.thinking += sampled.thinking;
        }
        sum.ends.add((ours, theirs));
        Ok(median)
    }
}

/// Thinks and makes a round trip, again and again for `time`.
fn sample(
    time: Duration,
    think: Think,
    mut round_trip: impl FnMut() -> io::Result<Duration>,
) -> io::Result<Sampled> {
    let (mut samples, mut round_trips, mut thought) = (histogram(), 0, Thought::default());
    let (begun, before) = (Instant::now(), Spent::now());
    let (warm, end) = (begun + time.mul_f64(WARM_UP), begun + time);
    loop {
        thought += think.spend();
        let taken = round_trip()?;
        round_trips += 1;
        let now = Instant::now();
        if now >= warm {
            // It only fails where a histogram must not grow.
            let _ = samples.record((taken.as_nanos() / 2) as u64);
        }
        if now >= end {
            let spent = thought.taken_from(Spent::now() - before);
            return Ok(Sampled { samples, round_trips, thinking: thought.time, spent });
        }
    }
}

impl LatencySum {
    /// Whether there were any.
    pub(super) fn has_rounds(&self) -> bool {
        !self.medians.is_empty()
    }

    /// What they add up to.
    pub(super) fn finish(self) -> Latency {
        let at = |quantile| micros(self.all.value_at_quantile(quantile));
        let steps = self.all.iter_quantiles(STEPS);
        let steps = steps.filter(|step| step.count_since_last_iteration() > 0);
        let distribution = steps
            .map(|step| (step.quantile_iterated_to(), micros(step.value_iterated_to())))
            .collect();
        Latency {
            p99_us: at(0.99),
            p999_us: at(0.999),
            min_us: micros(self.all.min()),
            samples: self.all.len(),
            distribution,
            beside_gbps: (!self.beside_gbps.is_empty()).then(|| Figure::of(self.beside_gbps)),
            think_us: (self.thoughts > 0)
                .then(|| self.thinking.as_secs_f64() * 1e6 / self.thoughts as f64),
            cost_per_message: self.cost.finish(),
            p50_us: Figure::of(self.medians),
            ends: self.ends,
        }
    }
}

#[cfg(test)]
mod tests;
