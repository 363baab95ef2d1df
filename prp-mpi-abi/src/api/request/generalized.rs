//! Requests that stand for an operation of the application, which says when it is done.

use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicI32;

use super::super::environment::process;
use super::super::error::{Class, Failure, Outcome, fail};
use crate::object::{Generalized, Handle, REQUESTS, Req};
use crate::sys::callback::Callback;
use crate::sys::pointer::{Address, Ptr};

/// The outcome that a callback of a generalized request returned.
pub(super) fn callback_outcome(code: c_int) -> Outcome {
    if code == 0 {
        return Ok(());
    }
    Err(Failure::with_code(code, Handle::SELF, "the program says so"))
}

/// Notes that the application has completed the request, or freed it. After both, in either order,
/// the request is no more.
pub(super) fn end_step(handle: Handle, own: &Generalized, step: i32) -> Outcome {
    let is_last = own.note(step);
    // Another thread may wait for it.
    process()?.announce();
    if !is_last {
        return Ok(());
    }
    REQUESTS.take(handle);
    callback_outcome(own.free.free(own.extra))
}

pub(crate) fn grequest_start(
    query: Callback,
    free: Callback,
    cancel: Callback,
    extra: Address,
    request: Ptr<Handle>,
) -> Outcome {
    let own = Generalized { query, free, cancel, extra, state: AtomicI32::new(0) };
    request.put(REQUESTS.add(Req::Generalized(Arc::new(own))));
    Ok(())
}

pub(crate) fn grequest_complete(request: Handle) -> Outcome {
    match REQUESTS.at(request) {
        Some(Req::Generalized(own)) => end_step(request, &own, Generalized::COMPLETE),
        _ => fail(Class::Request, "no generalized request"),
    }
}
