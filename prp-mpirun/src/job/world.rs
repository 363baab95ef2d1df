//! Ranks that are started together: those of the command line, and those that ranks spawn.

use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;

use nix::sys::signal::Signal;
use prp_mpi::control::program::{Program, SpawnRequest};
use prp_mpi::control::{Frame, Topic, environment};
use prp_mpi::process::ask::NUMBER;

use super::question::Question;
use super::{Job, Rank};
use crate::agent::LaunchRequest;
use crate::arguments::MOST_RANKS;

/// Name the files with the cluster's key and the node's. Ranks that did not know of them would
/// speak without a key.
const KEY_VARIABLES: [&str; 2] = ["PRP_KEY", "PRP_NODE_KEY"];

/// Ranks that were started together.
#[derive(Debug)]
pub(super) struct World {
    /// Their numbers.
    pub(super) ranks: Range<usize>,
    programs: Vec<Program>,
    /// The port of those that have spawned them.
    parent: Option<String>,
    /// Agents that have not started all of theirs.
    starting: usize,
    /// What is to be answered when all are started.
    question: Option<Question>,
    /// Why some of them were not started.
    failures: Vec<String>,
    /// Those that were started are ended, since others were not.
    is_cancelled: bool,
}

impl World {
    /// Ranks, none of which is started.
    pub(super) const fn new(ranks: Range<usize>, programs: Vec<Program>) -> Self {
        Self {
            ranks,
            programs,
            parent: None,
            starting: 0,
            question: None,
            failures: Vec::new(),
            is_cancelled: false,
        }
    }

    /// Whether the end of one of the ranks is of no further concern: what it was spawned for fails,
    /// and not the job.
    pub(super) fn takes_end(&mut self, how: &str) -> bool {
        if self.question.is_some() && how.starts_with("not started") {
            self.failures.push(how.to_owned());
            return true;
        }
        self.is_cancelled
    }
}

/// A variable with its value: that of `word`, or this process's, if it has one.
fn variable(word: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = word.as_bytes();
    let of = |bytes| OsStr::from_bytes(bytes).to_owned();
    match bytes.iter().position(|byte| *byte == b'=') {
        Some(at) => Some((of(&bytes[..at]), of(&bytes[at + 1..]))),
        None => Some((word.to_owned(), std::env::var_os(word)?)),
    }
}

/// Returns how many ranks there are at a time once these programs are started, too.
fn running_with(ranks: &[Rank], programs: &[Program]) -> usize {
    let running = ranks.iter().filter(|rank| !rank.has_ended).count();
    programs.iter().fold(running, |sum, program| sum.saturating_add(program.ranks))
}

