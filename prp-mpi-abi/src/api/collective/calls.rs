//! The calls: what each rank contributes, and where what comes of it goes.

use std::ffi::c_int;
use std::sync::Arc;

use prp_mpi::collective::Call;
use prp_mpi::collective::algorithms::Place;
use prp_mpi::collective::schedule::Combine;
use prp_mpi::datatype::Datatype;
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::Signature;

use super::parts::{Parts, kind, root_of};
use super::{Made, Plan, intra, signature};
use crate::api::error::{Class, Failure, Outcome};
use crate::api::message::{region, type_of};
use crate::api::misc::op as op_of;
use crate::object::{Comm, Handle, Op};
use crate::sys::callback::address_of;
use crate::sys::pointer::{Address, Counts, Ptr};

/// Vectors from this many bytes on are reduced part by part, around the ranks, if the operation may
/// be done in any order: each byte is sent twice then, instead of once for each doubling.
const LONG: usize = 32 << 10;

/// Nobody leaves before all have come.
pub(crate) fn plan_barrier(comm: Handle) -> Result<Plan, Failure> {
    let of = intra(comm)?;
    let make = |place: Place| Made::new(Region::owned(0), place.barrier());
    Ok(Plan {
        comm: of,
        handle: comm,
        signature: signature(Call::Barrier, -1),
        make: Box::new(make),
    })
}

fn with_kind(mut signature: Signature, datatype: &Arc<Datatype>, count: i64) -> Signature {
    (signature.element, signature.bytes) = kind(datatype, count);
    signature
}

pub(crate) fn plan_bcast(
    buffer: Address,
    count: i64,
    datatype: Handle,
    root: c_int,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = intra(comm)?;
    let root_rank = root_of(root, of.size(), comm)?;
    let buffer = region(buffer, count, datatype, comm)?;
    let signature = with_kind(signature(Call::Bcast, root), &type_of(datatype, comm)?, count);
    let make = move |place: Place| {
        let steps = place.bcast(root_rank, &(0..buffer.len()));
        if buffer.bytes().is_some() {
            return Made::new(buffer.clone(), steps);
        }
        let mut memory = Region::owned(buffer.len());
        if place.rank == root_rank {
            memory.copy_from(&buffer);
            return Made::new(memory, steps);
        }
        Made::new(memory, steps).then_copy(0, buffer.clone())
    };
    Ok(Plan { comm: of, handle: comm, signature, make: Box::new(make) })
}

/// What a reduction works with, checked.
struct Reduction {
    comm: Arc<Comm>,
    handle: Handle,
    combine: Combine,
    commutes: bool,
    element: usize,
    signature: Signature,
}

impl Reduction {
    fn new(
        call: Call,
        root: c_int,
        count: i64,
        datatype: Handle,
        op: Handle,
        comm: Handle,
    ) -> Result<Self, Failure> {
        let of = intra(comm)?;
        let elements = type_of(datatype, comm)?;
        let mut signature = with_kind(signature(call, root), &elements, count);
        let element = elements.size();
        let Some(found) = op_of(op) else {
            return Err(Failure::new(Class::Op, comm, "no such operation"));
        };
        let (combine, commutes): (Combine, bool) = match found {
            Op::Predefined(op) => {
                if !op.takes(&elements) {
                    let name = crate::object::datatype_name(datatype).unwrap_or_default();
                    let text = format!("{} does not take elements of {name}", op.name());
                    return Err(Failure::new(Class::Op, comm, text));
                }
                signature.op = op as u8;
                (Arc::new(move |a: &[u8], b: &mut [u8]| op.combine(&elements, a, b)), true)
            }
            Op::User { combiner, commutes } => {
                signature.op = u8::MAX;
                let combine = move |a: &[u8], b: &mut [u8]| {
                    combine_by_user(combiner, datatype, &elements, a, b);
                };
                (Arc::new(combine), commutes)
            }
        };
        Ok(Self { comm: of, handle: comm, combine, commutes, element, signature })
    }

    fn plan(self, make: impl Fn(Place) -> Made + Send + Sync + 'static) -> Plan {
        let Self { comm, handle, combine, signature, .. } = self;
        let make = move |place: Place| Made { combine: Some(combine.clone()), ..make(place) };
        Plan { comm, handle, signature, make: Box::new(make) }
    }
}

/// The function of the application gets elements as they lie in its own buffers.
fn combine_by_user(
    combiner: crate::sys::callback::Combiner,
    handle: Handle,
    datatype: &Arc<Datatype>,
    lower: &[u8],
    higher: &mut [u8],
) {
    let count = lower.len() / datatype.size().max(1);
    let span = (count as isize * datatype.extent().abs()) as usize;
    let (first, end) = datatype.true_bounds();
    let span = span + (end - first).unsigned_abs();
    let spread = |packed: &[u8]| {
        let mut memory = Region::owned(span);
        let base = address_of(&mut memory).offset(-first);
        let mut elements = base.region(count, datatype);
        elements.write(0, packed);
        (memory, base, elements)
    };
    let (_lower_memory, lower_base, _) = spread(lower);
    let (_higher_memory, higher_base, result) = spread(higher);
    combiner.call(lower_base, higher_base, count, handle);
    result.read(0, higher);
}

