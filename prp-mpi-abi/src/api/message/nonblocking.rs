//! Calls that begin a message and return a request.

use std::ffi::c_int;

use prp_mpi::request::Status as Ending;

use super::super::error::{Failure, Outcome};
use super::{Mode, NOBODY, Part, active, part};
use crate::object::{Handle, REQUESTS, Req};
use crate::sys::pointer::{Address, Ptr};

/// Begins to send, as a request.
pub(super) fn begin_send(part: Part, mode: Mode) -> Result<Req, Failure> {
    let (begun, detail) = (part.send_in_burst(mode)?, part.detail(false));
    Ok(active(begun, part.of, detail, Ending::EMPTY))
}

/// Begins to receive, as a request.
pub(super) fn begin_receive(part: Part) -> Result<Req, Failure> {
    let (begun, detail) = (part.receive()?, part.detail(true));
    Ok(active(begun, part.of, detail, NOBODY))
}

pub(crate) fn isend(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, to, tag, comm, false)?;
    request.put(REQUESTS.add(begin_send(part, Mode::Standard)?));
    Ok(())
}

pub(crate) fn irsend(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    isend(buf, count, datatype, to, tag, comm, request)
}

pub(crate) fn issend(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, to, tag, comm, false)?;
    request.put(REQUESTS.add(begin_send(part, Mode::Synchronous)?));
    Ok(())
}

pub(crate) fn ibsend(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, to, tag, comm, false)?;
    request.put(REQUESTS.add(begin_send(part, Mode::Buffered)?));
    Ok(())
}

pub(crate) fn irecv(
    buf: Address,
    count: i64,
    datatype: Handle,
    from: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, from, tag, comm, true)?;
    request.put(REQUESTS.add(begin_receive(part)?));
    Ok(())
}

pub(crate) fn isendrecv(
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
    request: Ptr<Handle>,
) -> Outcome {
    let out = part(sendbuf, sendcount, sendtype, to, sendtag, comm, false)?;
    let into = part(recvbuf, recvcount, recvtype, from, recvtag, comm, true)?;
    let receive = begin_receive(into)?;
    out.send(Mode::Copied)?;
    request.put(REQUESTS.add(receive));
    Ok(())
}

pub(crate) fn isendrecv_replace(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    sendtag: c_int,
    from: c_int,
    recvtag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let out = part(buf, count, datatype, to, sendtag, comm, false)?;
    let into = part(buf, count, datatype, from, recvtag, comm, true)?;
    out.send(Mode::Copied)?;
    request.put(REQUESTS.add(begin_receive(into)?));
    Ok(())
}
