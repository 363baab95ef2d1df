//! Calls on intercommunicators: what one group contributes goes to the other.

use std::ffi::c_int;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use prp_mpi::collective::Call;
use prp_mpi::collective::algorithms::GroupRank;
use prp_mpi::collective::intercommunicator::{Root, Sides};
use prp_mpi::sys::memory::Region;

use super::super::parts::Parts;
use super::super::{Plan, PlannedRun, signature};
use super::reduce::Reduction;
use crate::api::error::{Class, Failure};
use crate::api::message::region;
use crate::api::{PROC_NULL, ROOT};
use crate::object::{Comm, Handle};
use crate::sys::pointer::Address;

/// An intercommunicator, its handle, and how its two groups lie.
pub(super) type Inter = (Arc<Comm>, Handle, Sides);

fn root_of(root: c_int, sides: &Sides, comm: Handle) -> Result<Root, Failure> {
    match root {
        ROOT => Ok(Root::Here),
        PROC_NULL => Ok(Root::Beside),
        rank => super::root_of(rank, sides.other.len(), comm).map(Root::Across),
    }
}

fn plan(
    inter: Inter,
    call: Call,
    make: impl Fn(&Sides) -> PlannedRun + Send + Sync + 'static,
) -> Plan {
    let (comm, handle, sides) = inter;
    let make = Box::new(move |_: GroupRank| make(&sides));
    Plan { comm, handle, signature: signature(call, -1), make }
}

/// What a rank does that is beside the root.
pub(super) fn nothing(comm: Arc<Comm>, handle: Handle, call: Call) -> Plan {
    let make = Box::new(|_: GroupRank| PlannedRun::new(Region::owned(0), Vec::new()));
    Plan { comm, handle, signature: signature(call, -1), make }
}

pub(super) fn bcast(
    inter: Inter,
    buffer: Address,
    count: i64,
    datatype: Handle,
    root: c_int,
) -> Result<Plan, Failure> {
    let root = root_of(root, &inter.2, inter.1)?;
    let buffer = match root {
        Root::Beside => Region::owned(0),
        Root::Here | Root::Across(_) => region(buffer, count, datatype, inter.1)?,
    };
    Ok(plan(inter, Call::Bcast, move |sides| {
        let mut memory = Region::owned(buffer.len());
        if root == Root::Here {
            memory.copy_from(&buffer);
        }
        let made = PlannedRun::new(memory, sides.bcast(root, &(0..buffer.len())));
        if root == Root::Here { made } else { made.then_copy(0, buffer.clone()) }
    }))
}

/// What a rank has of a call with a root: its own part at the other group's ranks, all parts at the
/// root, and else nothing.
struct RootedParts {
    root: Root,
    mine: Region,
    all: Parts,
}

impl RootedParts {
    fn of(
        inter: &Inter,
        root: c_int,
        mine: impl Fn() -> Result<Region, Failure>,
        all: impl Fn() -> Result<Parts, Failure>,
    ) -> Result<Self, Failure> {
        let root = root_of(root, &inter.2, inter.1)?;
        let mine = if let Root::Across(_) = root { mine()? } else { Region::owned(0) };
        let all = if root == Root::Here { all()? } else { Parts { regions: Vec::new() } };
        Ok(Self { root, mine, all })
    }
}

/// Where the parts are in the memory of a call with a root.
fn ranges(root: Root, mine: &Region, all: &Parts) -> Vec<Range<usize>> {
    if root == Root::Here { all.ranges(0) } else { iter::once(0..mine.len()).collect() }
}

/// A rank's own part, or those of the other group, of which only the one is read that has a meaning
/// there.
pub(super) fn gather(
    inter: Inter,
    call: Call,
    root: c_int,
    mine: impl Fn() -> Result<Region, Failure>,
    all: impl Fn() -> Result<Parts, Failure>,
) -> Result<Plan, Failure> {
    let RootedParts { root, mine, all } = RootedParts::of(&inter, root, mine, all)?;
    Ok(plan(inter, call, move |sides| {
        let mut memory = Region::owned(mine.len() + all.len());
        memory.copy_from(&mine);
        let parts = ranges(root, &mine, &all);
        let mut made = PlannedRun::new(memory, sides.gather(root, &parts));
        let all = all.clone();
        made.finish = Some(Box::new(move |memory| all.unpack(memory, 0)));
        made
    }))
}

