//! Collective operations.

use std::ops::Range;
use std::sync::Arc;

use super::communicator::Communicator;
use super::element::Element;
use super::message::ProcessAt;
use super::{Error, Result};
use crate::collective::algorithms::GroupRank;
use crate::collective::schedule::{Combine, Schedule, Step};
use crate::collective::{CALLS, Call};
use crate::operation::Operation;
use crate::process::report::Waiting;
use crate::sys::lend::{bytes_of, bytes_of_mut};
use crate::sys::memory::Region;
use crate::wire::Signature;

/// One collective call, which is compared with that of the other ranks.
pub(super) struct CheckedCall<'a> {
    comm: &'a Communicator,
    signature: Signature,
    combine: Option<Combine>,
}

impl<'a> CheckedCall<'a> {
    pub(super) fn new(comm: &'a Communicator, call: Call) -> Self {
        let signature =
            Signature { call: call as u8, root: -1, bytes: u64::MAX, ..Signature::default() };
        Self { comm, signature, combine: None }
    }

    /// The call has elements of a kind, and `count` for each rank.
    fn of<T: Element>(mut self, count: usize) -> Self {
        let basic = T::datatype().only_basic();
        self.signature.element = basic.map_or(0, crate::datatype::Basic::code);
        self.signature.bytes = (count * size_of::<T>()) as u64;
        self
    }

    fn at(mut self, root: usize) -> Self {
        self.signature.root = root as i32;
        self
    }

    fn with<T: Element>(mut self, operation: Operation) -> Result<Self> {
        let datatype = T::datatype();
        if !operation.takes(&datatype) {
            return Err(Error::Operation);
        }
        self.signature.op = operation as u8;
        let combine = move |a: &[u8], b: &mut [u8]| operation.combine(&datatype, a, b);
        self.combine = Some(Combine::Predefined(Arc::new(combine)));
        Ok(self)
    }

    fn place(&self) -> GroupRank {
        GroupRank { rank: self.comm.rank() as usize, size: self.comm.size() as usize }
    }

    /// Does it, on `memory`.
    fn run(self, memory: &Region, steps: Vec<Step>) {
        let comm = self.comm;
        let number = comm.next_call();
        let group = comm.group.clone();
        let mut schedule =
            Schedule::new(group, comm.rank(), comm.collectives(), number, memory.clone());
        schedule.signature = self.signature;
        schedule.steps = steps.into();
        schedule.combine = self.combine;
        let request = comm.process().exchange().start(schedule);
        let call = CALLS[usize::from(self.signature.call)];
        let what = || Waiting::new(call, String::new(), String::new());
        comm.process().wait(&what, |exchange| exchange.take(request));
    }

    pub(super) fn all_gather<T: Element>(self, own: &[T], all: &mut [T]) {
        let each = size_of_val(own);
        let place = self.place();
        let mut memory = Region::owned(each * place.size);
        memory.write(each * place.rank, bytes_of(own));
        let steps = place.allgather(&parts(each, place.size));
        self.run(&memory, steps);
        memory.read(0, bytes_of_mut(all));
    }
}

fn parts(each: usize, ranks: usize) -> Vec<Range<usize>> {
    (0..ranks).map(|r| r * each..(r + 1) * each).collect()
}

fn check<T>(is: &[T], should: usize) -> Result<()> {
    if is.len() == should {
        return Ok(());
    }
    Err(Error::Length(size_of_val(is), should * size_of::<T>()))
}

impl Communicator {
    /// Returns when all ranks have called it.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn barrier(&self) -> Result<()> {
        let run = CheckedCall::new(self, Call::Barrier);
        let steps = run.place().barrier();
        run.run(&Region::owned(0), steps);
        Ok(())
    }

    /// Combines the elements of all ranks, for all.
    ///
    /// # Errors
    /// [`Error::Operation`], [`Error::Length`] if the buffers are not as long.
    pub fn all_reduce_into<T: Element>(
        &self,
        own: &[T],
        into: &mut [T],
        operation: Operation,
    ) -> Result<()> {
        check(into, own.len())?;
        let run =
            CheckedCall::new(self, Call::Allreduce).of::<T>(own.len()).with::<T>(operation)?;
        let len = size_of_val(own);
        let mut memory = Region::owned(2 * len);
        memory.write(0, bytes_of(own));
        let steps = run.place().allreduce(&(0..len), &(len..2 * len));
        run.run(&memory, steps);
        memory.read(0, bytes_of_mut(into));
        Ok(())
    }

    /// Gathers the elements of all ranks, for all: as many of each.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn all_gather_into<T: Element>(&self, own: &[T], into: &mut [T]) -> Result<()> {
        check(into, own.len() * self.group.len())?;
        CheckedCall::new(self, Call::Allgather).of::<T>(own.len()).all_gather(own, into);
        Ok(())
    }

    /// Sends as many elements to each rank, in order, and receives as many of each.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn all_to_all_into<T: Element>(&self, own: &[T], into: &mut [T]) -> Result<()> {
        let ranks = self.group.len();
        check(into, own.len())?;
        check(own, own.len() / ranks * ranks)?;
        let each = size_of_val(own) / ranks;
        let len = each * ranks;
        let mut memory = Region::owned(2 * len);
        memory.write(0, bytes_of(own));
        let run = CheckedCall::new(self, Call::Alltoall).of::<T>(own.len() / ranks);
        let received: Vec<_> =
            parts(each, ranks).into_iter().map(|r| r.start + len..r.end + len).collect();
        let steps = run.place().alltoall(&parts(each, ranks), &received);
        run.run(&memory, steps);
        memory.read(len, bytes_of_mut(into));
        Ok(())
    }
}

