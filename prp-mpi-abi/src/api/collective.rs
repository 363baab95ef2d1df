//! Collective operations.

mod calls;
mod parts;

use std::ffi::c_int;
use std::sync::Arc;

use prp_mpi::collective::Call;
use prp_mpi::collective::algorithms::Place;
use prp_mpi::collective::schedule::{Schedule, Step};
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::Signature;

pub(crate) use calls::*;

use super::environment::process;
use super::error::{Class, Failure};
use super::message::finish;
use crate::object::{Comm, Detail, Handle, REQUESTS, Req};
use crate::sys::pointer::Ptr;

/// What a collective call does, ready to be started, any number of times.
pub(crate) struct Plan {
    pub(crate) comm: Arc<Comm>,
    pub(crate) handle: Handle,
    pub(crate) signature: Signature,
    /// Makes memory with what this rank contributes, the steps, and what becomes of the memory.
    pub(crate) make: Box<dyn Fn(Place) -> Made + Send + Sync>,
}

/// One run of a plan.
pub(crate) struct Made {
    pub(crate) memory: Region,
    pub(crate) steps: Vec<Step>,
    pub(crate) combine: Option<prp_mpi::collective::schedule::Combine>,
    pub(crate) finish: Option<prp_mpi::collective::schedule::Finish>,
}

impl Made {
    /// Steps on memory, and nothing else.
    pub(crate) fn new(memory: Region, steps: Vec<Step>) -> Self {
        Self { memory, steps, combine: None, finish: None }
    }

    /// Has the first bytes of the memory from `at` on go to `to` in the end.
    pub(crate) fn then_copy(mut self, at: usize, to: Region) -> Self {
        self.finish = Some(Box::new(move |memory| {
            let mut to = to;
            let end = at + to.len();
            to.copy_from(&memory.part(at..end));
        }));
        self
    }
}

impl Plan {
    fn schedule(&self) -> Schedule {
        let comm = &self.comm;
        let place = Place { rank: comm.rank, size: comm.size() };
        let made = (self.make)(place);
        let mut schedule = Schedule::new(
            comm.group.clone(),
            comm.rank as i32,
            comm.collectives(),
            comm.next_call(),
            made.memory,
        );
        schedule.signature = self.signature;
        schedule.steps = made.steps.into();
        schedule.combine = made.combine;
        schedule.finish = made.finish;
        schedule
    }

    fn detail(&self) -> Detail {
        Detail {
            is_receive: false,
            is_collective: true,
            peer: self.signature.root,
            tag: 0,
            bytes: self.signature.bytes,
        }
    }

    fn start(&self) -> Result<Req, Failure> {
        let process = process()?;
        process.complete_released();
        let id = process.engine().start(self.schedule());
        Ok(Req::Active(id, self.handle, self.detail()))
    }

    /// Does it now.
    pub(crate) fn run(&self) -> super::error::Outcome {
        let process = process()?;
        process.complete_released();
        let id = process.engine().start(self.schedule());
        finish(id, self.handle, self.detail()).map(drop)
    }

    /// Begins it.
    pub(crate) fn begin(&self, request: Ptr<Handle>) -> super::error::Outcome {
        request.put(REQUESTS.add(self.start()?));
        Ok(())
    }

    /// Makes a request that begins it when started.
    pub(crate) fn keep(self, request: Ptr<Handle>) {
        let start = move || self.start();
        request.put(REQUESTS.add(Req::Persistent(Arc::new(start), None)));
    }
}

/// What all must agree on.
pub(crate) fn signature(call: Call, root: c_int) -> Signature {
    Signature { call: call as u8, op: 0, element: 0, root, bytes: u64::MAX }
}

/// The communicator of a collective call, which has one group.
pub(crate) fn intra(handle: Handle) -> Result<Arc<Comm>, Failure> {
    let comm = super::environment::comm_of(handle)?;
    if comm.remote.is_some() {
        let text = "collective operations between two groups are not implemented";
        return Err(Failure::new(Class::Comm, handle, text));
    }
    Ok(comm)
}

/// A number of rank `root`, on all ranks.
pub(crate) fn bcast_words(
    comm: &Comm,
    handle: Handle,
    call: Call,
    root: usize,
    word: u64,
) -> Result<u64, Failure> {
    let mut memory = Region::owned(8);
    memory.write(0, &word.to_le_bytes());
    let place = Place { rank: comm.rank, size: comm.size() };
    let steps = place.bcast(root, &(0..8));
    run_steps(comm, handle, call, &memory, steps)?;
    Ok(words(&memory)[0])
}

/// The numbers of all ranks, on all ranks.
pub(crate) fn allgather_words(
    comm: &Comm,
    handle: Handle,
    call: Call,
    own: &[u64],
) -> Result<Vec<u64>, Failure> {
    let each = 8 * own.len();
    let mut memory = Region::owned(each * comm.size());
    let bytes: Vec<u8> = own.iter().flat_map(|w| w.to_le_bytes()).collect();
    memory.write(each * comm.rank, &bytes);
    let parts: Vec<_> = (0..comm.size()).map(|r| r * each..(r + 1) * each).collect();
    let place = Place { rank: comm.rank, size: comm.size() };
    run_steps(comm, handle, call, &memory, place.allgather(&parts))?;
    Ok(words(&memory))
}

fn words(memory: &Region) -> Vec<u64> {
    let bytes = memory.to_vec();
    bytes.chunks_exact(8).map(|c| u64::from_le_bytes(std::array::from_fn(|i| c[i]))).collect()
}

fn run_steps(
    comm: &Comm,
    handle: Handle,
    call: Call,
    memory: &Region,
    steps: Vec<Step>,
) -> Result<(), Failure> {
    let mut schedule = Schedule::new(
        comm.group.clone(),
        comm.rank as i32,
        comm.collectives(),
        comm.next_call(),
        memory.clone(),
    );
    schedule.signature = signature(call, -1);
    schedule.steps = steps.into();
    let process = process()?;
    process.complete_released();
    let id = process.engine().start(schedule);
    let detail = Detail { is_receive: false, is_collective: true, peer: -1, tag: 0, bytes: 0 };
    finish(id, handle, detail).map(drop)
}
