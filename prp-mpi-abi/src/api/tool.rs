//! The interface of tools: variables by which this library can be looked into. It is there before
//! MPI is and after it, and its errors are values that go to no error handler.

mod category;
mod control;
mod event;
mod performance;

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicI32, Ordering};

pub(crate) use self::category::*;
pub(crate) use self::control::*;
pub(crate) use self::event::*;
pub(crate) use self::performance::*;
use crate::sys::pointer::Ptr;

/// An error of this interface: `MPI_T_ERR_*`.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Error {
    NotInitialized = 1003,
    Index = 1007,
    Item = 1008,
    Session = 1009,
    Handle = 1010,
    Name = 1011,
    NeverSet = 1015,
    NoWrite = 1016,
    NoStartStop = 1017,
}

pub(crate) type Told = Result<(), Error>;

/// How often the interface was begun and not ended.
static BEGUN: AtomicI32 = AtomicI32::new(0);

/// Does what a function of this interface does; its error code.
pub(crate) fn tool_call(name: &str, does: impl FnOnce() -> Told) -> c_int {
    let needs_begin = name != "MPI_T_init_thread";
    let told = match BEGUN.load(Ordering::SeqCst) {
        0 if needs_begin => Err(Error::NotInitialized),
        _ => does(),
    };
    told.err().map_or(0, |error| error as c_int)
}

pub(crate) fn t_init_thread(_required: c_int, provided: Ptr<c_int>) -> Told {
    BEGUN.fetch_add(1, Ordering::SeqCst);
    // Calls of this interface may come from any thread, whatever MPI was asked for.
    provided.put(MULTIPLE);
    Ok(())
}

/// `MPI_THREAD_MULTIPLE`.
const MULTIPLE: c_int = 4096;

pub(crate) fn t_finalize() -> Told {
    let fewer = |begun: i32| begun.checked_sub(1).filter(|begun| *begun >= 0);
    let ended = BEGUN.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fewer);
    ended.map(drop).map_err(|_| Error::NotInitialized)
}

/// Writes a text where there is room for some of it, and how much room all of it needs.
fn put_string(text: &str, to: Ptr<c_char>, length: Ptr<c_int>) {
    let room = if length.is_null() || to.is_null() { 0 } else { length.get().max(0) };
    if room > 0 {
        to.put_text(text, room as usize);
    }
    length.put(text.len() as c_int + 1);
}

/// What an index stands for.
fn at<T>(all: &[T], index: c_int) -> Result<&T, Error> {
    usize::try_from(index).ok().and_then(|index| all.get(index)).ok_or(Error::Index)
}

/// Writes the index of what has a name.
fn put_index<T>(all: &[T], index: Ptr<c_int>, is_it: impl Fn(&T) -> bool) -> Told {
    let found = all.iter().position(is_it).ok_or(Error::Name)?;
    index.put(found as c_int);
    Ok(())
}

/// `MPI_T_VERBOSITY_USER_BASIC`.
const BASIC: c_int = 0x09;

/// `MPI_T_BIND_NO_OBJECT`.
const OF_NOTHING: c_int = 1;
