//! Section 3: communication patterns of parallel programs, for any number of processes.

use super::algebra::Block;
use super::definition::{Graph, Message, Node, Path, Primitive};
use super::machine::Machine;

/// A pattern of messages.
#[derive(Copy, Clone, Debug, Eq, PartialEq, PartialOrd)]
pub enum PatternKind {
    /// From process 0 down a binary tree; process i sends to 2i + 1 and then to 2i + 2.
    TreeBroadcast,
    /// Process 0 sends to each of the others, one after another.
    FlatBroadcast,
    /// Up the tree to process 0, which then sends to each of the others, one after another: a
    /// global operation, or a synchronisation where the messages are empty.
    Reduction,
    /// Every process sends to this number of neighbours at the same time.
    Neighbours(u32),
    /// Section 4's experiment: every process with an even number sends to the next one.
    Pairs,
}

/// A message of a pattern.
#[derive(Clone, Debug)]
pub(crate) struct PatternMessage {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Messages that its sender has to have received before.
    pub(crate) after: Vec<usize>,
}

impl PatternKind {
    /// Its messages among `processes`.
    pub(crate) fn messages(self, processes: u32) -> Vec<PatternMessage> {
        let message = |from, to| PatternMessage { from, to, after: Vec::new() };
        match self {
            // The message by which process n got it has number n - 1.
            Self::TreeBroadcast => (1..processes)
                .map(|to| (to, (to - 1) / 2))
                .map(|(to, from)| {
                    let after = from.checked_sub(1).map(|at| at as usize).into_iter().collect();
                    PatternMessage { from, to, after }
                })
                .collect(),
            Self::FlatBroadcast => (1..processes).map(|to| message(0, to)).collect(),
            Self::Reduction => reduction(processes),
            Self::Neighbours(number) => {
                // To alternate sides: 1, -1, 2, -2, ...
                let by = |n: u32| if n % 2 == 1 { processes - n / 2 - 1 } else { n / 2 + 1 };
                let to = |from: u32| (0..number).map(move |n| (from + by(n)) % processes);
                (0..processes).flat_map(|from| to(from).map(move |to| message(from, to))).collect()
            }
            Self::Pairs => {
                (0..processes - 1).step_by(2).map(|from| message(from, from + 1)).collect()
            }
        }
    }

    /// Whether there is such a pattern among `processes`.
    #[must_use]
    pub const fn suits(self, processes: u32) -> bool {
        match self {
            Self::Neighbours(number) => 0 < number && number < processes,
            Self::Pairs => processes > 1 && processes.is_multiple_of(2),
            _ => processes > 1,
        }
    }

    /// Whether messages wait for others; without an order all are sent at the same time.
    pub(crate) const fn is_ordered(self) -> bool {
        !matches!(self, Self::Neighbours(_) | Self::Pairs)
    }
}

/// Up the tree, and then from process 0 to all.
fn reduction(processes: u32) -> Vec<PatternMessage> {
    // Leaves first, so that a process that is waited for is written before the one that waits.
    let number = |from: u32| (processes - 1 - from) as usize;
    let children = |of: u32| [2 * of + 1, 2 * of + 2].into_iter().filter(|c| *c < processes);
    let waits = |of: u32| children(of).map(number).collect();
    let up = (1..processes).rev().map(|from| PatternMessage {
        from,
        to: (from - 1) / 2,
        after: waits(from),
    });
    let down = (1..processes).map(|to| PatternMessage { from: 0, to, after: waits(0) });
    up.chain(down).collect()
}

/// The blocks of a network of alike workstations.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Parts {
    /// CB_W: what sending a message takes, and what receiving one does.
    pub workstation: Block,
    /// CB_C: the network.
    pub network: Block,
    /// CB_L: the delay before a message is received.
    pub delay: Block,
}

impl Parts {
    /// The graph of a pattern among `processes`. The network is one block for all of them, or one
    /// for each receiver.
    #[must_use]
    pub fn graph(&self, kind: PatternKind, processes: u32, is_shared: bool) -> Graph {
        let mut builder = Builder {
            parts: *self,
            is_shared,
            // Neighbours send and receive at the same time: section 3.3 has a block for each.
            is_twofold: matches!(kind, PatternKind::Neighbours(_)),
            blocks: Vec::new(),
            messages: Vec::new(),
        };
        for (at, message) in kind.messages(processes).into_iter().enumerate() {
            let (from, to) = (message.from, message.to);
            let name = match kind {
                PatternKind::TreeBroadcast | PatternKind::FlatBroadcast => format!("m{to}"),
                PatternKind::Reduction if at + 1 < processes as usize => format!("up{from}"),
                PatternKind::Reduction => format!("down{to}"),
                PatternKind::Neighbours(_) => format!("m{from}-{to}"),
                PatternKind::Pairs => format!("m{from}"),
            };
            builder.send(name, message);
        }
        let ordered = kind.is_ordered();
        let Builder { blocks, messages, .. } = builder;
        let machine = Machine::new(1);
        Graph { blocks, messages, primitive: Primitive::NonPreemptive, ordered, machine }
    }
}

/// A graph that grows.
struct Builder {
    parts: Parts,
    is_shared: bool,
    is_twofold: bool,
    blocks: Vec<Node>,
    messages: Vec<Message>,
}

impl Builder {
    fn send(&mut self, name: String, PatternMessage { from, to, after }: PatternMessage) {
        let Parts { workstation, network, delay } = self.parts;
        let (sends, receives) = if self.is_twofold { ("send", "receive") } else { ("", "") };
        let sender = self.block(format!("W{from}{sends}"), "W", workstation);
        let link = if self.is_shared { "C".into() } else { format!("C{to}") };
        let link = self.block(link, "C", network);
        // Nothing else delays a message.
        let late = self.block(format!("L{}", self.messages.len()), "L", delay);
        let receiver = self.block(format!("W{to}{receives}"), "W", workstation);
        let via = Path::Serial([sender, link, late, receiver].map(Path::Block).into());
        let (from, to) = (from.to_string(), to.to_string());
        self.messages.push(Message { name, from, to, size: 1.0, via, after });
    }

    fn block(&mut self, name: String, symbol: &str, block: Block) -> usize {
        if let Some(at) = self.blocks.iter().position(|node| node.name == name) {
            return at;
        }
        let (symbol, processor) = (symbol.to_owned(), format!("of {name}"));
        self.blocks.push(Node { name, symbol, block, processor });
        self.blocks.len() - 1
    }
}

#[cfg(test)]
mod tests;
