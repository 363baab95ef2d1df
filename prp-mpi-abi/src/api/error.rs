//! Errors: their classes, and what becomes of them.

use std::cell::Cell;
use std::ffi::{c_char, c_int};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use parking_lot::Mutex;

use super::environment::{comm, is_over, process};
use crate::object::{Comm, ERRHANDLERS, Handle, HeldComm, within_callback};
use crate::sys::callback::Callback;
use crate::sys::pointer::Ptr;

/// An error class of the standard.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Class {
    Buffer = 1,
    Count = 2,
    Type = 3,
    Tag = 4,
    Comm = 5,
    Rank = 6,
    Request = 7,
    Root = 8,
    Group = 9,
    Op = 10,
    Topology = 11,
    Dims = 12,
    Arg = 13,
    Truncate = 15,
    Other = 16,
    InStatus = 19,
    Access = 20,
    Amode = 21,
    Assert = 22,
    BadFile = 23,
    Base = 24,
    Conversion = 25,
    Disp = 26,
    DupDatarep = 27,
    FileExists = 28,
    FileInUse = 29,
    File = 30,
    InfoKey = 31,
    InfoNokey = 32,
    InfoValue = 33,
    Info = 34,
    Io = 35,
    Keyval = 36,
    LockType = 37,
    Name = 38,
    NoMemory = 39,
    NotSame = 40,
    NoSpace = 41,
    NoSuchFile = 42,
    Port = 43,
    Quota = 44,
    ReadOnly = 45,
    RmaAttach = 46,
    RmaRange = 48,
    RmaShared = 49,
    RmaSync = 50,
    Service = 51,
    Size = 52,
    Spawn = 53,
    UnsupportedDatarep = 54,
    Unsupported = 55,
    Win = 56,
    RmaFlavor = 57,
    Session = 60,
    Errhandler = 61,
}

/// A call that has failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) code: c_int,
    /// The communicator, or the session, that the error handler is called with.
    pub(crate) comm: Handle,
    /// The error handler of what the failure is of, where that is no communicator that has a
    /// handle: a session, or a communicator that was freed while something was in progress.
    pub(crate) handler: Option<Handle>,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(class: Class, comm: Handle, text: impl Into<String>) -> Self {
        Self::with_code(class as c_int, comm, text)
    }

    /// A failure of something that was in progress on a communicator.
    pub(crate) fn of_held(class: Class, of: &HeldComm, text: impl Into<String>) -> Self {
        let handler = Some(*of.comm.errhandler.lock());
        Self { handler, ..Self::new(class, of.handle, text) }
    }

    pub(crate) fn with_code(code: c_int, comm: Handle, text: impl Into<String>) -> Self {
        Self { code, comm, handler: None, text: text.into() }
    }
}

pub(crate) type Outcome = Result<(), Failure>;

/// A failure that concerns no communicator: the handler of `MPI_COMM_SELF` is called, as the
/// standard has it since MPI 4.0.
pub(crate) fn fail<T>(class: Class, text: &str) -> Result<T, Failure> {
    Err(Failure::new(class, Handle::SELF, text))
}

/// How many there are of something, of which there cannot be fewer than none.
pub(crate) fn length(count: impl Into<i64>, class: Class, comm: Handle) -> Result<usize, Failure> {
    let count = count.into();
    usize::try_from(count)
        .map_err(|_| Failure::new(class, comm, format!("count {count} is negative")))
}

thread_local! {
    /// The function that this thread is in.
    static CALL: Cell<&'static str> = const { Cell::new("MPI") };
}

/// The function that this thread is in.
pub(crate) fn current_call() -> &'static str {
    CALL.get()
}

/// Whether a function may also be called when MPI is over: these concern no communicator.
fn is_for_ever(name: &str) -> bool {
    const FIRST_WORDS: [&str; 8] = [
        "MPI_Abi_",
        "MPI_Add_error_",
        "MPI_Errhandler_",
        "MPI_Error_",
        "MPI_Get_",
        "MPI_Info_",
        "MPI_Remove_error_",
        "MPI_Session_",
    ];
    FIRST_WORDS.iter().any(|words| name.starts_with(words))
        || name.ends_with("_create_errhandler")
        || matches!(name, "MPI_Initialized" | "MPI_Finalized" | "MPI_Abort")
}

/// Does what a function of the standard does; its error code.
pub(crate) fn call(name: &'static str, does: impl FnOnce() -> Outcome) -> c_int {
    CALL.set(name);
    if is_over() && !is_for_ever(name) {
        let text = "called after MPI_Finalize, with no session";
        end(name, &Failure::new(Class::Other, Handle::SELF, text));
    }
    match does() {
        Ok(()) => 0,
        Err(failure) => handle(name, &failure),
    }
}

