//! The pointer that the ranks of a file share. The first of them keeps it, as a window with one
//! number, which the others ask for by messages.

use std::sync::Arc;

use prp_mpi::datatype::{Class as Kind, Datatype};
use prp_mpi::exchange::{Access, Action};
use prp_mpi::operation::Operation;
use prp_mpi::process::report::Waiting;
use prp_mpi::sys::memory::Region;

use crate::api::collective::{allgather_words, bcast_words};
use crate::api::environment::process;
use crate::api::error::{Failure, Outcome, current_call};
use crate::object::{Handle, OpenFile};

/// Bytes of the pointer.
const LEN: u8 = 8;

/// Places the pointer at a unit of the view. The other ranks have none of it.
pub(super) fn open(file: &OpenFile, start: u64) -> Outcome {
    if file.is_first() {
        let mut memory = Region::owned(LEN.into());
        memory.write(0, &start.to_le_bytes());
        let process = process()?;
        process.exchange().open_window(file.comm.messages(), memory);
        // Where no thread can be had, others wait until this rank waits, too.
        let _ = process.serve_windows();
    }
    Ok(())
}

/// No rank asks for it any more.
pub(super) fn close(file: &OpenFile) -> Outcome {
    if file.is_first() {
        process()?.exchange().close_window(file.comm.messages());
    }
    Ok(())
}

impl OpenFile {
    /// Combines the pointer with a number at once; the number that it was before.
    fn change_shared(&self, operation: Operation, by: u64) -> Result<u64, Failure> {
        let process = process()?;
        process.settle(|| 0..usize::MAX);
        let datatype = Arc::new(Datatype::basic(Kind::Unsigned, LEN));
        let access = Access { at: 0, count: 1, datatype, operation };
        let mut data = Region::owned(LEN.into());
        data.write(0, &by.to_le_bytes());
        let before = Region::owned(LEN.into());
        let (to, context) = (self.comm.group[0], self.comm.messages());
        let request = {
            let mut exchange = process.exchange();
            let request = exchange.begin_parts(1);
            let (what, into) = ((Action::Fetch, &access), (before.clone(), 0));
            exchange.fetch(to, context, what, data, into, request);
            request
        };
        let what = || {
            let name = process.name_of(context);
            let mut waiting = Waiting::new(current_call(), name, "the shared pointer".to_owned());
            waiting.peer = Some(to);
            waiting
        };
        process.wait(&what, |exchange| exchange.take(request));
        let bytes = before.to_vec();
        Ok(u64::from_le_bytes(std::array::from_fn(|i| bytes[i])))
    }

    /// The unit of the view that the pointer is at.
    pub(super) fn shared_position(&self) -> Result<u64, Failure> {
        self.change_shared(Operation::NoOp, 0)
    }

    /// Moves the pointer behind the next `units`; where these begin.
    pub(super) fn take_shared(&self, units: u64) -> Result<u64, Failure> {
        self.change_shared(Operation::Sum, units)
    }

    /// Places the pointer; all ranks do.
    pub(super) fn place_shared(&self, handle: Handle, unit: u64) -> Outcome {
        if self.is_first() {
            self.change_shared(Operation::Replace, unit)?;
        }
        self.barrier(handle)
    }

    /// Moves the pointer behind what all ranks ask for, in the order of ranks; where the units of
    /// this one begin.
    pub(super) fn take_in_order(&self, handle: Handle, units: u64) -> Result<u64, Failure> {
        let own = |failure| self.own(handle, failure);
        let all = allgather_words(&self.comm, handle, &[units]).map_err(own)?;
        let sum: u64 = all.iter().sum();
        let first = if self.is_first() { self.take_shared(sum)? } else { 0 };
        let first = bcast_words(&self.comm, handle, 0, &[first]).map_err(own)?[0];
        Ok(first + all[..self.comm.rank].iter().sum::<u64>())
    }
}
