//! Section 3: communication patterns of parallel programs, for any number of processes.

use super::algebra::Block;
use super::definition::{Graph, Message, Node, Path, Primitive};
use super::machine::Machine;

/// A pattern of messages.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
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
        match kind {
            PatternKind::TreeBroadcast => {
                for to in 1..processes {
                    let from = (to - 1) / 2;
                    // The message by which process n got it has number n - 1.
                    let after = from.checked_sub(1).map(|at| at as usize);
                    builder.send(format!("m{to}"), from, to, after.into_iter().collect());
                }
            }
            PatternKind::FlatBroadcast => {
                (1..processes).for_each(|to| builder.send(format!("m{to}"), 0, to, Vec::new()));
            }
            PatternKind::Reduction => builder.reduction(processes),
            PatternKind::Neighbours(number) => {
                for from in 0..processes {
                    for n in 0..number {
                        // To alternate sides: 1, -1, 2, -2, ...
                        let (far, is_left) = (n / 2 + 1, n % 2 == 1);
                        let by = if is_left { processes - far } else { far };
                        let to = (from + by) % processes;
                        builder.send(format!("m{from}-{to}"), from, to, Vec::new());
                    }
                }
            }
            PatternKind::Pairs => {
                for from in (0..processes - 1).step_by(2) {
                    builder.send(format!("m{from}"), from, from + 1, Vec::new());
                }
            }
        }
        let ordered = !matches!(kind, PatternKind::Neighbours(_) | PatternKind::Pairs);
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
    fn reduction(&mut self, processes: u32) {
        // Leaves first, so that a process that is waited for is written before the one that waits.
        let number = |from: u32| (processes - 1 - from) as usize;
        for from in (1..processes).rev() {
            let children = [2 * from + 1, 2 * from + 2].into_iter().filter(|c| *c < processes);
            let after = children.map(number).collect();
            self.send(format!("up{from}"), from, (from - 1) / 2, after);
        }
        let root: Vec<usize> = [1, 2].into_iter().filter(|c| *c < processes).map(number).collect();
        for to in 1..processes {
            self.send(format!("down{to}"), 0, to, root.clone());
        }
    }

    fn send(&mut self, name: String, from: u32, to: u32, after: Vec<usize>) {
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
