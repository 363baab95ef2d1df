//! Messages between two ranks.

mod probe;
mod status;

use std::ffi::c_int;
use std::sync::Arc;

use prp_mpi::datatype::Datatype;
use prp_mpi::matching::Pattern;
use prp_mpi::process::report::Waiting;
use prp_mpi::request::{Outcome as Ended, RequestId, Status as Ending};
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::{Header, Kind, Signature};

pub(crate) use self::probe::*;
pub(crate) use self::status::*;
use super::early::{self, wait_for};
use super::environment::{comm, comm_of, process};
use super::error::{Class, Failure, Outcome, current_call};
use super::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::object::{self, Comm, Detail, Handle, REQUESTS, Req};
use crate::sys::pointer::{Address, Ptr, Status};

/// How a message is sent.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// The buffer may be used again when the call, or the request, is done.
    Standard,
    /// As standard, and the receiver has begun to receive.
    Synchronous,
    /// The message is copied: done at once.
    Buffered,
}

/// A buffer, its elements and its peer, checked.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) comm: Arc<Comm>,
    pub(crate) handle: Handle,
    pub(crate) region: Region,
    pub(crate) peer: c_int,
    pub(crate) tag: c_int,
}

/// The datatype of a handle.
pub(crate) fn type_of(handle: Handle, comm: Handle) -> Result<Arc<Datatype>, Failure> {
    object::datatype(handle).ok_or_else(|| Failure::new(Class::Type, comm, "no such datatype"))
}

/// `count` elements of a datatype as a region.
pub(crate) fn region(
    buffer: Address,
    count: i64,
    datatype: Handle,
    comm: Handle,
) -> Result<Region, Failure> {
    let datatype = type_of(datatype, comm)?;
    let count = usize::try_from(count)
        .map_err(|_| Failure::new(Class::Count, comm, format!("count {count} is negative")))?;
    let reached = buffer.address().wrapping_add_signed(datatype.first_byte());
    if reached == 0 && count > 0 && datatype.size() > 0 {
        return Err(Failure::new(Class::Buffer, comm, "no buffer"));
    }
    Ok(buffer.region(count, &datatype))
}

fn part(
    buffer: Address,
    count: i64,
    datatype: Handle,
    peer: c_int,
    tag: c_int,
    handle: Handle,
    is_receive: bool,
) -> Result<Part, Failure> {
    let comm = comm_of(handle)?;
    let is_rank = (0..comm.peers().len() as c_int).contains(&peer) || peer == PROC_NULL;
    if !(is_rank || is_receive && peer == ANY_SOURCE) {
        let text = format!("rank {peer} is not in the communicator of {}", comm.peers().len());
        return Err(Failure::new(Class::Rank, handle, text));
    }
    if !(tag >= 0 || is_receive && tag == ANY_TAG || peer == PROC_NULL) {
        return Err(Failure::new(Class::Tag, handle, format!("tag {tag} is negative")));
    }
    let region = region(buffer, count, datatype, handle)?;
    Ok(Part { comm, handle, region, peer, tag })
}

impl Part {
    /// What this is, in reports.
    pub(crate) fn detail(&self, is_receive: bool) -> Detail {
        Detail {
            is_receive,
            is_collective: false,
            peer: self.peer,
            tag: self.tag,
            bytes: self.region.len() as u64,
        }
    }

    /// Begins to send. `None` if there is nothing to wait for.
    pub(crate) fn send(&self, mode: Mode) -> Result<Option<RequestId>, Failure> {
        let process = process()?;
        let Ok(peer) = usize::try_from(self.peer) else { return Ok(None) };
        process.settle(|| self.region.span());
        let kind = match mode {
            Mode::Synchronous => Kind::Synchronous,
            _ if early::is_worth_it(&self.comm, &self.region) => Kind::EndFirst,
            _ => Kind::Message,
        };
        let header = Header {
            kind,
            source: self.comm.rank as i32,
            tag: self.tag,
            id: 0,
            context: self.comm.messages(),
            len: 0,
            signature: Signature::default(),
        };
        let to = self.comm.peers()[peer];
        let mut engine = process.engine();
        if mode != Mode::Buffered {
            return Ok(Some(engine.send(to, header, &self.region)));
        }
        let mut copy = Region::owned(self.region.len());
        copy.copy_from(&self.region);
        let request = engine.send(to, header, &copy);
        engine.free(request);
        Ok(None)
    }

    fn pattern(&self) -> Pattern {
        pattern(&self.comm, self.peer, self.tag)
    }

    /// Begins to receive. `None` from nobody.
    pub(crate) fn receive(&self) -> Result<Option<RequestId>, Failure> {
        if self.peer == PROC_NULL {
            return Ok(None);
        }
        let process = process()?;
        process.complete(|| self.region.span());
        let (pattern, region) = (self.pattern(), self.region.clone());
        if early::is_worth_it(&self.comm, &region) {
            return Ok(Some(process.engine().receive_early(pattern, region)));
        }
        Ok(Some(process.engine().receive(pattern, region)))
    }
}

