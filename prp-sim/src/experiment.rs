//! Measurements in virtual time: what congestion controllers make of many senders and of bad
//! cables. Nothing here depends on the machine: the same numbers come out everywhere.

use core::time::Duration;

use prp_proto::addr::Port;
use prp_proto::config::ConnConfig;
use prp_proto::congestion::Controller;
use prp_proto::time::Instant;
use prp_proto::wire::{Reliability, ReliabilitySet};

use crate::hosts;
use crate::link::{Impairment, LinkConfig, QueueLimit};
use crate::plan::{
    Closing, FlowPlan, Item, ListenPlan, NodePlan, Plan, ReadCall, Reading, Script, Underlay,
    Writing,
};
use crate::rng::{Purpose, SimRng};
use crate::simulation;
use crate::topology::{Shape, Topology};

/// Later than any measurement.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// Port of the receiver.
const PORT: Port = Port::new(80);

/// How far a cable's rate may be from what it is said to be, in millionths: as much as Ethernet
/// allows.
const TOLERANCE: u64 = 100;

/// Payload that a link carries at most, of a thousand bits on it: 1484 of 1514 and 24 bytes.
const PAYLOAD: u64 = 1_000_000 * 1484 / 1538;

/// A measurement to make.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// What its random numbers come from.
    pub seed: u64,
    /// What decides how much may be in flight.
    pub controller: Controller,
    /// What happens to lost segments.
    pub reliability: Reliability,
    /// Nodes that send to one.
    pub senders: usize,
    /// Rate of every cable, in bits per second.
    pub rate: u64,
    /// Time along each cable; a switch lies between two of them if there are several senders.
    pub delay: Duration,
    /// What may wait in front of the receiver's cable.
    pub queue: QueueLimit,
    /// Frames in a million that get lost at random, in each direction.
    pub loss: u32,
    /// Not counted: slow start and its losses.
    pub warm_up: Duration,
    /// Counted.
    pub span: Duration,
}

impl Default for Experiment {
    /// A sender, a clean gigabit cable, a second.
    fn default() -> Self {
        Self {
            seed: 1,
            controller: Controller::default(),
            reliability: Reliability::SelectiveRepeat,
            senders: 1,
            rate: 1_000_000_000,
            delay: Duration::from_micros(5),
            queue: QueueLimit::Frames(1000),
            loss: 0,
            warm_up: Duration::from_millis(200),
            span: Duration::from_secs(1),
        }
    }
}

/// What was measured.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Payload bits per second that the receiver's application read.
    pub goodput: f64,
    /// That, of what the receiver's cable can carry.
    pub share: f64,
    /// Jain's index of the senders' goodputs: 1 is perfectly fair, 1/n is one having all.
    pub fairness: f64,
    /// The slowest sender's goodput, of its fair share.
    pub slowest: f64,
    /// Segments sent again, of all frames.
    pub repeats: f64,
}

impl Experiment {
    /// Makes it.
    ///
    /// # Errors
    /// The rule that was broken, if one was.
    pub fn run(&self) -> Result<Finding, simulation::Violation> {
        let begin = Instant::ZERO + self.warm_up;
        let (samples, tally) = simulation::progress(&self.plan(), &[begin, begin + self.span])?;
        let read: Vec<f64> =
            samples[0].iter().zip(&samples[1]).map(|(from, to)| (to - from) as f64).collect();
        let total: f64 = read.iter().sum();
        let squares: f64 = read.iter().map(|r| r * r).sum();
        let goodput = total * 8.0 / self.span.as_secs_f64();
        let slowest = read.iter().copied().fold(f64::INFINITY, f64::min);
        let count = read.len() as f64;
        Ok(Finding {
            goodput,
            share: goodput / (self.rate * PAYLOAD / 1_000_000) as f64,
            fairness: if squares > 0.0 { total * total / (count * squares) } else { 0.0 },
            slowest: slowest * count / total.max(1.0),
            repeats: tally.repeats as f64 / tally.frames.max(1) as f64,
        })
    }

    fn plan(&self) -> Plan {
        let shape = if self.senders == 1 { Shape::Pair } else { Shape::Star(self.senders + 1) };
        let topology = Topology::new(shape);
        let mut rng = SimRng::new(self.seed, Purpose::Plan);
        let style = hosts::Style { mtu: None, udp: false };
        let nodes = (0..topology.nodes())
            .map(|i| NodePlan {
                hosts: hosts::text(&topology, i, style, &mut rng),
                ..NodePlan::default()
            })
            .collect();
        let link = LinkConfig {
            bits_per_second: self.rate,
            delay: self.delay,
            impairment: Impairment { loss: self.loss, ..Impairment::default() },
            healed: NEVER,
            ..LinkConfig::default()
        };
        // The receiver is the first node, and hangs on the first cable.
        let to_receiver = LinkConfig { queue: self.queue, ..link.clone() };
        let mut links = vec![[link.clone(), link]; topology.cables().len()];
        // No two clocks are alike. In exact step with the receiver's cable a sender could fill each
        // place in the queue at the moment it becomes free, and keep all others out for ever.
        for [up, down] in &mut links {
            for link in [up, down] {
                let parts = rng.below(2 * TOLERANCE + 1);
                link.bits_per_second =
                    self.rate - self.rate * TOLERANCE / 1_000_000 + self.rate * parts / 1_000_000;
            }
        }
        links[0][1] = to_receiver;
        let config = ConnConfig {
            reliability: ReliabilitySet::only(self.reliability),
            congestion: self.controller,
            ..ConnConfig::default()
        };
        Plan {
            seed: self.seed,
            topology,
            underlay: Underlay::Ethernet,
            links,
            learning: false,
            nodes,
            keys: None,
            listeners: vec![ListenPlan {
                node: 0,
                port: PORT,
                backlog: 4096,
                config,
                from: Instant::ZERO,
                until: None,
                accepts_after: Duration::ZERO,
            }],
            flows: (1..=self.senders).map(|sender| flow(sender, config)).collect(),
            healed: NEVER,
        }
    }
}

/// More than a sender sends in a measurement.
fn flow(sender: usize, config: ConnConfig) -> FlowPlan {
    let script = |items| Script {
        items,
        writing: Writing { messages: false, piece: 65_536, more: false, flush: false },
        reading: Reading { how: ReadCall::Stream, piece: 65_536, rest: None },
        closing: Closing::HalfClose,
    };
    FlowPlan {
        client: sender,
        server: 0,
        port: PORT,
        listener: Some(0),
        local: None,
        // All at once, but for what a barrier leaves.
        start: Instant::from_nanos(sender as u64 * 1000),
        config,
        up: script(vec![Item { len: u32::MAX, gate: 0 }]),
        down: script(Vec::new()),
    }
}

#[cfg(test)]
mod tests;