/// Where a rank's elements come from.
fn input(sendbuf: Address, recvbuf: Address) -> Address {
    if sendbuf.is_in_place() { recvbuf } else { sendbuf }
}

pub(crate) fn plan_reduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    root: c_int,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = Reduction::new(Call::Reduce, root, count, datatype, op, comm)?;
    let root_rank = root_of(root, of.comm.size(), comm)?;
    let from = region(input(sendbuf, recvbuf), count, datatype, comm)?;
    let is_root = of.comm.rank == root_rank;
    let to = is_root.then(|| region(recvbuf, count, datatype, comm)).transpose()?;
    Ok(of.plan(move |place| {
        let len = from.len();
        let mut memory = Region::owned(2 * len);
        memory.copy_from(&from);
        let made = Made::new(memory, place.reduce(root_rank, &(0..len), &(len..2 * len)));
        match &to {
            Some(to) => made.then_copy(0, to.clone()),
            None => made,
        }
    }))
}

pub(crate) fn plan_allreduce(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = Reduction::new(Call::Allreduce, -1, count, datatype, op, comm)?;
    let from = region(input(sendbuf, recvbuf), count, datatype, comm)?;
    let to = region(recvbuf, count, datatype, comm)?;
    let (commutes, element) = (of.commutes, of.element.max(1));
    Ok(of.plan(move |place| {
        let len = from.len();
        let mut memory = Region::owned(2 * len);
        memory.copy_from(&from);
        let steps = if commutes && len >= LONG && place.size > 2 {
            let elements = len / element;
            let bound = |r: usize| r * elements / place.size * element;
            let parts: Vec<_> = (0..place.size).map(|r| bound(r)..bound(r + 1)).collect();
            place.allreduce_ring(&parts, len)
        } else {
            place.allreduce(&(0..len), &(len..2 * len))
        };
        Made::new(memory, steps).then_copy(0, to.clone())
    }))
}

/// `scan` and `exscan`.
fn plan_prefix(
    call: Call,
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let of = Reduction::new(call, -1, count, datatype, op, comm)?;
    let from = region(input(sendbuf, recvbuf), count, datatype, comm)?;
    let is_first = of.comm.rank == 0;
    let to = region(recvbuf, count, datatype, comm)?;
    Ok(of.plan(move |place| {
        let len = from.len();
        let mut memory = Region::owned(3 * len);
        memory.copy_from(&from);
        let steps = place.scan(&(0..len), &(len..2 * len), &(2 * len..3 * len));
        let made = Made::new(memory, steps);
        match call {
            Call::Scan => made.then_copy(0, to.clone()),
            // What the first rank gets is undefined: its buffer is left alone.
            _ if is_first => made,
            _ => made.then_copy(len, to.clone()),
        }
    }))
}

pub(crate) fn plan_scan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    plan_prefix(Call::Scan, sendbuf, recvbuf, count, datatype, op, comm)
}

