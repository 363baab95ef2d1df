//! What is done with the windows of other ranks.

use std::ffi::c_int;
use std::sync::Arc;

use prp_mpi::datatype::{Class as Kind, Datatype};
use prp_mpi::exchange::{Access, Action};
use prp_mpi::operation::Operation;
use prp_mpi::request::{RequestId, Status as Ending};
use prp_mpi::sys::memory::Region;

use super::epoch::note_asked;
use super::{DYNAMIC, rank_of, window_of};
use crate::api::PROC_NULL;
use crate::api::environment::process;
use crate::api::error::{Class, Failure, Outcome, length};
use crate::api::message::{region, type_of};
use crate::api::operation::op as op_of;
use crate::object::{Detail, Handle, HeldComm, Op, REQUESTS, Req, Window};
use crate::sys::pointer::{Address, Ptr};

/// Bytes of elements that a message asks for at most, unless one element of the datatype has more.
const PIECE: usize = 256 << 10;

/// Elements of a window.
struct Target {
    rank: usize,
    /// What they are seen from, in bytes.
    at: isize,
    count: usize,
    datatype: Arc<Datatype>,
}

impl Target {
    fn len(&self) -> usize {
        self.count * self.datatype.size()
    }
}

/// A call, checked.
struct Call {
    window: Arc<Window>,
    win: Handle,
    /// None of `MPI_PROC_NULL`.
    target: Option<Target>,
}

impl Call {
    fn new(
        win: Handle,
        rank: c_int,
        displacement: isize,
        count: i64,
        datatype: Handle,
    ) -> Result<Self, Failure> {
        let window = window_of(win)?;
        if rank == PROC_NULL {
            return Ok(Self { window, win, target: None });
        }
        let own = |failure| window.own(win, failure);
        let datatype = type_of(datatype, win).map_err(own)?;
        let count = length(count, Class::Count, win).map_err(own)?;
        if count.checked_mul(datatype.size()).is_none() {
            let text = format!("{count} elements have more bytes than can be counted");
            return Err(window.failure(win, Class::Count, text));
        }
        let rank = rank_of(&window, win, rank)?;
        if !window.epochs.lock().has(rank) {
            let text = format!(
                "nothing allows to use the window of rank {rank}: MPI_Win_fence, MPI_Win_start and \
                 MPI_Win_lock do"
            );
            return Err(window.failure(win, Class::RmaSync, text));
        }
        if displacement < 0 {
            let text = format!("displacement {displacement} is negative");
            return Err(window.failure(win, Class::Disp, text));
        }
        let mut extent = window.extents[rank];
        if window.values.flavor == DYNAMIC {
            // The rank that has the memory knows what is attached: any address may be.
            extent.bytes = isize::MAX as usize;
        }
        let at = displacement.checked_mul(extent.unit as isize);
        let span = datatype
            .span(count)
            .and_then(|(low, high)| Some((at?, at?.checked_add(low)?, at?.checked_add(high)?)));
        match span {
            Some((at, low, high)) if low >= 0 && high <= extent.bytes as isize || count == 0 => {
                let target = Some(Target { rank, at, count, datatype });
                Ok(Self { window, win, target })
            }
            _ => {
                let bytes = extent.bytes;
                let text = format!(
                    "{count} elements at displacement {displacement} reach beyond the window of \
                     rank {rank}, which has {bytes} bytes"
                );
                Err(window.failure(win, Class::RmaRange, text))
            }
        }
    }

    /// As [`Self::new`], of a call with a request, which only a lock allows.
    fn with_request(
        win: Handle,
        rank: c_int,
        displacement: isize,
        count: i64,
        datatype: Handle,
    ) -> Result<Self, Failure> {
        let call = Self::new(win, rank, displacement, count, datatype)?;
        if let Some(target) = &call.target
            && !call.window.epochs.lock().is_locked(target.rank)
        {
            let text = "only a lock allows calls that return requests";
            return Err(call.window.failure(win, Class::RmaSync, text));
        }
        Ok(call)
    }

    /// Returns a buffer of this rank that goes to the elements of the window: these have room for
    /// it.
    fn origin(&self, address: Address, count: i64, datatype: Handle) -> Result<Region, Failure> {
        self.buffer((address, count, datatype), |here, there| here <= there)
    }

    /// Returns a buffer of this rank that has room for the elements of the window.
    fn result(&self, address: Address, count: i64, datatype: Handle) -> Result<Region, Failure> {
        self.buffer((address, count, datatype), |here, there| here >= there)
    }

