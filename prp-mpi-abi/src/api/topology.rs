//! Topologies of communicators: grids here, graphs in the modules below.

mod dimensions;
mod distributed;
mod graph;

use std::ffi::c_int;

pub(crate) use self::dimensions::*;
pub(crate) use self::distributed::*;
pub(crate) use self::graph::*;
use super::communicator::{sub_grid, with_topology};
use super::environment::comm_of;
use super::error::{Class, Failure, Outcome, fail, length};
use super::{PROC_NULL, UNDEFINED};
use crate::object::Handle;
use crate::sys::pointer::Ptr;

/// Which ranks of a communicator are neighbors.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    /// The places of a grid.
    Cartesian(Grid),
    /// A graph that all ranks know.
    Graph(Graph),
    /// A graph of which each rank knows its own edges.
    Distributed(Edges),
}

/// A Cartesian topology.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    dims: Vec<i32>,
    periods: Vec<bool>,
}

/// The neighbors of a rank, each as often as there are edges to it; `MPI_PROC_NULL` beyond the edge
/// of a grid.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Neighbors {
    /// Those that send.
    pub(crate) sources: Vec<i32>,
    /// Those that receive.
    pub(crate) destinations: Vec<i32>,
    /// Places of the destinations in the order in which they are sent to: where there are several
    /// edges to a rank, that of its sources.
    pub(crate) order: Vec<usize>,
}

impl Topology {
    /// The neighbors of a rank.
    pub(crate) fn neighbors(&self, rank: usize) -> Neighbors {
        match self {
            Self::Cartesian(grid) => grid.neighbors(rank),
            Self::Graph(graph) => {
                let all = graph.of(rank).to_vec();
                let order = (0..all.len()).collect();
                Neighbors { sources: all.clone(), destinations: all, order }
            }
            Self::Distributed(edges) => Neighbors {
                sources: edges.sources.clone(),
                destinations: edges.destinations.clone(),
                order: (0..edges.destinations.len()).collect(),
            },
        }
    }
}

fn grid_of(comm: Handle) -> Result<Grid, Failure> {
    match &comm_of(comm)?.topology {
        Some(Topology::Cartesian(grid)) => Ok(grid.clone()),
        _ => Err(Failure::new(Class::Topology, comm, "no Cartesian topology")),
    }
}

impl Grid {
    /// In each dimension the rank before, and then that behind. What goes to the one comes from the
    /// other there, also where both are the same rank: so of the two the later is sent to first.
    fn neighbors(&self, rank: usize) -> Neighbors {
        let own = self.coordinates(rank);
        let mut all = Vec::new();
        for dimension in 0..own.len() {
            for by in [-1, 1] {
                let mut at = own.clone();
                at[dimension] += by;
                all.push(self.rank(&at).unwrap_or(PROC_NULL));
            }
        }
        let order = (0..all.len()).map(|i| i ^ 1).collect();
        Neighbors { sources: all.clone(), destinations: all, order }
    }

    fn coordinates(&self, mut rank: usize) -> Vec<i32> {
        let mut coordinates = vec![0; self.dims.len()];
        for (coordinate, &dim) in coordinates.iter_mut().zip(&self.dims).rev() {
            *coordinate = (rank % dim as usize) as i32;
            rank /= dim as usize;
        }
        coordinates
    }

    /// The rank at these coordinates; none outside of the grid.
    fn rank(&self, coordinates: &[i32]) -> Option<i32> {
        let mut rank = 0;
        for ((&at, &dim), &periodic) in coordinates.iter().zip(&self.dims).zip(&self.periods) {
            if !periodic && !(0..dim).contains(&at) {
                return None;
            }
            rank = rank * dim + at.rem_euclid(dim);
        }
        Some(rank)
    }
}

fn read_grid(
    comm: Handle,
    ndims: c_int,
    dims: Ptr<c_int>,
    periods: Ptr<c_int>,
) -> Result<Grid, Failure> {
    let Ok(count) = usize::try_from(ndims) else {
        return fail(Class::Dims, "a negative number of dimensions");
    };
    let dims = dims.list(count);
    let size = comm_of(comm)?.size() as i64;
    let times = |n: i64, &d: &i32| (d > 0).then(|| n * i64::from(d)).filter(|n| *n <= size);
    if dims.iter().try_fold(1, times).is_none() {
        let text = format!("a grid of {dims:?} does not fit {size} ranks");
        return Err(Failure::new(Class::Dims, comm, text));
    }
    Ok(Grid { dims, periods: periods.list(count).into_iter().map(|p| p != 0).collect() })
}

