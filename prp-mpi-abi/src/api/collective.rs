//! Collective operations.

mod calls;
pub(crate) mod choice;
mod parts;

use std::ffi::c_int;
use std::sync::Arc;

use prp_mpi::collective::Call;
use prp_mpi::collective::algorithms::GroupRank;
use prp_mpi::collective::schedule::{Combine, Schedule, Step};
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::Signature;

pub(crate) use calls::*;

use super::environment::process;
use super::error::{Class, Failure};
use super::message::{check_by, finish, waiting};
use crate::object::{Comm, Detail, Handle, HeldComm, REQUESTS, Req};
use crate::sys::pointer::Ptr;

/// What a collective call does, ready to be started, any number of times.
pub(crate) struct Plan {
    pub(crate) comm: Arc<Comm>,
    pub(crate) handle: Handle,
    pub(crate) signature: Signature,
    /// Makes memory with what this rank contributes, the steps, and what becomes of the memory.
    pub(crate) make: Box<dyn Fn(GroupRank) -> PlannedRun + Send + Sync>,
}

/// One run of a plan.
pub(crate) struct PlannedRun {
    pub(crate) memory: Region,
    pub(crate) steps: Vec<Step>,
    pub(crate) combine: Option<Combine>,
    pub(crate) finish: Option<prp_mpi::collective::schedule::Finish>,
}