    /// Returns a buffer of this rank whose bytes and those of the elements of the window `fit`.
    fn buffer(
        &self,
        (address, count, datatype): (Address, i64, Handle),
        fit: impl Fn(usize, usize) -> bool,
    ) -> Result<Region, Failure> {
        let Some(target) = &self.target else { return Ok(Region::owned(0)) };
        let own = |failure| self.window.own(self.win, failure);
        let region = region(address, count, datatype, self.win).map_err(own)?;
        let (here, there) = (region.len(), target.len());
        if !fit(here, there) {
            let text = format!("a buffer of {here} bytes for {there} bytes of a window");
            return Err(self.window.failure(self.win, Class::Count, text));
        }
        process()?.complete(|| region.span());
        Ok(region)
    }

    /// The operation of a handle, which is a predefined one.
    fn operation(&self, op: Handle) -> Result<Operation, Failure> {
        let failure = |text: String| self.window.failure(self.win, Class::Op, text);
        match op_of(op) {
            Some(Op::Predefined(operation)) => match &self.target {
                Some(target) if target.count > 0 && !operation.takes(&target.datatype) => {
                    let name = operation.name();
                    Err(failure(format!("{name} does not take elements of the datatype")))
                }
                _ => Ok(operation),
            },
            Some(Op::User { .. }) => {
                Err(failure("only predefined operations work on windows".to_owned()))
            }
            None => Err(failure("no such operation".to_owned())),
        }
    }

    /// Begins it, piece by piece: combines the elements of the window with `data`, as far as there
    /// is any, and puts what they were before into `old`. Nothing to wait for if that is nobody's.
    fn begin(
        &self,
        operation: Operation,
        data: &Region,
        old: Option<&Region>,
    ) -> Result<Option<RequestId>, Failure> {
        let Some(target) = &self.target else { return Ok(None) };
        let process = process()?;
        process.settle(|| 0..usize::MAX);
        let size = target.datatype.size();
        let count = match old {
            _ if size == 0 => 0,
            None => data.len().div_ceil(size),
            Some(_) => target.count,
        };
        let each = (PIECE / size.max(1)).max(1);
        let (to, context) = (self.window.comm.group[target.rank], self.window.context());
        let request = process.exchange().begin_parts(count.div_ceil(each));
        for first in (0..count).step_by(each) {
            let count = each.min(count - first);
            let bytes = first * size..(first + count) * size;
            let access = Access {
                at: target.at + first as isize * target.datatype.extent(),
                count,
                datatype: target.datatype.clone(),
                operation,
            };
            let piece = data.packed(bytes.start.min(data.len())..bytes.end.min(data.len()));
            {
                let mut exchange = process.exchange();
                match old {
                    None => exchange.update(to, context, &access, piece, request),
                    Some(old) => {
                        let (what, into) = ((Action::Fetch, &access), (old.clone(), bytes.start));
                        exchange.fetch(to, context, what, piece, into, request);
                    }
                }
            }
            note_asked(&self.window, target.rank, bytes.len())?;
        }
        Ok(Some(request))
    }

    /// No call asks for the end of what was begun: a flush or the end of the epoch waits for it.
    fn forget(begun: Option<RequestId>) -> Outcome {
        if let Some(request) = begun {
            process()?.exchange().free(request);
        }
        Ok(())
    }

    /// Hands what was begun to the program as a request.
    fn keep(&self, begun: Option<RequestId>, request: Ptr<Handle>) -> Outcome {
        let of = HeldComm { handle: Handle::SELF, comm: self.window.comm.clone() };
        let (peer, bytes) =
            self.target.as_ref().map_or((PROC_NULL, 0), |t| (t.rank as c_int, t.len() as u64));
        let detail = Detail { is_receive: false, is_collective: false, peer, tag: 0, bytes };
        let kept = begun.map_or(Req::Done(Ending::EMPTY), |id| Req::Active(id, of, detail));
        request.put(REQUESTS.add(kept));
        Ok(())
    }
}

/// What is sent where nothing is.
fn nothing() -> Region {
    Region::owned(0)
}

pub(crate) fn put(
    origin: Address,
    count: i64,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    win: Handle,
) -> Outcome {
    let call = Call::new(win, rank, displacement, target_count, target_type)?;
    let data = call.origin(origin, count, datatype)?;
    Call::forget(call.begin(Operation::Replace, &data, None)?)
}

pub(crate) fn rput(
    origin: Address,
    count: i64,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    win: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let call = Call::with_request(win, rank, displacement, target_count, target_type)?;
    let data = call.origin(origin, count, datatype)?;
    call.keep(call.begin(Operation::Replace, &data, None)?, request)
}

