//! Variables that say what the library does: its queues, and the bytes that have come.

use std::ffi::{c_char, c_int};

use prp_mpi::exchange::Exchange;

use super::{BASIC, Error, OF_NOTHING, Told, at, put_index, put_string};
use crate::api::environment::process;
use crate::object::{COMMS, FILES, Handle, REQUESTS, Table, WINDOWS};
use crate::sys::pointer::{Address, Ptr};

/// `MPI_T_PVAR_CLASS_LEVEL` and `_AGGREGATE`.
const LEVEL: c_int = 2;
const AGGREGATE: c_int = 8;

const UNSIGNED_LONG: Handle = Handle(0x20e);

/// `MPI_T_PVAR_ALL_HANDLES`.
const ALL_HANDLES: Handle = Handle(1);

/// Where the number comes from.
enum Source {
    Exchange(fn(&Exchange) -> u64),
    Library(fn() -> usize),
}

struct Variable {
    name: &'static str,
    about: &'static str,
    class: c_int,
    source: Source,
}

/// All variables: first those of queues, then those of objects, then those of bytes.
const ALL: [Variable; 10] = [
    Variable {
        name: "prp_mpi_unexpected_messages",
        about: "Messages that have come before a receive was posted for them.",
        class: LEVEL,
        source: Source::Exchange(|exchange| exchange.unexpected_len() as u64),
    },
    Variable {
        name: "prp_mpi_posted_receives",
        about: "Receives whose messages have not come.",
        class: LEVEL,
        source: Source::Exchange(|exchange| exchange.posted().count() as u64),
    },
    Variable {
        name: "prp_mpi_pending_operations",
        about: "Operations that have begun and are not done.",
        class: LEVEL,
        source: Source::Exchange(|exchange| exchange.pending() as u64),
    },
    Variable {
        name: "prp_mpi_requests",
        about: "Requests that the program has.",
        class: LEVEL,
        source: Source::Library(|| REQUESTS.len()),
    },
    Variable {
        name: "prp_mpi_communicators",
        about: "Communicators that the program has made and not freed.",
        class: LEVEL,
        source: Source::Library(|| COMMS.len()),
    },
    Variable {
        name: "prp_mpi_windows",
        about: "Windows that the program has made and not freed.",
        class: LEVEL,
        source: Source::Library(|| WINDOWS.len()),
    },
    Variable {
        name: "prp_mpi_files",
        about: "Files that are open.",
        class: LEVEL,
        source: Source::Library(|| FILES.len()),
    },
    Variable {
        name: "prp_mpi_bytes_straight",
        about: "Bytes that have come straight into the buffer of a receive.",
        class: AGGREGATE,
        source: Source::Exchange(|exchange| exchange.copies().straight),
    },
    Variable {
        name: "prp_mpi_bytes_staged",
        about: "Bytes that have come to the buffer of a receive through a copy.",
        class: AGGREGATE,
        source: Source::Exchange(|exchange| exchange.copies().staged),
    },
    Variable {
        name: "prp_mpi_bytes_held",
        about: "Bytes that have come before a receive was posted for them, or for a window.",
        class: AGGREGATE,
        source: Source::Exchange(|exchange| exchange.copies().held),
    },
];

/// The numbers of those of queues, of objects and of bytes.
pub(super) const PARTS: [std::ops::Range<usize>; 3] = [0..3, 3..7, 7..ALL.len()];

/// Handles of each session.
static SESSIONS: Table<Vec<Handle>> = Table::new();

/// The session of a handle, and the number of its variable.
static HANDLES: Table<(Handle, usize)> = Table::new();

pub(crate) fn t_pvar_get_num(count: Ptr<c_int>) -> Told {
    count.put(ALL.len() as c_int);
    Ok(())
}

pub(crate) fn t_pvar_get_index(name: Ptr<c_char>, class: c_int, index: Ptr<c_int>) -> Told {
    let name = name.text();
    put_index(&ALL, index, |variable| variable.name == name && variable.class == class)
}

