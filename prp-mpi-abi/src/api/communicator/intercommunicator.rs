//! Intercommunicators: two groups whose ranks send to and receive from the other group.

use std::ffi::{c_char, c_int};
use std::sync::atomic::Ordering;

use super::*;
use crate::api::collective::intra;

/// The first and the second exchange of two leaders, and what groups make without leaders: apart
/// from what is made within one group.
const MEETING: u128 = 1 << 64;
const LISTS: u128 = 2 << 64;
const JOINING: u128 = 3 << 64;

/// Joins the ranks of `group` and of `remote`, none of which is in both. The context is that of the
/// group that comes first.
fn join(
    of: &Comm,
    group: &Group,
    remote: &[u64],
    is_first: bool,
    context: u64,
) -> Result<Handle, Failure> {
    let remote: Group = remote.iter().map(|&r| r as usize).collect();
    let remote = Remote { group: remote, is_first };
    add(of, context, group.clone(), |new| new.remote = Some(remote))
}

/// Meets the leader of the other group: the context that both groups get, and the world ranks of
/// the other group.
fn meet(peers: &Comm, other: usize, tag: c_int, group: &Group) -> Result<(u64, Vec<u64>), Failure> {
    let me = process()?.rank();
    let (pair, own): (Group, _) =
        if me < other { ([me, other].into(), 0) } else { ([other, me].into(), 1) };
    let context = u128::from(peers.context());
    let exchange = |kind, words: &[u64]| {
        let making = Comm::new(making_context(kind | context, &pair), pair.clone(), own, "");
        making.calls.store(tag, Ordering::Relaxed);
        allgather_words(&making, Handle::WORLD, words)
    };
    let both = exchange(MEETING, &[fresh_context()?, group.len() as u64])?;
    let len = both[1].max(both[3]) as usize;
    let mut list: Vec<u64> = group.iter().map(|&r| r as u64).collect();
    list.resize(len, 0);
    let lists = exchange(LISTS, &list)?;
    let count = both[2 * (1 - own) + 1] as usize;
    Ok((both[0], lists[(1 - own) * len..][..count].to_vec()))
}

pub(crate) fn intercomm_create(
    local: Handle,
    local_leader: c_int,
    peers: Handle,
    remote_leader: c_int,
    tag: c_int,
    new: Ptr<Handle>,
) -> Outcome {
    let own = intra(local)?;
    check_tag(tag, local)?;
    let leader = usize::try_from(local_leader).ok().filter(|&r| r < own.size());
    let Some(leader) = leader else {
        return Err(Failure::new(Class::Rank, local, format!("no rank {local_leader}")));
    };
    // What the leader has found out, for all: the context, whether the other group comes first, how
    // many ranks that has, and which.
    let mut fixed = vec![0; 3];
    let mut list = Vec::new();
    if own.rank == leader {
        let peers_of = comm_of(peers)?;
        let remote = usize::try_from(remote_leader).ok().and_then(|r| peers_of.peers().get(r));
        let Some(&remote) = remote else {
            return Err(Failure::new(Class::Rank, peers, format!("no rank {remote_leader}")));
        };
        if own.group.contains(&remote) {
            return Err(Failure::new(Class::Comm, local, "both leaders are of the same group"));
        }
        let is_first = remote < process()?.rank();
        let (context, others) = meet(&peers_of, remote, tag, &own.group)?;
        fixed = vec![context, is_first.into(), others.len() as u64];
        list = others;
    }
    let fixed = bcast_words(&own, local, leader, &fixed)?;
    list.resize(fixed[2] as usize, 0);
    let list = bcast_words(&own, local, leader, &list)?;
    new.put(join(&own, &own.group, &list, fixed[1] != 0, fixed[0])?);
    Ok(())
}

pub(crate) fn intercomm_create_from_groups(
    local: Handle,
    local_leader: c_int,
    remote: Handle,
    remote_leader: c_int,
    text: Ptr<c_char>,
    _info: Handle,
    handler: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let (own, other) = (group_of(local)?, group_of(remote)?);
    let at =
        |group: &Group, rank: c_int| usize::try_from(rank).ok().and_then(|r| group.get(r)).copied();
    let (Some(a), Some(b)) = (at(&own, local_leader), at(&other, remote_leader)) else {
        return fail(Class::Rank, "a leader is not in its group");
    };
    let me = process()?.rank();
    let is_first = b < a;
    let (first, second) = if is_first { (&other, &own) } else { (&own, &other) };
    let both: Group = first.iter().chain(&**second).copied().collect();
    let Some(rank) = both.iter().position(|&r| r == me) else {
        return fail(Class::Group, "this rank is in neither group");
    };
    let what = JOINING ^ what_of_text(&text.text());
    let making = Comm::new(making_context(what, &both), both, rank, "");
    let context = agree_on_context(&making, Handle::WORLD)?;
    let remote: Vec<u64> = other.iter().map(|&r| r as u64).collect();
    let made = join(&making, &own, &remote, is_first, context)?;
    if let Some(comm) = COMMS.at(made) {
        *comm.errhandler.lock() = handler;
    }
    new.put(made);
    Ok(())
}

/// Makes one group of both: the group comes first whose ranks do not say that they are high.
pub(crate) fn intercomm_merge(handle: Handle, high: c_int, new: Ptr<Handle>) -> Outcome {
    let comm = comm_of(handle)?;
    let Some(sides) = comm.sides() else {
        return Err(Failure::new(Class::Comm, handle, "no intercommunicator"));
    };
    let (everyone, _) = comm.everyone();
    let words = [u64::from(high != 0), fresh_context()?];
    let all = allgather_words(&comm, handle, &words)?;
    let is_high = |at: usize| all[2 * at] != 0;
    let (own, other) = (sides.own.start, sides.other.start);
    // Groups that say the same stay in the order that both have.
    let first = if is_high(own) == is_high(other) {
        own.min(other)
    } else if is_high(own) {
        other
    } else {
        own
    };
    let of = |start| if start == own { sides.own.clone() } else { sides.other.clone() };
    let second = if first == own { other } else { own };
    let group: Group = of(first).chain(of(second)).map(|r| everyone[r]).collect();
    new.put(add(&comm, all[1], group, |_| ())?);
    Ok(())
}

/// The ranks of `group`, and those that the other group says, as two groups again.
pub(super) fn create_between(
    parent: &Comm,
    handle: Handle,
    group: &Group,
) -> Result<Handle, Failure> {
    let me = process()?.rank();
    let Some(sides) = parent.sides() else { return Ok(Handle::COMM_NULL) };
    let (everyone, _) = parent.everyone();
    let place = group.iter().position(|&r| r == me);
    let words = [place.map_or(u64::MAX, |p| p as u64), fresh_context()?];
    let all = allgather_words(parent, handle, &words)?;
    let mut others: Vec<(u64, usize)> =
        sides.other.clone().map(|r| (all[2 * r], r)).filter(|(p, _)| *p != u64::MAX).collect();
    others.sort_unstable();
    if place.is_none() || others.is_empty() {
        return Ok(Handle::COMM_NULL);
    }
    let remote: Vec<u64> = others.iter().map(|&(_, r)| everyone[r] as u64).collect();
    let is_first = sides.other.start < sides.own.start;
    join(parent, group, &remote, is_first, all[1])
}
