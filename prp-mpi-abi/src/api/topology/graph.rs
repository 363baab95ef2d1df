//! Graphs that all ranks know.

use std::ffi::c_int;

use super::{Topology, put_all};
use crate::api::UNDEFINED;
use crate::api::communicator::with_topology;
use crate::api::environment::comm_of;
use crate::api::error::{Class, Failure, Outcome};
use crate::object::Handle;
use crate::sys::pointer::Ptr;

/// The neighbors of each rank, one list after the other.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    /// Where the list of each rank ends.
    ends: Vec<i32>,
    edges: Vec<i32>,
}

impl Graph {
    /// The neighbors of a rank.
    pub(super) fn of(&self, rank: usize) -> &[i32] {
        let start = rank.checked_sub(1).map_or(0, |r| self.ends[r]);
        &self.edges[start as usize..self.ends[rank] as usize]
    }
}

fn read(comm: Handle, nodes: c_int, ends: Ptr<c_int>, edges: Ptr<c_int>) -> Result<Graph, Failure> {
    let size = comm_of(comm)?.size();
    let Some(count) = usize::try_from(nodes).ok().filter(|&n| n <= size) else {
        let text = format!("a graph of {nodes} ranks does not fit {size}");
        return Err(Failure::new(Class::Arg, comm, text));
    };
    let ends = ends.list(count);
    let is_sorted = ends.is_sorted() && ends.first().is_none_or(|&e| e >= 0);
    let edges =
        if is_sorted { edges.list(ends.last().map_or(0, |&e| e as usize)) } else { vec![-1] };
    if !edges.iter().all(|e| (0..nodes).contains(e)) {
        return Err(Failure::new(Class::Arg, comm, "an edge to a rank that is not in the graph"));
    }
    Ok(Graph { ends, edges })
}

fn graph_of(comm: Handle) -> Result<Graph, Failure> {
    match &comm_of(comm)?.topology {
        Some(Topology::Graph(graph)) => Ok(graph.clone()),
        _ => Err(Failure::new(Class::Topology, comm, "no graph topology")),
    }
}

/// The ranks keep their order: which of them are near each other is for the launcher to arrange.
pub(crate) fn graph_create(
    comm: Handle,
    nodes: c_int,
    ends: Ptr<c_int>,
    edges: Ptr<c_int>,
    _reorder: c_int,
    new: Ptr<Handle>,
) -> Outcome {
    let graph = read(comm, nodes, ends, edges)?;
    let ranks = graph.ends.len();
    new.put(if ranks == 0 {
        Handle::COMM_NULL
    } else {
        with_topology(comm, ranks, Topology::Graph(graph))?
    });
    Ok(())
}

pub(crate) fn graph_map(
    comm: Handle,
    nodes: c_int,
    ends: Ptr<c_int>,
    edges: Ptr<c_int>,
    rank: Ptr<c_int>,
) -> Outcome {
    read(comm, nodes, ends, edges)?;
    let own = comm_of(comm)?.rank as c_int;
    rank.put(if own < nodes { own } else { UNDEFINED });
    Ok(())
}

pub(crate) fn graphdims_get(comm: Handle, nodes: Ptr<c_int>, edges: Ptr<c_int>) -> Outcome {
    let graph = graph_of(comm)?;
    nodes.put(graph.ends.len() as c_int);
    edges.put(graph.edges.len() as c_int);
    Ok(())
}

pub(crate) fn graph_get(
    comm: Handle,
    most_nodes: c_int,
    most_edges: c_int,
    ends: Ptr<c_int>,
    edges: Ptr<c_int>,
) -> Outcome {
    let graph = graph_of(comm)?;
    put_all(graph.ends, most_nodes, ends, comm)?;
    put_all(graph.edges, most_edges, edges, comm)
}

fn neighbors_of(comm: Handle, rank: c_int) -> Result<Vec<i32>, Failure> {
    let graph = graph_of(comm)?;
    match usize::try_from(rank).ok().filter(|&r| r < graph.ends.len()) {
        Some(rank) => Ok(graph.of(rank).to_vec()),
        None => Err(Failure::new(Class::Rank, comm, format!("no rank {rank} in the graph"))),
    }
}

pub(crate) fn graph_neighbors_count(comm: Handle, rank: c_int, count: Ptr<c_int>) -> Outcome {
    count.put(neighbors_of(comm, rank)?.len() as c_int);
    Ok(())
}

pub(crate) fn graph_neighbors(
    comm: Handle,
    rank: c_int,
    most: c_int,
    neighbors: Ptr<c_int>,
) -> Outcome {
    put_all(neighbors_of(comm, rank)?, most, neighbors, comm)
}
