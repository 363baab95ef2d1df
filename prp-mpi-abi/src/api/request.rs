//! Requests: testing, waiting, starting again, taking back.

mod any;
mod generalized;
mod peek;

use std::ffi::c_int;

use prp_mpi::exchange::Exchange;
use prp_mpi::process::report::Waiting;
use prp_mpi::request::Status as Ending;

use super::UNDEFINED;
use super::early;
use super::environment::process;
use super::error::{Class, Failure, Outcome, current_call, fail, length};
use super::message::{check, put_status, status_of, waiting};
use crate::object::{Detail, Generalized, Handle, HeldComm, REQUESTS, Req};
use crate::sys::pointer::{Ptr, Status};
pub(crate) use any::{testany, testsome, waitany, waitsome};
use generalized::{callback_outcome, end_step};
pub(crate) use generalized::{grequest_complete, grequest_start};
pub(crate) use peek::*;

/// What became of a request.
struct Completion {
    status: Status,
    failure: Option<Failure>,
    /// The handle stands for nothing now.
    is_gone: bool,
}

/// Whether a request is done: then it is no more, or inactive.
fn take(handle: Handle) -> Result<Option<Completion>, Failure> {
    let Some(request) = REQUESTS.at(handle) else {
        return fail(Class::Request, "no such request");
    };
    let done = match &request {
        Req::Persistent(start, active) => {
            let Some(active) = active else { return Ok(Some(empty())) };
            let Some((ending, failure)) = end_of(active)? else { return Ok(None) };
            let idle = Req::Persistent(start.clone(), None);
            REQUESTS.with(handle, |r| *r = idle);
            return Ok(Some(Completion { status: status_of(&ending), failure, is_gone: false }));
        }
        Req::Generalized(own) => {
            if !own.is_complete() {
                return Ok(None);
            }
            let mut status = status_of(&Ending::EMPTY);
            let asked = callback_outcome(own.query.query(own.extra, &mut status));
            let freed = callback_outcome(own.free.free(own.extra));
            Completion { status, failure: asked.and(freed).err(), is_gone: true }
        }
        other => match end_of(other)? {
            None => return Ok(None),
            Some((ending, failure)) => {
                Completion { status: status_of(&ending), failure, is_gone: true }
            }
        },
    };
    REQUESTS.take(handle);
    Ok(Some(done))
}

fn empty() -> Completion {
    Completion { status: status_of(&Ending::EMPTY), failure: None, is_gone: false }
}

fn end_of(request: &Req) -> Result<Option<(Ending, Option<Failure>)>, Failure> {
    match request {
        Req::Done(ending) => {
            process()?.end_bursts();
            Ok(Some((*ending, None)))
        }
        Req::Active(id, of, _) => {
            let ending = process()?.take_done(*id);
            Ok(ending.map(|e| (e, check(e, of).err())))
        }
        Req::Partitioned(own) => {
            let process = process()?;
            process.end_bursts();
            let is_done = own.is_done(&mut process.exchange());
            Ok(is_done.then(|| own.end()).map(|e| (e, check(e, &own.of).err())))
        }
        Req::Persistent(..) | Req::Generalized(_) => Ok(None),
    }
}

/// The communicator that something in progress is on, and what it is for.
fn shown(request: &Req) -> Option<(&HeldComm, Detail)> {
    match request {
        Req::Active(_, of, detail) => Some((of, *detail)),
        Req::Partitioned(own) => Some((&own.of, own.detail)),
        Req::Persistent(_, Some(active)) => shown(active),
        _ => None,
    }
}

/// Whether a request can be taken, without taking it.
fn is_done(exchange: &mut Exchange, request: &Req) -> bool {
    match request {
        Req::Done(_) => true,
        Req::Active(id, ..) => exchange.is_done(*id),
        Req::Partitioned(own) => own.is_done(exchange),
        Req::Persistent(_, active) => active.as_ref().is_none_or(|a| is_done(exchange, a)),
        Req::Generalized(own) => own.is_complete(),
    }
}

/// Whether it is one that no call waits for: none, or one that can be started and is not.
fn is_inactive(handle: Handle) -> bool {
    handle == Handle::REQUEST_NULL
        || REQUESTS.with(handle, |r| matches!(r, Req::Persistent(_, None))) == Some(true)
}

