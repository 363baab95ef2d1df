//! Communicators.

mod intercommunicator;

use std::ffi::{c_char, c_int};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prp_mpi::process::Process;

pub(crate) use self::intercommunicator::*;
use super::collective::{allgather_words, bcast_words, begin_bcast_word};
use super::environment::{comm_of, process};
use super::error::{Class, Failure, Outcome, fail};
use super::group::{compare_groups, group_of};
use super::message::{DEPARTURE, begin_departure, finish};
use super::topology::Topology;
use super::{CONGRUENT, IDENT, UNDEFINED, UNEQUAL};
use crate::object::{
    Attributes, COMMS, Comm, Group, Handle, HeldComm, Info, REQUESTS, Remote, forget_gone,
};
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
        Some(remote) => size.put(remote.group.len() as c_int),
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
    let own = compare_groups(&first.group, &second.group);
    let other = match (&first.remote, &second.remote) {
        (None, None) => IDENT,
        (Some(a), Some(b)) => compare_groups(&a.group, &b.group),
        _ => UNEQUAL,
    };
    // In this order of values a later one is less alike.
    result.put(match own.max(other) {
        _ if a == b => IDENT,
        IDENT => CONGRUENT,
        less => less,
    });
    Ok(())
}

/// A number for a communicator that this rank is the first of: no other rank gives the same.
fn fresh_context() -> Result<u64, Failure> {
    Ok(process()?.fresh_context())
}

/// A new communicator like `of`, whose error handler it gets.
fn add(
    of: &Comm,
    context: u64,
    group: Group,
    change: impl FnOnce(&mut Comm),
) -> Result<Handle, Failure> {
    let me = process()?.rank();
    forget_gone(process()?);
    let Some(rank) = group.iter().position(|&r| r == me) else { return Ok(Handle::COMM_NULL) };
    let mut comm = Comm::new(context, group, rank, "");
    *comm.errhandler.get_mut() = *of.errhandler.lock();
    change(&mut comm);
    super::dynamic::hold_foreign(&mut comm)?;
    super::early::take_hint(&comm, &comm.info.lock());
    super::collective::choice::take_hints(&comm, &comm.info.lock());
    show(&comm)?;
    Ok(COMMS.add(Arc::new(comm)))
}

/// Says what the contexts of a communicator without a name are called in reports.
fn show(comm: &Comm) -> Outcome {
    let shown = format!("communicator {:x}", comm.context());
    for context in [comm.messages(), comm.collectives()] {
        process()?.name(context, &shown);
    }
    Ok(())
}

/// The context that the first rank gives, known to all.
fn agree_on_context(comm: &Comm, handle: Handle) -> Result<u64, Failure> {
    let own = fresh_context()?;
    Ok(bcast_words(comm, handle, 0, &[own])?[0])
}

/// Makes a communicator what a duplicate of `of` is, which has hints of its own.
fn become_duplicate(new: &mut Comm, of: &Comm, info: Info, attributes: Attributes) {
    new.remote.clone_from(&of.remote);
    new.topology.clone_from(&of.topology);
    *new.attributes.get_mut() = attributes;
    *new.info.get_mut() = info;
}

fn duplicate(handle: Handle, info: Info) -> Result<Handle, Failure> {
    let comm = comm_of(handle)?;
    let context = agree_on_context(&comm, handle)?;
    let attributes = super::attribute::copy_all(handle)?;
    add(&comm, context, comm.group.clone(), |new| {
        become_duplicate(new, &comm, info, attributes);
    })
}

pub(crate) fn comm_dup(comm: Handle, new: Ptr<Handle>) -> Outcome {
    new.put(duplicate(comm, Info::new())?);
    Ok(())
}

pub(crate) fn comm_dup_with_info(comm: Handle, info: Handle, new: Ptr<Handle>) -> Outcome {
    let info = super::info::info_of(info).unwrap_or_default();
    new.put(duplicate(comm, info)?);
    Ok(())
}

/// The new communicator has its context when the request is done: until then no call may use it.
fn begin_duplicate(handle: Handle, info: Info, new: Ptr<Handle>, request: Ptr<Handle>) -> Outcome {
    let of = comm_of(handle)?;
    let attributes = super::attribute::copy_all(handle)?;
    let made = add(&of, NO_CONTEXT, of.group.clone(), |new| {
        become_duplicate(new, &of, info, attributes);
    })?;
    let begun = COMMS.at(made);
    let agreed = move |context| {
        if let Some(comm) = begun {
            comm.set_context(context);
            let _ = show(&comm);
        }
    };
    let pending = begin_bcast_word(&of, handle, fresh_context()?, agreed)?;
    request.put(REQUESTS.add(pending));
    new.put(made);
    Ok(())
}

pub(crate) fn comm_idup(comm: Handle, new: Ptr<Handle>, request: Ptr<Handle>) -> Outcome {
    begin_duplicate(comm, Info::new(), new, request)
}

pub(crate) fn comm_idup_with_info(
    comm: Handle,
    info: Handle,
    new: Ptr<Handle>,
    request: Ptr<Handle>,
) -> Outcome {
    let info = super::info::info_of(info).unwrap_or_default();
    begin_duplicate(comm, info, new, request)
}