/// Fails if the program has passed no place for a result: names of parameters, and whether there is
/// none.
pub(crate) fn check_results(comm: Handle, results: &[(&str, bool)]) -> Outcome {
    match results.iter().find(|(_, is_null)| *is_null) {
        Some((name, _)) => {
            Err(Failure::new(Class::Arg, comm, format!("no place for the result '{name}'")))
        }
        None => Ok(()),
    }
}

/// An error goes to the handler of its communicator.
fn handle(name: &str, failure: &Failure) -> c_int {
    let of_comm = || comm(failure.comm).map(|c| *c.errhandler.lock());
    let handler = failure.handler.or_else(of_comm).unwrap_or(Handle::ERRORS_ARE_FATAL);
    handle_by(handler, name, failure)
}

/// Hands a failure of a call to a handler.
pub(crate) fn handle_by(handler: Handle, name: &str, failure: &Failure) -> c_int {
    match handler {
        Handle::ERRORS_RETURN => {}
        Handle::ERRORS_ARE_FATAL | Handle::ERRORS_ABORT => end(name, failure),
        custom => match ERRHANDLERS.at(custom) {
            Some(callback) => within_callback(|| callback.handle(failure.comm, failure.code)),
            None => end(name, failure),
        },
    }
    failure.code
}

fn end(name: &str, failure: &Failure) -> ! {
    let Failure { text, code, .. } = failure;
    let text = format!("{name}: {text} ({})", describe(*code));
    match process() {
        Ok(process) => process.abort(1, &text),
        Err(_) => {
            let _ = writeln!(io::stderr(), "{text}");
            std::process::exit(1);
        }
    }
}

/// A function that is not there: the program ends, once, unless it has asked for errors to be
/// returned.
pub(crate) fn refuse(name: &'static str) -> c_int {
    let text = "prp-mpi does not implement this function (Fortran is left out; `prp-mpicc --functions` \
                lists what is there)";
    handle(name, &Failure::new(Class::Unsupported, Handle::WORLD, text))
}

/// Classes and codes that the application has added, from the last class of the standard on: the
/// class of each, and its text.
static ADDED: Mutex<Vec<(c_int, Option<String>)>> = Mutex::new(Vec::new());

/// `MPI_ERR_LASTCODE`, from which on the application's codes are.
pub(crate) const LAST_CODE: c_int = 16383;

/// The last code in use, for the attribute `MPI_LASTUSEDCODE`.
pub(crate) static LAST_USED: AtomicI32 = AtomicI32::new(LAST_CODE);

/// The class of what was removed.
const REMOVED: c_int = -1;

const TEXTS: [&str; 63] = [
    "no error",
    "invalid buffer",
    "invalid count",
    "invalid datatype",
    "invalid tag",
    "invalid communicator",
    "invalid rank",
    "invalid request",
    "invalid root",
    "invalid group",
    "invalid operation",
    "invalid topology",
    "invalid dimensions",
    "invalid argument",
    "unknown error",
    "message truncated",
    "other error",
    "internal error",
    "pending request",
    "error in status",
    "permission denied",
    "invalid access mode",
    "invalid assertion",
    "invalid file name",
    "invalid base",
    "conversion error",
    "invalid displacement",
    "data representation is there already",
    "file exists",
    "file in use",
    "invalid file",
    "invalid info key",
    "no such info key",
    "invalid info value",
    "invalid info object",
    "input or output error",
    "invalid attribute key",
    "invalid lock type",
    "invalid service name",
    "no memory",
    "not the same on all ranks",
    "no space",
    "no such file",
    "invalid port",
    "quota exceeded",
    "read only",
    "memory cannot be attached",
    "conflicting accesses",
    "memory out of range",
    "memory cannot be shared",
    "wrong synchronization",
    "invalid service name",
    "invalid size",
    "processes cannot be started",
    "unsupported data representation",
    "unsupported operation",
    "invalid window",
    "wrong kind of window",
    "a peer has ended",
    "value too large",
    "invalid session",
    "invalid error handler",
    "ABI error",
];

fn describe(code: c_int) -> String {
    if let Some(text) = usize::try_from(code).ok().and_then(|c| TEXTS.get(c)) {
        return (*text).to_owned();
    }
    let index = usize::try_from(code - LAST_CODE - 1).ok();
    let added = ADDED.lock();
    let text = index.and_then(|i| added.get(i)).and_then(|(_, text)| text.clone());
    text.unwrap_or_default()
}

fn is_known(code: c_int) -> bool {
    (0..TEXTS.len() as c_int).contains(&code)
        || (LAST_CODE + 1..=LAST_CODE + ADDED.lock().len() as c_int).contains(&code)
        || (1001..=1018).contains(&code)
        || code == LAST_CODE
}

pub(crate) fn error_string(code: c_int, text: Ptr<c_char>, length: Ptr<c_int>) -> Outcome {
    if !is_known(code) {
        return fail(Class::Arg, "no such error code");
    }
    length.put(text.put_text(&describe(code), 512));
    Ok(())
}

