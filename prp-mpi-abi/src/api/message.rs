//! Messages between two ranks.

mod blocking;
mod nonblocking;
mod partitioned;
mod persistent;
mod probe;
mod status;

use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

use prp_mpi::datatype::Datatype;
use prp_mpi::exchange::Exchange;
use prp_mpi::matching::Pattern;
use prp_mpi::process::report::Waiting;
use prp_mpi::request::{Outcome as Ended, RequestId, Status as Ending};
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::{Header, Kind, Signature};

pub(crate) use self::blocking::*;
pub(crate) use self::nonblocking::*;
pub(crate) use self::partitioned::*;
pub(crate) use self::persistent::*;
pub(crate) use self::probe::*;
pub(crate) use self::status::*;
use super::early;
use super::environment::{comm_of, process};
use super::error::{Class, Failure, Outcome, current_call, length};
use super::{ANY_SOURCE, ANY_TAG, PROC_NULL};
use crate::object::{self, Comm, Detail, Handle, HeldComm, Req};
use crate::sys::pointer::{Address, Ptr, Status};

/// How a message is sent.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// The buffer may be used again when the call, or the request, is done.
    Standard,
    /// As standard, and the receiver has begun to receive.
    Synchronous,
    /// The message is copied into an attached buffer, as the program sees it: done at once.
    Buffered,
    /// As buffered, but in no buffer of the program.
    Copied,
}

/// A buffer, its elements and its peer, checked.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) of: HeldComm,
    pub(crate) region: Region,
    pub(crate) peer: c_int,
    pub(crate) tag: c_int,
}

/// The datatype of a handle.
pub(crate) fn type_of(handle: Handle, comm: Handle) -> Result<Arc<Datatype>, Failure> {
    object::datatype(handle).ok_or_else(|| Failure::new(Class::Type, comm, "no such datatype"))
}

/// Fails for a buffer that cannot be "in place".
pub(crate) fn refuse_in_place(buffer: Address, comm: Handle) -> Outcome {
    if buffer.is_in_place() {
        return Err(Failure::new(Class::Buffer, comm, "MPI_IN_PLACE cannot be this buffer"));
    }
    Ok(())
}

/// Fails if one buffer that is sent and one that is received into share a byte: where both are in
/// one piece, two comparisons tell.
pub(crate) fn refuse_overlap(sent: &Region, received: &Region, comm: Handle) -> Outcome {
    match (sent.addresses(), received.addresses()) {
        (Some(sent), Some(received)) => refuse_overlap_of(&sent, &received, comm),
        _ => Ok(()),
    }
}

/// The same of the addresses of two buffers.
pub(crate) fn refuse_overlap_of(
    sent: &Range<usize>,
    received: &Range<usize>,
    comm: Handle,
) -> Outcome {
    if sent.start.max(received.start) < sent.end.min(received.end) {
        let text = "the buffers that are sent and received overlap: MPI_IN_PLACE is for that";
        return Err(Failure::new(Class::Buffer, comm, text));
    }
    Ok(())
}

/// `count` elements of a datatype as a region.
pub(crate) fn region(
    buffer: Address,
    count: i64,
    datatype: Handle,
    comm: Handle,
) -> Result<Region, Failure> {
    let datatype = type_of(datatype, comm)?;
    let count = length(count, Class::Count, comm)?;
    refuse_in_place(buffer, comm)?;
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
    let region = if peer == PROC_NULL && datatype == Handle::DATATYPE_NULL {
        // Nothing is sent to nobody: many programs pass no datatype then.
        Region::owned(0)
    } else {
        region(buffer, count, datatype, handle)?
    };
    Ok(Part { of: HeldComm { handle, comm }, region, peer, tag })
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

    /// Begins to send at once. `None` if there is nothing to wait for.
    pub(crate) fn send(&self, mode: Mode) -> Result<Option<RequestId>, Failure> {
        self.send_by(mode, Exchange::send)
    }

    /// Begins to send, perhaps together with the next message. `None` if there is nothing to wait
    /// for.
    fn send_in_burst(&self, mode: Mode) -> Result<Option<RequestId>, Failure> {
        self.send_by(mode, Exchange::send_in_burst)
    }

    fn send_by(
        &self,
        mode: Mode,
        send: impl FnOnce(&mut Exchange, usize, Header, &Region) -> RequestId,
    ) -> Result<Option<RequestId>, Failure> {
        let process = process()?;
        let Ok(peer) = usize::try_from(self.peer) else { return Ok(None) };
        process.settle(|| self.region.span());
        let kind = match mode {
            Mode::Synchronous => Kind::Synchronous,
            _ if early::is_worth_it(&self.of.comm, &self.region) => Kind::EndFirst,
            _ => Kind::Message,
        };
        let header = Header {
            kind,
            source: self.of.comm.rank as i32,
            tag: self.tag,
            id: 0,
            context: self.of.comm.messages(),
            len: 0,
            signature: Signature::default(),
        };
        let to = self.of.comm.peers()[peer];
        let mut exchange = process.exchange();
        if matches!(mode, Mode::Standard | Mode::Synchronous) {
            return Ok(Some(send(&mut exchange, to, header, &self.region)));
        }
        let mut copy = Region::owned(self.region.len());
        copy.copy_from(&self.region);
        let request = send(&mut exchange, to, header, &copy);
        exchange.free(request);
        if mode == Mode::Buffered
            && let Some(number) = exchange.last_queued(to)
        {
            super::buffer::note(self.of.handle, to, number);
        }
        Ok(None)
    }

    fn pattern(&self) -> Pattern {
        pattern(&self.of.comm, self.peer, self.tag)
    }

    /// Begins to receive. `None` from MPI_PROC_NULL.
    pub(crate) fn receive(&self) -> Result<Option<RequestId>, Failure> {
        if self.peer == PROC_NULL {
            return Ok(None);
        }
        let process = process()?;
        process.complete(|| self.region.span());
        let (pattern, region) = (self.pattern(), self.region.clone());
        if early::is_worth_it(&self.of.comm, &region) {
            return Ok(Some(process.exchange().receive_early(pattern, region)));
        }
        Ok(Some(process.exchange().receive(pattern, region)))
    }
}

