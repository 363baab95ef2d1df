//! When the windows of other ranks may be used, and when what was asked for is done.

use std::ffi::c_int;
use std::sync::atomic::{Ordering, fence};

use prp_mpi::exchange::{Action, Exchange};
use prp_mpi::process::report::Waiting;

use super::{rank_of, window_of};
use crate::api::PROC_NULL;
use crate::api::collective::sum_for_own;
use crate::api::environment::process;
use crate::api::error::{Class, Failure, Outcome, current_call};
use crate::api::group::group_of;
use crate::object::{Epochs, Handle, Window};
use crate::sys::pointer::Ptr;

const EXCLUSIVE: c_int = 301;
const SHARED: c_int = 302;

/// `MPI_MODE_NOSUCCEED`: nothing is done behind a fence.
const NOTHING_BEHIND: c_int = 16384;

/// All assertions: `MPI_MODE_NOCHECK` to `MPI_MODE_NOSUCCEED`.
const ASSERTIONS: c_int = 1024 | 2048 | 4096 | 8192 | NOTHING_BEHIND;

fn check_assertion(window: &Window, win: Handle, assert: c_int) -> Outcome {
    match assert & !ASSERTIONS {
        0 => Ok(()),
        _ => Err(window.failure(win, Class::Assert, format!("no assertion {assert}"))),
    }
}

fn wrong_epoch<T>(window: &Window, win: Handle, text: &str) -> Result<T, Failure> {
    Err(window.failure(win, Class::RmaSync, text))
}

/// Changes what may be done, if that is possible as it is now.
fn change<T>(
    window: &Window,
    win: Handle,
    change: impl FnOnce(&mut Epochs) -> Result<T, &'static str>,
) -> Result<T, Failure> {
    let changed = change(&mut window.epochs.lock());
    changed.or_else(|text| wrong_epoch(window, win, text))
}

/// Waits for something of these ranks of a window. `is_theirs`: no other rank can end the wait.
fn wait_for<T>(
    window: &Window,
    ranks: &(impl ExactSizeIterator<Item = usize> + Clone),
    is_theirs: bool,
    ready: impl FnMut(&mut Exchange) -> Option<T>,
) -> Result<T, Failure> {
    let process = process()?;
    let what = || {
        let name = process.name_of(window.context());
        let named: Vec<_> = ranks.clone().take(4).map(|rank| rank.to_string()).collect();
        let rest = if ranks.len() > named.len() { ", ..." } else { "" };
        let text = format!("of ranks {}{rest}", named.join(", "));
        let mut waiting = Waiting::new(current_call(), name, text);
        if is_theirs && ranks.len() == 1 {
            waiting.peer = ranks.clone().next().map(|rank| window.comm.group[rank]);
        }
        waiting
    };
    Ok(process.wait(&what, ready))
}

/// Asks ranks of a window for something, and waits until all have done it.
fn ask_all(window: &Window, ranks: &[usize], action: Action) -> Outcome {
    let process = process()?;
    process.complete_released();
    let mut requests: Vec<_> = {
        let mut exchange = process.exchange();
        let ask = |to: usize| exchange.ask(to, window.context(), action);
        window.in_world(ranks).into_iter().map(ask).collect()
    };
    // A lock is free once the rank that holds it gives it back, which may be any.
    let is_theirs = !matches!(action, Action::LockShared | Action::LockExclusive);
    wait_for(window, &ranks.iter().copied(), is_theirs, |exchange| {
        requests.retain(|request| exchange.take(*request).is_none());
        requests.is_empty().then_some(())
    })
}

/// Waits until all is done that these ranks were asked for. It counts as done only then: another
/// thread that waits for a part of it has to wait, too.
fn complete(window: &Window, ranks: &[usize]) -> Outcome {
    let asked: Vec<(usize, u64)> = {
        let epochs = window.epochs.lock();
        ranks.iter().filter_map(|&rank| Some((rank, epochs.asked_of(rank)?))).collect()
    };
    complete_asked(window, &asked)
}

/// The same of these ranks and the bytes that each was asked for in all.
fn complete_asked(window: &Window, asked: &[(usize, u64)]) -> Outcome {
    let ranks: Vec<usize> = asked.iter().map(|(rank, _)| *rank).collect();
    ask_all(window, &ranks, Action::Flush)?;
    window.epochs.lock().note_all_done(asked);
    Ok(())
}

/// The same of all ranks.
fn complete_all(window: &Window) -> Outcome {
    let asked = window.epochs.lock().all_asked();
    complete_asked(window, &asked)
}

/// In a fence of at most so many ranks each tells all others how often it has asked them: the one
/// message that a barrier of two would send, too. Of more ranks that would be more messages.
const FEW: usize = 4;