/// The ranks with the same color, in the order of keys. Of both groups of an intercommunicator
/// the ranks with the same color talk to each other.
fn split(handle: Handle, color: c_int, key: c_int) -> Result<Handle, Failure> {
    let comm = comm_of(handle)?;
    let (everyone, _) = comm.everyone();
    let words = [color as u64, key as u64, fresh_context()?];
    let all = allgather_words(&comm, handle, &words)?;
    if color == UNDEFINED {
        return Ok(Handle::COMM_NULL);
    }
    let members = |ranks: std::ops::Range<usize>| {
        let with_color = ranks.filter(|&r| all[3 * r] as c_int == color);
        let mut members: Vec<_> = with_color.map(|r| (all[3 * r + 1] as c_int, r)).collect();
        members.sort_unstable();
        members.into_iter().map(|(_, r)| r).collect::<Vec<_>>()
    };
    let group = |members: &[usize]| members.iter().map(|&r| everyone[r]).collect::<Group>();
    let Some(sides) = comm.sides() else {
        let members = members(0..everyone.len());
        return add(&comm, all[3 * members[0] + 2], group(&members), |_| ());
    };
    let (own, other) = (members(sides.own), members(sides.other));
    let Some(&first) = other.first() else { return Ok(Handle::COMM_NULL) };
    let context = all[3 * first.min(own[0]) + 2];
    let remote = Remote { group: group(&other), is_first: first < own[0] };
    add(&comm, context, group(&own), |new| new.remote = Some(remote))
}

pub(crate) fn comm_split(comm: Handle, color: c_int, key: c_int, new: Ptr<Handle>) -> Outcome {
    if color < 0 && color != UNDEFINED {
        return Err(Failure::new(Class::Arg, comm, format!("color {color} is negative")));
    }
    new.put(split(comm, color, key)?);
    Ok(())
}

/// Kinds of parts that the standard names. The ranks that share memory are those of a node.
const TYPE_SHARED: c_int = 221;
const TYPE_HW_UNGUIDED: c_int = 222;
const TYPE_HW_GUIDED: c_int = 223;
const TYPE_RESOURCE_GUIDED: c_int = 224;

/// The color of the ranks that share memory for windows: those of a job on a node.
fn with_shared_memory(process: &Process) -> c_int {
    let nodes = process.nodes();
    let own = nodes[process.rank()];
    let first = nodes.iter().position(|&node| node == own).unwrap_or(0);
    (process.identity_of(first).as_number() >> 33) as c_int
}

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
        TYPE_SHARED => with_shared_memory(process),
        TYPE_HW_GUIDED | TYPE_RESOURCE_GUIDED if is_by_memory => with_shared_memory(process),
        // Other kinds of hardware are not told apart.
        TYPE_HW_UNGUIDED | TYPE_HW_GUIDED | TYPE_RESOURCE_GUIDED | UNDEFINED => UNDEFINED,
        _ => return Err(Failure::new(Class::Arg, comm, format!("no kind {kind} of parts"))),
    };
    new.put(split(comm, color, key)?);
    Ok(())
}

/// Groups of which a communicator is made have only ranks of the one that they are of.
fn check_part(group: &[usize], of: &Comm, comm: Handle) -> Outcome {
    match group.iter().all(|rank| of.group.contains(rank)) {
        true => Ok(()),
        false => Err(Failure::new(Class::Group, comm, "a rank that is not in the communicator")),
    }
}

fn check_tag(tag: c_int, comm: Handle) -> Outcome {
    if tag < 0 {
        return Err(Failure::new(Class::Tag, comm, format!("tag {tag} is negative")));
    }
    Ok(())
}

pub(crate) fn comm_create(comm: Handle, group: Handle, new: Ptr<Handle>) -> Outcome {
    let parent = comm_of(comm)?;
    let group = group_of(group)?;
    check_part(&group, &parent, comm)?;
    if parent.remote.is_some() {
        new.put(create_between(&parent, comm, &group)?);
        return Ok(());
    }
    let own = fresh_context()?;
    let all = allgather_words(&parent, comm, &[own])?;
    let first = group.first().and_then(|w| parent.group.iter().position(|r| r == w));
    new.put(match first {
        Some(first) => add(&parent, all[first], group, |_| ())?,
        None => Handle::COMM_NULL,
    });
    Ok(())
}

/// Only the ranks of the group take part: their messages have the tag, and a context of the
/// group's own.
pub(crate) fn comm_create_group(
    comm: Handle,
    group: Handle,
    tag: c_int,
    new: Ptr<Handle>,
) -> Outcome {
    let parent = comm_of(comm)?;
    let group = group_of(group)?;
    check_tag(tag, comm)?;
    check_part(&group, &parent, comm)?;
    new.put(create_among(&parent, u128::from(parent.context()), group, tag)?);
    Ok(())
}

/// Contexts of what is only used while a communicator is made: apart from all others.
const MAKING: u64 = 1 << 61;

