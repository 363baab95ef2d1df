//! Counts, over a run or over many.

use core::fmt;
use std::collections::BTreeMap;

use prp_proto::error::ConnError;
use prp_proto::stats::{DropReason, EndpointStats};

use crate::link::Fate;

/// What was counted.
#[derive(Clone, Eq, PartialEq, Debug, Default)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Virtual nanoseconds.
    pub nanos: u64,
    /// Things that happened: arrivals, wakeups and so on.
    pub happenings: u64,
    /// Frames that endpoints sent, each once however many links it crossed.
    pub frames: u64,
    /// Segments among them that had been sent before.
    pub repeats: u64,
    /// Frames put on links, by what became of them.
    pub fates: [u64; Fate::ALL.len()],
    /// Frames that found a node's receive ring full, or were in it when the process was replaced.
    pub ring_lost: u64,
    /// Frames routers passed on.
    pub routed: u64,
    /// Frames routers dropped, by reason.
    pub route_drops: BTreeMap<&'static str, u64>,
    /// Frames endpoints dropped, by reason.
    pub drops: BTreeMap<&'static str, u64>,
    /// Connections asked for.
    pub flows: u64,
    /// Those whose applications both saw everything delivered and the end of the stream.
    pub complete: u64,
    /// Ends whose application was told of an error, by kind.
    pub errors: BTreeMap<&'static str, u64>,
    /// Bytes applications read.
    pub bytes: u64,
    /// Frames on links and in rings now.
    pub(crate) in_flight: u64,
}

impl Tally {
    /// Adds another run's counts.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.nanos += other.nanos;
        self.happenings += other.happenings;
        self.frames += other.frames;
        self.repeats += other.repeats;
        self.ring_lost += other.ring_lost;
        self.routed += other.routed;
        self.flows += other.flows;
        self.complete += other.complete;
        self.bytes += other.bytes;
        for (mine, theirs) in self.fates.iter_mut().zip(other.fates) {
            *mine += theirs;
        }
        for (mine, theirs) in [
            (&mut self.route_drops, &other.route_drops),
            (&mut self.drops, &other.drops),
            (&mut self.errors, &other.errors),
        ] {
            for (name, n) in theirs {
                *mine.entry(name).or_default() += n;
            }
        }
    }

    /// Frames with this fate.
    pub fn fate(&self, fate: Fate) -> u64 {
        self.fates[fate as usize]
    }

    /// Frames that did not arrive, once, in time, as they were sent.
    pub fn impaired(&self) -> u64 {
        let carried: u64 = self.fates.iter().sum();
        let routed: u64 = self.route_drops.values().sum();
        carried - self.fate(Fate::Sent) + self.ring_lost + routed
    }

    /// Takes an endpoint's counters at its end.
    pub(crate) fn add_endpoint(&mut self, stats: &EndpointStats) {
        for (why, n) in stats.drops.occurred() {
            *self.drops.entry(DropReason::name(why)).or_default() += n;
        }
    }

    /// Counts an error an application was told.
    pub(crate) fn add_error(&mut self, error: ConnError) {
        *self.errors.entry(error.reason()).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.nanos / 1_000_000_000;
        writeln!(f, "{:>12} runs, {seconds} s of virtual time", self.runs)?;
        writeln!(
            f,
            "{:>12} frames sent by endpoints, {} of them repeats",
            self.frames, self.repeats
        )?;
        writeln!(f, "{:>12} bytes read by applications", self.bytes)?;
        writeln!(f, "{:>12} connections asked for, {} complete", self.flows, self.complete)?;
        write!(f, "{:>12} frames put on wires:", self.fates.iter().sum::<u64>())?;
        for (fate, n) in Fate::ALL.iter().zip(self.fates).filter(|(_, n)| *n > 0) {
            write!(f, " {} {n}", fate.name())?;
        }
        writeln!(f, "\n{:>12} frames routed, {} lost in rings", self.routed, self.ring_lost)?;
        names(f, "dropped by routers", &self.route_drops)?;
        names(f, "dropped by endpoints", &self.drops)?;
        names(f, "ends with an error", &self.errors)
    }
}

fn names(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    counts: &BTreeMap<&'static str, u64>,
) -> fmt::Result {
    write!(f, "{:>12} {what}:", counts.values().sum::<u64>())?;
    for (name, n) in counts {
        write!(f, " {name} {n}")?;
    }
    writeln!(f)
}
