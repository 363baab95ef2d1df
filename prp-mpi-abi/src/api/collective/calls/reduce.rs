//! Reductions: the contributions of all ranks are combined.

use std::ffi::c_int;

use prp_mpi::collective::Call;
use prp_mpi::collective::algorithms::GroupRank;
use prp_mpi::collective::choice::{Algorithm, CallProperties};
use prp_mpi::collective::schedule::Combine;
use prp_mpi::datatype::Datatype;
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::Signature;

use super::super::choice::choose;
use super::super::parts::root_of;
use super::super::{Plan, PlannedRun, intra};
use super::*;
use crate::api::PROC_NULL;
use crate::api::error::{Class, Failure, Outcome};
use crate::api::message::{refuse_overlap, region, type_of};
use crate::api::operation::op as op_of;
use crate::object::{Comm, Handle, Op};
use crate::sys::callback::address_of;
use crate::sys::pointer::{Address, Counts};

/// What a reduction works with, checked.
pub(super) struct Reduction {
    comm: Arc<Comm>,
    pub(super) handle: Handle,
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
        let of = comm_of(comm)?;
        let elements = type_of(datatype, comm)?;
        let mut signature = full_signature(call, root, kind(&elements, count), &of);
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
                let combine = move |a: &[u8], b: &mut [u8]| op.combine(&elements, a, b);
                (Combine::Predefined(Arc::new(combine)), true)
            }
            Op::User { combiner, commutes } => {
                signature.op = u8::MAX;
                // The function gets the handle, also once the program has freed it.
                let hold = crate::object::hold_datatype(datatype);
                let combine = move |a: &[u8], b: &mut [u8]| {
                    let _hold = &hold;
                    combine_by_user(combiner, datatype, &elements, a, b);
                };
                (Combine::OfProgram(Arc::new(combine)), commutes)
            }
        };
        Ok(Self { comm: of, handle: comm, combine, commutes, element, signature })
    }

    /// Checks the buffers of a call in which all ranks send and receive.
    fn check_buffers(&self, sendbuf: Address, from: &Region, to: &Region) -> Outcome {
        match sendbuf.is_in_place() {
            true if self.comm.remote.is_some() => Err(not_in_place(self.handle)),
            true => Ok(()),
            false => refuse_overlap(from, to, self.handle),
        }
    }

    pub(super) fn plan(
        self,
        make: impl Fn(GroupRank) -> PlannedRun + Send + Sync + 'static,
    ) -> Plan {
        let Self { comm, handle, combine, signature, .. } = self;
        let make =
            move |place: GroupRank| PlannedRun { combine: Some(combine.clone()), ..make(place) };
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
    let (first, end) = datatype.true_bounds();
    // The last element lies below the first one where the extent is negative.
    let last = count.saturating_sub(1) as isize * datatype.extent();
    let (lowest, highest) = (first + last.min(0), end + last.max(0));
    let spread = |packed: &[u8]| {
        let mut memory = Region::owned((highest - lowest) as usize);
        let base = address_of(&mut memory).offset(-lowest);
        let mut elements = base.region(count, datatype);
        elements.write(0, packed);
        (memory, base, elements)
    };
    let (_lower_memory, lower_base, _) = spread(lower);
    let (_higher_memory, higher_base, result) = spread(higher);
    let call = || combiner.call(lower_base, higher_base, count, handle, datatype.extent());
    crate::object::within_callback(call);
    result.read(0, higher);
}