fn pattern(comm: &Comm, peer: c_int, tag: c_int) -> Pattern {
    Pattern {
        context: comm.messages(),
        source: (peer != ANY_SOURCE).then_some(peer),
        tag: (tag != ANY_TAG).then_some(tag),
    }
}

/// What a receive from MPI_PROC_NULL has got.
pub(crate) const NOBODY: Ending = Ending { source: PROC_NULL, ..Ending::EMPTY };

/// What a call waits for, for reports.
pub(crate) fn waiting(comm: &Comm, detail: Detail) -> Waiting {
    let name = comm.name.lock().clone();
    let mut text = String::new();
    if !detail.is_collective {
        let peer = match detail.peer {
            ANY_SOURCE => "any".to_owned(),
            peer => peer.to_string(),
        };
        let tag = if detail.tag == ANY_TAG { "any".to_owned() } else { detail.tag.to_string() };
        let direction = if detail.is_receive { "from" } else { "to" };
        text = format!("{direction} {peer} tag {tag}, {} bytes", detail.bytes);
    }
    let mut waiting = Waiting::new(current_call(), name, text);
    let peer = usize::try_from(detail.peer).ok().filter(|_| !detail.is_collective);
    waiting.peer = peer.and_then(|p| comm.peers().get(p).copied());
    waiting
}

/// Waits for a request that no other call knows.
pub(crate) fn finish(request: RequestId, of: &HeldComm, detail: Detail) -> Result<Ending, Failure> {
    let process = process()?;
    let status = process.wait(&|| waiting(&of.comm, detail), |exchange| exchange.take(request));
    check(status, of)
}

/// Begins to wait until these messages have left: each the last to a rank of the world that counts,
/// by its number.
pub(crate) fn begin_departure(
    messages: impl IntoIterator<Item = (usize, u64)>,
) -> Result<RequestId, Failure> {
    let mut exchange = process()?.exchange();
    exchange.end_bursts();
    Ok(exchange.departure(messages))
}

/// What reports say of a wait for messages that leave.
pub(crate) const DEPARTURE: Detail =
    Detail { is_receive: false, is_collective: true, peer: PROC_NULL, tag: 0, bytes: 0 };

/// A message that was longer than its buffer is an error.
pub(crate) fn check(status: Ending, of: &HeldComm) -> Result<Ending, Failure> {
    check_by(status, |text| Failure::of_held(Class::Truncate, of, text))
}

/// As [`check`], with the failure that `failure` makes.
pub(crate) fn check_by(
    status: Ending,
    failure: impl FnOnce(String) -> Failure,
) -> Result<Ending, Failure> {
    if status.outcome == Ended::Truncated {
        return Err(failure(format!(
            "the message from rank {} with tag {} is longer than the buffer of {} bytes",
            status.source, status.tag, status.bytes
        )));
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

/// What was begun as a request.
pub(crate) fn active(begun: Option<RequestId>, of: HeldComm, detail: Detail, done: Ending) -> Req {
    begun.map_or(Req::Done(done), |id| Req::Active(id, of, detail))
}
