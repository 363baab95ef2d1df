//! Names resolved and numbers checked.

use toml::Spanned;

use super::schema::{BlockTable, File, MachineTable, MessageTable, Network, PathPart, Pattern};
use super::{GraphError, line_of};
use crate::graph::algebra;
use crate::graph::definition::{self, Graph, Node, Path};
use crate::graph::machine::Machine;
use crate::graph::pattern::{self, PatternKind};
use crate::unit::{Seconds, SecondsPerByte};

/// More processes than this make more messages than a reader of the answer wants.
const MOST_PROCESSES: u32 = 4096;

pub(super) struct Checker<'a> {
    pub(super) text: &'a str,
}

impl Checker<'_> {
    /// The graph that a file is.
    pub(super) fn graph(&self, file: &File) -> Result<Graph, GraphError> {
        if let Some(pattern) = &file.pattern {
            if let Some(message) = file.message.first() {
                let fix = "remove the messages or the pattern";
                return self.wrong(message, "a pattern has its messages already", fix);
            }
            let machine = self.machine(&file.machine)?;
            return Ok(Graph { machine, ..self.pattern(file, pattern)? });
        }
        let blocks = self.blocks(&file.block)?;
        if file.message.is_empty() {
            let line = self.text.lines().count().max(1);
            let (what, fix) = ("no messages".into(), "add a [[message]] or a [pattern]".into());
            return Err(GraphError { line, what, fix });
        }
        let mut messages = Vec::new();
        for message in &file.message {
            messages.push(self.message(message.as_ref(), &blocks, &messages)?);
        }
        let ordered = file.ordered || messages.iter().any(|message| !message.after.is_empty());
        let machine = self.machine(&file.machine)?;
        Ok(Graph { blocks, messages, primitive: file.primitive, ordered, machine })
    }

    /// Nodes, of whose processors nothing is said.
    fn machine(&self, table: &MachineTable) -> Result<Machine, GraphError> {
        let processes = table.processes.as_ref();
        if let Some(none) = processes.filter(|processes| *processes.get_ref() == 0) {
            return self.wrong(none, "nodes without processes", "1 or more, or leave it out");
        }
        let time = |name: &str, value: &Option<Spanned<f64>>| match value {
            Some(value) if !(*value.get_ref() >= 0.0 && value.get_ref().is_finite()) => {
                let what = format!("{name} = {} is no time", value.get_ref());
                self.wrong(value, what, "seconds, from 0 on")
            }
            Some(value) => Ok(Seconds::new(*value.get_ref())),
            None => Ok(Seconds::new(0.0)),
        };
        Ok(Machine {
            processes: processes.map(|processes| *processes.get_ref()),
            spin: time("spin", &table.spin)?,
            wake: time("wake", &table.wake)?,
            switch: time("switch", &table.switch)?,
            ..Machine::new(1)
        })
    }

    fn wrong<T, U>(
        &self,
        at: &Spanned<T>,
        what: impl Into<String>,
        fix: impl Into<String>,
    ) -> Result<U, GraphError> {
        let line = line_of(self.text, at.span().start);
        Err(GraphError { line, what: what.into(), fix: fix.into() })
    }

    fn blocks(&self, blocks: &[Spanned<BlockTable>]) -> Result<Vec<Node>, GraphError> {
        let mut nodes: Vec<Node> = Vec::new();
        for block in blocks.iter().map(Spanned::as_ref) {
            let symbol = block.name.get_ref().clone();
            let copies = match &block.copies {
                None => vec![symbol.clone()],
                Some(copies) => {
                    if !(1..=MOST_PROCESSES).contains(copies.get_ref()) {
                        let what = format!("{} copies of {symbol}", copies.get_ref());
                        return self.wrong(copies, what, format!("1 to {MOST_PROCESSES}"));
                    }
                    if block.processor.is_some() {
                        let what = format!("copies of {symbol} on one processor");
                        let fix = "leave `processor` out: each copy has its own";
                        return self.wrong(copies, what, fix);
                    }
                    (0..*copies.get_ref()).map(|n| format!("{symbol}{n}")).collect()
                }
            };
            for name in copies {
                if nodes.iter().any(|node| node.name == name) {
                    let what = format!("a second block {name:?}");
                    return self.wrong(&block.name, what, "give it another name");
                }
                // Its own, if nothing else is said.
                let processor = block.processor.clone().unwrap_or_else(|| format!("of {name}"));
                let equal = self.block(block)?;
                nodes.push(Node { name, symbol: symbol.clone(), block: equal, processor });
            }
        }
        Ok(nodes)
    }

    fn block(&self, block: &BlockTable) -> Result<algebra::Block, GraphError> {
        for (name, value) in [("a", &block.a), ("b", &block.b)] {
            if !(*value.get_ref() >= 0.0 && value.get_ref().is_finite()) {
                let what = format!("{name} = {} is no time", value.get_ref());
                return self.wrong(value, what, "seconds, or seconds a byte, from 0 on");
            }
        }
        let (fixed, byte) = (Seconds::new(*block.a.get_ref()), *block.b.get_ref());
        Ok(algebra::Block { fixed, byte: SecondsPerByte::new(byte) })
    }

    fn message(
        &self,
        message: &MessageTable,
        blocks: &[Node],
        before: &[definition::Message],
    ) -> Result<definition::Message, GraphError> {
        let name = message.name.get_ref().clone();
        if before.iter().any(|known| known.name == name) {
            let what = format!("a second message {name:?}");
            return self.wrong(&message.name, what, "give it another name");
        }
        if *message.to.get_ref() == message.from {
            let what = format!("{name} goes from {} to itself", message.from);
            return self.wrong(&message.to, what, "name another process");
        }
        let size = message.size.as_ref().map_or(1.0, |size| *size.get_ref());
        if let Some(at) = &message.size
            && !(size > 0.0 && size.is_finite())
        {
            return self.wrong(at, format!("{name} has the size {size}"), "a factor above 0");
        }
        if message.via.get_ref().is_empty() {
            let what = format!("{name} passes no block");
            return self.wrong(&message.via, what, "name at least one");
        }
        let mut via = Vec::new();
        for part in message.via.get_ref() {
            via.push(self.path_part(part, part.get_ref(), true, blocks)?);
        }
        let mut after = Vec::new();
        for wait in &message.after {
            let Some(at) = before.iter().position(|known| known.name == *wait.get_ref()) else {
                let what = format!("{name} waits for {:?}, which is not before it", wait.get_ref());
                return self.wrong(wait, what, "write the message that is waited for first");
            };
            if before[at].to != message.from {
                let what = format!(
                    "{name} waits for {}, which {} does not get",
                    before[at].name, message.from
                );
                return self.wrong(wait, what, format!("wait for a message to {}", message.from));
            }
            after.push(at);
        }
        let (from, to) = (message.from.clone(), message.to.get_ref().clone());
        Ok(definition::Message { name, from, to, size, via: Path::Serial(via), after })
    }

    /// A part of a path. In series, several are alternatives; among alternatives, a series.
    fn path_part(
        &self,
        place: &Spanned<PathPart>,
        part: &PathPart,
        in_series: bool,
        blocks: &[Node],
    ) -> Result<Path, GraphError> {
        match part {
            PathPart::Block(name) => {
                let Some(at) = blocks.iter().position(|node| node.name == *name) else {
                    let known: Vec<&str> = blocks.iter().map(|node| node.name.as_str()).collect();
                    let fix = match &known[..] {
                        [] => "add a [[block]]".into(),
                        names => format!("there are {}", names.join(", ")),
                    };
                    return self.wrong(place, format!("no block {name:?}"), fix);
                };
                Ok(Path::Block(at))
            }
            PathPart::Several(parts) if parts.is_empty() => {
                self.wrong(place, "alternatives without any", "name at least one block")
            }
            PathPart::Several(parts) => {
                let parts =
                    parts.iter().map(|part| self.path_part(place, part, !in_series, blocks));
                let parts = parts.collect::<Result<_, _>>()?;
                Ok(if in_series { Path::Parallel(parts) } else { Path::Serial(parts) })
            }
        }
    }

    /// A graph of section 3's patterns.
    fn pattern(&self, file: &File, pattern: &Spanned<Pattern>) -> Result<Graph, GraphError> {
        let named = |name: &str| {
            let mut all = file.block.iter().map(Spanned::as_ref);
            all.find(|block| block.name.get_ref() == name)
                .map(|block| self.block(block))
                .transpose()
        };
        let need = |name: &str| match named(name)? {
            Some(block) => Ok(block),
            None => self.wrong(
                pattern,
                format!("no block {name:?}"),
                "a pattern needs W and C, and may have L",
            ),
        };
        let delay = named("L")?.unwrap_or(algebra::NOTHING);
        let parts = pattern::Parts { workstation: need("W")?, network: need("C")?, delay };
        let Pattern { kind, processes, neighbours, network } = pattern.get_ref();
        let count = *processes.get_ref();
        if !(2..=MOST_PROCESSES).contains(&count) {
            return self.wrong(
                processes,
                format!("{count} processes"),
                format!("2 to {MOST_PROCESSES}"),
            );
        }
        let kind = match kind.get_ref().as_str() {
            "tree-broadcast" => PatternKind::TreeBroadcast,
            "flat-broadcast" => PatternKind::FlatBroadcast,
            "synchronisation" | "reduction" => PatternKind::Reduction,
            "pairs" => PatternKind::Pairs,
            "neighbours" => {
                let Some(number) = neighbours else {
                    return self.wrong(
                        kind,
                        "how many neighbours is not said",
                        "add `neighbours = 2`",
                    );
                };
                if !(1..count).contains(number.get_ref()) {
                    let what = format!("{} neighbours among {count} processes", number.get_ref());
                    return self.wrong(number, what, format!("1 to {}", count - 1));
                }
                PatternKind::Neighbours(*number.get_ref())
            }
            other => {
                let fix = "tree-broadcast, flat-broadcast, synchronisation, reduction, neighbours or pairs";
                return self.wrong(kind, format!("no pattern {other:?}"), fix);
            }
        };
        let is_shared = matches!(network, Network::Shared);
        Ok(parts.graph(kind, count, is_shared))
    }
}