pub(crate) fn get(
    origin: Address,
    count: i64,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    win: Handle,
) -> Outcome {
    let call = Call::new(win, rank, displacement, target_count, target_type)?;
    let into = call.result(origin, count, datatype)?;
    Call::forget(call.begin(Operation::NoOp, &nothing(), Some(&into))?)
}

pub(crate) fn rget(
    origin: Address,
    count: i64,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    win: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let call = Call::with_request(win, rank, displacement, target_count, target_type)?;
    let into = call.result(origin, count, datatype)?;
    call.keep(call.begin(Operation::NoOp, &nothing(), Some(&into))?, request)
}

pub(crate) fn accumulate(
    origin: Address,
    count: i64,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    op: Handle,
    win: Handle,
) -> Outcome {
    let call = Call::new(win, rank, displacement, target_count, target_type)?;
    let operation = call.operation(op)?;
    let data = call.origin(origin, count, datatype)?;
    Call::forget(call.begin(operation, &data, None)?)
}

pub(crate) fn raccumulate(
    origin: Address,
    count: i64,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    op: Handle,
    win: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let call = Call::with_request(win, rank, displacement, target_count, target_type)?;
    let operation = call.operation(op)?;
    let data = call.origin(origin, count, datatype)?;
    call.keep(call.begin(operation, &data, None)?, request)
}

/// Begins to combine with an origin, which has no meaning where nothing is combined, and to fetch.
fn begin_fetch(
    call: &Call,
    origin: (Address, i64, Handle),
    result: (Address, i64, Handle),
    op: Handle,
) -> Result<Option<RequestId>, Failure> {
    let operation = call.operation(op)?;
    let data = match operation {
        Operation::NoOp => nothing(),
        _ => call.origin(origin.0, origin.1, origin.2)?,
    };
    let into = call.result(result.0, result.1, result.2)?;
    call.begin(operation, &data, Some(&into))
}

pub(crate) fn get_accumulate(
    origin: Address,
    count: i64,
    datatype: Handle,
    result: Address,
    result_count: i64,
    result_type: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    op: Handle,
    win: Handle,
) -> Outcome {
    let call = Call::new(win, rank, displacement, target_count, target_type)?;
    let result = (result, result_count, result_type);
    Call::forget(begin_fetch(&call, (origin, count, datatype), result, op)?)
}

pub(crate) fn rget_accumulate(
    origin: Address,
    count: i64,
    datatype: Handle,
    result: Address,
    result_count: i64,
    result_type: Handle,
    rank: c_int,
    displacement: isize,
    target_count: i64,
    target_type: Handle,
    op: Handle,
    win: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    let call = Call::with_request(win, rank, displacement, target_count, target_type)?;
    let result = (result, result_count, result_type);
    call.keep(begin_fetch(&call, (origin, count, datatype), result, op)?, request)
}

pub(crate) fn fetch_and_op(
    origin: Address,
    result: Address,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    op: Handle,
    win: Handle,
) -> Outcome {
    let call = Call::new(win, rank, displacement, 1, datatype)?;
    Call::forget(begin_fetch(&call, (origin, 1, datatype), (result, 1, datatype), op)?)
}

pub(crate) fn compare_and_swap(
    origin: Address,
    compare: Address,
    result: Address,
    datatype: Handle,
    rank: c_int,
    displacement: isize,
    win: Handle,
) -> Outcome {
    let call = Call::new(win, rank, displacement, 1, datatype)?;
    let Some(target) = &call.target else { return Ok(()) };
    let comparable = [Kind::Signed, Kind::Unsigned, Kind::Logical, Kind::Byte];
    if !target.datatype.only_basic().is_some_and(|basic| comparable.contains(&basic.class)) {
        let text = "only integers, truth values and bytes are compared";
        return Err(call.window.failure(win, Class::Type, text));
    }
    let mut data = call.origin(compare, 1, datatype)?.to_vec();
    data.extend(call.origin(origin, 1, datatype)?.to_vec());
    let mut both = Region::owned(data.len());
    both.write(0, &data);
    let into = call.result(result, 1, datatype)?;
    let process = process()?;
    process.settle(|| 0..usize::MAX);
    let access = Access {
        at: target.at,
        count: 1,
        datatype: target.datatype.clone(),
        operation: Operation::Replace,
    };
    let (to, context) = (call.window.comm.group[target.rank], call.window.context());
    {
        let mut exchange = process.exchange();
        let request = exchange.begin_parts(1);
        let what = (Action::CompareAndSwap, &access);
        exchange.fetch(to, context, what, both, (into, 0), request);
        exchange.free(request);
    }
    note_asked(&call.window, target.rank, data.len())
}
