//! The calls: what each rank contributes, and where what comes of it goes.

mod intercommunicator;
mod neighbors;
mod reduce;

use std::ffi::c_int;
use std::sync::Arc;

use prp_mpi::collective::Call;
use prp_mpi::collective::algorithms::GroupRank;
use prp_mpi::collective::choice::Algorithm;
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::Signature;

pub(crate) use self::neighbors::*;
pub(crate) use self::reduce::*;
use super::choice::choose_by_size;
use super::parts::{Parts, kind, root_of};
use super::{Plan, PlannedRun, signature};
use crate::api::environment::comm_of;
use crate::api::error::{Class, Failure};
use crate::api::message::{region, type_of};
use crate::object::{Comm, Handle};
use crate::sys::pointer::{Address, Counts, Ptr};

/// No rank leaves before all have come.
pub(crate) fn plan_barrier(comm: Handle) -> Result<Plan, Failure> {
    Ok(plan_of_barrier(comm_of(comm)?, comm))
}

/// The same, of a communicator that need not have a handle of its own.
pub(crate) fn plan_of_barrier(comm: Arc<Comm>, handle: Handle) -> Plan {
    let make = |place: GroupRank| PlannedRun::new(Region::owned(0), place.barrier());
    Plan { comm, handle, signature: signature(Call::Barrier, -1), make: Box::new(make) }
}

/// What all must agree on, with the kind and the bytes of the elements. Between two groups, which
/// may differ in all of it, that is the call alone.
fn full_signature(call: Call, root: c_int, kinds: (u16, u64), comm: &Comm) -> Signature {
    if comm.remote.is_some() {
        return signature(call, -1);
    }
    let (element, bytes) = kinds;
    Signature { element, bytes, ..signature(call, root) }
}

pub(crate) fn plan_bcast(
    buffer: Address,
    count: i64,
    datatype: Handle,
    root: c_int,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    if let Some(sides) = of.sides() {
        return intercommunicator::bcast((of, comm, sides), buffer, count, datatype, root);
    }
    let root_rank = root_of(root, of.size(), comm)?;
    let buffer = region(buffer, count, datatype, comm)?;
    let kinds = kind(&type_of(datatype, comm)?, count);
    let signature = full_signature(Call::Bcast, root, kinds, &of);
    let algorithm = choose_by_size(&of, Call::Bcast, buffer.len());
    let make = move |place: GroupRank| {
        let all = 0..buffer.len();
        let steps = match algorithm {
            Algorithm::Spread => place.bcast_spread(root_rank, &all),
            _ => place.bcast(root_rank, &all),
        };
        if buffer.bytes().is_some() {
            return PlannedRun::new(buffer.clone(), steps);
        }
        let mut memory = Region::owned(buffer.len());
        if place.rank == root_rank {
            memory.copy_from(&buffer);
            return PlannedRun::new(memory, steps);
        }
        PlannedRun::new(memory, steps).then_copy(0, buffer.clone())
    };
    Ok(Plan { comm: of, handle: comm, signature, make: Box::new(make) })
}

/// The call leaves this rank no buffer to be in place of.
fn not_in_place(comm: Handle) -> Failure {
    let text = "MPI_IN_PLACE is for the root of a call, or for all ranks of one group";
    Failure::new(Class::Buffer, comm, text)
}

/// All parts at the root, the own one elsewhere.
fn gathered(
    call: Call,
    comm: Handle,
    root: c_int,
    own: Option<Region>,
    all: Option<Parts>,
    kinds: (u16, u64),
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    let root_rank = root_of(root, of.size(), comm)?;
    let signature = full_signature(call, root, kinds, &of);
    match (&own, &all) {
        (Some(own), Some(all)) => all.refuse_overlap(own, comm)?,
        (None, None) => return Err(not_in_place(comm)),
        _ => {}
    }
    let make = move |place: GroupRank| match &all {
        Some(parts) => {
            let memory = Region::owned(parts.len());
            let ranges = parts.ranges(0);
            match &own {
                Some(own) => memory.part(ranges[place.rank].clone()).copy_from(own),
                None => parts.pack(&memory, 0),
            }
            let mut made = PlannedRun::new(memory, place.gather(root_rank, &ranges));
            let parts = parts.clone();
            made.finish = Some(Box::new(move |memory| parts.unpack(memory, 0)));
            made
        }
        None => {
            let mut memory = Region::owned(own.as_ref().map_or(0, Region::len));
            if let Some(own) = &own {
                memory.copy_from(own);
            }
            let ranges = vec![0..memory.len(); place.size];
            PlannedRun::new(memory, place.gather(root_rank, &ranges))
        }
    };
    Ok(Plan { comm: of, handle: comm, signature, make: Box::new(make) })
}

/// The buffer of a rank that is not in place.
fn own_part(
    buffer: Address,
    count: i64,
    datatype: Handle,
    comm: Handle,
) -> Result<Option<Region>, Failure> {
    (!buffer.is_in_place()).then(|| region(buffer, count, datatype, comm)).transpose()
}

