//! When messages that wait for each other are sent and received.
//!
//! Small messages: a process sends or receives one at a time, each for the fixed time of its own
//! block, and between the two a message is in flight, alone. Large messages: both ends are busy for
//! as long as a message takes, so that all go step by step.

use super::definition::{Graph, Path};
use super::events::{Part as TimePart, Plan, Step, schedule};
use super::expression::Small;
use super::machine::Machine;
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

/// A graph's messages with what each takes: at its sender, at blocks in transit, and at its
/// receiver.
pub(super) struct Rows<'a> {
    graph: &'a Graph,
    /// By name, numbers as numbers: the order in which they are put on nodes.
    processes: Vec<&'a str>,
    ends: Vec<(usize, usize)>,
    legs: Vec<Legs>,
    machine: Option<&'a Machine>,
}

/// The parts of a message's path.
struct Legs {
    send: Leg,
    between: Vec<Leg>,
    receive: Leg,
}

/// A part of a message's path: its fixed time, and the blocks that time is made of.
#[derive(Clone, Debug, Default)]
pub(super) struct Leg {
    pub(super) time: f64,
    /// The time of a byte.
    pub(super) byte: f64,
    /// The block's name in formulas, and the block, if it is one.
    symbol: Option<String>,
    block: Option<usize>,
}

impl Legs {
    /// The first block is the sender's and the last one the receiver's, if there are two.
    fn of(graph: &Graph, path: &Path) -> Self {
        let parts = chain(graph, path, &|at| graph.blocks[at].block);
        let blocks = graph.plain(path);
        let leg = |(at, part): (usize, &Part)| {
            let block = blocks.as_ref().map(|blocks| blocks[at]);
            Leg {
                time: part.block.fixed.number(),
                byte: part.block.byte.number(),
                symbol: block.map(|block| graph.blocks[block].symbol.clone()),
                block,
            }
        };
        let mut legs: Vec<Leg> = parts.iter().enumerate().map(leg).collect();
        let receive = if legs.len() > 1 { legs.pop() } else { None };
        let mut legs = legs.into_iter();
        Self {
            send: legs.next().unwrap_or_default(),
            between: legs.collect(),
            receive: receive.unwrap_or_default(),
        }
    }
}

impl<'a> Rows<'a> {
    pub(super) fn of(graph: &'a Graph, machine: Option<&'a Machine>) -> Self {
        let mut processes = graph.processes();
        processes.sort_by_key(|name| (name.parse().unwrap_or(u32::MAX), *name));
        let index = |name: &str| processes.iter().position(|process| *process == name).unwrap_or(0);
        let messages = graph.messages.iter();
        let ends = messages.clone().map(|m| (index(&m.from), index(&m.to))).collect();
        let legs = messages.map(|message| Legs::of(graph, &message.via)).collect();
        Self { graph, processes, ends, legs, machine }
    }

    /// What a message takes at its sender, or at its receiver.
    pub(super) fn own(&self, message: usize, is_receive: bool) -> &Leg {
        let legs = &self.legs[message];
        if is_receive { &legs.receive } else { &legs.send }
    }

    fn leg(&self, part: TimePart) -> Option<&Leg> {
        match part {
            TimePart::Send(message) => Some(self.own(message, false)),
            TimePart::Receive(message) => Some(self.own(message, true)),
            TimePart::Link(message, link) => Some(&self.legs[message].between[link]),
            TimePart::Wake | TimePart::Switch => None,
        }
    }
}

impl Plan for Rows<'_> {
    type Made = Small;

    fn messages(&self) -> usize {
        self.ends.len()
    }

    fn processes(&self) -> usize {
        self.processes.len()
    }

    fn ends(&self, message: usize) -> (usize, usize) {
        self.ends[message]
    }

    fn after(&self, message: usize) -> &[usize] {
        &self.graph.messages[message].after
    }

    fn links(&self, message: usize) -> usize {
        self.legs[message].between.len()
    }

    fn block(&self, message: usize, link: usize) -> Option<usize> {
        self.legs[message].between[link].block
    }

    fn time(&self, part: TimePart) -> f64 {
        match (part, self.leg(part), self.machine) {
            (_, Some(leg), _) => leg.time,
            (TimePart::Wake, _, Some(machine)) => machine.wake.number(),
            (_, _, Some(machine)) => machine.switch.number(),
            _ => 0.0,
        }
    }

    fn add(&self, made_of: &mut Small, part: TimePart) {
        match (part, self.leg(part)) {
            (_, Some(leg)) => leg.symbol.iter().for_each(|s| made_of.add(format!("a_{s}"))),
            (TimePart::Wake, None) => made_of.add("w".into()),
            (_, None) => made_of.add("c".into()),
        }
    }
}

/// The schedule of small messages, and what the time until its end is made of: `None` where a path
/// is no plain row of independent blocks; how many wake-ups and changes of processors it has.
pub(super) fn small_schedule(rows: &Rows<'_>) -> (Timeline, Option<Small>, (u32, u32)) {
    let graph = rows.graph;
    let is_plain = graph.messages.iter().all(|message| graph.plain(&message.via).is_some());
    let (mut bars, mut wakes, mut switches) = (Vec::new(), 0, 0);
    let last = schedule(rows, rows.machine, &mut |action| {
        let (from, to) = rows.ends[action.message];
        wakes += u32::from(action.has_slept);
        switches += u32::from(action.is_switch);
        let is_receive = match action.step {
            Step::Send => false,
            Step::Receive => true,
            Step::Wait => return,
        };
        let process = rows.processes[if is_receive { to } else { from }];
        bars.push(Bar {
            process: process.to_owned(),
            message: graph.messages[action.message].name.clone(),
            is_receive,
            from: action.from,
            to: action.to,
        });
    });
    (Timeline { bars }, is_plain.then_some(last.made_of), (wakes, switches))
}
