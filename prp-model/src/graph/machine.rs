//! Processes that share the processors of a node.

use super::algebra::Block;
use super::definition::Graph;
use super::events::{Plan, steps};
use super::expression::Small;
use super::reduce::Reduction;
use super::schedule::{Rows, Timeline, small_schedule};
use crate::unit::{Bytes, Seconds, SecondsPerByte};

/// Nodes with some processors each, and what it takes to share those.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Machine {
    /// Processors of a node.
    pub processors: u32,
    /// Processes of a node, in the order of their names; `None`: all are on one.
    pub processes: Option<u32>,
    /// How long a process polls while it waits, with its processor, before it sleeps.
    pub spin: Seconds,
    /// w: from when a message has come until a process that has slept begins to receive it.
    pub wake: Seconds,
    /// c: a processor goes from one process to another.
    pub switch: Seconds,
}

/// What a graph is where processes share processors.
#[derive(Clone, Debug, PartialEq)]
pub struct Shared {
    /// The time from the first send until the last message is received, in both limits.
    pub whole: Block,
    /// Whether those add up: a processor that is shared does nothing else meanwhile.
    is_sum: bool,
    /// The schedule of small messages.
    pub timeline: Timeline,
    /// What its end is made of; `None` where a path is no plain row of independent blocks.
    pub small: Option<Small>,
    /// Processes that have slept before a send or a receive, at all of them.
    pub wakes: u32,
    /// Processors that went from one process to another.
    pub switches: u32,
}

impl Machine {
    /// One node of `processors`, where sharing them takes nothing but turns.
    #[must_use]
    pub const fn new(processors: u32) -> Self {
        let none = Seconds::new(0.0);
        Self { processors, processes: None, spin: none, wake: none, switch: none }
    }

    /// How many processes a node has at most.
    pub(super) fn of_node(&self) -> usize {
        self.processes.map_or(usize::MAX, |processes| processes.max(1) as usize)
    }

    /// Whether some of `processes` share a processor.
    pub(super) fn is_shared(&self, processes: usize) -> bool {
        processes.min(self.of_node()) > self.processors as usize
    }
}

impl Shared {
    /// The time where the graph is asked for `size`.
    #[must_use]
    pub fn time(&self, size: Bytes) -> Seconds {
        let Block { fixed, byte } = self.whole;
        let sum = fixed.number() + byte.number() * size.number();
        if self.is_sum { Seconds::new(sum) } else { self.whole.time(size) }
    }
}

impl Graph {
    /// What it is on `machine`, never less than by the rules alone (`reduction`, its
    /// [`Self::reduce`]), and exactly that with a processor for each process that never sleeps.
    ///
    /// ```
    /// use prp_model::graph::{Block, Machine, NOTHING, Parts, PatternKind};
    /// use prp_model::unit::{Bytes, Seconds, SecondsPerByte};
    ///
    /// let workstation = Block { fixed: Seconds::new(5e-6), byte: SecondsPerByte::new(1e-9) };
    /// let parts = Parts { workstation, network: NOTHING, delay: NOTHING };
    /// // Two pairs: four sends and receives of 5 us.
    /// let pairs = parts.graph(PatternKind::Pairs, 4, true);
    /// let micros = |processors| {
    ///     let shared = pairs.on(&Machine::new(processors), &pairs.reduce());
    ///     shared.time(Bytes::new(0.0)).micros()
    /// };
    /// assert!((micros(4) - 10.0).abs() < 1e-9);
    /// assert!((micros(1) - 20.0).abs() < 1e-9);
    /// ```
    #[must_use]
    pub fn on(&self, machine: &Machine, reduction: &Reduction) -> Shared {
        let rows = Rows::of(self, Some(machine));
        let (timeline, small, (wakes, switches)) = small_schedule(&rows);
        let rules = reduction.whole;
        let is_shared = machine.is_shared(rows.processes());
        let is_sum = is_shared || wakes > 0 && machine.wake > Seconds::new(0.0);
        let whole = if is_sum {
            let byte = if is_shared { self.shared_byte(&rows, machine, reduction) } else { 0.0 };
            Block {
                fixed: Seconds::new(timeline.end().max(rules.fixed.number())),
                byte: SecondsPerByte::new(byte.max(rules.byte.number())),
            }
        } else {
            rules
        };
        Shared { whole, is_sum, timeline, small, wakes, switches }
    }

    /// The time of a byte: a step takes no less than the work of its sends and receives at a node
    /// by the node's processors.
    fn shared_byte(&self, rows: &Rows<'_>, machine: &Machine, reduction: &Reduction) -> f64 {
        let count = self.messages.len();
        let steps = if self.ordered { steps(rows) } else { vec![1; count] };
        let nodes = rows.processes().div_ceil(machine.of_node());
        let last = steps.iter().copied().max().unwrap_or(0);
        let one = |step: u32| {
            let (mut slowest, mut work) = (0.0_f64, vec![0.0; nodes]);
            for message in (0..count).filter(|message| steps[*message] == step) {
                let (size, (from, to)) = (self.messages[message].size, rows.ends(message));
                slowest = slowest.max(reduction.messages[message].total.byte.number() * size);
                work[from / machine.of_node()] += size * rows.own(message, false).byte;
                work[to / machine.of_node()] += size * rows.own(message, true).byte;
            }
            let most = work.into_iter().fold(0.0, f64::max);
            slowest.max(most / f64::from(machine.processors.max(1)))
        };
        (1..=last).map(one).sum()
    }
}

#[cfg(test)]
mod tests;