impl Job<'_> {
    /// Has an agent start its ranks of a world.
    pub(super) fn start_on(&mut self, agent: usize, world: usize) {
        let order = self.order(agent, world).to_content();
        self.send(agent, &Frame::new(Topic::Start, 0, order));
    }

    fn order(&self, agent: usize, world: usize) -> LaunchRequest {
        let World { ranks, programs, parent, .. } = &self.worlds[world];
        let nodes = self.ranks[ranks.clone()].iter().map(|rank| rank.node.to_string());
        let nodes: Vec<_> = nodes.collect();
        let folder = std::env::current_dir().unwrap_or_default();
        // A node that was reached by ssh has none of our variables.
        let is_of_key = |name: &OsStr| KEY_VARIABLES.iter().any(|known| name == *known);
        let is_for_ranks =
            |name: &OsStr| name.as_bytes().starts_with(b"PRP_MPI_") || is_of_key(name);
        // A launcher that a spawned rank starts has spawned nothing.
        let ours = std::env::vars_os()
            .filter(|(name, _)| is_for_ranks(name) && name != environment::PARENT);
        let parent = parent.iter().map(|port| (environment::PARENT.into(), port.into()));
        let variables =
            ours.chain(self.arguments.variables.iter().filter_map(|word| variable(word)));
        LaunchRequest {
            node: agent,
            nodes: nodes.join(","),
            first: self.own.plus(ranks.start),
            folder,
            variables: variables.chain(parent).collect(),
            programs: programs.clone(),
        }
    }

    /// Starts what a rank asks for.
    pub(super) fn spawn(&mut self, agent: usize, frame: &Frame) {
        let question = Question::new(agent, frame);
        let request = frame.content.get(NUMBER..).and_then(SpawnRequest::from_content);
        let SpawnRequest { parent, programs } = request.unwrap_or_default();
        let nodes = match self.nodes_of(&programs) {
            Ok(nodes) => nodes,
            Err(text) => return self.answer(&question, Err(io::Error::other(text))),
        };
        let (world, first) = (self.worlds.len(), self.ranks.len());
        self.ranks.extend(nodes.iter().map(|&node| Rank { node, world, ..Rank::default() }));
        let agents: Vec<_> = (0..self.agents.len()).filter(|agent| nodes.contains(agent)).collect();
        self.worlds.push(World {
            parent: Some(parent),
            starting: agents.len(),
            question: Some(question),
            ..World::new(first..self.ranks.len(), programs)
        });
        agents.into_iter().for_each(|agent| self.start_on(agent, world));
    }

    /// The node of each rank that is to be spawned: in blocks, where programs do not say.
    fn nodes_of(&self, programs: &[Program]) -> Result<Vec<usize>, String> {
        if programs.iter().all(|program| program.ranks == 0) {
            return Err("no ranks to start".to_owned());
        }
        let total = running_with(&self.ranks, programs);
        if total > MOST_RANKS {
            return Err(format!("{total} ranks: a launcher has {MOST_RANKS} at most"));
        }
        if self.ending.has_begun() {
            return Err("the job ends".to_owned());
        }
        let agents = self.agents.len();
        let open: usize = programs.iter().filter(|p| p.node.is_empty()).map(|p| p.ranks).sum();
        let mut blocks = (0..agents).flat_map(|agent| {
            let ranks = open / agents + usize::from(agent < open % agents);
            std::iter::repeat_n(agent, ranks)
        });
        let mut nodes = Vec::new();
        for Program { node, ranks, .. } in programs {
            if node.is_empty() {
                nodes.extend(blocks.by_ref().take(*ranks));
                continue;
            }
            let name = |agent: usize| self.agents[agent].node.name.as_deref();
            let found = (0..agents).find(|&agent| name(agent).unwrap_or("localhost") == node);
            let found = found.ok_or_else(|| format!("the job has no node '{node}'"))?;
            nodes.extend(std::iter::repeat_n(found, *ranks));
        }
        Ok(nodes)
    }

    /// An agent has started its ranks of a world, as far as it could.
    pub(super) fn note_started(&mut self, world: usize) {
        let World { starting, question, failures, ranks, is_cancelled, .. } =
            &mut self.worlds[world];
        *starting = starting.saturating_sub(1);
        if *starting > 0 {
            return;
        }
        let Some(question) = question.take() else { return };
        if failures.is_empty() {
            return self.answer(&question, Ok(String::new()));
        }
        *is_cancelled = true;
        failures.dedup();
        let (text, first) = (failures.join("; "), ranks.start as u32);
        let signal = Signal::SIGKILL as usize;
        self.send_all(&Frame::new(Topic::Signal, signal, first.to_le_bytes()));
        self.answer(&question, Err(io::Error::other(text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_with__ranks_that_have_ended_make_room_for_others() {
        let rank = |has_ended| Rank { has_ended, ..Rank::default() };
        let ranks: Vec<_> = (0..MOST_RANKS).map(|number| rank(number > 0)).collect();
        let program = |ranks| Program { ranks, ..Program::default() };
        assert_eq!(running_with(&ranks, &[program(1), program(2)]), 4);
        assert_eq!(running_with(&ranks, &[program(usize::MAX)]), usize::MAX);
    }
}