/// Whether a receive can be released now, or is done.
fn can_release(exchange: &mut Exchange, request: &Req, is_ignored: bool) -> bool {
    match request {
        Req::Active(id, ..) => exchange.can_release(*id, is_ignored),
        Req::Persistent(_, Some(active)) => can_release(exchange, active, is_ignored),
        _ => false,
    }
}

fn release(exchange: &mut Exchange, request: &Req) -> bool {
    match request {
        Req::Active(id, ..) => exchange.release(*id),
        Req::Persistent(_, Some(active)) => release(exchange, active),
        _ => false,
    }
}

/// Waits until all requests that are active are done. Receives are released early when nothing else
/// is to be waited for. `is_ignored`: the program does not read any status.
fn wait_for_all(requests: &[Option<Req>], is_ignored: bool) -> Result<(), Failure> {
    let is_over = |(done, request): (&bool, &Option<Req>)| *done || request.is_none();
    wait_until(requests, early::is_on().then_some(is_ignored), |done| {
        done.iter().zip(requests).all(is_over)
    })?;
    Ok(())
}

/// The requests of these handles; none for those that are not active.
fn active_of(handles: &[Handle]) -> Result<Vec<Option<Req>>, Failure> {
    let found = REQUESTS.with_each(handles, |request| match request {
        Req::Persistent(_, None) => None,
        request => Some(request.clone()),
    });
    let active = |(found, handle): (Option<Option<Req>>, &Handle)| {
        let is_none = *handle == Handle::REQUEST_NULL;
        let failure = || Failure::new(Class::Request, Handle::SELF, "no such request");
        found.or_else(|| is_none.then_some(None)).ok_or_else(failure)
    };
    found.into_iter().zip(handles).map(active).collect()
}

/// Waits until enough of the requests are done: `enough` is told which are. With `early`, receives
/// may be released, and the value says whether the program ignores their statuses.
fn wait_until(
    requests: &[Option<Req>],
    early: Option<bool>,
    enough: impl Fn(&[bool]) -> bool,
) -> Result<Vec<bool>, Failure> {
    let mut done = vec![false; requests.len()];
    let what = || {
        let first = requests.iter().flatten().find_map(shown);
        match first {
            Some((of, detail)) => {
                let mut what = waiting(&of.comm, detail);
                let others = requests.iter().flatten().count() - 1;
                if others > 0 {
                    what.detail.push_str(&format!(", and {others} more requests"));
                    what.peer = None;
                }
                what
            }
            None => Waiting::new(current_call(), String::new(), String::new()),
        }
    };
    let mut has_polled = false;
    process()?.wait(&what, |exchange| {
        for (done, request) in done.iter_mut().zip(requests) {
            *done = *done || request.as_ref().is_some_and(|r| is_done(exchange, r));
        }
        if let Some(is_ignored) = early.filter(|_| has_polled) {
            let can = |r: &Req| is_done(exchange, r) || can_release(exchange, r, is_ignored);
            if requests.iter().flatten().all(can) {
                for (done, request) in done.iter_mut().zip(requests) {
                    *done = *done || request.as_ref().is_some_and(|r| release(exchange, r));
                }
            }
        }
        has_polled = true;
        enough(&done).then_some(())
    });
    Ok(done)
}

/// Takes a request that is done, and writes its status.
fn complete(
    handle: Ptr<Handle>,
    index: usize,
    status: Ptr<Status>,
) -> Result<Option<Failure>, Failure> {
    let Some(done) = take(handle.at(index))? else { return Ok(None) };
    Ok(put(done, handle, index, status))
}

/// Writes the status of a request that was taken.
fn put(
    done: Completion,
    handle: Ptr<Handle>,
    index: usize,
    status: Ptr<Status>,
) -> Option<Failure> {
    if done.is_gone {
        handle.set(index, Handle::REQUEST_NULL);
    }
    if !status.is_null() {
        let error = status.get().error;
        status.put(Status { error, ..done.status });
    }
    done.failure
}

