//! Communicators.

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prp_mpi::collective::Call;

use super::collective::{allgather_words, bcast_words};
use super::environment::{comm_of, process};
use super::error::{Class, Failure, Outcome, fail};
use super::group::{compare_groups, group_of};
use super::{CONGRUENT, IDENT, SIMILAR, UNDEFINED, UNEQUAL};
use crate::object::{COMMS, CONTEXTS, Comm, Group, Handle, Info};
use crate::sys::pointer::Ptr;

pub(crate) fn comm_size(comm: Handle, size: Ptr<c_int>) -> Outcome {
    size.put(comm_of(comm)?.size() as c_int);
    Ok(())
}

pub(crate) fn comm_rank(comm: Handle, rank: Ptr<c_int>) -> Outcome {
    rank.put(comm_of(comm)?.rank as c_int);
    Ok(())
}

pub(crate) fn comm_remote_size(comm: Handle, size: Ptr<c_int>) -> Outcome {
    match &comm_of(comm)?.remote {
        Some(remote) => size.put(remote.len() as c_int),
        None => return fail(Class::Comm, "no intercommunicator"),
    }
    Ok(())
}

pub(crate) fn comm_test_inter(comm: Handle, flag: Ptr<c_int>) -> Outcome {
    flag.put(comm_of(comm)?.remote.is_some().into());
    Ok(())
}

pub(crate) fn comm_compare(a: Handle, b: Handle, result: Ptr<c_int>) -> Outcome {
    let (first, second) = (comm_of(a)?, comm_of(b)?);
    result.put(match compare_groups(&first.group, &second.group) {
        _ if a == b => IDENT,
        _ if first.remote.is_some() != second.remote.is_some() => UNEQUAL,
        IDENT => CONGRUENT,
        SIMILAR => SIMILAR,
        _ => UNEQUAL,
    });
    Ok(())
}

/// A number for a communicator that this rank is the first of: no other rank gives the same.
fn fresh_context() -> Result<u64, Failure> {
    let number = u64::from(CONTEXTS.fetch_add(1, Ordering::Relaxed));
    Ok(((process()?.rank() as u64) << 31) | number)
}

/// A new communicator like `of`, whose error handler it gets.
fn add(
    of: &Comm,
    context: u64,
    group: Group,
    change: impl FnOnce(&mut Comm),
) -> Result<Handle, Failure> {
    let process = process()?;
    let me = process.rank();
    let Some(rank) = group.iter().position(|&r| r == me) else { return Ok(Handle::COMM_NULL) };
    let mut comm = Comm::new(context, group, rank, "");
    *comm.errhandler.get_mut() = *of.errhandler.lock();
    change(&mut comm);
    super::early::take_hint(&comm, &comm.info.lock());
    let shown = format!("communicator {:x}", comm.context);
    for context in [comm.messages(), comm.collectives()] {
        process.name(context, &shown);
    }
    Ok(COMMS.add(Arc::new(comm)))
}

/// The context that rank 0 gives, known to all.
fn agree_on_context(comm: &Comm, handle: Handle) -> Result<u64, Failure> {
    let own = fresh_context()?;
    bcast_words(comm, handle, Call::Communicator, 0, own)
}

fn duplicate(handle: Handle, info: Option<Info>, with_attributes: bool) -> Result<Handle, Failure> {
    let comm = comm_of(handle)?;
    if comm.remote.is_some() {
        return fail(Class::Comm, "intercommunicators cannot be duplicated yet");
    }
    let context = agree_on_context(&comm, handle)?;
    let attributes = if with_attributes {
        super::attribute::copy_all(handle)?
    } else {
        std::collections::BTreeMap::new()
    };
    add(&comm, context, comm.group.clone(), |new| {
        new.grid.clone_from(&comm.grid);
        *new.attributes.get_mut() = attributes;
        *new.info.get_mut() = info.unwrap_or_else(|| comm.info.lock().clone());
    })
}

pub(crate) fn comm_dup(comm: Handle, new: Ptr<Handle>) -> Outcome {
    new.put(duplicate(comm, None, true)?);
    Ok(())
}

