//! Graphs of which each rank knows its own edges.

use std::ffi::c_int;

use super::{Topology, put_all};
use crate::api::collective::{allgather_words, intra};
use crate::api::communicator::with_topology;
use crate::api::environment::comm_of;
use crate::api::error::{Class, Failure, Outcome, length};
use crate::object::Handle;
use crate::sys::pointer::Ptr;

/// The edges of a rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edges {
    pub(super) sources: Vec<i32>,
    pub(super) destinations: Vec<i32>,
    /// Weights of both, unless all are alike.
    weights: Option<[Vec<i32>; 2]>,
}

/// `MPI_UNWEIGHTED`: all edges are alike.
const UNWEIGHTED: usize = 10;
/// `MPI_WEIGHTS_EMPTY`: the weights of no edges.
const WEIGHTS_EMPTY: usize = 11;

fn list(from: Ptr<c_int>, count: usize) -> Vec<i32> {
    if from.address() == WEIGHTS_EMPTY { Vec::new() } else { from.list(count) }
}

fn is_weighted(weights: Ptr<c_int>) -> bool {
    weights.address() != UNWEIGHTED
}

fn check(comm: Handle, size: usize, ranks: &[i32]) -> Outcome {
    match ranks.iter().find(|r| !(0..size as i32).contains(r)) {
        Some(rank) => Err(Failure::new(Class::Rank, comm, format!("an edge to rank {rank}"))),
        None => Ok(()),
    }
}

fn check_weights<'a>(comm: Handle, weights: impl IntoIterator<Item = &'a i32>) -> Outcome {
    match weights.into_iter().find(|weight| **weight < 0) {
        Some(weight) => Err(Failure::new(Class::Arg, comm, format!("weight {weight} is negative"))),
        None => Ok(()),
    }
}

pub(crate) fn dist_graph_create_adjacent(
    comm: Handle,
    indegree: c_int,
    sources: Ptr<c_int>,
    source_weights: Ptr<c_int>,
    outdegree: c_int,
    destinations: Ptr<c_int>,
    destination_weights: Ptr<c_int>,
    _info: Handle,
    _reorder: c_int,
    new: Ptr<Handle>,
) -> Outcome {
    let size = intra(comm)?.size();
    let indegree = length(indegree, Class::Arg, comm)?;
    let outdegree = length(outdegree, Class::Arg, comm)?;
    let (sources, destinations) = (list(sources, indegree), list(destinations, outdegree));
    check(comm, size, &sources)?;
    check(comm, size, &destinations)?;
    let weights = (is_weighted(source_weights) && is_weighted(destination_weights))
        .then(|| [list(source_weights, indegree), list(destination_weights, outdegree)]);
    check_weights(comm, weights.iter().flatten().flatten())?;
    let edges = Edges { sources, destinations, weights };
    new.put(with_topology(comm, size, Topology::Distributed(edges))?);
    Ok(())
}

/// Each rank names edges of any ranks: all get to know all, and keep their own.
pub(crate) fn dist_graph_create(
    comm: Handle,
    nodes: c_int,
    sources: Ptr<c_int>,
    degrees: Ptr<c_int>,
    destinations: Ptr<c_int>,
    weights: Ptr<c_int>,
    _info: Handle,
    _reorder: c_int,
    new: Ptr<Handle>,
) -> Outcome {
    let of = intra(comm)?;
    let nodes = length(nodes, Class::Arg, comm)?;
    let (sources, degrees) = (list(sources, nodes), list(degrees, nodes));
    let degrees = degrees.into_iter().map(|degree| length(degree, Class::Arg, comm));
    let degrees = degrees.collect::<Result<Vec<_>, _>>()?;
    let total = degrees.iter().sum();
    let destinations = list(destinations, total);
    check(comm, of.size(), &sources)?;
    check(comm, of.size(), &destinations)?;
    let is_weighted = is_weighted(weights);
    let weights = if is_weighted { list(weights, total) } else { vec![1; total] };
    check_weights(comm, &weights)?;
    let from = sources.iter().zip(&degrees).flat_map(|(&s, &d)| vec![s; d]);
    let own: Vec<u64> = from
        .zip(&destinations)
        .zip(&weights)
        .flat_map(|((from, &to), &weight)| [from as u64, to as u64, weight as u64])
        .collect();
    let counts = allgather_words(&of, comm, &[total as u64, is_weighted.into()])?;
    let most = counts.chunks(2).map(|c| c[0]).max().unwrap_or(0) as usize;
    let mut padded = own;
    padded.resize(3 * most, 0);
    let all = allgather_words(&of, comm, &padded)?;
    let mut edges = Edges::default();
    let mut found = [Vec::new(), Vec::new()];
    let me = of.rank as i32;
    for (of_rank, count) in all.chunks((3 * most).max(1)).zip(counts.chunks(2)) {
        for edge in of_rank.chunks_exact(3).take(count[0] as usize) {
            let [from, to, weight] = [edge[0] as i32, edge[1] as i32, edge[2] as i32];
            if to == me {
                edges.sources.push(from);
                found[0].push(weight);
            }
            if from == me {
                edges.destinations.push(to);
                found[1].push(weight);
            }
        }
    }
    edges.weights = counts.chunks(2).all(|c| c[1] != 0).then_some(found);
    new.put(with_topology(comm, of.size(), Topology::Distributed(edges))?);
    Ok(())
}

fn edges_of(comm: Handle) -> Result<Edges, Failure> {
    match &comm_of(comm)?.topology {
        Some(Topology::Distributed(edges)) => Ok(edges.clone()),
        _ => Err(Failure::new(Class::Topology, comm, "no distributed graph topology")),
    }
}

pub(crate) fn dist_graph_neighbors_count(
    comm: Handle,
    indegree: Ptr<c_int>,
    outdegree: Ptr<c_int>,
    weighted: Ptr<c_int>,
) -> Outcome {
    let edges = edges_of(comm)?;
    indegree.put(edges.sources.len() as c_int);
    outdegree.put(edges.destinations.len() as c_int);
    weighted.put(edges.weights.is_some().into());
    Ok(())
}

pub(crate) fn dist_graph_neighbors(
    comm: Handle,
    most_in: c_int,
    sources: Ptr<c_int>,
    source_weights: Ptr<c_int>,
    most_out: c_int,
    destinations: Ptr<c_int>,
    destination_weights: Ptr<c_int>,
) -> Outcome {
    let edges = edges_of(comm)?;
    put_all(edges.sources, most_in, sources, comm)?;
    put_all(edges.destinations, most_out, destinations, comm)?;
    if let Some([of_sources, of_destinations]) = edges.weights {
        for (weights, most, to) in [
            (of_sources, most_in, source_weights),
            (of_destinations, most_out, destination_weights),
        ] {
            if is_weighted(to) && to.address() != WEIGHTS_EMPTY {
                put_all(weights, most, to, comm)?;
            }
        }
    }
    Ok(())
}