impl ProcessAt<'_> {
    /// Sends the elements of this rank, the root, to all.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn broadcast_into<T: Element>(self, all: &mut [T]) -> Result<()> {
        let run = CheckedCall::new(self.comm, Call::Bcast).of::<T>(all.len()).at(self.rank);
        let mut memory = Region::owned(size_of_val(all));
        memory.write(0, bytes_of(all));
        let steps = run.place().bcast(self.rank, &(0..memory.len()));
        run.run(&memory, steps);
        memory.read(0, bytes_of_mut(all));
        Ok(())
    }

    /// Combines the elements of all ranks at this one, the root, whose buffer is `into`; others
    /// give none.
    ///
    /// # Errors
    /// [`Error::Operation`], [`Error::Length`] if a buffer is missing, too many, or not as long.
    pub fn reduce_into<T: Element>(
        self,
        own: &[T],
        into: Option<&mut [T]>,
        operation: Operation,
    ) -> Result<()> {
        let run = CheckedCall::new(self.comm, Call::Reduce)
            .of::<T>(own.len())
            .at(self.rank)
            .with::<T>(operation);
        let into = self.at_root(into, own.len())?;
        let run = run?;
        let len = size_of_val(own);
        let mut memory = Region::owned(2 * len);
        memory.write(0, bytes_of(own));
        let steps = run.place().reduce(self.rank, &(0..len), &(len..2 * len));
        run.run(&memory, steps);
        memory.read(0, bytes_of_mut(into));
        Ok(())
    }

    /// Gathers the elements of all ranks at this one, the root, whose buffer is `into`; others give
    /// none.
    ///
    /// # Errors
    /// [`Error::Length`], as [`Self::reduce_into`].
    pub fn gather_into<T: Element>(self, own: &[T], into: Option<&mut [T]>) -> Result<()> {
        let ranks = self.comm.group.len();
        let into = self.at_root(into, own.len() * ranks)?;
        let run = CheckedCall::new(self.comm, Call::Gather).of::<T>(own.len()).at(self.rank);
        let each = size_of_val(own);
        let place = run.place();
        let mut memory = Region::owned(each * ranks);
        memory.write(each * place.rank, bytes_of(own));
        run.run(&memory, place.gather(self.rank, &parts(each, ranks)));
        memory.read(0, bytes_of_mut(into));
        Ok(())
    }

    /// Sends as many elements of this rank, the root, to each, in order; others give none.
    ///
    /// # Errors
    /// [`Error::Length`], as [`Self::reduce_into`].
    pub fn scatter_into<T: Element>(self, all: Option<&[T]>, into: &mut [T]) -> Result<()> {
        let ranks = self.comm.group.len();
        let is_root = self.comm.rank() as usize == self.rank;
        let all = all.unwrap_or_default();
        check(all, if is_root { into.len() * ranks } else { 0 })?;
        let run = CheckedCall::new(self.comm, Call::Scatter).of::<T>(into.len()).at(self.rank);
        let each = size_of_val(into);
        let place = run.place();
        let mut memory = Region::owned(each * ranks);
        memory.write(0, bytes_of(all));
        run.run(&memory, place.scatter(self.rank, &parts(each, ranks)));
        memory.read(each * place.rank, bytes_of_mut(into));
        Ok(())
    }

    /// The buffer of the root, which no other rank has.
    fn at_root<T>(self, buffer: Option<&mut [T]>, len: usize) -> Result<&mut [T]> {
        let is_root = self.comm.rank() as usize == self.rank;
        let buffer = buffer.unwrap_or_default();
        check(buffer, if is_root { len } else { 0 })?;
        Ok(buffer)
    }
}