impl PlannedRun {
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
    fn schedule(&self, number: i32) -> Schedule {
        let comm = &self.comm;
        let (everyone, rank) = comm.everyone();
        let made = (self.make)(GroupRank { rank, size: everyone.len() });
        let context = comm.collectives();
        let mut schedule = Schedule::new(everyone, rank as i32, context, number, made.memory);
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

    fn held(&self) -> HeldComm {
        HeldComm { handle: self.handle, comm: self.comm.clone() }
    }

    fn start(&self, number: i32) -> Result<Req, Failure> {
        let process = process()?;
        process.complete_released();
        let id = process.exchange().start(self.schedule(number));
        Ok(Req::Active(id, self.held(), self.detail()))
    }

    /// Does it now.
    pub(crate) fn run(&self) -> super::error::Outcome {
        let process = process()?;
        process.complete_released();
        let id = process.exchange().start(self.schedule(self.comm.next_call()));
        finish(id, &self.held(), self.detail()).map(drop)
    }

    /// Begins it.
    pub(crate) fn begin(&self, request: Ptr<Handle>) -> super::error::Outcome {
        request.put(REQUESTS.add(self.start(self.comm.next_call())?));
        Ok(())
    }

    /// Makes a request that begins it when started.
    pub(crate) fn keep(self, request: Ptr<Handle>) {
        let number = self.comm.next_persistent();
        let start = move || self.start(number);
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
        let text = "this is not defined between two groups";
        return Err(Failure::new(Class::Comm, handle, text));
    }
    Ok(comm)
}

/// Numbers of rank `root`, on all ranks: of both groups of an intercommunicator, in one list.
pub(crate) fn bcast_words(
    comm: &Comm,
    handle: Handle,
    root: usize,
    own: &[u64],
) -> Result<Vec<u64>, Failure> {
    let memory = memory_of(own);
    run_steps(comm, handle, &memory, |place| place.bcast(root, &(0..memory.len())))?;
    Ok(words(&memory))
}

/// The numbers of all ranks, on all ranks.
pub(crate) fn allgather_words(
    comm: &Comm,
    handle: Handle,
    own: &[u64],
) -> Result<Vec<u64>, Failure> {
    let each = 8 * own.len();
    let (everyone, rank) = comm.everyone();
    let memory = Region::owned(each * everyone.len());
    memory.part(rank * each..(rank + 1) * each).copy_from(&memory_of(own));
    let parts: Vec<_> = (0..everyone.len()).map(|r| r * each..(r + 1) * each).collect();
    run_steps(comm, handle, &memory, |place| match place.size.is_power_of_two() {
        true => place.allgather_doubling(&parts),
        false => place.allgather(&parts),
    })?;
    Ok(words(&memory))
}

/// The sum of what all ranks have for this one: `own` has a number for each. No rank leaves before
/// all have come.
pub(crate) fn sum_for_own(comm: &Comm, handle: Handle, own: &[u32]) -> Result<u32, Failure> {
    let len = 4 * own.len();
    let mut memory = Region::owned(2 * len);
    memory.write(0, &own.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<_>>());
    let mut schedule =
        agreement(comm, &memory, |place| place.allreduce(&(0..len), &(len..2 * len)));
    schedule.signature = signature(Call::Barrier, -1);
    schedule.combine = Some(Combine::Predefined(Arc::new(add_numbers)));
    run_schedule(comm, handle, schedule)?;
    let (_, rank) = comm.everyone();
    Ok(numbers(&memory.to_vec()).nth(rank).unwrap_or(0))
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().map(|number| u32::from_le_bytes(*number))
}

fn add_numbers(some: &[u8], sum: &mut [u8]) {
    for (one, sum) in numbers(some).zip(sum.as_chunks_mut().0) {
        *sum = u32::from_le_bytes(*sum).wrapping_add(one).to_le_bytes();
    }
}

/// A text of rank `root`, on all ranks.
pub(crate) fn bcast_text(
    comm: &Comm,
    handle: Handle,
    root: usize,
    own: &str,
) -> Result<String, Failure> {
    let len = bcast_words(comm, handle, root, &[own.len() as u64])?[0] as usize;
    let mut memory = Region::owned(len);
    if comm.rank == root {
        memory.write(0, own.as_bytes());
    }
    run_steps(comm, handle, &memory, |place| place.bcast(root, &(0..len)))?;
    Ok(String::from_utf8_lossy(&memory.to_vec()).into_owned())
}

/// The texts of all ranks, on all ranks: how long they are by the one communicator, and they
/// themselves by the other one, which has the same ranks.
pub(crate) fn allgather_texts(
    [before, comm]: [&Comm; 2],
    handle: Handle,
    own: &str,
) -> Result<Vec<String>, Failure> {
    let lens = allgather_words(before, handle, &[own.len() as u64])?;
    let mut parts = Vec::new();
    for len in lens {
        let begin = parts.last().map_or(0, |part: &std::ops::Range<usize>| part.end);
        parts.push(begin..begin + len as usize);
    }
    let mut memory = Region::owned(parts.last().map_or(0, |part| part.end));
    let (_, rank) = comm.everyone();
    memory.write(parts[rank].start, own.as_bytes());
    run_steps(comm, handle, &memory, |place| place.allgather(&parts))?;
    let all = memory.to_vec();
    let text = |part: std::ops::Range<usize>| String::from_utf8_lossy(&all[part]).into_owned();
    Ok(parts.into_iter().map(text).collect())
}

fn memory_of(words: &[u64]) -> Region {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut memory = Region::owned(bytes.len());
    memory.write(0, &bytes);
    memory
}

/// Numbers as they were sent.
pub(crate) fn words(memory: &Region) -> Vec<u64> {
    let bytes = memory.to_vec();
    bytes.chunks_exact(8).map(|c| u64::from_le_bytes(std::array::from_fn(|i| c[i]))).collect()
}

/// A schedule of all ranks of a communicator, for what makes another.
fn agreement(comm: &Comm, memory: &Region, steps: impl FnOnce(GroupRank) -> Vec<Step>) -> Schedule {
    let (everyone, rank) = comm.everyone();
    let steps = steps(GroupRank { rank, size: everyone.len() });
    let (context, number) = (comm.collectives(), comm.next_call());
    let mut schedule = Schedule::new(everyone, rank as i32, context, number, memory.clone());
    schedule.signature = signature(Call::Communicator, -1);
    schedule.steps = steps.into();
    schedule
}

const AGREEMENT: Detail =
    Detail { is_receive: false, is_collective: true, peer: -1, tag: 0, bytes: 0 };

fn run_steps(
    comm: &Comm,
    handle: Handle,
    memory: &Region,
    steps: impl FnOnce(GroupRank) -> Vec<Step>,
) -> Result<(), Failure> {
    run_schedule(comm, handle, agreement(comm, memory, steps))
}

fn run_schedule(comm: &Comm, handle: Handle, schedule: Schedule) -> Result<(), Failure> {
    let process = process()?;
    process.complete_released();
    let id = process.exchange().start(schedule);
    let status = process.wait(&|| waiting(comm, AGREEMENT), |exchange| exchange.take(id));
    check_by(status, |text| Failure::new(Class::Truncate, handle, text)).map(drop)
}

/// Begins to hand a number of the first rank to all; `then` has it in the end.
pub(crate) fn begin_bcast_word(
    comm: &Arc<Comm>,
    handle: Handle,
    own: u64,
    then: impl FnOnce(u64) + Send + 'static,
) -> Result<Req, Failure> {
    let memory = memory_of(&[own]);
    let mut schedule = agreement(comm, &memory, |place| place.bcast(0, &(0..8)));
    schedule.finish = Some(Box::new(move |memory| then(words(memory)[0])));
    let process = process()?;
    process.complete_released();
    let of = HeldComm { handle, comm: comm.clone() };
    Ok(Req::Active(process.exchange().start(schedule), of, AGREEMENT))
}
