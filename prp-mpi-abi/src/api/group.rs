//! Groups of ranks.

use std::ffi::c_int;

use super::environment::{comm_of, process};
use super::error::{Class, Failure, Outcome, fail, length};
use super::info::alignment_of;
use super::{IDENT, PROC_NULL, SIMILAR, UNDEFINED, UNEQUAL};
use crate::object::{GROUPS, Group, Handle};
use crate::sys::pointer::{Address, Ptr};

/// The world ranks of a group.
pub(crate) fn group_of(handle: Handle) -> Result<Group, Failure> {
    if handle == Handle::GROUP_EMPTY {
        return Ok([].into());
    }
    GROUPS.at(handle).ok_or_else(|| Failure::new(Class::Group, Handle::SELF, "no such group"))
}

fn put(group: Vec<usize>, to: Ptr<Handle>) {
    to.put(if group.is_empty() { Handle::GROUP_EMPTY } else { GROUPS.add(group.into()) });
}

pub(crate) fn comm_group(comm: Handle, group: Ptr<Handle>) -> Outcome {
    put(comm_of(comm)?.group.to_vec(), group);
    Ok(())
}

pub(crate) fn comm_remote_group(comm: Handle, group: Ptr<Handle>) -> Outcome {
    let comm = comm_of(comm)?;
    let Some(remote) = &comm.remote else { return fail(Class::Comm, "no intercommunicator") };
    put(remote.group.to_vec(), group);
    Ok(())
}

pub(crate) fn group_size(group: Handle, size: Ptr<c_int>) -> Outcome {
    size.put(group_of(group)?.len() as c_int);
    Ok(())
}

pub(crate) fn group_rank(group: Handle, rank: Ptr<c_int>) -> Outcome {
    let me = process()?.rank();
    let found = group_of(group)?.iter().position(|&r| r == me);
    rank.put(found.map_or(UNDEFINED, |r| r as c_int));
    Ok(())
}

pub(crate) fn group_free(group: Ptr<Handle>) -> Outcome {
    if group.get() != Handle::GROUP_EMPTY && GROUPS.take(group.get()).is_none() {
        return fail(Class::Group, "no such group");
    }
    group.put(Handle::GROUP_NULL);
    Ok(())
}

fn list_length(count: c_int) -> Result<usize, Failure> {
    length(count, Class::Arg, Handle::SELF)
}

pub(crate) fn group_translate_ranks(
    from: Handle,
    count: c_int,
    ranks: Ptr<c_int>,
    to: Handle,
    translated: Ptr<c_int>,
) -> Outcome {
    let (from, to) = (group_of(from)?, group_of(to)?);
    for (i, rank) in ranks.list(list_length(count)?).into_iter().enumerate() {
        let world = usize::try_from(rank).ok().and_then(|r| from.get(r));
        let found = match (rank, world) {
            (PROC_NULL, _) => PROC_NULL,
            (_, Some(world)) => {
                to.iter().position(|r| r == world).map_or(UNDEFINED, |r| r as c_int)
            }
            _ => return fail(Class::Rank, "not a rank of the group"),
        };
        translated.set(i, found);
    }
    Ok(())
}

/// How two groups compare.
pub(crate) fn compare_groups(a: &[usize], b: &[usize]) -> c_int {
    let contains_all = |a: &[usize], b: &[usize]| b.iter().all(|r| a.contains(r));
    match a == b {
        true => IDENT,
        false if a.len() == b.len() && contains_all(a, b) => SIMILAR,
        false => UNEQUAL,
    }
}

pub(crate) fn group_compare(a: Handle, b: Handle, result: Ptr<c_int>) -> Outcome {
    result.put(compare_groups(&group_of(a)?, &group_of(b)?));
    Ok(())
}

pub(crate) fn group_union(a: Handle, b: Handle, group: Ptr<Handle>) -> Outcome {
    let (a, b) = (group_of(a)?, group_of(b)?);
    let more = b.iter().filter(|r| !a.contains(r));
    put(a.iter().chain(more).copied().collect(), group);
    Ok(())
}