/// As [`gather`], in the other direction.
pub(super) fn scatter(
    inter: Inter,
    call: Call,
    root: c_int,
    mine: impl Fn() -> Result<Region, Failure>,
    all: impl Fn() -> Result<Parts, Failure>,
) -> Result<Plan, Failure> {
    let RootedParts { root, mine, all } = RootedParts::of(&inter, root, mine, all)?;
    Ok(plan(inter, call, move |sides| {
        let memory = Region::owned(mine.len() + all.len());
        all.pack(&memory, 0);
        let parts = ranges(root, &mine, &all);
        PlannedRun::new(memory, sides.scatter(root, &parts)).then_copy(0, mine.clone())
    }))
}

pub(super) fn allgather(
    inter: Inter,
    call: Call,
    own: Option<Region>,
    all: Parts,
) -> Result<Plan, Failure> {
    let Some(own) = own else {
        return Err(Failure::new(Class::Buffer, inter.1, "MPI_IN_PLACE between two groups"));
    };
    Ok(plan(inter, call, move |sides| {
        let mut memory = Region::owned(own.len() + all.len());
        memory.copy_from(&own);
        let sent = vec![0..own.len(); sides.other.len()];
        let start = own.len();
        let mut made = PlannedRun::new(memory, sides.alltoall(&sent, &all.ranges(start)));
        let all = all.clone();
        made.finish = Some(Box::new(move |memory| all.unpack(memory, start)));
        made
    }))
}

pub(super) fn reduce(
    of: Reduction,
    sides: &Sides,
    root: c_int,
    mine: impl Fn() -> Result<Region, Failure>,
    to: impl Fn() -> Result<Region, Failure>,
) -> Result<Plan, Failure> {
    let root = root_of(root, sides, of.handle)?;
    let mine = if let Root::Across(_) = root { mine()? } else { Region::owned(0) };
    let to = if root == Root::Here { to()? } else { Region::owned(0) };
    let sides = sides.clone();
    Ok(of.plan(move |_| {
        let (len, end) = (mine.len(), 2 * mine.len());
        let mut memory = Region::owned(end + to.len());
        memory.copy_from(&mine);
        let result = end..end + to.len();
        let steps = sides.reduce(root, &(0..len), &(len..end), &result);
        PlannedRun::new(memory, steps).then_copy(end, to.clone())
    }))
}

pub(super) fn allreduce(of: Reduction, sides: Sides, from: Region, to: Region) -> Plan {
    of.plan(move |_| {
        let len = from.len();
        let mut memory = Region::owned(3 * len);
        memory.copy_from(&from);
        let steps = sides.allreduce(&(0..len), &(len..2 * len), &(2 * len..3 * len));
        PlannedRun::new(memory, steps).then_copy(2 * len, to.clone())
    })
}

/// `parts` says which bytes of a whole vector each rank of the own group gets.
pub(super) fn reduce_scatter(
    of: Reduction,
    sides: Sides,
    from: Region,
    to: Region,
    parts: Vec<Range<usize>>,
) -> Plan {
    of.plan(move |_| {
        let len = from.len();
        let mut memory = Region::owned(3 * len);
        memory.copy_from(&from);
        let start = 2 * len;
        let shifted = |r: &Range<usize>| start + r.start..start + r.end;
        let parts: Vec<_> = parts.iter().map(shifted).collect();
        let own = parts[sides.rank - sides.own.start].start;
        let result = start..start + len;
        let steps = sides.reduce_scatter(&(0..len), &(len..2 * len), &result, &parts);
        PlannedRun::new(memory, steps).then_copy(own, to.clone())
    })
}
