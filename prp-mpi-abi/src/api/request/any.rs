//! Requests of which one is completed, or those that are done.

use std::ffi::c_int;

use super::{
    active_among, active_of, all_are_inactive, complete, complete_some, element, handles_of,
    none_is_active, poll, wait_until,
};
use crate::api::UNDEFINED;
use crate::api::error::Outcome;
use crate::object::Handle;
use crate::sys::pointer::{Ptr, Status};

pub(crate) fn waitany(
    count: c_int,
    requests: Ptr<Handle>,
    index: Ptr<c_int>,
    status: Ptr<Status>,
) -> Outcome {
    let handles = handles_of(count, requests)?;
    if none_is_active(&handles, index, status)? {
        return Ok(());
    }
    let done = wait_until(&active_of(&handles)?, None, |done| done.contains(&true))?;
    let first = done.iter().position(|d| *d).unwrap_or(0);
    index.put(first as c_int);
    complete(requests, first, status)?.map_or(Ok(()), Err)
}

pub(crate) fn testany(
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
    let first = active_among(&handles, &poll(&handles)?).first().copied();
    flag.put(first.is_some().into());
    let Some(first) = first else {
        index.put(UNDEFINED);
        return Ok(());
    };
    index.put(first as c_int);
    complete(requests, first, status)?.map_or(Ok(()), Err)
}

fn some(
    requests: Ptr<Handle>,
    handles: &[Handle],
    done: &[bool],
    outcount: Ptr<c_int>,
    indices: Ptr<c_int>,
    statuses: Ptr<Status>,
) -> Outcome {
    let which = active_among(handles, done);
    outcount.put(which.len() as c_int);
    for (place, &index) in which.iter().enumerate() {
        indices.set(place, index as c_int);
    }
    let chosen: Vec<Handle> = which.iter().map(|&index| handles[index]).collect();
    complete_some(requests, &which, &active_of(&chosen)?, |i| element(statuses, i))
}

pub(crate) fn waitsome(
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
    let done = wait_until(&active_of(&handles)?, None, |done| done.contains(&true))?;
    some(requests, &handles, &done, outcount, indices, statuses)
}

pub(crate) fn testsome(
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
    let done = poll(&handles)?;
    some(requests, &handles, &done, outcount, indices, statuses)
}