pub(crate) fn plan_gather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    if let Some(sides) = of.sides() {
        let mine = || region(sendbuf, sendcount, sendtype, comm);
        let ranks = sides.other.len();
        let all = || Parts::equal(recvbuf, recvcount, recvtype, ranks, comm);
        return intercommunicator::gather((of, comm, sides), Call::Gather, root, mine, all);
    }
    let own = own_part(sendbuf, sendcount, sendtype, comm)?;
    let (all, kinds) = if of.rank as c_int == root {
        let parts = Parts::equal(recvbuf, recvcount, recvtype, of.size(), comm)?;
        (Some(parts), kind(&type_of(recvtype, comm)?, recvcount))
    } else {
        (None, kind(&type_of(sendtype, comm)?, sendcount))
    };
    gathered(Call::Gather, comm, root, own, all, kinds)
}

pub(crate) fn plan_gatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    if let Some(sides) = of.sides() {
        let mine = || region(sendbuf, sendcount, sendtype, comm);
        let ranks = sides.other.len();
        let all = || Parts::listed(recvbuf, recvcounts, displs, recvtype, ranks, comm);
        return intercommunicator::gather((of, comm, sides), Call::Gatherv, root, mine, all);
    }
    let own = own_part(sendbuf, sendcount, sendtype, comm)?;
    let all = (of.rank as c_int == root)
        .then(|| Parts::listed(recvbuf, recvcounts, displs, recvtype, of.size(), comm))
        .transpose()?;
    gathered(Call::Gatherv, comm, root, own, all, (0, u64::MAX))
}

fn scattered(
    call: Call,
    comm: Handle,
    root: c_int,
    own: Option<Region>,
    all: Option<Parts>,
    kinds: (u16, u64),
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    let root_rank = root_of(root, of.size(), comm)?;
    let signature = full_signature(call, root, kinds, &of);
    match (&own, &all) {
        (Some(own), Some(all)) => all.refuse_overlap(own, comm)?,
        (None, None) => return Err(not_in_place(comm)),
        _ => {}
    }
    let make = move |place: GroupRank| match &all {
        Some(parts) => {
            let memory = Region::owned(parts.len());
            parts.pack(&memory, 0);
            let ranges = parts.ranges(0);
            let made = PlannedRun::new(memory, place.scatter(root_rank, &ranges));
            match &own {
                Some(own) => made.then_copy(ranges[place.rank].start, own.clone()),
                None => made,
            }
        }
        None => {
            let len = own.as_ref().map_or(0, Region::len);
            let made = PlannedRun::new(
                Region::owned(len),
                place.scatter(root_rank, &vec![0..len; place.size]),
            );
            match &own {
                Some(own) => made.then_copy(0, own.clone()),
                None => made,
            }
        }
    };
    Ok(Plan { comm: of, handle: comm, signature, make: Box::new(make) })
}

pub(crate) fn plan_scatter(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    if let Some(sides) = of.sides() {
        let mine = || region(recvbuf, recvcount, recvtype, comm);
        let ranks = sides.other.len();
        let all = || Parts::equal(sendbuf, sendcount, sendtype, ranks, comm);
        return intercommunicator::scatter((of, comm, sides), Call::Scatter, root, mine, all);
    }
    let own = own_part(recvbuf, recvcount, recvtype, comm)?;
    let (all, kinds) = if of.rank as c_int == root {
        let parts = Parts::equal(sendbuf, sendcount, sendtype, of.size(), comm)?;
        (Some(parts), kind(&type_of(sendtype, comm)?, sendcount))
    } else {
        (None, kind(&type_of(recvtype, comm)?, recvcount))
    };
    scattered(Call::Scatter, comm, root, own, all, kinds)
}

pub(crate) fn plan_scatterv(
    sendbuf: Address,
    sendcounts: Counts,
    displs: Counts,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    root: c_int,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    if let Some(sides) = of.sides() {
        let mine = || region(recvbuf, recvcount, recvtype, comm);
        let ranks = sides.other.len();
        let all = || Parts::listed(sendbuf, sendcounts, displs, sendtype, ranks, comm);
        return intercommunicator::scatter((of, comm, sides), Call::Scatterv, root, mine, all);
    }
    let own = own_part(recvbuf, recvcount, recvtype, comm)?;
    let all = (of.rank as c_int == root)
        .then(|| Parts::listed(sendbuf, sendcounts, displs, sendtype, of.size(), comm))
        .transpose()?;
    scattered(Call::Scatterv, comm, root, own, all, (0, u64::MAX))
}