pub(crate) fn t_pvar_get_info(
    index: c_int,
    name: Ptr<c_char>,
    name_len: Ptr<c_int>,
    verbosity: Ptr<c_int>,
    class: Ptr<c_int>,
    datatype: Ptr<Handle>,
    enumeration: Ptr<Handle>,
    about: Ptr<c_char>,
    about_len: Ptr<c_int>,
    bind: Ptr<c_int>,
    is_read_only: Ptr<c_int>,
    is_continuous: Ptr<c_int>,
    is_atomic: Ptr<c_int>,
) -> Told {
    let variable = at(&ALL, index)?;
    put_string(variable.name, name, name_len);
    put_string(variable.about, about, about_len);
    verbosity.put(BASIC);
    class.put(variable.class);
    datatype.put(UNSIGNED_LONG);
    enumeration.put(Handle(0));
    bind.put(OF_NOTHING);
    is_read_only.put(1);
    is_continuous.put(1);
    is_atomic.put(0);
    Ok(())
}

pub(crate) fn t_pvar_session_create(session: Ptr<Handle>) -> Told {
    session.put(SESSIONS.add(Vec::new()));
    Ok(())
}

pub(crate) fn t_pvar_session_free(session: Ptr<Handle>) -> Told {
    for handle in SESSIONS.take(session.get()).ok_or(Error::Session)? {
        HANDLES.take(handle);
    }
    session.put(Handle(0));
    Ok(())
}

fn check_session(session: Handle) -> Told {
    SESSIONS.with(session, |_| ()).ok_or(Error::Session)
}

pub(crate) fn t_pvar_handle_alloc(
    session: Handle,
    index: c_int,
    _object: Address,
    handle: Ptr<Handle>,
    count: Ptr<c_int>,
) -> Told {
    check_session(session)?;
    at(&ALL, index)?;
    let made = HANDLES.add((session, index as usize));
    SESSIONS.with(session, |handles| handles.push(made));
    handle.put(made);
    count.put(1);
    Ok(())
}

/// The variable of a handle of a session.
fn variable(session: Handle, handle: Handle) -> Result<&'static Variable, Error> {
    check_session(session)?;
    let (of, index) = HANDLES.at(handle).ok_or(Error::Handle)?;
    if of == session { ALL.get(index).ok_or(Error::Handle) } else { Err(Error::Handle) }
}

pub(crate) fn t_pvar_handle_free(session: Handle, handle: Ptr<Handle>) -> Told {
    variable(session, handle.get())?;
    let gone = handle.get();
    SESSIONS.with(session, |handles| handles.retain(|handle| *handle != gone));
    HANDLES.take(gone);
    handle.put(Handle(0));
    Ok(())
}

/// All variables always count: of them all, none is started, and each of them cannot be.
fn start_or_stop(session: Handle, handle: Handle) -> Told {
    if handle == ALL_HANDLES {
        return check_session(session);
    }
    variable(session, handle)?;
    Err(Error::NoStartStop)
}

pub(crate) fn t_pvar_start(session: Handle, handle: Handle) -> Told {
    start_or_stop(session, handle)
}

pub(crate) fn t_pvar_stop(session: Handle, handle: Handle) -> Told {
    start_or_stop(session, handle)
}

pub(crate) fn t_pvar_read(session: Handle, handle: Handle, value: Address) -> Told {
    let number = match variable(session, handle)?.source {
        Source::Library(read) => read() as u64,
        // Before MPI begins there is nothing to count.
        Source::Exchange(read) => process().map_or(0, |process| read(&process.exchange())),
    };
    value.cast().put(number);
    Ok(())
}

pub(crate) fn t_pvar_reset(session: Handle, handle: Handle) -> Told {
    if handle == ALL_HANDLES {
        return check_session(session);
    }
    variable(session, handle)?;
    Err(Error::NoWrite)
}

pub(crate) fn t_pvar_write(session: Handle, handle: Handle, _value: Address) -> Told {
    variable(session, handle)?;
    Err(Error::NoWrite)
}

pub(crate) fn t_pvar_readreset(session: Handle, handle: Handle, _value: Address) -> Told {
    variable(session, handle)?;
    Err(Error::NoWrite)
}
