//! Which messages each collective operation takes.
//!
//! | operation | messages |
//! | --- | --- |
//! | barrier | dissemination |
//! | bcast | binomial tree; long messages spread, a part to each rank, and then around in a ring |
//! | reduce | binomial tree, in the order of ranks |
//! | allreduce | recursive doubling; for long vectors reduce-scatter and allgather in a ring |
//! | scan, exscan | recursive doubling |
//! | gather, scatter | straight to and from the root |
//! | allgather | recursive doubling; a ring for long parts, or if the ranks are no power of two |
//! | alltoall | pairs; small parts all at once |
//!
//! Where there are two, `choice` says which is taken.

use std::ops::Range;

use super::schedule::Step;

/// Which part of the memory belongs to a rank.
pub type Parts<'a> = &'a [Range<usize>];

/// Which rank waits for which in a group of `size` ranks, seen by `rank`.
#[derive(Copy, Clone, Debug)]
pub struct GroupRank {
    /// Own rank.
    pub rank: usize,
    /// Ranks.
    pub size: usize,
}

impl GroupRank {
    /// The rank `by` places further, around the group.
    const fn after(self, by: usize) -> usize {
        (self.rank + by) % self.size
    }

    /// The rank `by` places before, around the group.
    const fn before(self, by: usize) -> usize {
        (self.rank + self.size - by % self.size) % self.size
    }

    /// No rank leaves before all have come.
    pub fn barrier(self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut distance = 1;
        while distance < self.size {
            steps.push(Step::Send(self.after(distance), 0..0));
            steps.push(Step::Receive(self.before(distance), 0..0));
            steps.push(Step::Wait);
            distance *= 2;
        }
        steps
    }

    /// `all` goes from the root to all ranks.
    pub fn bcast(self, root: usize, all: &Range<usize>) -> Vec<Step> {
        let mut steps = Vec::new();
        let virtual_rank = (self.rank + self.size - root) % self.size;
        let real = |v: usize| (v + root) % self.size;
        let mut mask = 1;
        while mask < self.size {
            if virtual_rank & mask != 0 {
                steps.push(Step::Receive(real(virtual_rank - mask), all.clone()));
                steps.push(Step::Wait);
                break;
            }
            mask *= 2;
        }
        mask /= 2;
        while mask > 0 {
            if virtual_rank + mask < self.size {
                steps.push(Step::Send(real(virtual_rank + mask), all.clone()));
            }
            mask /= 2;
        }
        steps
    }

    /// The same for long messages: a part goes to each rank, and then the parts go around.
    pub fn bcast_spread(self, root: usize, all: &Range<usize>) -> Vec<Step> {
        let bound = |r: usize| all.start + r * all.len() / self.size;
        let parts: Vec<_> = (0..self.size).map(|r| bound(r)..bound(r + 1)).collect();
        let mut steps = self.scatter(root, &parts);
        steps.push(Step::Wait);
        steps.extend(self.allgather(&parts));
        steps
    }

    /// The combination of all `mine` is at the root in `mine`; `scratch` is as long.
    ///
    /// The tree is that of rank 0, so that elements are combined in the order of ranks.
    pub fn reduce(self, root: usize, mine: &Range<usize>, scratch: &Range<usize>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut mask = 1;
        while mask < self.size {
            if self.rank & mask != 0 {
                steps.push(Step::Send(self.rank - mask, mine.clone()));
                break;
            }
            if self.rank + mask < self.size {
                // What comes is of higher ranks: it is combined there, and copied back.
                steps.push(Step::Receive(self.rank + mask, scratch.clone()));
                steps.push(Step::Wait);
                steps.push(Step::Combine(mine.clone(), scratch.clone()));
                steps.push(Step::Copy(scratch.clone(), mine.clone()));
            }
            mask *= 2;
        }
        if root != 0 {
            if self.rank == 0 {
                steps.push(Step::Send(root, mine.clone()));
            } else if self.rank == root {
                steps.push(Step::Wait);
                steps.push(Step::Receive(0, mine.clone()));
            }
        }
        steps
    }

    /// The combination of all `mine` is everywhere in `mine`; `scratch` is as long.
    pub fn allreduce(self, mine: &Range<usize>, scratch: &Range<usize>) -> Vec<Step> {
        let power =
            if self.size.is_power_of_two() { self.size } else { self.size.next_power_of_two() / 2 };
        let rest = self.size - power;
        let mut steps = Vec::new();
        // The first ranks, two by two, are one each.
        let paired = self.rank < 2 * rest;
        if paired && self.rank.is_multiple_of(2) {
            steps.push(Step::Send(self.rank + 1, mine.clone()));
            steps.push(Step::Wait);
            steps.push(Step::Receive(self.rank + 1, mine.clone()));
            return steps;
        }
        if paired {
            steps.push(Step::Receive(self.rank - 1, scratch.clone()));
            steps.push(Step::Wait);
            steps.push(Step::Combine(scratch.clone(), mine.clone()));
        }
        let id = if paired { self.rank / 2 } else { self.rank - rest };
        let real = |id: usize| if id < rest { 2 * id + 1 } else { id + rest };
        let mut mask = 1;
        while mask < power {
            let other = id ^ mask;
            steps.push(Step::Send(real(other), mine.clone()));
            steps.push(Step::Receive(real(other), scratch.clone()));
            steps.push(Step::Wait);
            if other < id {
                steps.push(Step::Combine(scratch.clone(), mine.clone()));
            } else {
                steps.push(Step::Combine(mine.clone(), scratch.clone()));
                steps.push(Step::Copy(scratch.clone(), mine.clone()));
            }
            mask *= 2;
        }
        if paired {
            steps.push(Step::Send(self.rank - 1, mine.clone()));
        }
        steps
    }