pub(crate) fn plan_exscan(
    sendbuf: Address,
    recvbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    plan_prefix(Call::Exscan, sendbuf, recvbuf, count, datatype, op, comm)
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
    let of = intra(comm)?;
    let root_rank = root_of(root, of.size(), comm)?;
    let mut signature = signature(call, root);
    (signature.element, signature.bytes) = kinds;
    let make = move |place: Place| match &all {
        Some(parts) => {
            let memory = Region::owned(parts.len());
            let ranges = parts.ranges(0);
            match &own {
                Some(own) => memory.part(ranges[place.rank].clone()).copy_from(own),
                None => parts.pack(&memory, 0),
            }
            let mut made = Made::new(memory, place.gather(root_rank, &ranges));
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
            Made::new(memory, place.gather(root_rank, &ranges))
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
    let of = intra(comm)?;
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
    let of = intra(comm)?;
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
    let of = intra(comm)?;
    let root_rank = root_of(root, of.size(), comm)?;
    let mut signature = signature(call, root);
    (signature.element, signature.bytes) = kinds;
    let make = move |place: Place| match &all {
        Some(parts) => {
            let memory = Region::owned(parts.len());
            parts.pack(&memory, 0);
            let ranges = parts.ranges(0);
            let made = Made::new(memory, place.scatter(root_rank, &ranges));
            match &own {
                Some(own) => made.then_copy(ranges[place.rank].start, own.clone()),
                None => made,
            }
        }
        None => {
            let len = own.as_ref().map_or(0, Region::len);
            let made =
                Made::new(Region::owned(len), place.scatter(root_rank, &vec![0..len; place.size]));
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
    let of = intra(comm)?;
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
    let of = intra(comm)?;
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
    let mut signature = signature(call, -1);
    (signature.element, signature.bytes) = kinds;
    let make = move |place: Place| {
        let memory = Region::owned(all.len());
        let ranges = all.ranges(0);
        memory
            .part(ranges[place.rank].clone())
            .copy_from(own.as_ref().unwrap_or(&all.regions[place.rank]));
        let mut made = Made::new(memory, place.allgather(&ranges));
        let all = all.clone();
        made.finish = Some(Box::new(move |memory| all.unpack(memory, 0)));
        made
    };
    Ok(Plan { comm: intra(comm)?, handle: comm, signature, make: Box::new(make) })
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
    let all = Parts::equal(recvbuf, recvcount, recvtype, intra(comm)?.size(), comm)?;
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
    let all = Parts::listed(recvbuf, recvcounts, displs, recvtype, intra(comm)?.size(), comm)?;
    allgathered(Call::Allgatherv, comm, own, all, (0, u64::MAX))
}

fn exchanged(
    call: Call,
    comm: Handle,
    out: Option<Parts>,
    into: Parts,
    kinds: (u16, u64),
) -> Result<Plan, Failure> {
    let mut signature = signature(call, -1);
    (signature.element, signature.bytes) = kinds;
    let make = move |place: Place| {
        let out = out.as_ref().unwrap_or(&into);
        let memory = Region::owned(out.len() + into.len());
        out.pack(&memory, 0);
        let start = out.len();
        let steps = place.alltoall(&out.ranges(0), &into.ranges(start));
        let mut made = Made::new(memory, steps);
        let into = into.clone();
        made.finish = Some(Box::new(move |memory| into.unpack(memory, start)));
        made
    };
    Ok(Plan { comm: intra(comm)?, handle: comm, signature, make: Box::new(make) })
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
    let ranks = intra(comm)?.size();
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
    let ranks = intra(comm)?.size();
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
    let ranks = intra(comm)?.size();
    let out = (!sendbuf.is_in_place())
        .then(|| Parts::typed(sendbuf, sendcounts, sdispls, &sendtypes.list(ranks), comm))
        .transpose()?;
    let into = Parts::typed(recvbuf, recvcounts, rdispls, &recvtypes.list(ranks), comm)?;
    exchanged(Call::Alltoallw, comm, out, into, (0, u64::MAX))
}

/// Counts of elements, by rank.
fn reduce_scattered(
    call: Call,
    sendbuf: Address,
    recvbuf: Address,
    counts: &[i64],
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let total: i64 = counts.iter().sum();
    let of = Reduction::new(call, -1, total, datatype, op, comm)?;
    let from = region(input(sendbuf, recvbuf), total, datatype, comm)?;
    let to = region(recvbuf, counts[of.comm.rank], datatype, comm)?;
    let element = of.element;
    let mut at = 0;
    let parts: Vec<_> = counts
        .iter()
        .map(|&c| {
            let start = at;
            at += c as usize * element;
            start..at
        })
        .collect();
    Ok(of.plan(move |place| {
        let (all, own) = (from.len(), to.len());
        let mut memory = Region::owned(all + place.size * own);
        memory.copy_from(&from);
        let scratch: Vec<_> = (0..place.size).map(|r| all + r * own..all + (r + 1) * own).collect();
        let result = scratch[place.size - 1].start;
        Made::new(memory, place.reduce_scatter(&parts, &scratch)).then_copy(result, to.clone())
    }))
}

pub(crate) fn plan_reduce_scatter(
    sendbuf: Address,
    recvbuf: Address,
    recvcounts: Counts,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let counts = recvcounts.list(intra(comm)?.size());
    reduce_scattered(Call::ReduceScatter, sendbuf, recvbuf, &counts, datatype, op, comm)
}

pub(crate) fn plan_reduce_scatter_block(
    sendbuf: Address,
    recvbuf: Address,
    recvcount: i64,
    datatype: Handle,
    op: Handle,
    comm: Handle,
) -> Result<Plan, Failure> {
    let counts = vec![recvcount; intra(comm)?.size()];
    reduce_scattered(Call::ReduceScatterBlock, sendbuf, recvbuf, &counts, datatype, op, comm)
}

/// Combines two buffers of this rank.
pub(crate) fn reduce_local(
    inbuf: Address,
    inoutbuf: Address,
    count: i64,
    datatype: Handle,
    op: Handle,
) -> Outcome {
    let of = Reduction::new(Call::Reduce, -1, count, datatype, op, Handle::SELF)?;
    let lower = region(inbuf, count, datatype, Handle::SELF)?.to_vec();
    let mut to = region(inoutbuf, count, datatype, Handle::SELF)?;
    let mut higher = to.to_vec();
    (of.combine)(&lower, &mut higher);
    to.write(0, &higher);
    Ok(())
}