pub(crate) fn wait(request: Ptr<Handle>, status: Ptr<Status>) -> Outcome {
    if is_inactive(request.get()) {
        process()?.end_bursts();
        put_status(status, &Ending::EMPTY);
        return Ok(());
    }
    // Sends are done already, as a rule.
    if let Some(done) = take(request.get())? {
        return put(done, request, 0, status).map_or(Ok(()), Err);
    }
    wait_for_all(&active_of(&[request.get()])?, status.is_null())?;
    complete(request, 0, status)?.map_or(Ok(()), Err)
}

pub(crate) fn test(request: Ptr<Handle>, flag: Ptr<c_int>, status: Ptr<Status>) -> Outcome {
    if is_inactive(request.get()) {
        process()?.end_bursts();
        flag.put(1);
        put_status(status, &Ending::EMPTY);
        return Ok(());
    }
    let done = poll(&[request.get()])?[0];
    flag.put(done.into());
    if !done {
        return Ok(());
    }
    complete(request, 0, status)?.map_or(Ok(()), Err)
}

/// Which of the requests are done now.
fn poll(handles: &[Handle]) -> Result<Vec<bool>, Failure> {
    let requests = active_of(handles)?;
    let process = process()?;
    let mut done = vec![false; handles.len()];
    process.try_now(|exchange| {
        for (done, request) in done.iter_mut().zip(&requests) {
            *done = request.as_ref().is_some_and(|r| is_done(exchange, r));
        }
        done.iter().all(|d| *d).then_some(())
    });
    Ok(done)
}

/// Takes those of the requests that are done, `active` as the handles at the places `which`. With
/// an error in one of them, all statuses say what became of theirs.
fn complete_some(
    requests: Ptr<Handle>,
    which: &[usize],
    active: &[Option<Req>],
    statuses: impl Fn(usize) -> Ptr<Status>,
) -> Outcome {
    let mut failed: Option<Failure> = None;
    let mut errors = Vec::new();
    let ended = end_messages(requests, which, active)?;
    for (place, (&index, request)) in which.iter().zip(active).enumerate() {
        let status = statuses(place);
        let failure = match (request, ended[place]) {
            (None, _) => {
                put_status(status, &Ending::EMPTY);
                None
            }
            (Some(Req::Active(_, of, _)), Some(ending)) => {
                let failure = check(ending, of).err();
                let status_of = status_of(&ending);
                let done = Completion { status: status_of, failure, is_gone: true };
                put(done, requests, index, status)
            }
            (Some(_), _) => complete(requests, index, status)?,
        };
        if let Some(failure) = failure {
            errors.push((place, failure.code));
            failed = Some(failure);
        }
    }
    let Some(failure) = failed else { return Ok(()) };
    for place in 0..which.len() {
        let status = statuses(place);
        if !status.is_null() {
            let error = errors.iter().find(|(p, _)| *p == place).map_or(0, |(_, code)| *code);
            status.put(Status { error, ..status.get() });
        }
    }
    Err(Failure { code: Class::InStatus as c_int, ..failure })
}

/// Takes those that are messages and done, all at once: to lock the table for each would take
/// longer than what is done with it.
fn end_messages(
    requests: Ptr<Handle>,
    which: &[usize],
    active: &[Option<Req>],
) -> Result<Vec<Option<Ending>>, Failure> {
    let messages = active.iter().map(|request| match request {
        Some(Req::Active(id, ..)) => Some(*id),
        _ => None,
    });
    let ended = process()?.take_each_done(messages);
    let gone = which.iter().zip(&ended).filter(|(_, ending)| ending.is_some());
    let gone = REQUESTS.take_each(gone.map(|(&index, _)| requests.at(index)));
    if gone.iter().any(Option::is_none) {
        return fail(Class::Request, "a request that is named twice");
    }
    Ok(ended)
}

fn handles_of(count: c_int, requests: Ptr<Handle>) -> Result<Vec<Handle>, Failure> {
    Ok(requests.list(length(count, Class::Count, Handle::SELF)?))
}

fn element(statuses: Ptr<Status>, index: usize) -> Ptr<Status> {
    if statuses.is_null() { statuses } else { Ptr(statuses.0.wrapping_add(index)) }
}