    /// The same for long vectors and operations that may be done in any order: each rank combines
    /// one of `parts`, and then they go around. `scratch` is as long as the longest of them.
    pub fn allreduce_ring(self, parts: Parts<'_>, scratch: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for round in 0..self.size - 1 {
            let sent = &parts[self.before(round)];
            let kept = &parts[self.before(round + 1)];
            steps.push(Step::Send(self.after(1), sent.clone()));
            let incoming = scratch..scratch + kept.len();
            steps.push(Step::Receive(self.before(1), incoming.clone()));
            steps.push(Step::Wait);
            steps.push(Step::Combine(incoming, kept.clone()));
        }
        for round in 0..self.size - 1 {
            steps.push(Step::Send(
                self.after(1),
                parts[(self.rank + 1 + self.size - round) % self.size].clone(),
            ));
            steps.push(Step::Receive(self.before(1), parts[self.before(round)].clone()));
            steps.push(Step::Wait);
        }
        steps
    }

    /// `mine` becomes the combination of all up to the own rank, `before` that of those before it.
    /// `scratch` and `out` are as long as they.
    pub fn scan(
        self,
        mine: &Range<usize>,
        before: &Range<usize>,
        scratch: &Range<usize>,
    ) -> Vec<Step> {
        // `mine` holds the combination of the ranks from `rank - distance + 1` to the own.
        let mut steps = Vec::new();
        let mut distance = 1;
        let mut has_before = false;
        while distance < self.size {
            if self.rank + distance < self.size {
                steps.push(Step::Send(self.rank + distance, mine.clone()));
            }
            if self.rank >= distance {
                steps.push(Step::Receive(self.rank - distance, scratch.clone()));
            }
            steps.push(Step::Wait);
            if self.rank >= distance {
                steps.push(Step::Combine(scratch.clone(), mine.clone()));
                if has_before {
                    steps.push(Step::Combine(scratch.clone(), before.clone()));
                } else {
                    steps.push(Step::Copy(scratch.clone(), before.clone()));
                    has_before = true;
                }
            }
            distance *= 2;
        }
        steps
    }

    /// The part of each rank goes from there to the root.
    pub fn gather(self, root: usize, parts: Parts<'_>) -> Vec<Step> {
        if self.rank != root {
            return vec![Step::Send(root, parts[self.rank].clone())];
        }
        let others = (0..self.size).filter(|&r| r != root);
        others.map(|r| Step::Receive(r, parts[r].clone())).collect()
    }

    /// The part of each rank goes there from the root.
    pub fn scatter(self, root: usize, parts: Parts<'_>) -> Vec<Step> {
        if self.rank != root {
            return vec![Step::Receive(root, parts[self.rank].clone())];
        }
        let others = (0..self.size).filter(|&r| r != root);
        others.map(|r| Step::Send(r, parts[r].clone())).collect()
    }

    /// The part of each rank goes to all ranks.
    pub fn allgather(self, parts: Parts<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        for round in 0..self.size.saturating_sub(1) {
            steps.push(Step::Send(self.after(1), parts[self.before(round)].clone()));
            steps.push(Step::Receive(self.before(1), parts[self.before(round + 1)].clone()));
            steps.push(Step::Wait);
        }
        steps
    }

    /// The same with fewer messages, for `parts` that lie one after the other and a power of two of
    /// ranks: with each exchange a rank has twice as many.
    pub fn allgather_doubling(self, parts: Parts<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut count = 1;
        while count < self.size {
            let other = self.rank ^ count;
            let block = |rank: usize| {
                let first = rank & !(count - 1);
                parts[first].start..parts[first + count - 1].end
            };
            steps.push(Step::Send(other, block(self.rank)));
            steps.push(Step::Receive(other, block(other)));
            steps.push(Step::Wait);
            count *= 2;
        }
        steps
    }

    /// A part for each rank goes there, and one comes from it: all at once.
    pub fn alltoall_at_once(self, out: Parts<'_>, into: Parts<'_>) -> Vec<Step> {
        let mut steps = self.alltoall(out, into);
        steps.retain(|step| *step != Step::Wait);
        steps
    }

    /// A part for each rank goes there, and one comes from it: with one rank after the other.
    pub fn alltoall(self, out: Parts<'_>, into: Parts<'_>) -> Vec<Step> {
        let mut steps = vec![Step::Copy(out[self.rank].clone(), into[self.rank].clone())];
        for round in 1..self.size {
            let (to, from) = (self.after(round), self.before(round));
            steps.push(Step::Send(to, out[to].clone()));
            steps.push(Step::Receive(from, into[from].clone()));
            steps.push(Step::Wait);
        }
        steps
    }

    /// Each rank gets the combination of all parts that are for it, in `into`. `scratch` is as long
    /// as its part.
    pub fn reduce_scatter(self, parts: Parts<'_>, scratch: Parts<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        for other in (0..self.size).filter(|&r| r != self.rank) {
            steps.push(Step::Send(other, parts[other].clone()));
            steps.push(Step::Receive(other, scratch[other].clone()));
        }
        steps.push(Step::Copy(parts[self.rank].clone(), scratch[self.rank].clone()));
        steps.push(Step::Wait);
        for lower in 0..self.size - 1 {
            steps.push(Step::Combine(scratch[lower].clone(), scratch[lower + 1].clone()));
        }
        steps
    }
}

#[cfg(test)]
pub(super) mod tests;
