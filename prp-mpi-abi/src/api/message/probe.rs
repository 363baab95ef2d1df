//! Messages that are probed before they are received.

use std::ffi::c_int;

use prp_mpi::matching::Pattern;

use super::*;
use crate::object::{Detail, Handle, MESSAGES, Message, REQUESTS, Req};
use crate::sys::pointer::{Address, Ptr, Status};

fn probe_pattern(from: c_int, tag: c_int, handle: Handle) -> Result<(Part, Pattern), Failure> {
    let byte = Handle(0x247);
    let part = part(Address::from_number(0), 0, byte, from, tag, handle, true)?;
    let pattern = part.pattern();
    Ok((part, pattern))
}

pub(crate) fn probe(from: c_int, tag: c_int, comm: Handle, status: Ptr<Status>) -> Outcome {
    let (part, pattern) = probe_pattern(from, tag, comm)?;
    if from == PROC_NULL {
        put_status(status, &NOBODY);
        return Ok(());
    }
    let detail = part.detail(true);
    let (_, ending) =
        process()?.wait(&|| waiting(&part.of.comm, detail), |exchange| exchange.probe(&pattern));
    put_status(status, &ending);
    Ok(())
}

pub(crate) fn iprobe(
    from: c_int,
    tag: c_int,
    comm: Handle,
    flag: Ptr<c_int>,
    status: Ptr<Status>,
) -> Outcome {
    let (_, pattern) = probe_pattern(from, tag, comm)?;
    let found = if from == PROC_NULL {
        Some(NOBODY)
    } else {
        process()?.try_now(|exchange| exchange.probe(&pattern)).map(|(_, ending)| ending)
    };
    flag.put(found.is_some().into());
    if let Some(ending) = found {
        put_status(status, &ending);
    }
    Ok(())
}

pub(crate) fn mprobe(
    from: c_int,
    tag: c_int,
    comm: Handle,
    message: Ptr<Handle>,
    status: Ptr<Status>,
) -> Outcome {
    let (part, pattern) = probe_pattern(from, tag, comm)?;
    if from == PROC_NULL {
        message.put(Handle::MESSAGE_NO_PROC);
        put_status(status, &NOBODY);
        return Ok(());
    }
    let detail = part.detail(true);
    let (id, ending) = process()?.wait(&|| waiting(&part.of.comm, detail), |exchange| {
        exchange.probe(&pattern).inspect(|(id, _)| exchange.reserve(*id))
    });
    message.put(MESSAGES.add(Message { id, comm: part.of }));
    put_status(status, &ending);
    Ok(())
}

pub(crate) fn improbe(
    from: c_int,
    tag: c_int,
    comm: Handle,
    flag: Ptr<c_int>,
    message: Ptr<Handle>,
    status: Ptr<Status>,
) -> Outcome {
    let (part, pattern) = probe_pattern(from, tag, comm)?;
    if from == PROC_NULL {
        flag.put(1);
        message.put(Handle::MESSAGE_NO_PROC);
        put_status(status, &NOBODY);
        return Ok(());
    }
    let found = process()?
        .try_now(|exchange| exchange.probe(&pattern).inspect(|(id, _)| exchange.reserve(*id)));
    flag.put(found.is_some().into());
    if let Some((id, ending)) = found {
        message.put(MESSAGES.add(Message { id, comm: part.of }));
        put_status(status, &ending);
    } else {
        message.put(Handle::MESSAGE_NULL);
    }
    Ok(())
}

fn receive_message(
    buf: Address,
    count: i64,
    datatype: Handle,
    message: Ptr<Handle>,
) -> Result<Req, Failure> {
    let handle = message.get();
    if handle == Handle::MESSAGE_NO_PROC {
        message.put(Handle::MESSAGE_NULL);
        return Ok(Req::Done(NOBODY));
    }
    let Some(found) = MESSAGES.take(handle) else {
        return Err(Failure::new(Class::Request, Handle::SELF, "no such message"));
    };
    message.put(Handle::MESSAGE_NULL);
    let region = region(buf, count, datatype, found.comm.handle)?;
    let detail = Detail {
        is_receive: true,
        is_collective: false,
        peer: ANY_SOURCE,
        tag: ANY_TAG,
        bytes: region.len() as u64,
    };
    let process = process()?;
    process.complete(|| region.span());
    let id = process.exchange().receive_message(found.id, region);
    Ok(Req::Active(id, found.comm, detail))
}

pub(crate) fn mrecv(
    buf: Address,
    count: i64,
    datatype: Handle,
    message: Ptr<Handle>,
    status: Ptr<Status>,
) -> Outcome {
    let ending = match receive_message(buf, count, datatype, message)? {
        Req::Active(id, of, detail) => {
            let ending =
                process()?.wait(&|| waiting(&of.comm, detail), |exchange| exchange.take(id));
            put_status(status, &ending);
            return check(ending, &of).map(drop);
        }
        Req::Done(ending) => ending,
        Req::Persistent(..) | Req::Partitioned(_) | Req::Generalized(_) => NOBODY,
    };
    put_status(status, &ending);
    Ok(())
}

pub(crate) fn imrecv(
    buf: Address,
    count: i64,
    datatype: Handle,
    message: Ptr<Handle>,
    request: Ptr<Handle>,
) -> Outcome {
    request.put(REQUESTS.add(receive_message(buf, count, datatype, message)?));
    Ok(())
}