fn allgathered(
    call: Call,
    comm: Handle,
    own: Option<Region>,
    all: Parts,
    kinds: (u16, u64),
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    if let Some(sides) = of.sides() {
        return intercommunicator::allgather((of, comm, sides), call, own, all);
    }
    if let Some(own) = &own {
        all.refuse_overlap(own, comm)?;
    }
    let signature = full_signature(call, -1, kinds, &of);
    let algorithm = choose_by_size(&of, Call::Allgather, all.len());
    let make = move |place: GroupRank| {
        let memory = Region::owned(all.len());
        let ranges = all.ranges(0);
        memory
            .part(ranges[place.rank].clone())
            .copy_from(own.as_ref().unwrap_or(&all.regions[place.rank]));
        let steps = match algorithm {
            Algorithm::Doubling => place.allgather_doubling(&ranges),
            _ => place.allgather(&ranges),
        };
        let mut made = PlannedRun::new(memory, steps);
        let all = all.clone();
        made.finish = Some(Box::new(move |memory| all.unpack(memory, 0)));
        made
    };
    Ok(Plan { comm: of, handle: comm, signature, make: Box::new(make) })
}

pub(crate) fn plan_allgather(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let own = own_part(sendbuf, sendcount, sendtype, comm)?;
    let all = Parts::equal(recvbuf, recvcount, recvtype, comm_of(comm)?.peers().len(), comm)?;
    let kinds = kind(&type_of(recvtype, comm)?, recvcount);
    allgathered(Call::Allgather, comm, own, all, kinds)
}

pub(crate) fn plan_allgatherv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcounts: Counts,
    displs: Counts,
    recvtype: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let own = own_part(sendbuf, sendcount, sendtype, comm)?;
    let all =
        Parts::listed(recvbuf, recvcounts, displs, recvtype, comm_of(comm)?.peers().len(), comm)?;
    allgathered(Call::Allgatherv, comm, own, all, (0, u64::MAX))
}

fn exchanged(
    call: Call,
    comm: Handle,
    out: Option<Parts>,
    into: Parts,
    kinds: (u16, u64),
) -> Result<Plan, Failure> {
    let of = comm_of(comm)?;
    let signature = full_signature(call, -1, kinds, &of);
    let sides = of.sides();
    match &out {
        Some(out) => out.refuse_overlap_of_all(&into, comm)?,
        None if sides.is_some() => return Err(not_in_place(comm)),
        None => {}
    }
    // What the ranks may differ in does not choose: only the call without lists has one size.
    let is_equal = call == Call::Alltoall;
    let each = if is_equal { into.regions.first().map_or(0, Region::len) } else { usize::MAX };
    let algorithm = choose_by_size(&of, Call::Alltoall, each);
    let make = move |place: GroupRank| {
        let out = out.as_ref().unwrap_or(&into);
        let memory = Region::owned(out.len() + into.len());
        out.pack(&memory, 0);
        let start = out.len();
        let (sent, received) = (out.ranges(0), into.ranges(start));
        let steps = match &sides {
            Some(sides) => sides.alltoall(&sent, &received),
            None if algorithm == Algorithm::AtOnce => place.alltoall_at_once(&sent, &received),
            None => place.alltoall(&sent, &received),
        };
        let mut made = PlannedRun::new(memory, steps);
        let into = into.clone();
        made.finish = Some(Box::new(move |memory| into.unpack(memory, start)));
        made
    };
    Ok(Plan { comm: of, handle: comm, signature, make: Box::new(make) })
}

pub(crate) fn plan_alltoall(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let ranks = comm_of(comm)?.peers().len();
    let out = (!sendbuf.is_in_place())
        .then(|| Parts::equal(sendbuf, sendcount, sendtype, ranks, comm))
        .transpose()?;
    let into = Parts::equal(recvbuf, recvcount, recvtype, ranks, comm)?;
    let kinds = kind(&type_of(recvtype, comm)?, recvcount);
    exchanged(Call::Alltoall, comm, out, into, kinds)
}

pub(crate) fn plan_alltoallv(
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
    let ranks = comm_of(comm)?.peers().len();
    let out = (!sendbuf.is_in_place())
        .then(|| Parts::listed(sendbuf, sendcounts, sdispls, sendtype, ranks, comm))
        .transpose()?;
    let into = Parts::listed(recvbuf, recvcounts, rdispls, recvtype, ranks, comm)?;
    exchanged(Call::Alltoallv, comm, out, into, (0, u64::MAX))
}

pub(crate) fn plan_alltoallw(
    sendbuf: Address,
    sendcounts: Counts,
    sdispls: Counts,
    sendtypes: Ptr<Handle>,
    recvbuf: Address,
    recvcounts: Counts,
    rdispls: Counts,
    recvtypes: Ptr<Handle>,
    comm: Handle,
) -> Result<Plan, Failure> {
    let ranks = comm_of(comm)?.peers().len();
    let out = (!sendbuf.is_in_place())
        .then(|| Parts::typed(sendbuf, sendcounts, sdispls, &sendtypes.list(ranks), comm))
        .transpose()?;
    let into = Parts::typed(recvbuf, recvcounts, rdispls, &recvtypes.list(ranks), comm)?;
    exchanged(Call::Alltoallw, comm, out, into, (0, u64::MAX))
}