/// Waits until all is done that any rank was asked for by any, which all ranks call. Each gets to
/// know how often it was asked, so that no answer is needed.
pub(super) fn complete_among_all(window: &Window, win: Handle) -> Outcome {
    let process = process()?;
    let asked = window.epochs.lock().all_asked();
    let (context, group) = (window.context(), &window.comm.group);
    process.complete_released();
    let counts = process.exchange().begin_fence(context, group);
    if group.len() <= FEW {
        process.exchange().tell_counts(context, group, &counts);
    } else {
        let sum = sum_for_own(&window.comm, win, &counts)?;
        process.exchange().note_counts(context, group.len(), sum);
    }
    let asked_in_world: Vec<usize> = asked.iter().map(|(rank, _)| group[*rank]).collect();
    wait_for(window, &(0..group.len()), false, |exchange| {
        exchange.end_fence(context, group.len(), &asked_in_world)
    })?;
    window.epochs.lock().note_all_done(&asked);
    Ok(())
}

/// Bytes that a rank may be asked for before what it was asked for is done: what it answers waits
/// in memory until this rank takes it.
const MOST_ASKED: u64 = 4 << 20;

/// What a message costs that asks for something, counted as bytes.
const MESSAGE: usize = 256;

/// Notes that a rank was asked for something, and waits if that is too much by now.
pub(super) fn note_asked(window: &Window, rank: usize, bytes: usize) -> Outcome {
    let asked = window.epochs.lock().note_asked(rank, bytes + MESSAGE);
    if asked < MOST_ASKED { Ok(()) } else { complete(window, &[rank]) }
}

pub(crate) fn win_fence(assert: c_int, win: Handle) -> Outcome {
    let window = window_of(win)?;
    check_assertion(&window, win, assert)?;
    change(&window, win, |epochs| match epochs.is_free() && epochs.posted.is_none() {
        true => Ok(()),
        false => Err("a lock is held, or MPI_Win_complete or MPI_Win_wait is missing"),
    })?;
    complete_among_all(&window, win)?;
    window.epochs.lock().is_fenced = assert & NOTHING_BEHIND == 0;
    Ok(())
}

/// Whether something else can begin: nothing has, and nothing was done behind the last fence.
fn leave_fence(epochs: &mut Epochs) -> Result<(), &'static str> {
    if epochs.is_fenced && !epochs.all_asked().is_empty() {
        return Err("what was done behind MPI_Win_fence has to end with one");
    }
    epochs.is_fenced = false;
    Ok(())
}

pub(crate) fn win_lock(kind: c_int, rank: c_int, assert: c_int, win: Handle) -> Outcome {
    let window = window_of(win)?;
    check_assertion(&window, win, assert)?;
    let action = match kind {
        EXCLUSIVE => Action::LockExclusive,
        SHARED => Action::LockShared,
        _ => return Err(window.failure(win, Class::LockType, format!("no type {kind} of locks"))),
    };
    if rank == PROC_NULL {
        return Ok(());
    }
    let rank = rank_of(&window, win, rank)?;
    change(&window, win, |epochs| {
        if epochs.started.is_some() || epochs.is_locked(rank) {
            return Err("the window is locked already, or MPI_Win_complete is missing");
        }
        leave_fence(epochs)?;
        epochs.locked.insert(rank);
        Ok(())
    })?;
    ask_all(&window, &[rank], action)
}

pub(crate) fn win_unlock(rank: c_int, win: Handle) -> Outcome {
    let window = window_of(win)?;
    if rank == PROC_NULL {
        return Ok(());
    }
    let rank = rank_of(&window, win, rank)?;
    change(&window, win, |epochs| match epochs.locked.remove(&rank) {
        true => {
            epochs.end_with(rank);
            Ok(())
        }
        false => Err("the window of this rank was not locked by MPI_Win_lock"),
    })?;
    ask_all(&window, &[rank], Action::Unlock)
}

pub(crate) fn win_lock_all(assert: c_int, win: Handle) -> Outcome {
    let window = window_of(win)?;
    check_assertion(&window, win, assert)?;
    change(&window, win, |epochs| {
        if !epochs.is_free() {
            return Err("a window is locked already, or MPI_Win_complete is missing");
        }
        leave_fence(epochs)?;
        epochs.are_all_locked = true;
        Ok(())
    })?;
    let all: Vec<usize> = (0..window.extents.len()).collect();
    ask_all(&window, &all, Action::LockShared)
}

pub(crate) fn win_unlock_all(win: Handle) -> Outcome {
    let window = window_of(win)?;
    change(&window, win, |epochs| {
        epochs.end_with_all();
        match std::mem::take(&mut epochs.are_all_locked) {
            true => Ok(()),
            false => Err("MPI_Win_lock_all was not called"),
        }
    })?;
    let all: Vec<usize> = (0..window.extents.len()).collect();
    ask_all(&window, &all, Action::Unlock)
}