pub(crate) fn group_intersection(a: Handle, b: Handle, group: Ptr<Handle>) -> Outcome {
    let (a, b) = (group_of(a)?, group_of(b)?);
    put(a.iter().copied().filter(|r| b.contains(r)).collect(), group);
    Ok(())
}

pub(crate) fn group_difference(a: Handle, b: Handle, group: Ptr<Handle>) -> Outcome {
    let (a, b) = (group_of(a)?, group_of(b)?);
    put(a.iter().copied().filter(|r| !b.contains(r)).collect(), group);
    Ok(())
}

fn chosen(group: &Group, ranks: &[c_int]) -> Result<Vec<usize>, Failure> {
    let mut all = Vec::new();
    for rank in ranks {
        let world = usize::try_from(*rank).ok().and_then(|r| group.get(r)).copied();
        match world {
            Some(world) if !all.contains(&world) => all.push(world),
            _ => return fail(Class::Rank, "not a rank of the group, or one twice"),
        }
    }
    Ok(all)
}

pub(crate) fn group_incl(
    of: Handle,
    count: c_int,
    ranks: Ptr<c_int>,
    group: Ptr<Handle>,
) -> Outcome {
    put(chosen(&group_of(of)?, &ranks.list(list_length(count)?))?, group);
    Ok(())
}

fn without(of: &Group, left_out: &[usize], group: Ptr<Handle>) {
    put(of.iter().copied().filter(|r| !left_out.contains(r)).collect(), group);
}

pub(crate) fn group_excl(
    of: Handle,
    count: c_int,
    ranks: Ptr<c_int>,
    group: Ptr<Handle>,
) -> Outcome {
    let of = group_of(of)?;
    without(&of, &chosen(&of, &ranks.list(list_length(count)?))?, group);
    Ok(())
}

fn ranges(count: c_int, ranges: Ptr<c_int>) -> Result<Vec<c_int>, Failure> {
    let mut ranks = Vec::new();
    for i in 0..list_length(count)? {
        let [first, last, stride] = [0, 1, 2].map(|at| ranges.at(3 * i + at));
        if stride == 0 {
            return fail(Class::Arg, "a stride of zero");
        }
        // A last rank on the other side of the first one leaves nothing.
        let is_within = |rank: &c_int| if stride > 0 { *rank <= last } else { *rank >= last };
        let next = |rank: &c_int| rank.checked_add(stride);
        ranks.extend(std::iter::successors(Some(first), next).take_while(is_within));
    }
    Ok(ranks)
}

pub(crate) fn group_range_incl(
    of: Handle,
    count: c_int,
    spans: Ptr<c_int>,
    group: Ptr<Handle>,
) -> Outcome {
    put(chosen(&group_of(of)?, &ranges(count, spans)?)?, group);
    Ok(())
}

pub(crate) fn group_range_excl(
    of: Handle,
    count: c_int,
    spans: Ptr<c_int>,
    group: Ptr<Handle>,
) -> Outcome {
    let of = group_of(of)?;
    without(&of, &chosen(&of, &ranges(count, spans)?)?, group);
    Ok(())
}

pub(crate) fn group_from_session_pset(
    session: Handle,
    name: Ptr<std::ffi::c_char>,
    group: Ptr<Handle>,
) -> Outcome {
    put(super::session::ranks_of_set(session, name)?, group);
    Ok(())
}

pub(crate) fn alloc_mem(size: isize, info: Handle, address: Address) -> Outcome {
    let size = length(size as i64, Class::Arg, Handle::SELF)?;
    let block = crate::sys::pointer::allocate(size, alignment_of(info));
    if block.is_null() {
        return fail(Class::NoMemory, "there is not as much memory");
    }
    address.cast::<usize>().put(block.address());
    Ok(())
}

pub(crate) fn free_mem(address: Address) -> Outcome {
    crate::sys::pointer::free(address);
    Ok(())
}
