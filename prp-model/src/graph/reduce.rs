//! Rule 4: what a graph is to each of its messages, and to all of them together.

use super::algebra::{Block, concurrent};
use super::definition::{Graph, Message, Primitive};
use super::events::steps;
use super::expression::{Large, Small};
use super::path::{Part, chain, whole};
use super::schedule::{Rows, Timeline, small_schedule};
use crate::unit::{Bytes, Seconds, SecondsPerByte};

/// A graph reduced.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduction {
    /// What it is to each message, in the order of the graph.
    pub messages: Vec<Reduced>,
    /// What it is to all of them: the time from the first send until the last is received.
    pub whole: Block,
    /// How that comes about, where messages have an order.
    pub order: Option<Order>,
}

/// What a graph is to one message.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// Its name.
    pub name: String,
    /// Its size by the size that times are asked for.
    pub size: f64,
    /// The step in which it is sent, from 1 on, where the graph has an order.
    pub step: Option<u32>,
    /// The total communication time T_c.
    pub total: Block,
    /// The sending time T_s.
    pub sending: Block,
    /// The receiving time T_r: at least the first, at most the second.
    pub receiving: (Block, Block),
}

/// How the time until the last message is received comes about.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    /// The fixed time by blocks; `None` where a path is no plain row of independent blocks.
    pub small: Option<Small>,
    /// The time of a byte by steps; `None` likewise.
    pub large: Option<Large>,
    /// When small messages are sent and received.
    pub timeline: Timeline,
}

impl Reduced {
    /// The total communication time where graphs are asked for `size`.
    #[must_use]
    pub fn time(&self, size: Bytes) -> Seconds {
        self.total.time(Bytes::new(self.size * size.number()))
    }
}

impl Graph {
    /// Reduces it by the rules.
    ///
    /// Messages without an order are sent at the same time (rule 3). With one, those of a step are:
    /// sends and receives of a process exclude each other, so that with messages of one size all go
    /// step by step. For small messages the network is taken to be free, as section 3 does it.
    #[must_use]
    pub fn reduce(&self) -> Reduction {
        let steps = if self.ordered { Some(steps(&Rows::of(self, None))) } else { None };
        let step = |at: usize| steps.as_ref().map(|steps| steps[at]);
        let chains: Vec<Vec<Part>> = (0..self.messages.len())
            .map(|at| {
                let beside = |other: &usize| step(*other) == step(at);
                let all: Vec<usize> = (0..self.messages.len()).filter(beside).collect();
                chain(self, &self.messages[at].via, &|block| self.as_seen(block, at, &all))
            })
            .collect();
        let messages: Vec<Reduced> = self
            .messages
            .iter()
            .zip(&chains)
            .enumerate()
            .map(|(at, (message, chain))| {
                let (sending, receiving) = self.ends(chain);
                let (name, size, step) = (message.name.clone(), message.size, step(at));
                Reduced { name, size, step, total: whole(chain), sending, receiving }
            })
            .collect();
        match steps {
            Some(steps) => {
                let (whole, order) = self.in_order(&messages, &steps);
                Reduction { messages, whole, order: Some(order) }
            }
            None => Reduction { whole: slowest(&messages), messages, order: None },
        }
    }

    /// The time for which the busiest block is busy with small messages, one after the other: they
    /// cannot all be through before.
    ///
    /// For messages with an order [`Self::reduce`] takes each block to be free when a small message
    /// comes, as section 3 does. That is too little where all messages need one thing: processes
    /// that share the processors of one machine.
    #[must_use]
    pub fn least_fixed(&self) -> Seconds {
        let busy = |block: usize| {
            let count = self.messages.iter().filter(|message| passes(message, block)).count();
            self.blocks[block].block.fixed.number() * count as f64
        };
        Seconds::new((0..self.blocks.len()).map(busy).fold(0.0, f64::max))
    }

    /// A block as message `at` sees it among the messages `all` of its step.
    fn as_seen(&self, block: usize, at: usize, all: &[usize]) -> Block {
        let (mut count, mut size) = (0, 0.0);
        for other in all {
            if passes(&self.messages[*other], block) {
                count += 1;
                size += self.messages[*other].size;
            }
        }
        concurrent(self.blocks[block].block, count, size / self.messages[at].size)
    }

    /// Sending and receiving time by figure 8: both begin as their own block, and how they go on
    /// for large messages depends on what the calls wait for.
    fn ends(&self, chain: &[Part]) -> (Block, (Block, Block)) {
        let total = whole(chain);
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
            return (total, (total, total));
        };
        let (first, last) = (first.block, last.block);
        match self.primitive {
            Primitive::Preemptive => (first, (last, last)),
            Primitive::NonPreemptive => {
                let through = |end: Block| Block { fixed: end.fixed, byte: total.byte };
                (through(first), (last, through(last)))
            }
        }
    }

    fn in_order(&self, messages: &[Reduced], steps: &[u32]) -> (Block, Order) {
        let (timeline, small, _) = small_schedule(&Rows::of(self, None));
        let last = steps.iter().copied().max().unwrap_or(0);
        let in_step = |step: u32| (0..messages.len()).filter(move |at| steps[*at] == step);
        // A step is over when its slowest message is through.
        let slowest = |step: u32| {
            let cost = |at: usize| messages[at].total.byte.number() * messages[at].size;
            in_step(step).map(cost).fold(0.0, f64::max)
        };
        let byte = (1..=last).map(slowest).sum();
        let fixed = Seconds::new(timeline.end());
        let large = (1..=last).map(|step| self.loads(&in_step(step).collect::<Vec<_>>()));
        let large = large.collect::<Option<Vec<_>>>().map(Large::of);
        let whole = Block { fixed, byte: SecondsPerByte::new(byte) };
        (whole, Order { small, large, timeline })
    }
}

/// Whether a message passes a block.
fn passes(message: &Message, block: usize) -> bool {
    let mut is_used = false;
    message.via.for_each(&mut |used| is_used |= used == block);
    is_used
}

/// Until all of some messages are through that are sent at the same time.
fn slowest(messages: &[Reduced]) -> Block {
    let most = |of: fn(&Reduced) -> f64| messages.iter().map(of).fold(0.0, f64::max);
    let fixed = Seconds::new(most(|message| message.total.fixed.number()));
    let byte = SecondsPerByte::new(most(|message| message.total.byte.number() * message.size));
    Block { fixed, byte }
}

#[cfg(test)]
mod tests;
