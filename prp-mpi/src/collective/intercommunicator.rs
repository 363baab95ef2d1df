//! Which messages the collective operations between two groups take.
//!
//! The two groups are one list of ranks here, first the one and then the other. What a group
//! contributes as a whole is first at its leader, its first rank.

use std::ops::Range;

use super::algorithms::{GroupRank, Parts};
use super::schedule::Step;

/// Two groups in one list of ranks, seen by `rank`, which is of one of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sides {
    /// Own rank in the list.
    pub rank: usize,
    /// The own group.
    pub own: Range<usize>,
    /// The other group.
    pub other: Range<usize>,
}

/// Where the root of an operation is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Root {
    /// This rank.
    Here,
    /// Another rank of the own group, which has nothing to do then.
    Beside,
    /// A rank of the other group, by its number there.
    Across(usize),
}

impl Sides {
    /// Ranks of both groups.
    pub const fn size(&self) -> usize {
        self.own.end + self.other.end - self.own.start - self.other.start
    }

    /// What the own group does by itself.
    fn among_own(&self, steps: impl FnOnce(GroupRank) -> Vec<Step>) -> Vec<Step> {
        among(&self.own.clone().collect::<Vec<_>>(), self.rank, steps)
    }

    const fn is_leader(&self) -> bool {
        self.rank == self.own.start
    }

    /// No rank leaves before all of both groups have come.
    pub fn barrier(&self) -> Vec<Step> {
        GroupRank { rank: self.rank, size: self.size() }.barrier()
    }

    /// `all` goes from the root to all of the other group.
    pub fn bcast(&self, root: Root, all: &Range<usize>) -> Vec<Step> {
        let list: Vec<usize> = match root {
            Root::Beside => return Vec::new(),
            Root::Here => [self.rank].into_iter().chain(self.other.clone()).collect(),
            Root::Across(r) => [self.other.start + r].into_iter().chain(self.own.clone()).collect(),
        };
        among(&list, self.rank, |place| place.bcast(0, all))
    }

    /// The part of each rank of the other group goes from there to the root. A rank that is not the
    /// root has only its own part.
    pub fn gather(&self, root: Root, parts: Parts<'_>) -> Vec<Step> {
        match root {
            Root::Beside => Vec::new(),
            Root::Here => self.receive_each(parts),
            Root::Across(r) => vec![Step::Send(self.other.start + r, parts[0].clone())],
        }
    }

    /// The part of each rank of the other group goes there from the root. A rank that is not the
    /// root has only its own part.
    pub fn scatter(&self, root: Root, parts: Parts<'_>) -> Vec<Step> {
        match root {
            Root::Beside => Vec::new(),
            Root::Here => self.send_each(parts),
            Root::Across(r) => vec![Step::Receive(self.other.start + r, parts[0].clone())],
        }
    }

    fn send_each(&self, parts: Parts<'_>) -> Vec<Step> {
        self.other.clone().zip(parts).map(|(r, part)| Step::Send(r, part.clone())).collect()
    }

    fn receive_each(&self, parts: Parts<'_>) -> Vec<Step> {
        self.other.clone().zip(parts).map(|(r, part)| Step::Receive(r, part.clone())).collect()
    }

    /// A part for each rank of the other group goes there, and one comes from it.
    pub fn alltoall(&self, out: Parts<'_>, into: Parts<'_>) -> Vec<Step> {
        let mut steps = self.receive_each(into);
        steps.extend(self.send_each(out));
        steps
    }

    /// The combination of all `mine` of the other group is at the root in `result`.
    pub fn reduce(
        &self,
        root: Root,
        mine: &Range<usize>,
        scratch: &Range<usize>,
        result: &Range<usize>,
    ) -> Vec<Step> {
        match root {
            Root::Beside => Vec::new(),
            Root::Here => vec![Step::Receive(self.other.start, result.clone())],
            Root::Across(r) => {
                let mut steps = self.among_own(|place| place.reduce(0, mine, scratch));
                if self.is_leader() {
                    steps.push(Step::Send(self.other.start + r, mine.clone()));
                }
                steps
            }
        }
    }

    /// The leader has the combination of all `mine` of the other group in `result`.
    fn exchange_reduced(
        &self,
        mine: &Range<usize>,
        scratch: &Range<usize>,
        result: &Range<usize>,
    ) -> Vec<Step> {
        let mut steps = self.among_own(|place| place.reduce(0, mine, scratch));
        if self.is_leader() {
            steps.push(Step::Send(self.other.start, mine.clone()));
            steps.push(Step::Receive(self.other.start, result.clone()));
            steps.push(Step::Wait);
        }
        steps
    }

    /// The combination of all `mine` of the other group is everywhere in `result`; all three are as
    /// long.
    pub fn allreduce(
        &self,
        mine: &Range<usize>,
        scratch: &Range<usize>,
        result: &Range<usize>,
    ) -> Vec<Step> {
        let mut steps = self.exchange_reduced(mine, scratch, result);
        steps.extend(self.among_own(|place| place.bcast(0, result)));
        steps
    }

    /// The combination of all `mine` of the other group is shared out over the own group: each rank
    /// has its part of `parts`, which make up `result`.
    pub fn reduce_scatter(
        &self,
        mine: &Range<usize>,
        scratch: &Range<usize>,
        result: &Range<usize>,
        parts: Parts<'_>,
    ) -> Vec<Step> {
        let mut steps = self.exchange_reduced(mine, scratch, result);
        steps.extend(self.among_own(|place| place.scatter(0, parts)));
        steps
    }
}

/// The steps of `rank` in a group of some ranks of a list.
fn among(list: &[usize], rank: usize, steps: impl FnOnce(GroupRank) -> Vec<Step>) -> Vec<Step> {
    let Some(own) = list.iter().position(|&r| r == rank) else { return Vec::new() };
    let steps = steps(GroupRank { rank: own, size: list.len() });
    let listed = |step| match step {
        Step::Send(to, range) => Step::Send(list[to], range),
        Step::Receive(from, range) => Step::Receive(list[from], range),
        other => other,
    };
    steps.into_iter().map(listed).collect()
}

#[cfg(test)]
mod tests;
