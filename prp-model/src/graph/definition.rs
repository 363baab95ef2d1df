//! Communication graphs: processes, the messages between them, and the blocks that these pass.

use serde::Deserialize;

use super::algebra::Block;
use super::machine::Machine;

/// A graph whose names are resolved and whose parts fit together ([`Graph::parse`](Graph::parse)).
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub(super) blocks: Vec<Node>,
    pub(super) messages: Vec<Message>,
    /// Whether calls to send and to receive return before the message is through.
    pub(super) primitive: Primitive,
    /// Whether a process sends and receives one message at a time, and some wait for others.
    /// Otherwise all are sent at the same time.
    pub(super) ordered: bool,
    /// What it takes to share processors; of how many there are nothing is said.
    pub(super) machine: Machine,
}

/// A block of a graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) name: String,
    /// Its name in formulas: blocks that are alike share one.
    pub(super) symbol: String,
    pub(super) block: Block,
    /// What it runs on; blocks of one processor are dependent.
    pub(super) processor: String,
}

/// A message of a graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Message {
    pub(super) name: String,
    pub(super) from: String,
    pub(super) to: String,
    /// Its size by the size that times are asked for.
    pub(super) size: f64,
    pub(super) via: Path,
    /// Messages that its sender has to have received before.
    pub(super) after: Vec<usize>,
}

/// How a message goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Path {
    /// Through this block.
    Block(usize),
    /// Through all of these, one after the other.
    Serial(Vec<Self>),
    /// Each packet through one of these.
    Parallel(Vec<Self>),
}

/// What calls to send and to receive wait for (section 2.5).
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Primitive {
    /// The caller goes on while the message is in flight, and is interrupted for each packet.
    Preemptive,
    /// The caller waits until the last packet is through.
    #[default]
    NonPreemptive,
}

impl Graph {
    /// Its nodes, each with a number of processors.
    #[must_use]
    pub fn machine(&self, processors: u32) -> Machine {
        Machine { processors, ..self.machine }
    }

    /// The names of its processes, in the order in which they send first or receive first.
    #[must_use]
    pub fn processes(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        let ends = self.messages.iter().flat_map(|message| [&message.from, &message.to]);
        for name in ends {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        all
    }
}

impl Path {
    /// Calls `each` with every block on the path.
    pub(super) fn for_each(&self, each: &mut dyn FnMut(usize)) {
        match self {
            Self::Block(at) => each(*at),
            Self::Serial(parts) | Self::Parallel(parts) => {
                parts.iter().for_each(|part| part.for_each(each));
            }
        }
    }
}
