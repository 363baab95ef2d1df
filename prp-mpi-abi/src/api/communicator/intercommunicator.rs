//! Intercommunicators: two groups whose ranks send to and receive from the other group.

use std::ffi::{c_char, c_int};
use std::sync::atomic::Ordering;

use super::*;
use crate::api::collective::{allgather_texts, bcast_text, intra};
use crate::api::dynamic::{gather_contacts, link};

/// The exchanges of two leaders, in order, and what groups make without leaders: apart from what is
/// made within one group.
const MEETING: u128 = 1 << 64;
const LENGTHS: u128 = 2 << 64;
const LISTS: u128 = 3 << 64;
const JOINING: u128 = 4 << 64;

/// Joins the ranks of `group` and of `remote`, none of which is in both. The context is that of the
/// group that comes first.
pub(crate) fn join(
    of: &Comm,
    group: &Group,
    remote: &[usize],
    is_first: bool,
    context: u64,
) -> Result<Handle, Failure> {
    let remote = Remote { group: remote.into(), is_first };
    add(of, context, group.clone(), |new| new.remote = Some(remote))
}

/// What the leaders of two groups say to each other.
struct Meeting {
    making: [Comm; 3],
    /// This leader among the two.
    own: usize,
}

impl Meeting {
    /// Of this rank, which is a leader, with another one.
    fn new(peers: &Comm, other: usize, tag: c_int) -> Result<Self, Failure> {
        let process = process()?;
        let me = process.rank();
        let is_first = process.identity_of(me) < process.identity_of(other);
        let (pair, own): (Group, _) =
            if is_first { ([me, other].into(), 0) } else { ([other, me].into(), 1) };
        let context = u128::from(peers.context());
        let making = [MEETING, LENGTHS, LISTS].map(|kind| {
            let comm = Comm::new(making_context(kind | context, &pair), pair.clone(), own, "");
            comm.calls.store(tag, Ordering::Relaxed);
            comm
        });
        Ok(Self { making, own })
    }

    /// The context that both groups get; and whether one of the two has met processes of other
    /// jobs, which have no rank in this one.
    fn agree(&self) -> Result<(u64, bool), Failure> {
        let has_met = process()?.listens_for_jobs();
        let both =
            allgather_words(&self.making[0], Handle::WORLD, &[fresh_context()?, has_met.into()])?;
        // Only one that has met others numbers communicators apart from theirs.
        let at = if both[1] < both[3] { 2 } else { 0 };
        Ok((both[at], both[at + 1] > 0))
    }

    /// What the other leader says of its group.
    fn exchange(&self, group: &str) -> Result<String, Failure> {
        let mut texts = allgather_texts([&self.making[1], &self.making[2]], Handle::WORLD, group)?;
        Ok(texts.swap_remove(1 - self.own))
    }
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
    // What the leader has found out, for all: the context, whether the other group comes first, and
    // whether there are several jobs.
    let mut fixed = vec![0; 3];
    let mut meeting = None;
    if own.rank == leader {
        let peers_of = comm_of(peers)?;
        let remote = usize::try_from(remote_leader).ok().and_then(|r| peers_of.peers().get(r));
        let Some(&remote) = remote else {
            return Err(Failure::new(Class::Rank, peers, format!("no rank {remote_leader}")));
        };
        if own.group.contains(&remote) {
            return Err(Failure::new(Class::Comm, local, "both leaders are of the same group"));
        }
        let met = Meeting::new(&peers_of, remote, tag)?;
        let (context, has_jobs) = met.agree()?;
        fixed = vec![context, met.own as u64, has_jobs.into()];
        meeting = Some(met);
    }
    let fixed = bcast_words(&own, local, leader, &fixed)?;
    let (is_first, has_jobs) = (fixed[1] == 1, fixed[2] == 1);
    let ours: Vec<String> = if has_jobs {
        gather_contacts(&own, local)?.iter().map(ToString::to_string).collect()
    } else {
        own.group.iter().map(ToString::to_string).collect()
    };
    let mut list = String::new();
    if let Some(meeting) = meeting {
        list = meeting.exchange(&ours.join("\n"))?;
    }
    let list = bcast_text(&own, local, leader, &list)?;
    let others: Option<Vec<usize>> = if has_jobs {
        let contacts: Result<Vec<_>, _> = list.lines().map(str::parse).collect();
        contacts.ok().and_then(|contacts| link(&contacts, is_first).ok())
    } else {
        list.lines().map(|rank| rank.parse().ok()).collect()
    };
    let others = others.ok_or_else(|| {
        Failure::new(Class::Other, local, "ranks of the other group are not reached")
    })?;
    new.put(join(&own, &own.group, &others, is_first, fixed[0])?);
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
    let process = process()?;
    let me = process.rank();
    let is_first = process.identity_of(b) < process.identity_of(a);
    let (first, second) = if is_first { (&other, &own) } else { (&own, &other) };
    let both: Group = first.iter().chain(&**second).copied().collect();
    let Some(rank) = both.iter().position(|&r| r == me) else {
        return fail(Class::Group, "this rank is in neither group");
    };
    let what = JOINING ^ what_of_text(&text.text());
    let making = Comm::new(making_context(what, &both), both, rank, "");
    let context = agree_on_context(&making, Handle::WORLD)?;
    let made = join(&making, &own, &other, is_first, context)?;
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
    let remote: Vec<usize> = others.iter().map(|&(_, r)| everyone[r]).collect();
    let is_first = sides.other.start < sides.own.start;
    join(parent, group, &remote, is_first, all[1])
}
