//! Buffers that a program attaches for buffered sends. A message that is sent so is copied into
//! memory of this library: an attached buffer is only kept until it is detached, with what was sent
//! and may not have left.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use prp_mpi::request::RequestId;

use super::environment::comm_of;
use super::error::{Class, Failure, Outcome, length};
use super::message::{DEPARTURE, begin_departure, finish};
use crate::object::{Handle, HeldComm, REQUESTS, Req};
use crate::sys::pointer::{Address, Counts, Ptr};

/// What a buffer is attached to.
#[derive(Copy, Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Owner {
    Process,
    Comm(Handle),
    Session(Handle),
}

/// A buffer that is attached.
#[derive(Debug)]
struct Buffer {
    address: usize,
    bytes: i64,
    /// The last message to each rank of the world that may not have left, by its number.
    last: BTreeMap<usize, u64>,
}

static ATTACHED: Mutex<BTreeMap<Owner, Buffer>> = Mutex::new(BTreeMap::new());

/// Notes that a buffered message of a communicator has not left: its number, and the rank of the
/// world that it goes to.
pub(super) fn note(comm: Handle, to: usize, number: u64) {
    let mut attached = ATTACHED.lock();
    if let Some(own) = attached.get_mut(&Owner::Comm(comm)) {
        own.last.insert(to, number);
        return;
    }
    // No communicator knows its session: each other buffer may be the one.
    for (owner, buffer) in &mut *attached {
        if !matches!(owner, Owner::Comm(_)) {
            buffer.last.insert(to, number);
        }
    }
}

/// Forgets the buffer of a communicator that the program has freed.
pub(super) fn forget(comm: Handle) {
    ATTACHED.lock().remove(&Owner::Comm(comm));
}

fn attach(to: Owner, address: Address, size: i64) -> Outcome {
    length(size, Class::Arg, Handle::SELF)?;
    let buffer = Buffer { address: address.address(), bytes: size, last: BTreeMap::new() };
    ATTACHED.lock().insert(to, buffer);
    Ok(())
}

/// Begins to wait until all messages of a buffer have left.
fn begin_flush(of: Owner) -> Result<(RequestId, HeldComm), Failure> {
    let handle = if let Owner::Comm(comm) = of { comm } else { Handle::SELF };
    let held = HeldComm { handle, comm: comm_of(handle)? };
    let last = ATTACHED.lock().get(&of).map(|buffer| buffer.last.clone());
    Ok((begin_departure(last.unwrap_or_default())?, held))
}

fn flush(of: Owner) -> Outcome {
    let (request, held) = begin_flush(of)?;
    finish(request, &held, DEPARTURE).map(drop)
}

fn iflush(of: Owner, request: Ptr<Handle>) -> Outcome {
    let (begun, held) = begin_flush(of)?;
    request.put(REQUESTS.add(Req::Active(begun, held, DEPARTURE)));
    Ok(())
}

fn detach(from: Owner, buffer: Address, size: Counts) -> Outcome {
    flush(from)?;
    let detached = ATTACHED.lock().remove(&from);
    let (address, bytes) = detached.map_or((0, 0), |detached| (detached.address, detached.bytes));
    buffer.cast::<usize>().put(address);
    size.put(bytes);
    Ok(())
}

pub(crate) fn buffer_attach(buffer: Address, size: i64) -> Outcome {
    attach(Owner::Process, buffer, size)
}

pub(crate) fn buffer_detach(buffer: Address, size: Counts) -> Outcome {
    detach(Owner::Process, buffer, size)
}

pub(crate) fn buffer_flush() -> Outcome {
    flush(Owner::Process)
}

pub(crate) fn buffer_iflush(request: Ptr<Handle>) -> Outcome {
    iflush(Owner::Process, request)
}

pub(crate) fn comm_attach_buffer(comm: Handle, buffer: Address, size: i64) -> Outcome {
    attach(Owner::Comm(comm), buffer, size)
}

pub(crate) fn comm_detach_buffer(comm: Handle, buffer: Address, size: Counts) -> Outcome {
    detach(Owner::Comm(comm), buffer, size)
}

pub(crate) fn comm_flush_buffer(comm: Handle) -> Outcome {
    flush(Owner::Comm(comm))
}

pub(crate) fn comm_iflush_buffer(comm: Handle, request: Ptr<Handle>) -> Outcome {
    iflush(Owner::Comm(comm), request)
}

pub(crate) fn session_attach_buffer(session: Handle, buffer: Address, size: i64) -> Outcome {
    attach(Owner::Session(session), buffer, size)
}

pub(crate) fn session_detach_buffer(session: Handle, buffer: Address, size: Counts) -> Outcome {
    detach(Owner::Session(session), buffer, size)
}

pub(crate) fn session_flush_buffer(session: Handle) -> Outcome {
    flush(Owner::Session(session))
}

pub(crate) fn session_iflush_buffer(session: Handle, request: Ptr<Handle>) -> Outcome {
    iflush(Owner::Session(session), request)
}