pub(crate) fn comm_dup_with_info(comm: Handle, info: Handle, new: Ptr<Handle>) -> Outcome {
    let info = super::info::info_of(info).unwrap_or_default();
    new.put(duplicate(comm, Some(info), true)?);
    Ok(())
}

/// Done at once: the ranks meet in the call itself.
pub(crate) fn comm_idup(comm: Handle, new: Ptr<Handle>, request: Ptr<Handle>) -> Outcome {
    comm_dup(comm, new)?;
    request.put(done());
    Ok(())
}

pub(crate) fn comm_idup_with_info(
    comm: Handle,
    info: Handle,
    new: Ptr<Handle>,
    request: Ptr<Handle>,
) -> Outcome {
    comm_dup_with_info(comm, info, new)?;
    request.put(done());
    Ok(())
}

fn done() -> Handle {
    crate::object::REQUESTS.add(crate::object::Req::Done(prp_mpi::request::Status::EMPTY))
}

/// The ranks with the same color, in the order of keys.
fn split(handle: Handle, color: c_int, key: c_int) -> Result<Handle, Failure> {
    let comm = comm_of(handle)?;
    let own = fresh_context()?;
    let words = [color as u64, key as u64, own];
    let all = allgather_words(&comm, handle, Call::Communicator, &words)?;
    if color == UNDEFINED {
        return Ok(Handle::COMM_NULL);
    }
    let mut members: Vec<(i32, usize)> = (0..comm.size())
        .filter(|&r| all[3 * r] as c_int == color)
        .map(|r| (all[3 * r + 1] as c_int, r))
        .collect();
    members.sort_unstable();
    let context = all[3 * members[0].1 + 2];
    let group: Group = members.iter().map(|&(_, r)| comm.group[r]).collect();
    add(&comm, context, group, |_| ())
}

pub(crate) fn comm_split(comm: Handle, color: c_int, key: c_int, new: Ptr<Handle>) -> Outcome {
    if color < 0 && color != UNDEFINED {
        return Err(Failure::new(Class::Arg, comm, format!("color {color} is negative")));
    }
    new.put(split(comm, color, key)?);
    Ok(())
}

/// The ranks that share memory are those of a node.
/// Kinds of parts that the standard names.
const TYPE_SHARED: c_int = 221;
const TYPE_HW_GUIDED: c_int = 223;
const TYPE_RESOURCE_GUIDED: c_int = 224;

pub(crate) fn comm_split_type(
    comm: Handle,
    kind: c_int,
    key: c_int,
    info: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let process = process()?;
    let wanted = super::info::info_of(info).unwrap_or_default();
    let wanted = wanted.iter().find(|(key, _)| key == "mpi_hw_resource_type");
    let is_by_memory = wanted.is_some_and(|(_, value)| value == "mpi_shared_memory");
    let color = match kind {
        TYPE_SHARED => process.nodes()[process.rank()] as c_int,
        TYPE_HW_GUIDED | TYPE_RESOURCE_GUIDED if is_by_memory => {
            process.nodes()[process.rank()] as c_int
        }
        // Other kinds of hardware are not told apart.
        _ => UNDEFINED,
    };
    new.put(split(comm, color, key)?);
    Ok(())
}

pub(crate) fn comm_create(comm: Handle, group: Handle, new: Ptr<Handle>) -> Outcome {
    let parent = comm_of(comm)?;
    let group = group_of(group)?;
    let own = fresh_context()?;
    let all = allgather_words(&parent, comm, Call::Communicator, &[own])?;
    let first = group.first().and_then(|w| parent.group.iter().position(|r| r == w));
    new.put(match first {
        Some(first) => add(&parent, all[first], group, |_| ())?,
        None => Handle::COMM_NULL,
    });
    Ok(())
}

/// Only the ranks of the group take part: their messages have the tag, and a context of its own.
pub(crate) fn comm_create_group(
    comm: Handle,
    group: Handle,
    tag: c_int,
    new: Ptr<Handle>,
) -> Outcome {
    let parent = comm_of(comm)?;
    let group = group_of(group)?;
    new.put(create_among(&parent, parent.context, group, tag)?);
    Ok(())
}

/// Contexts of what is only used while a communicator is made: apart from all others.
const MAKING: u64 = 1 << 61;

