//! Buffers that a program attaches for buffered sends. A message that is sent so is copied into
//! memory of this library: an attached buffer is only kept until it is detached, and nothing of it
//! is ever to be flushed.

use std::collections::HashMap;
use std::sync::LazyLock;

use parking_lot::Mutex;
use prp_mpi::request::Status as Ending;

use super::environment::process;
use super::error::{Class, Outcome, length};
use crate::object::{Handle, REQUESTS, Req};
use crate::sys::pointer::{Address, Counts, Ptr};

/// Address and bytes of what is attached to communicators and sessions; that of the process is
/// under no handle.
static ATTACHED: LazyLock<Mutex<HashMap<usize, (usize, i64)>>> = LazyLock::new(Mutex::default);

/// The process itself.
const PROCESS: Handle = Handle(0);

fn attach(to: Handle, buffer: Address, size: i64) -> Outcome {
    length(size, Class::Arg, Handle::SELF)?;
    ATTACHED.lock().insert(to.0, (buffer.address(), size));
    Ok(())
}

/// All messages have left, but for those that wait for other ones.
fn flush() -> Outcome {
    process()?.end_bursts();
    Ok(())
}

fn detach(from: Handle, buffer: Address, size: Counts) -> Outcome {
    flush()?;
    let (address, bytes) = ATTACHED.lock().remove(&from.0).unwrap_or((0, 0));
    buffer.cast::<usize>().put(address);
    size.put(bytes);
    Ok(())
}

/// A request that is done.
fn done(request: Ptr<Handle>) -> Outcome {
    request.put(REQUESTS.add(Req::Done(Ending::EMPTY)));
    Ok(())
}

pub(crate) fn buffer_attach(buffer: Address, size: i64) -> Outcome {
    attach(PROCESS, buffer, size)
}

pub(crate) fn buffer_detach(buffer: Address, size: Counts) -> Outcome {
    detach(PROCESS, buffer, size)
}

pub(crate) fn buffer_flush() -> Outcome {
    flush()
}

pub(crate) fn buffer_iflush(request: Ptr<Handle>) -> Outcome {
    done(request)
}

pub(crate) fn comm_attach_buffer(comm: Handle, buffer: Address, size: i64) -> Outcome {
    attach(comm, buffer, size)
}

pub(crate) fn comm_detach_buffer(comm: Handle, buffer: Address, size: Counts) -> Outcome {
    detach(comm, buffer, size)
}

pub(crate) fn comm_flush_buffer(_comm: Handle) -> Outcome {
    flush()
}

pub(crate) fn comm_iflush_buffer(_comm: Handle, request: Ptr<Handle>) -> Outcome {
    done(request)
}

pub(crate) fn session_attach_buffer(session: Handle, buffer: Address, size: i64) -> Outcome {
    attach(session, buffer, size)
}

pub(crate) fn session_detach_buffer(session: Handle, buffer: Address, size: Counts) -> Outcome {
    detach(session, buffer, size)
}

pub(crate) fn session_flush_buffer(_session: Handle) -> Outcome {
    flush()
}

pub(crate) fn session_iflush_buffer(_session: Handle, request: Ptr<Handle>) -> Outcome {
    done(request)
}