pub(crate) fn error_class(code: c_int, class: Ptr<c_int>) -> Outcome {
    if !is_known(code) {
        return fail(Class::Arg, "no such error code");
    }
    let index = usize::try_from(code - LAST_CODE - 1).ok();
    let added = ADDED.lock();
    class.put(index.and_then(|i| added.get(i)).map_or(code, |(class, _)| *class));
    Ok(())
}

fn add(class: Option<c_int>) -> c_int {
    let mut added = ADDED.lock();
    let code = LAST_CODE + 1 + added.len() as c_int;
    added.push((class.unwrap_or(code), None));
    LAST_USED.store(code, Ordering::Relaxed);
    code
}

pub(crate) fn add_error_class(class: Ptr<c_int>) -> Outcome {
    class.put(add(None));
    Ok(())
}

pub(crate) fn add_error_code(class: c_int, code: Ptr<c_int>) -> Outcome {
    if !is_known(class) {
        return fail(Class::Arg, "no such error class");
    }
    code.put(add(Some(class)));
    Ok(())
}

pub(crate) fn add_error_string(code: c_int, text: Ptr<c_char>) -> Outcome {
    let index = usize::try_from(code - LAST_CODE - 1).ok();
    match index.and_then(|i| ADDED.lock().get_mut(i).map(|a| a.1 = Some(text.text()))) {
        Some(()) => Ok(()),
        None => fail(Class::Arg, "no error code of the application"),
    }
}

/// Removes what was added, if `may` says so of it and the others, and it has no text.
fn remove(code: c_int, may: impl Fn(c_int, &[(c_int, Option<String>)]) -> bool) -> Outcome {
    let index = usize::try_from(code - LAST_CODE - 1).ok();
    let mut added = ADDED.lock();
    let found = index.and_then(|i| added.get(i)).filter(|(_, text)| text.is_none());
    if !found.is_some_and(|(class, _)| may(*class, &added)) {
        return fail(Class::Arg, "nothing that was added, or it is in use");
    }
    if let Some(entry) = index.and_then(|i| added.get_mut(i)) {
        entry.0 = REMOVED;
    }
    while added.pop_if(|(class, _)| *class == REMOVED).is_some() {}
    LAST_USED.store(LAST_CODE + added.len() as c_int, Ordering::Relaxed);
    Ok(())
}

pub(crate) fn remove_error_class(class: c_int) -> Outcome {
    remove(class, |of, all| of == class && all.iter().filter(|(c, _)| *c == class).count() == 1)
}

pub(crate) fn remove_error_code(code: c_int) -> Outcome {
    remove(code, |of, _| of != code && of != REMOVED)
}

pub(crate) fn remove_error_string(code: c_int) -> Outcome {
    let index = usize::try_from(code - LAST_CODE - 1).ok();
    match index.and_then(|i| ADDED.lock().get_mut(i).and_then(|a| a.1.take())) {
        Some(_) => Ok(()),
        None => fail(Class::Arg, "no text of the application"),
    }
}

fn comm_or_fail(handle: Handle) -> Result<Arc<Comm>, Failure> {
    comm(handle).ok_or_else(|| Failure::new(Class::Comm, Handle::SELF, "no such communicator"))
}

pub(crate) fn comm_create_errhandler(function: Callback, handler: Ptr<Handle>) -> Outcome {
    handler.put(ERRHANDLERS.add(function));
    Ok(())
}

pub(crate) fn session_create_errhandler(function: Callback, handler: Ptr<Handle>) -> Outcome {
    comm_create_errhandler(function, handler)
}

pub(crate) fn win_create_errhandler(function: Callback, handler: Ptr<Handle>) -> Outcome {
    comm_create_errhandler(function, handler)
}

pub(crate) fn file_create_errhandler(function: Callback, handler: Ptr<Handle>) -> Outcome {
    comm_create_errhandler(function, handler)
}

pub(crate) fn comm_set_errhandler(of: Handle, handler: Handle) -> Outcome {
    if handler == Handle::ERRHANDLER_NULL {
        return fail(Class::Errhandler, "no error handler");
    }
    *comm_or_fail(of)?.errhandler.lock() = handler;
    Ok(())
}

pub(crate) fn comm_get_errhandler(of: Handle, handler: Ptr<Handle>) -> Outcome {
    handler.put(*comm_or_fail(of)?.errhandler.lock());
    Ok(())
}

pub(crate) fn comm_call_errhandler(of: Handle, code: c_int) -> Outcome {
    comm_or_fail(of)?;
    handle(current_call(), &Failure::with_code(code, of, "called by the program"));
    Ok(())
}

/// Communicators may still have the handler: it stays until the end.
pub(crate) fn errhandler_free(handler: Ptr<Handle>) -> Outcome {
    if handler.get() == Handle::ERRHANDLER_NULL {
        return fail(Class::Errhandler, "no error handler");
    }
    handler.put(Handle::ERRHANDLER_NULL);
    Ok(())
}