pub(crate) fn cart_create(
    comm: Handle,
    ndims: c_int,
    dims: Ptr<c_int>,
    periods: Ptr<c_int>,
    _reorder: c_int,
    new: Ptr<Handle>,
) -> Outcome {
    let grid = read_grid(comm, ndims, dims, periods)?;
    let ranks = grid.dims.iter().product::<i32>() as usize;
    new.put(with_topology(comm, ranks, Topology::Cartesian(grid))?);
    Ok(())
}

pub(crate) fn cart_map(
    comm: Handle,
    ndims: c_int,
    dims: Ptr<c_int>,
    periods: Ptr<c_int>,
    rank: Ptr<c_int>,
) -> Outcome {
    let grid = read_grid(comm, ndims, dims, periods)?;
    let own = comm_of(comm)?.rank as c_int;
    rank.put(if own < grid.dims.iter().product() { own } else { UNDEFINED });
    Ok(())
}

pub(crate) fn cartdim_get(comm: Handle, ndims: Ptr<c_int>) -> Outcome {
    ndims.put(grid_of(comm)?.dims.len() as c_int);
    Ok(())
}

/// As many of the values as the list has room for.
fn put_all(
    values: impl IntoIterator<Item = i32>,
    most: c_int,
    to: Ptr<c_int>,
    comm: Handle,
) -> Outcome {
    let room = length(most, Class::Arg, comm)?;
    for (i, value) in values.into_iter().take(room).enumerate() {
        to.set(i, value);
    }
    Ok(())
}

pub(crate) fn cart_get(
    comm: Handle,
    most: c_int,
    dims: Ptr<c_int>,
    periods: Ptr<c_int>,
    coordinates: Ptr<c_int>,
) -> Outcome {
    let grid = grid_of(comm)?;
    put_all(grid.coordinates(comm_of(comm)?.rank), most, coordinates, comm)?;
    put_all(grid.periods.iter().map(|&p| p.into()), most, periods, comm)?;
    put_all(grid.dims, most, dims, comm)
}

pub(crate) fn cart_coords(
    comm: Handle,
    rank: c_int,
    most: c_int,
    coordinates: Ptr<c_int>,
) -> Outcome {
    let size = comm_of(comm)?.size();
    match usize::try_from(rank).ok().filter(|&r| r < size) {
        Some(rank) => put_all(grid_of(comm)?.coordinates(rank), most, coordinates, comm),
        None => Err(Failure::new(Class::Rank, comm, format!("no rank {rank}"))),
    }
}

pub(crate) fn cart_rank(comm: Handle, coordinates: Ptr<c_int>, rank: Ptr<c_int>) -> Outcome {
    let grid = grid_of(comm)?;
    match grid.rank(&coordinates.list(grid.dims.len())) {
        Some(found) => rank.put(found),
        None => return Err(Failure::new(Class::Arg, comm, "coordinates outside of the grid")),
    }
    Ok(())
}

pub(crate) fn cart_shift(
    comm: Handle,
    direction: c_int,
    by: c_int,
    source: Ptr<c_int>,
    destination: Ptr<c_int>,
) -> Outcome {
    let grid = grid_of(comm)?;
    let own = grid.coordinates(comm_of(comm)?.rank);
    let Some(direction) = usize::try_from(direction).ok().filter(|&d| d < own.len()) else {
        return Err(Failure::new(Class::Arg, comm, "no such dimension"));
    };
    let moved = |by: i64| {
        let mut at = own.clone();
        let to = i64::from(own[direction]) + by;
        at[direction] = if grid.periods[direction] {
            to.rem_euclid(grid.dims[direction].into()) as i32
        } else {
            i32::try_from(to).unwrap_or(-1)
        };
        grid.rank(&at).unwrap_or(PROC_NULL)
    };
    source.put(moved(-i64::from(by)));
    destination.put(moved(by.into()));
    Ok(())
}

pub(crate) fn cart_sub(comm: Handle, remain: Ptr<c_int>, new: Ptr<Handle>) -> Outcome {
    let grid = grid_of(comm)?;
    let own = grid.coordinates(comm_of(comm)?.rank);
    let (mut color, mut key) = (0, 0);
    let mut left = Grid { dims: Vec::new(), periods: Vec::new() };
    for (i, &dim) in grid.dims.iter().enumerate() {
        if remain.at(i) != 0 {
            key = key * dim + own[i];
            left.dims.push(dim);
            left.periods.push(grid.periods[i]);
        } else {
            color = color * dim + own[i];
        }
    }
    new.put(sub_grid(comm, color, key, Topology::Cartesian(left))?);
    Ok(())
}

pub(crate) fn topo_test(comm: Handle, kind: Ptr<c_int>) -> Outcome {
    kind.put(match comm_of(comm)?.topology {
        Some(Topology::Cartesian(_)) => 211,
        Some(Topology::Graph(_)) => 212,
        Some(Topology::Distributed(_)) => 213,
        None => UNDEFINED,
    });
    Ok(())
}