const NOT_LOCKED: &str = "no lock is held";

pub(crate) fn win_flush(rank: c_int, win: Handle) -> Outcome {
    let window = window_of(win)?;
    if rank == PROC_NULL {
        return Ok(());
    }
    let rank = rank_of(&window, win, rank)?;
    if !window.epochs.lock().is_locked(rank) {
        return wrong_epoch(&window, win, NOT_LOCKED);
    }
    complete(&window, &[rank])
}

pub(crate) fn win_flush_all(win: Handle) -> Outcome {
    let window = window_of(win)?;
    let has_lock = {
        let epochs = window.epochs.lock();
        epochs.are_all_locked || !epochs.locked.is_empty()
    };
    if has_lock { complete_all(&window) } else { wrong_epoch(&window, win, NOT_LOCKED) }
}

pub(crate) fn win_flush_local(rank: c_int, win: Handle) -> Outcome {
    win_flush(rank, win)
}

pub(crate) fn win_flush_local_all(win: Handle) -> Outcome {
    win_flush_all(win)
}

/// All see what this rank has written to its window by itself, and it sees what others have. A
/// program that looks for that again and again lets other ranks run. What this rank has written may
/// tell others that its receives have ended, as a message does.
pub(crate) fn win_sync(win: Handle) -> Outcome {
    window_of(win)?;
    let process = process()?;
    process.complete_released();
    fence(Ordering::SeqCst);
    process.try_now(|_| None::<()>);
    fence(Ordering::SeqCst);
    Ok(())
}

/// The ranks of a group in a window.
fn ranks_of(window: &Window, win: Handle, group: Handle) -> Result<Vec<usize>, Failure> {
    let group = group_of(group).map_err(|failure| window.own(win, failure))?;
    let place = |world: &usize| window.comm.group.iter().position(|rank| rank == world);
    let places: Option<Vec<usize>> = group.iter().map(place).collect();
    places.ok_or_else(|| window.failure(win, Class::Group, "a rank that is not in the window"))
}

pub(crate) fn win_post(group: Handle, assert: c_int, win: Handle) -> Outcome {
    let window = window_of(win)?;
    check_assertion(&window, win, assert)?;
    let ranks = ranks_of(&window, win, group)?;
    change(&window, win, |epochs| {
        if epochs.posted.is_some() {
            return Err("MPI_Win_wait is missing for the call before");
        }
        epochs.posted = Some(ranks.clone());
        Ok(())
    })?;
    let process = process()?;
    process.complete_released();
    let mut exchange = process.exchange();
    for to in window.in_world(&ranks) {
        exchange.tell(to, window.context(), Action::Post);
    }
    Ok(())
}

pub(crate) fn win_start(group: Handle, assert: c_int, win: Handle) -> Outcome {
    let window = window_of(win)?;
    check_assertion(&window, win, assert)?;
    let ranks = ranks_of(&window, win, group)?;
    change(&window, win, |epochs| {
        if !epochs.is_free() {
            return Err("a lock is held, or MPI_Win_complete is missing for the call before");
        }
        leave_fence(epochs)?;
        epochs.started = Some(ranks.clone());
        Ok(())
    })?;
    let world = window.in_world(&ranks);
    wait_for(&window, &ranks.iter().copied(), true, |exchange| {
        exchange.take_posts(window.context(), &world)
    })
}

pub(crate) fn win_complete(win: Handle) -> Outcome {
    let window = window_of(win)?;
    let ranks = change(&window, win, |epochs| {
        let ranks = epochs.started.take().ok_or("MPI_Win_start was not called")?;
        epochs.end_with_all();
        Ok(ranks)
    })?;
    ask_all(&window, &ranks, Action::Complete)
}

const NOT_POSTED: &str = "MPI_Win_post was not called";

/// The ranks that may use this window, or the error that none may.
fn posted(window: &Window, win: Handle) -> Result<Vec<usize>, Failure> {
    let posted = window.epochs.lock().posted.clone();
    posted.map_or_else(|| wrong_epoch(window, win, NOT_POSTED), Ok)
}

pub(crate) fn win_wait(win: Handle) -> Outcome {
    let window = window_of(win)?;
    let ranks = posted(&window, win)?;
    let world = window.in_world(&ranks);
    wait_for(&window, &ranks.iter().copied(), true, |exchange| {
        exchange.take_completions(window.context(), &world)
    })?;
    window.epochs.lock().posted = None;
    Ok(())
}

pub(crate) fn win_test(win: Handle, flag: Ptr<c_int>) -> Outcome {
    let window = window_of(win)?;
    let world = window.in_world(&posted(&window, win)?);
    let done = process()?.try_now(|exchange| exchange.take_completions(window.context(), &world));
    flag.put(done.is_some().into());
    if done.is_some() {
        window.epochs.lock().posted = None;
    }
    Ok(())
}