pub(crate) fn waitall(count: c_int, requests: Ptr<Handle>, statuses: Ptr<Status>) -> Outcome {
    let active = active_of(&handles_of(count, requests)?)?;
    if active.iter().all(Option::is_none) {
        process()?.end_bursts();
    } else {
        wait_for_all(&active, statuses.is_null())?;
    }
    let all: Vec<usize> = (0..active.len()).collect();
    complete_some(requests, &all, &active, |i| element(statuses, i))
}

pub(crate) fn testall(
    count: c_int,
    requests: Ptr<Handle>,
    flag: Ptr<c_int>,
    statuses: Ptr<Status>,
) -> Outcome {
    let handles = handles_of(count, requests)?;
    let done = poll(&handles)?;
    let all_done = handles.iter().zip(&done).all(|(&h, d)| *d || is_inactive(h));
    flag.put(all_done.into());
    if !all_done {
        return Ok(());
    }
    let all: Vec<usize> = (0..handles.len()).collect();
    complete_some(requests, &all, &active_of(&handles)?, |i| element(statuses, i))
}

/// Whether no request is active: then there is nothing to wait for.
fn all_are_inactive(handles: &[Handle]) -> Result<bool, Failure> {
    let all = handles.iter().all(|&h| is_inactive(h));
    if all {
        process()?.end_bursts();
    }
    Ok(all)
}

/// Whether no request is active. The index and the status then say so.
fn none_is_active(
    handles: &[Handle],
    index: Ptr<c_int>,
    status: Ptr<Status>,
) -> Result<bool, Failure> {
    let none = all_are_inactive(handles)?;
    if none {
        index.put(UNDEFINED);
        put_status(status, &Ending::EMPTY);
    }
    Ok(none)
}

/// Which of the requests that are done are active.
pub(super) fn active_among(handles: &[Handle], done: &[bool]) -> Vec<usize> {
    (0..handles.len()).filter(|&i| done[i] && !is_inactive(handles[i])).collect()
}

pub(crate) fn start(request: Ptr<Handle>) -> Outcome {
    let found = REQUESTS.at(request.get());
    let Some(Req::Persistent(start, None)) = found else {
        return fail(Class::Request, "no request that can be started, or one that is in progress");
    };
    let active = start()?;
    REQUESTS.with(request.get(), |r| *r = Req::Persistent(start, Some(Box::new(active))));
    Ok(())
}

pub(crate) fn startall(count: c_int, requests: Ptr<Handle>) -> Outcome {
    for index in 0..length(count, Class::Count, Handle::SELF)? {
        start(Ptr(requests.0.wrapping_add(index)))?;
    }
    Ok(())
}

pub(crate) fn request_free(request: Ptr<Handle>) -> Outcome {
    if let Some(Req::Generalized(own)) = REQUESTS.at(request.get()) {
        let handle = request.get();
        request.put(Handle::REQUEST_NULL);
        // The application names the handle once more, to complete it, unless it has done so.
        return end_step(handle, &own, Generalized::FREED);
    }
    let Some(taken) = REQUESTS.take(request.get()) else {
        return fail(Class::Request, "no such request");
    };
    request.put(Handle::REQUEST_NULL);
    let active = match taken {
        Req::Persistent(_, Some(active)) => *active,
        other => other,
    };
    match active {
        Req::Active(id, ..) => process()?.exchange().free(id),
        Req::Partitioned(own) => own.free(&mut process()?.exchange()),
        Req::Done(_) | Req::Persistent(..) | Req::Generalized(_) => {}
    }
    Ok(())
}

pub(crate) fn cancel(request: Ptr<Handle>) -> Outcome {
    let active = match REQUESTS.at(request.get()) {
        None => return fail(Class::Request, "no such request"),
        Some(Req::Persistent(_, Some(active))) => *active,
        Some(other) => other,
    };
    match active {
        Req::Active(id, ..) => process()?.exchange().cancel(id),
        Req::Generalized(own) => {
            callback_outcome(own.cancel.cancel(own.extra, own.is_complete()))?;
        }
        Req::Partitioned(_) => {
            return fail(Class::Request, "a message in parts cannot be cancelled");
        }
        Req::Done(_) | Req::Persistent(..) => {}
    }
    Ok(())
}
