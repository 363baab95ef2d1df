//! Communicators.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use super::collective::CheckedCall;
use super::message::{AnyProcess, ProcessAt};
use super::{Error, Result};
use crate::collective::Call;
use crate::process::Process;

/// The context of the world.
const WORLD: u64 = 1;

/// What tells the messages of a communicator from others.
#[derive(Debug)]
pub(super) struct Context {
    process: Arc<Process>,
    number: u64,
    /// Collective calls so far.
    calls: AtomicI32,
}

impl Context {
    fn new(process: &Arc<Process>, number: u64) -> Arc<Self> {
        Arc::new(Self { process: process.clone(), number, calls: AtomicI32::new(0) })
    }

    /// That of the world, of which there is one in a process: all handles of it count the same
    /// calls.
    pub(super) fn of_world(process: &Arc<Process>) -> Arc<Self> {
        let context = Self::new(process, WORLD);
        for number in [context.messages(), context.collectives()] {
            process.name(number, "the world");
        }
        context
    }

    const fn messages(&self) -> u64 {
        2 * self.number
    }

    const fn collectives(&self) -> u64 {
        2 * self.number + 1
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.process.forget(&[self.messages(), self.collectives()]);
    }
}

/// Some ranks of the job, which send to and receive from each other.
#[derive(Debug)]
pub struct Communicator {
    context: Arc<Context>,
    /// World ranks by rank.
    pub(super) group: Arc<[usize]>,
    rank: usize,
}

impl Communicator {
    pub(super) fn world(context: &Arc<Context>) -> Self {
        let process = &context.process;
        let (group, rank) = ((0..process.size()).collect(), process.rank());
        Self { context: context.clone(), group, rank }
    }

    /// This process.
    pub(super) fn process(&self) -> &Process {
        &self.context.process
    }

    /// Own rank.
    pub fn rank(&self) -> i32 {
        self.rank as i32
    }

    /// Number of ranks.
    pub fn size(&self) -> i32 {
        self.group.len() as i32
    }

    /// A rank to send to, to receive from, or to be a root.
    ///
    /// # Errors
    /// [`Error::NoRank`].
    pub fn process_at_rank(&self, rank: i32) -> Result<ProcessAt<'_>> {
        let found = usize::try_from(rank).ok().filter(|&r| r < self.group.len());
        found.map(|rank| ProcessAt { comm: self, rank }).ok_or(Error::NoRank(rank))
    }

    /// Whichever rank sends.
    pub const fn any_process(&self) -> AnyProcess<'_> {
        AnyProcess { comm: self }
    }

    /// Context of messages between two ranks.
    pub(super) fn messages(&self) -> u64 {
        self.context.messages()
    }

    /// Context of collective operations.
    pub(super) fn collectives(&self) -> u64 {
        self.context.collectives()
    }

    pub(super) fn next_call(&self) -> i32 {
        self.context.calls.fetch_add(1, Ordering::Relaxed)
    }

    /// The ranks with the same color, in the order of keys, and of ranks where those are the same;
    /// none for ranks without a color.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn split_by_color(&self, color: Option<u32>, key: i32) -> Result<Option<Self>> {
        let process = &self.context.process;
        let context = process.fresh_context();
        let own = [color.map_or(u64::MAX, u64::from), key as u64, context];
        let mut all = vec![0; 3 * self.group.len()];
        CheckedCall::new(self, Call::Communicator).all_gather(&own, &mut all);
        let Some(color) = color else { return Ok(None) };
        let mut members: Vec<(i32, usize)> = (0..self.group.len())
            .filter(|&r| all[3 * r] == u64::from(color))
            .map(|r| (all[3 * r + 1] as i32, r))
            .collect();
        members.sort_unstable();
        let rank = members.iter().position(|&(_, r)| r == self.rank).unwrap_or(0);
        Ok(Some(Self {
            context: Context::new(process, all[3 * members[0].1 + 2]),
            group: members.iter().map(|&(_, r)| self.group[r]).collect(),
            rank,
        }))
    }

    /// The same ranks, whose messages are apart from those of this communicator.
    ///
    /// # Errors
    /// As [`Self::split_by_color`].
    pub fn duplicate(&self) -> Result<Self> {
        let made = self.split_by_color(Some(0), self.rank())?;
        made.ok_or_else(|| Error::NoRank(self.rank()))
    }
}

#[cfg(test)]
mod tests;