/// The context of the messages by which these ranks, and no others, make a communicator. `what`
/// tells apart what the same ranks make.
fn making_context(what: u128, ranks: &[usize]) -> u64 {
    // FNV-1a. Ranks that make several communicators at a time have as many contexts, of 61 bits.
    // Ranks of several jobs call each other by other numbers, and have the same identities.
    let words = ranks.iter().map(|&r| process().map_or(0, |p| p.identity_of(r).as_number()));
    let bytes = what.to_le_bytes().into_iter().chain(words.flat_map(u64::to_le_bytes));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    MAKING | (hash ^ hash >> 61) & (MAKING - 1)
}

/// The context of a communicator whose ranks have not agreed on one yet.
const NO_CONTEXT: u64 = 0;

/// `what`: as for [`making_context`].
fn create_among(parent: &Comm, what: u128, group: Group, tag: c_int) -> Result<Handle, Failure> {
    let me = process()?.rank();
    let Some(rank) = group.iter().position(|&r| r == me) else { return Ok(Handle::COMM_NULL) };
    let making = Comm::new(making_context(what, &group), group.clone(), rank, "");
    making.calls.store(tag, Ordering::Relaxed);
    let own = fresh_context()?;
    let context = bcast_words(&making, Handle::WORLD, 0, &[own])?[0];
    add(parent, context, group, |_| ())
}

/// What ranks make that do so with the same text: unlike anything that is made from a communicator.
fn what_of_text(text: &str) -> u128 {
    let hash = text.bytes().fold(7_u128, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
    1 << 127 | hash
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
    let made = create_among(&parent, what_of_text(&name.text()), group, 0)?;
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
    super::attribute::delete_all(handle)?;
    if !COMMS.retire(handle) {
        return fail(Class::Comm, "no such communicator");
    }
    super::dynamic::note_freed(handle);
    super::buffer::forget(handle);
    comm.put(Handle::COMM_NULL);
    Ok(())
}

/// Returns the ranks that a communicator sends to and that have something to get, each with the
/// number of the last message to it.
fn last_to_peers(comm: &Comm) -> Result<Vec<(usize, u64)>, Failure> {
    let exchange = process()?.exchange();
    let peers = comm.peers().iter();
    Ok(peers.filter_map(|&to| Some((to, exchange.last_queued(to)?))).collect())
}

/// As `MPI_Comm_free`, once all is done that is in progress. Processes of other jobs need not wait
/// for each other at their ends if no other communicator has both.
pub(crate) fn comm_disconnect(comm: Ptr<Handle>) -> Outcome {
    let of = HeldComm { handle: comm.get(), comm: comm_of(comm.get())? };
    // Sends whose requests were freed are in progress still. Ranks that wait for each other behind
    // them take them in.
    let request = begin_departure(last_to_peers(&of.comm)?)?;
    finish(request, &of, DEPARTURE)?;
    super::collective::plan_barrier(comm.get())?.run()?;
    comm_free(comm)?;
    forget_gone(process()?);
    Ok(())
}

pub(crate) fn comm_set_name(handle: Handle, name: Ptr<c_char>) -> Outcome {
    let comm = comm_of(handle)?;
    rename(&comm, &name.text())
}

/// Gives a communicator a name.
pub(crate) fn rename(comm: &Comm, name: &str) -> Outcome {
    for context in [comm.messages(), comm.collectives()] {
        process()?.name(context, name);
    }
    name.clone_into(&mut comm.name.lock());
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

pub(crate) fn comm_set_info(comm: Handle, info: Handle) -> Outcome {
    let comm = comm_of(comm)?;
    let mut kept = comm.info.lock();
    super::info::merge(&mut kept, super::info::info_of(info).unwrap_or_default());
    super::early::take_hint(&comm, &kept);
    super::collective::choice::take_hints(&comm, &kept);
    Ok(())
}

pub(crate) fn comm_get_info(comm: Handle, info: Ptr<Handle>) -> Outcome {
    let kept = comm_of(comm)?.info.lock().clone();
    info.put(crate::object::INFOS.add(kept));
    Ok(())
}

/// A communicator of the first `ranks` with a topology.
pub(crate) fn with_topology(
    handle: Handle,
    ranks: usize,
    topology: Topology,
) -> Result<Handle, Failure> {
    let parent = super::collective::intra(handle)?;
    let context = agree_on_context(&parent, handle)?;
    let group: Group = parent.group.iter().take(ranks).copied().collect();
    add(&parent, context, group, |new| new.topology = Some(topology))
}

/// The parts of a grid, split by color, with what is left of it.
pub(crate) fn sub_grid(
    handle: Handle,
    color: c_int,
    key: c_int,
    topology: Topology,
) -> Result<Handle, Failure> {
    let made = split(handle, color, key)?;
    if let Some(comm) = COMMS.take(made) {
        let mut comm = Arc::try_unwrap(comm)
            .map_err(|_| Failure::new(Class::Other, handle, "the new communicator is in use"))?;
        comm.topology = Some(topology);
        return Ok(COMMS.add(Arc::new(comm)));
    }
    Ok(made)
}
