//! Calls of ranks with a topology: parts go to and come from the neighbors.

use prp_mpi::collective::Call;
use prp_mpi::collective::schedule::Step;
use prp_mpi::sys::memory::Region;

use super::super::parts::Parts;
use super::super::{Plan, PlannedRun, intra, signature};
use crate::api::error::{Class, Failure};
use crate::api::topology::Neighbors;
use crate::object::Handle;
use crate::sys::pointer::{Address, Counts, Ptr};

fn neighbors(comm: Handle) -> Result<Neighbors, Failure> {
    let of = intra(comm)?;
    match &of.topology {
        Some(topology) => Ok(topology.neighbors(of.rank)),
        None => Err(Failure::new(Class::Topology, comm, "the communicator has no topology")),
    }
}

/// A part for each destination goes there, and one comes from each source. Where `out` is one part
/// it is for all. The part of a neighbour that does not exist is left as it is.
fn exchanged(
    call: Call,
    comm: Handle,
    neighbors: Neighbors,
    out: Parts,
    into: Parts,
) -> Result<Plan, Failure> {
    let make = move |_| {
        let start = out.len();
        let memory = Region::owned(start + into.len());
        out.pack(&memory, 0);
        let (sent, received) = (out.ranges(0), into.ranges(start));
        let mut steps = Vec::new();
        for (&from, part) in neighbors.sources.iter().zip(&received) {
            steps.extend(usize::try_from(from).map(|from| Step::Receive(from, part.clone())));
        }
        for &place in &neighbors.order {
            let part = sent.get(place).or_else(|| sent.first()).cloned().unwrap_or(0..0);
            let to = usize::try_from(neighbors.destinations[place]);
            steps.extend(to.map(|to| Step::Send(to, part)));
        }
        let mut made = PlannedRun::new(memory, steps);
        let (into, sources) = (into.clone(), neighbors.sources.clone());
        made.finish = Some(Box::new(move |memory| {
            for ((region, range), from) in into.regions.iter().zip(received).zip(sources) {
                if from >= 0 {
                    region.clone().copy_from(&memory.part(range));
                }
            }
        }));
        made
    };
    Ok(Plan {
        comm: intra(comm)?,
        handle: comm,
        signature: signature(call, -1),
        make: Box::new(make),
    })
}

pub(crate) fn plan_neighbor_allgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = neighbors(comm)?;
    let out = Parts::single(sendbuf, sendcount, sendtype, comm)?;
    let into = Parts::equal(recvbuf, recvcount, recvtype, of.sources.len(), comm)?;
    exchanged(Call::NeighborAllgather, comm, of, out, into)
}

pub(crate) fn plan_neighbor_allgatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = neighbors(comm)?;
    let out = Parts::single(sendbuf, sendcount, sendtype, comm)?;
    let into = Parts::listed(recvbuf, recvcounts, displs, recvtype, of.sources.len(), comm)?;
    exchanged(Call::NeighborAllgatherv, comm, of, out, into)
}

pub(crate) fn plan_neighbor_alltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = neighbors(comm)?;
    let out = Parts::equal(sendbuf, sendcount, sendtype, of.destinations.len(), comm)?;
    let into = Parts::equal(recvbuf, recvcount, recvtype, of.sources.len(), comm)?;
    exchanged(Call::NeighborAlltoall, comm, of, out, into)
}

pub(crate) fn plan_neighbor_alltoallv(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtype: Handle,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtype: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = neighbors(comm)?;
    let ranks = of.destinations.len();
    let out = Parts::listed(sendbuf, sendcounts, sdispls, sendtype, ranks, comm)?;
    let into = Parts::listed(recvbuf, recvcounts, rdispls, recvtype, of.sources.len(), comm)?;
    exchanged(Call::NeighborAlltoallv, comm, of, out, into)
}

pub(crate) fn plan_neighbor_alltoallw(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Ptr<isize>,
    sendtypes: Ptr<Handle>,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Ptr<isize>,
    recvtypes: Ptr<Handle>,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = neighbors(comm)?;
    let types = sendtypes.list(of.destinations.len());
    let out = Parts::typed(sendbuf, sendcounts, Counts::Long(sdispls.cast()), &types, comm)?;
    let types = recvtypes.list(of.sources.len());
    let into = Parts::typed(recvbuf, recvcounts, Counts::Long(rdispls.cast()), &types, comm)?;
    exchanged(Call::NeighborAlltoallw, comm, of, out, into)
}
