//! When messages that wait for each other are sent and received.
//!
//! Small messages: a process sends or receives one at a time, each for the fixed time of its own
//! block, and between the two a message is in flight, alone. Large messages: both ends are busy for
//! as long as a message takes, so that all go step by step.

use super::definition::{Graph, Message, Path};
use super::expression::Small;
use super::path::{Part, chain};

/// What a process does when.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// In the order in which it is begun.
    pub bars: Vec<Bar>,
}

/// A send or a receive.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The process that sends or receives.
    pub process: String,
    /// The message.
    pub message: String,
    /// Whether it is received; otherwise it is sent.
    pub is_receive: bool,
    /// From when, in seconds after the first send.
    pub from: f64,
    /// Until when.
    pub to: f64,
}

impl Timeline {
    /// When all is done.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.bars.iter().fold(0.0, |end, bar| end.max(bar.to))
    }
}

/// The step in which each message is sent, from 1 on: as soon as what it waits for has arrived, and
/// both of its ends are free. The message that is written first goes first.
pub(super) fn steps(graph: &Graph) -> Vec<u32> {
    let count = graph.messages.len();
    let mut steps = vec![0; count];
    let mut step = 0;
    while steps.contains(&0) {
        step += 1;
        let mut busy: Vec<&str> = Vec::new();
        for at in 0..count {
            let Message { from, to, after, .. } = &graph.messages[at];
            let has_come = |before: &usize| steps[*before] > 0 && steps[*before] < step;
            let is_free = |name: &str| !busy.contains(&name);
            if steps[at] == 0 && after.iter().all(has_come) && is_free(from) && is_free(to) {
                steps[at] = step;
                busy.extend([from.as_str(), to.as_str()]);
            }
        }
    }
    steps
}

/// What a message takes: at its sender, in transit, and at its receiver.
struct Legs([Leg; 3]);

/// A part of a message's path: its fixed time, and the blocks that time is made of.
#[derive(Clone, Debug, Default)]
struct Leg {
    time: f64,
    symbols: Vec<String>,
}

impl Legs {
    /// The first block is the sender's and the last one the receiver's, if there are two.
    fn of(graph: &Graph, path: &Path) -> Self {
        let parts = chain(graph, path, &|at| graph.blocks[at].block);
        let time = |parts: &[Part]| parts.iter().map(|part| part.block.fixed.number()).sum();
        let symbols = graph.symbols(path);
        let split = |from: usize, to: usize| Leg {
            time: time(&parts[from..to]),
            symbols: symbols.as_ref().map_or_else(Vec::new, |all| all[from..to].to_vec()),
        };
        let (first, last) = (1.min(parts.len()), parts.len().saturating_sub(1).max(1));
        let last = last.min(parts.len());
        Self([split(0, first), split(first, last), split(last, parts.len())])
    }
}

/// A send or a receive that can begin.
#[derive(Clone, Debug)]
struct Ready {
    at: usize,
    is_receive: bool,
    /// When.
    when: f64,
    /// What that time is made of.
    made_of: Small,
}

/// When a process is free again, and what that time is made of.
#[derive(Clone, Debug, Default)]
struct Free {
    when: f64,
    made_of: Small,
}

/// The schedule of small messages, and what the time until its end is made of: `None` where a path
/// is no plain row of independent blocks.
pub(super) fn small_schedule(graph: &Graph) -> (Timeline, Option<Small>) {
    let is_plain = graph.messages.iter().all(|message| graph.symbols(&message.via).is_some());
    let processes = graph.processes();
    let index = |name: &str| processes.iter().position(|process| *process == name).unwrap_or(0);
    let mut free = vec![Free::default(); processes.len()];
    let mut waits: Vec<usize> = graph.messages.iter().map(|message| message.after.len()).collect();
    let mut ready: Vec<Ready> = (0..waits.len())
        .filter(|at| waits[*at] == 0)
        .map(|at| Ready { at, is_receive: false, when: 0.0, made_of: Small::default() })
        .collect();
    let (mut bars, mut last) = (Vec::new(), Free::default());
    // What can begin first begins first; of several the one that is written first.
    let begins = |event: &Ready, free: &[Free]| {
        let message = &graph.messages[event.at];
        let process = index(if event.is_receive { &message.to } else { &message.from });
        (process, event.when.max(free[process].when))
    };
    while let Some(next) = (0..ready.len()).min_by(|l, r| {
        let order = |at: &usize| (begins(&ready[*at], &free).1, ready[*at].when, ready[*at].at);
        order(l).partial_cmp(&order(r)).unwrap_or(std::cmp::Ordering::Equal)
    }) {
        let event = ready.swap_remove(next);
        let (process, from) = begins(&event, &free);
        let message = &graph.messages[event.at];
        let waited = free[process].when > event.when;
        let begun = if waited { free[process].made_of.clone() } else { event.made_of.clone() };
        let Legs([send, between, receive]) = Legs::of(graph, &message.via);
        let own = if event.is_receive { receive } else { send };
        let (to, made_of) = own.pass(from, begun);
        bars.push(Bar {
            process: processes[process].to_owned(),
            message: message.name.clone(),
            is_receive: event.is_receive,
            from,
            to,
        });
        free[process] = Free { when: to, made_of: made_of.clone() };
        if !event.is_receive {
            let (when, made_of) = between.pass(to, made_of);
            ready.push(Ready { is_receive: true, when, made_of, ..event });
            continue;
        }
        if to >= last.when {
            last = Free { when: to, made_of: made_of.clone() };
        }
        for (at, waiting) in graph.messages.iter().enumerate() {
            if waiting.after.contains(&event.at) {
                waits[at] -= 1;
                if waits[at] == 0 {
                    let made_of = made_of.clone();
                    ready.push(Ready { at, is_receive: false, when: to, made_of });
                }
            }
        }
    }
    (Timeline { bars }, is_plain.then_some(last.made_of))
}

impl Leg {
    /// When a message is through, and what that time is made of.
    fn pass(&self, from: f64, made_of: Small) -> (f64, Small) {
        let made_of = self.symbols.iter().fold(made_of, |made_of, symbol| made_of.and(symbol));
        (from + self.time, made_of)
    }
}
