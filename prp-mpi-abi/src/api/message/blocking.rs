//! Calls that return when the message is sent or received.

use std::ffi::c_int;

use prp_mpi::sys::memory::Region;

use super::super::early::wait_for;
use super::super::environment::process;
use super::super::error::Outcome;
use super::{Mode, NOBODY, Part, check, finish, part, put_status};
use crate::object::Handle;
use crate::sys::pointer::{Address, Ptr, Status};

fn send_now(part: &Part, mode: Mode) -> Outcome {
    match part.send(mode)? {
        Some(request) => finish(request, &part.of, part.detail(false)).map(drop),
        None => {
            process()?.end_bursts();
            Ok(())
        }
    }
}

pub(crate) fn send(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> Outcome {
    send_now(&part(buf, count, datatype, to, tag, comm, false)?, Mode::Standard)
}

pub(crate) fn rsend(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> Outcome {
    send(buf, count, datatype, to, tag, comm)
}

pub(crate) fn ssend(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> Outcome {
    send_now(&part(buf, count, datatype, to, tag, comm, false)?, Mode::Synchronous)
}

pub(crate) fn bsend(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
) -> Outcome {
    send_now(&part(buf, count, datatype, to, tag, comm, false)?, Mode::Buffered)
}

pub(crate) fn recv(
    buf: Address,
    count: i64,
    datatype: Handle,
    from: c_int,
    tag: c_int,
    comm: Handle,
    status: Ptr<Status>,
) -> Outcome {
    let part = part(buf, count, datatype, from, tag, comm, true)?;
    let Some(request) = part.receive()? else {
        put_status(status, &NOBODY);
        return Ok(());
    };
    let ending = wait_for(request, &part, status.is_null())?;
    put_status(status, &ending);
    check(ending, &part.of).map(drop)
}

fn sendrecv_with(out: &Part, copied: bool, into: &Part, status: Ptr<Status>) -> Outcome {
    let receive = into.receive()?;
    let sent = out.send(if copied { Mode::Copied } else { Mode::Standard })?;
    let ending = match receive {
        None => NOBODY,
        Some(request) => wait_for(request, into, status.is_null())?,
    };
    if let Some(request) = sent {
        finish(request, &out.of, out.detail(false))?;
    }
    put_status(status, &ending);
    check(ending, &into.of).map(drop)
}

pub(crate) fn sendrecv(
    sendbuf: Address,
    sendcount: i64,
    sendtype: Handle,
    to: c_int,
    sendtag: c_int,
    recvbuf: Address,
    recvcount: i64,
    recvtype: Handle,
    from: c_int,
    recvtag: c_int,
    comm: Handle,
    status: Ptr<Status>,
) -> Outcome {
    let out = part(sendbuf, sendcount, sendtype, to, sendtag, comm, false)?;
    let into = part(recvbuf, recvcount, recvtype, from, recvtag, comm, true)?;
    sendrecv_with(&out, false, &into, status)
}

/// What is sent is copied first, since it is overwritten.
pub(crate) fn sendrecv_replace(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    sendtag: c_int,
    from: c_int,
    recvtag: c_int,
    comm: Handle,
    status: Ptr<Status>,
) -> Outcome {
    let mut out = part(buf, count, datatype, to, sendtag, comm, false)?;
    let into = part(buf, count, datatype, from, recvtag, comm, true)?;
    let mut copy = Region::owned(out.region.len());
    copy.copy_from(&out.region);
    out.region = copy;
    sendrecv_with(&out, true, &into, status)
}