/// Where the elements of a rank come from.
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
    let inter = comm_of(comm)?;
    if inter.remote.is_some() && root == PROC_NULL {
        // All other arguments have no meaning here.
        return Ok(intercommunicator::nothing(inter, comm, Call::Reduce));
    }
    let of = Reduction::new(Call::Reduce, root, count, datatype, op, comm)?;
    if let Some(sides) = of.comm.sides() {
        let mine = || region(sendbuf, count, datatype, comm);
        let to = || region(recvbuf, count, datatype, comm);
        return intercommunicator::reduce(of, &sides, root, mine, to);
    }
    let root_rank = root_of(root, of.comm.size(), comm)?;
    let from = region(input(sendbuf, recvbuf), count, datatype, comm)?;
    let is_root = of.comm.rank == root_rank;
    if sendbuf.is_in_place() && !is_root {
        return Err(not_in_place(comm));
    }
    let to = is_root.then(|| region(recvbuf, count, datatype, comm)).transpose()?;
    if let Some(to) = to.as_ref().filter(|_| !sendbuf.is_in_place()) {
        refuse_overlap(&from, to, comm)?;
    }
    Ok(of.plan(move |place| {
        let len = from.len();
        let mut memory = Region::owned(2 * len);
        memory.copy_from(&from);
        let made = PlannedRun::new(memory, place.reduce(root_rank, &(0..len), &(len..2 * len)));
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
    of.check_buffers(sendbuf, &from, &to)?;
    if let Some(sides) = of.comm.sides() {
        return Ok(intercommunicator::allreduce(of, sides, from, to));
    }
    let element = of.element.max(1);
    let question = CallProperties {
        call: Call::Allreduce,
        bytes: from.len(),
        ranks: of.comm.size(),
        commutes: of.commutes,
    };
    let algorithm = choose(&of.comm, question);
    Ok(of.plan(move |place| {
        let len = from.len();
        let mut memory = Region::owned(2 * len);
        memory.copy_from(&from);
        let steps = if algorithm == Algorithm::Ring {
            let elements = len / element;
            let bound = |r: usize| r * elements / place.size * element;
            let parts: Vec<_> = (0..place.size).map(|r| bound(r)..bound(r + 1)).collect();
            place.allreduce_ring(&parts, len)
        } else {
            place.allreduce(&(0..len), &(len..2 * len))
        };
        PlannedRun::new(memory, steps).then_copy(0, to.clone())
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
    intra(comm)?;
    let of = Reduction::new(call, -1, count, datatype, op, comm)?;
    let from = region(input(sendbuf, recvbuf), count, datatype, comm)?;
    let is_first = of.comm.rank == 0;
    let to = region(recvbuf, count, datatype, comm)?;
    of.check_buffers(sendbuf, &from, &to)?;
    Ok(of.plan(move |place| {
        let len = from.len();
        let mut memory = Region::owned(3 * len);
        memory.copy_from(&from);
        let steps = place.scan(&(0..len), &(len..2 * len), &(2 * len..3 * len));
        let made = PlannedRun::new(memory, steps);
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
    if let Some(count) = counts.iter().find(|count| **count < 0) {
        return Err(Failure::new(Class::Count, comm, format!("count {count} is negative")));
    }
    let total: i64 = counts.iter().sum();
    let of = Reduction::new(call, -1, total, datatype, op, comm)?;
    let from = region(input(sendbuf, recvbuf), total, datatype, comm)?;
    let to = region(recvbuf, counts[of.comm.rank], datatype, comm)?;
    of.check_buffers(sendbuf, &from, &to)?;
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
    if let Some(sides) = of.comm.sides() {
        return Ok(intercommunicator::reduce_scatter(of, sides, from, to, parts));
    }
    Ok(of.plan(move |place| {
        let (all, own) = (from.len(), to.len());
        let mut memory = Region::owned(all + place.size * own);
        memory.copy_from(&from);
        let scratch: Vec<_> = (0..place.size).map(|r| all + r * own..all + (r + 1) * own).collect();
        let result = scratch[place.size - 1].start;
        PlannedRun::new(memory, place.reduce_scatter(&parts, &scratch))
            .then_copy(result, to.clone())
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
    let counts = recvcounts.list(comm_of(comm)?.size());
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
    let counts = vec![recvcount; comm_of(comm)?.size()];
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
    let (Combine::Predefined(function) | Combine::OfProgram(function)) = &of.combine;
    function(&lower, &mut higher);
    to.write(0, &higher);
    Ok(())
}