fn pattern(comm: &Comm, peer: c_int, tag: c_int) -> Pattern {
    Pattern {
        context: comm.messages(),
        source: (peer != ANY_SOURCE).then_some(peer),
        tag: (tag != ANY_TAG).then_some(tag),
    }
}

/// What a receive from nobody has got.
pub(crate) const NOBODY: Ending = Ending { source: PROC_NULL, ..Ending::EMPTY };

/// What somebody waits for, for reports.
pub(crate) fn waiting(handle: Handle, detail: Detail) -> Waiting {
    let comm = comm(handle);
    let name = comm.as_ref().map(|c| c.name.lock().clone()).unwrap_or_default();
    let mut text = String::new();
    if !detail.is_collective {
        let peer = match detail.peer {
            ANY_SOURCE => "any".to_owned(),
            peer => peer.to_string(),
        };
        let tag = if detail.tag == ANY_TAG { "any".to_owned() } else { detail.tag.to_string() };
        let way = if detail.is_receive { "from" } else { "to" };
        text = format!("{way} {peer} tag {tag}, {} bytes", detail.bytes);
    }
    let mut waiting = Waiting::new(current_call(), name, text);
    let peer = usize::try_from(detail.peer).ok().filter(|_| !detail.is_collective);
    waiting.peer = peer.and_then(|p| comm?.peers().get(p).copied());
    waiting
}

/// Waits for a request that nobody else knows.
pub(crate) fn finish(
    request: RequestId,
    handle: Handle,
    detail: Detail,
) -> Result<Ending, Failure> {
    let process = process()?;
    let status = process.wait(&|| waiting(handle, detail), |engine| engine.take(request));
    check(status, handle)
}

/// A message that was longer than its buffer is an error.
pub(crate) fn check(status: Ending, handle: Handle) -> Result<Ending, Failure> {
    if status.outcome == Ended::Truncated {
        let text = format!(
            "the message from rank {} with tag {} is longer than the buffer of {} bytes",
            status.source, status.tag, status.bytes
        );
        return Err(Failure::new(Class::Truncate, handle, text));
    }
    Ok(status)
}

/// The status as C has it. The error field is not touched, but in calls that say so.
pub(crate) fn put_status(to: Ptr<Status>, ending: &Ending) {
    if to.is_null() {
        return;
    }
    // Only an empty status says that there was no error; of others the call's value says that.
    let error = if *ending == Ending::EMPTY { 0 } else { to.get().error };
    to.put(Status { error, ..status_of(ending) });
}

pub(crate) fn status_of(ending: &Ending) -> Status {
    Status {
        source: ending.source,
        tag: ending.tag,
        error: 0,
        bytes: [ending.bytes as u32, (ending.bytes >> 32) as u32],
        cancelled: ending.cancelled.into(),
        spare: [0; 2],
    }
}

fn send_now(part: &Part, mode: Mode) -> Outcome {
    if let Some(request) = part.send(mode)? {
        finish(request, part.handle, part.detail(false))?;
    }
    Ok(())
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
    check(ending, comm).map(drop)
}

fn sendrecv_with(out: &Part, copied: bool, into: &Part, status: Ptr<Status>) -> Outcome {
    let receive = into.receive()?;
    let sent = out.send(if copied { Mode::Buffered } else { Mode::Standard })?;
    let ending = match receive {
        None => NOBODY,
        Some(request) => wait_for(request, into, status.is_null())?,
    };
    if let Some(request) = sent {
        finish(request, out.handle, out.detail(false))?;
    }
    put_status(status, &ending);
    check(ending, into.handle).map(drop)
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
    let receive = into.receive()?;
    out.send(Mode::Buffered)?;
    request.put(REQUESTS.add(active(receive, comm, into.detail(true), NOBODY)));
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
    out.send(Mode::Buffered)?;
    let receive = into.receive()?;
    request.put(REQUESTS.add(active(receive, comm, into.detail(true), NOBODY)));
    Ok(())
}

/// What was begun as a request.
pub(crate) fn active(begun: Option<RequestId>, comm: Handle, detail: Detail, done: Ending) -> Req {
    begun.map_or(Req::Done(done), |id| Req::Active(id, comm, detail))
}

fn isend_with(part: &Part, mode: Mode) -> Result<Req, Failure> {
    let begun = part.send(mode)?;
    Ok(active(begun, part.handle, part.detail(false), Ending::EMPTY))
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
    request.put(REQUESTS.add(isend_with(&part, Mode::Standard)?));
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
    request.put(REQUESTS.add(isend_with(&part, Mode::Synchronous)?));
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
    request.put(REQUESTS.add(isend_with(&part, Mode::Buffered)?));
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
    let begun = part.receive()?;
    request.put(REQUESTS.add(active(begun, comm, part.detail(true), NOBODY)));
    Ok(())
}

fn send_init_with(part: Part, mode: Mode, request: Ptr<Handle>) {
    let start = move || isend_with(&part, mode);
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
    let start = move || Ok(active(part.receive()?, comm, part.detail(true), NOBODY));
    request.put(REQUESTS.add(Req::Persistent(Arc::new(start), None)));
    Ok(())
}
