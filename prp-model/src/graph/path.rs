//! A message's path reduced: first to blocks in series that work independently of each other, then
//! to one.

use super::algebra::{Block, Dependence, NOTHING, parallel, serial};
use super::definition::{Graph, Path};

/// A part of a path as one block, and the processors it takes.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) block: Block,
    processors: Vec<String>,
}

/// Reduces `path` to independent parts in series, in its order; `as_seen` gives each block as the
/// message sees it (rule 3).
pub(super) fn chain(graph: &Graph, path: &Path, as_seen: &dyn Fn(usize) -> Block) -> Vec<Part> {
    match path {
        Path::Serial(parts) => {
            let parts: Vec<Part> = parts.iter().map(|p| reduce(graph, p, as_seen)).collect();
            groups(parts).into_iter().map(|group| joined(&group, dependent_serial)).collect()
        }
        other => vec![reduce(graph, other, as_seen)],
    }
}

/// The block that a chain is.
pub(super) fn whole(chain: &[Part]) -> Block {
    let blocks: Vec<Block> = chain.iter().map(|part| part.block).collect();
    serial(&blocks, Dependence::Independent)
}

fn reduce(graph: &Graph, path: &Path, as_seen: &dyn Fn(usize) -> Block) -> Part {
    match path {
        Path::Block(at) => {
            let processors = vec![graph.blocks[*at].processor.clone()];
            Part { block: as_seen(*at), processors }
        }
        Path::Serial(_) => {
            let parts = chain(graph, path, as_seen);
            let block = whole(&parts);
            joined(&parts, |_| block)
        }
        Path::Parallel(branches) => {
            let parts: Vec<Part> = branches.iter().map(|p| reduce(graph, p, as_seen)).collect();
            let groups: Vec<Part> =
                groups(parts).iter().map(|group| joined(group, dependent_parallel)).collect();
            let blocks: Vec<Block> = groups.iter().map(|part| part.block).collect();
            let block = parallel(&blocks, Dependence::Independent).unwrap_or(NOTHING);
            joined(&groups, |_| block)
        }
    }
}

fn dependent_serial(blocks: &[Block]) -> Block {
    serial(blocks, Dependence::Dependent)
}

fn dependent_parallel(blocks: &[Block]) -> Block {
    parallel(blocks, Dependence::Dependent).unwrap_or(NOTHING)
}

fn joined(parts: &[Part], block: impl Fn(&[Block]) -> Block) -> Part {
    let blocks: Vec<Block> = parts.iter().map(|part| part.block).collect();
    let processors = parts.iter().flat_map(|part| part.processors.clone()).collect();
    Part { block: block(&blocks), processors }
}

/// Parts that share processors, directly or through others, each in the place of its first one.
fn groups(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut groups: Vec<Vec<Part>> = Vec::new();
    for part in parts {
        let shares = |group: &Vec<Part>| {
            let of_group = group.iter().flat_map(|part| &part.processors);
            of_group.clone().any(|processor| part.processors.contains(processor))
        };
        let (with, without): (Vec<_>, Vec<_>) =
            groups.into_iter().enumerate().partition(|(_, g)| shares(g));
        let place = with.first().map_or(usize::MAX, |(at, _)| *at);
        let mut group: Vec<Part> = with.into_iter().flat_map(|(_, group)| group).collect();
        group.push(part);
        groups = without.into_iter().map(|(_, group)| group).collect();
        groups.insert(place.min(groups.len()), group);
    }
    groups
}