fn create_among(parent: &Comm, context: u64, group: Group, tag: c_int) -> Result<Handle, Failure> {
    let me = process()?.rank();
    let Some(rank) = group.iter().position(|&r| r == me) else { return Ok(Handle::COMM_NULL) };
    let making = Comm::new(MAKING | context, group.clone(), rank, "");
    making.calls.store(tag, Ordering::Relaxed);
    let own = fresh_context()?;
    let context = bcast_words(&making, Handle::WORLD, Call::Communicator, 0, own)?;
    add(parent, context, group, |_| ())
}

pub(crate) fn comm_create_from_group(
    group: Handle,
    name: Ptr<c_char>,
    _info: Handle,
    handler: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let group = group_of(group)?;
    let parent = comm_of(Handle::WORLD)?;
    // Groups that make communicators at the same time have different texts.
    let hash = name.text().bytes().fold(7_u64, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
    let made = create_among(&parent, 1 << 60 | hash >> 8, group, 0)?;
    if let Some(comm) = COMMS.at(made) {
        *comm.errhandler.lock() = handler;
    }
    new.put(made);
    Ok(())
}

pub(crate) fn comm_free(comm: Ptr<Handle>) -> Outcome {
    let handle = comm.get();
    if handle.0 < Handle::FIRST {
        return fail(Class::Comm, "a predefined communicator cannot be freed");
    }
    super::attribute::delete_all(handle);
    if COMMS.take(handle).is_none() {
        return fail(Class::Comm, "no such communicator");
    }
    comm.put(Handle::COMM_NULL);
    Ok(())
}

/// As `MPI_Comm_free`, once all is done that is under way.
pub(crate) fn comm_disconnect(comm: Ptr<Handle>) -> Outcome {
    super::collective::plan_barrier(comm.get())?.run()?;
    comm_free(comm)
}

pub(crate) fn comm_set_name(handle: Handle, name: Ptr<c_char>) -> Outcome {
    let comm = comm_of(handle)?;
    let text = name.text();
    for context in [comm.messages(), comm.collectives()] {
        process()?.name(context, &text);
    }
    *comm.name.lock() = text;
    Ok(())
}

pub(crate) fn comm_get_name(comm: Handle, name: Ptr<c_char>, length: Ptr<c_int>) -> Outcome {
    if comm == Handle::COMM_NULL {
        length.put(name.put_text("MPI_COMM_NULL", 128));
        return Ok(());
    }
    let comm = comm_of(comm)?;
    let text = comm.name.lock();
    length.put(name.put_text(&text, 128));
    Ok(())
}

pub(crate) fn comm_get_parent(parent: Ptr<Handle>) -> Outcome {
    parent.put(Handle::COMM_NULL);
    Ok(())
}

pub(crate) fn comm_set_info(comm: Handle, info: Handle) -> Outcome {
    let info = super::info::info_of(info).unwrap_or_default();
    let comm = comm_of(comm)?;
    super::early::take_hint(&comm, &info);
    *comm.info.lock() = info;
    Ok(())
}

pub(crate) fn comm_get_info(comm: Handle, info: Ptr<Handle>) -> Outcome {
    let kept = comm_of(comm)?.info.lock().clone();
    info.put(crate::object::INFOS.add(kept));
    Ok(())
}

/// A communicator with a topology.
pub(crate) fn with_grid(
    handle: Handle,
    ranks: usize,
    grid: crate::object::Grid,
) -> Result<Handle, Failure> {
    let parent = comm_of(handle)?;
    let context = agree_on_context(&parent, handle)?;
    let group: Group = parent.group.iter().take(ranks).copied().collect();
    add(&parent, context, group, |new| new.grid = Some(grid))
}

/// The parts of a grid, split by color, with what is left of it.
pub(crate) fn sub_grid(
    handle: Handle,
    color: c_int,
    key: c_int,
    grid: crate::object::Grid,
) -> Result<Handle, Failure> {
    let made = split(handle, color, key)?;
    if let Some(comm) = COMMS.take(made) {
        let mut comm = Arc::try_unwrap(comm)
            .map_err(|_| Failure::new(Class::Other, handle, "the new communicator is in use"))?;
        comm.grid = Some(grid);
        return Ok(COMMS.add(Arc::new(comm)));
    }
    Ok(made)
}
