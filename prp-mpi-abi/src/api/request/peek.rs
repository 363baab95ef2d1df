//! What requests are at, without completing them.

use std::ffi::c_int;

use super::{
    active_among, all_are_inactive, callback_outcome, element, handles_of, is_inactive,
    none_is_active, poll,
};
use crate::api::UNDEFINED;
use crate::api::environment::process;
use crate::api::error::Outcome;
use crate::api::{put_status, status_of};
use crate::object::{Handle, REQUESTS, Req};
use crate::sys::pointer::{Ptr, Status};
use prp_mpi::request::Status as Ending;

pub(crate) fn request_get_status(
    request: Handle,
    flag: Ptr<c_int>,
    status: Ptr<Status>,
) -> Outcome {
    if is_inactive(request) {
        process()?.end_bursts();
        flag.put(1);
        put_status(status, &Ending::EMPTY);
        return Ok(());
    }
    let done = poll(&[request])?[0];
    flag.put(done.into());
    if !done {
        return Ok(());
    }
    let active = match REQUESTS.at(request) {
        Some(Req::Persistent(_, Some(active))) => Some(*active),
        other => other,
    };
    match active {
        Some(Req::Done(ending)) => put_status(status, &ending),
        Some(Req::Active(id, ..)) => {
            let ending = process()?.exchange().peek(id).unwrap_or(Ending::EMPTY);
            put_status(status, &ending);
        }
        Some(Req::Generalized(own)) => {
            let mut filled = status_of(&Ending::EMPTY);
            callback_outcome(own.query.query(own.extra, &mut filled))?;
            status.put(filled);
        }
        Some(Req::Partitioned(own)) => put_status(status, &own.status()),
        Some(Req::Persistent(..)) | None => {}
    }
    Ok(())
}

pub(crate) fn request_get_status_all(
    count: c_int,
    requests: Ptr<Handle>,
    flag: Ptr<c_int>,
    statuses: Ptr<Status>,
) -> Outcome {
    let handles = handles_of(count, requests)?;
    let done = poll(&handles)?;
    let all_done = handles.iter().zip(&done).all(|(&h, d)| *d || is_inactive(h));
    flag.put(all_done.into());
    if all_done {
        let mut one: c_int = 0;
        for (i, &handle) in handles.iter().enumerate() {
            request_get_status(handle, Ptr(&raw mut one), element(statuses, i))?;
        }
    }
    Ok(())
}

/// Which of the requests are active and done.
fn done_of(handles: &[Handle]) -> Result<Vec<usize>, crate::api::error::Failure> {
    Ok(active_among(handles, &poll(handles)?))
}

pub(crate) fn request_get_status_any(
    count: c_int,
    requests: Ptr<Handle>,
    index: Ptr<c_int>,
    flag: Ptr<c_int>,
    status: Ptr<Status>,
) -> Outcome {
    let handles = handles_of(count, requests)?;
    if none_is_active(&handles, index, status)? {
        flag.put(1);
        return Ok(());
    }
    let Some(first) = done_of(&handles)?.first().copied() else {
        index.put(UNDEFINED);
        flag.put(0);
        return Ok(());
    };
    index.put(first as c_int);
    request_get_status(handles[first], flag, status)
}

pub(crate) fn request_get_status_some(
    count: c_int,
    requests: Ptr<Handle>,
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
    statuses: Ptr<Status>,
) -> Outcome {
    let handles = handles_of(count, requests)?;
    if all_are_inactive(&handles)? {
        outcount.put(UNDEFINED);
        return Ok(());
    }
    let which = done_of(&handles)?;
    outcount.put(which.len() as c_int);
    for (place, &index) in which.iter().enumerate() {
        let mut flag: c_int = 0;
        indices.set(place, index as c_int);
        request_get_status(handles[index], Ptr(&raw mut flag), element(statuses, place))?;
    }
    Ok(())
}
