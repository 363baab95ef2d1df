//! The settings of this process, and what happens at its start, at forks and at its end.

use std::ffi::{CStr, c_char, c_int, c_ulong};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use prp_run::{Request, RequestKind, Settings, VARIABLE};

use super::{call, epoll, holder, real};

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// This process may have given up system calls, and the kernel may kill it for one that it has not
/// made itself: so it makes none for what only the report needs.
static IS_CONFINED: AtomicBool = AtomicBool::new(false);

/// Returns the settings of the run that this process belongs to.
pub(super) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// Notes that this process is about to confine itself (seccomp(2)), of which libraries that do so
/// by a raw system call show the first step only.
///
/// # Safety
/// As for `prctl`.
pub(super) unsafe fn prctl(
    option: c_int,
    second: c_ulong,
    third: c_ulong,
    fourth: c_ulong,
    fifth: c_ulong,
) -> c_int {
    if matches!(option, libc::PR_SET_SECCOMP | libc::PR_SET_NO_NEW_PRIVS) {
        IS_CONFINED.store(true, Ordering::Relaxed);
    }
    // SAFETY: as the caller says. An argument that it has not given is none that the kernel reads.
    unsafe { real::prctl(option, second, third, fourth, fifth) }
}

/// Returns the settings if this process may make calls that it has not made itself.
pub(super) fn unconfined() -> Option<&'static Settings> {
    settings().filter(|_| !IS_CONFINED.load(Ordering::Relaxed))
}

/// Counts a connection of TCP, if connections are counted.
pub(super) fn note_tcp(settings: &Settings, has_failed_before: bool) {
    if settings.is_reported && unconfined().is_some() {
        let errno = call::errno();
        let mut request = Request::new(RequestKind::Tcp, settings.token);
        request.number = has_failed_before.into();
        let _ = holder::ask_soon(settings, &request);
        call::fail(errno);
    }
}

/// Tells the holder of this process; whether it has one. It waits for the answer only where that
/// matters: for a report, which names processes that end at once too, and for a holder that a
/// program has started for itself, which may have ended.
fn tell_holder(settings: &Settings) -> bool {
    let errno = call::errno();
    let hello = Request::new(RequestKind::Hello, settings.token);
    let has_one = if settings.is_reported || !settings.is_tcp_carried {
        holder::ask_soon(settings, &hello).is_ok()
    } else {
        holder::tell(settings, &hello);
        true
    };
    call::fail(errno);
    has_one
}

/// Tells the holder of a process that was just forked.
extern "C" fn say_hello() {
    if let Some(settings) = unconfined() {
        tell_holder(settings);
    }
}

/// [`VARIABLE`], and the end of a string of C.
static NAME: [u8; VARIABLE.len() + 1] = {
    let mut name = [0; VARIABLE.len() + 1];
    let (filled, _) = name.split_at_mut(VARIABLE.len());
    filled.copy_from_slice(VARIABLE.as_bytes());
    name
};

unsafe extern "C" {
    /// As `getenv`; but nothing for a program with privileges that its user does not have.
    fn secure_getenv(name: *const c_char) -> *const c_char;
}

/// Returns a variable of the environment.
///
/// # Safety
/// No other thread changes the environment before the last use of it.
pub(super) unsafe fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name is a string of C, and what is returned another one, or null.
    unsafe {
        let text = secure_getenv(name.as_ptr());
        (!text.is_null()).then(|| CStr::from_ptr(text))
    }
}

/// [`VARIABLE`] as a string of C.
fn name() -> &'static CStr {
    CStr::from_bytes_with_nul(&NAME).unwrap_or_default()
}

extern "C" fn start() {
    // SAFETY: no other thread is there yet.
    let text = unsafe { variable(name()) };
    let Some(text) = text else { return };
    let Some(settings) = text.to_str().ok().and_then(|text| text.parse::<Settings>().ok()) else {
        return;
    };
    // Without a holder that a program has started for itself, the first socket starts another one.
    if tell_holder(&settings) || settings.is_tcp_carried {
        let _ = SETTINGS.set(settings);
        epoll::note_inherited();
        follow_forks();
    }
}

fn follow_forks() {
    // SAFETY: a function that a child can call at once: it makes system calls only.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(say_hello)) };
}

/// Has this process, and those that it will start, be of the run with these settings, which are the
/// string of C `text` as well.
pub(super) fn begin(settings: Settings, text: &CStr) {
    // Where two threads have started a holder, that of the second ends since nobody knows it.
    if SETTINGS.set(settings).is_ok() {
        holder::ask_again();
        tell_holder(&settings);
        follow_forks();
        // SAFETY: both are strings of C. A program that reads the environment in another thread at
        // this moment does what getenv(3) warns of.
        let _ = unsafe { libc::setenv(name().as_ptr(), text.as_ptr(), 1) };
    }
}

extern "C" fn end() {
    if let Some(settings) = unconfined().filter(|settings| settings.is_reported) {
        let _ = holder::ask_soon(settings, &Request::new(RequestKind::Bye, settings.token));
    }
}

// SAFETY: the sections are lists of functions that the loader calls with the C ABI, before `main`
// and at exit.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

// SAFETY: as above.
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;
