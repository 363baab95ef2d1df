//! Requests that begin a message each time they are started.

use std::ffi::c_int;
use std::sync::Arc;

use super::super::error::Outcome;
use super::nonblocking::{begin_receive, begin_send};
use super::{Mode, Part, part};
use crate::object::{Handle, REQUESTS, Req};
use crate::sys::pointer::{Address, Ptr};

fn send_init_with(part: Part, mode: Mode, request: Ptr<Handle>) {
    let start = move || begin_send(part.clone(), mode);
    request.put(REQUESTS.add(Req::Persistent(Arc::new(start), None)));
}

pub(crate) fn send_init(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, to, tag, comm, false)?;
    send_init_with(part, Mode::Standard, request);
    Ok(())
}

pub(crate) fn rsend_init(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    send_init(buf, count, datatype, to, tag, comm, request)
}

pub(crate) fn ssend_init(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, to, tag, comm, false)?;
    send_init_with(part, Mode::Synchronous, request);
    Ok(())
}

pub(crate) fn bsend_init(
    buf: Address,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, to, tag, comm, false)?;
    send_init_with(part, Mode::Buffered, request);
    Ok(())
}

pub(crate) fn recv_init(
    buf: Address,
    count: i64,
    datatype: Handle,
    from: c_int,
    tag: c_int,
    comm: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let part = part(buf, count, datatype, from, tag, comm, true)?;
    let start = move || begin_receive(part.clone());
    request.put(REQUESTS.add(Req::Persistent(Arc::new(start), None)));
    Ok(())
}
