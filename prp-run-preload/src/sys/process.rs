//! The settings of this process, and what happens at its start, at forks and at its end.

use std::ffi::CStr;
use std::sync::OnceLock;

use prp_run::{Request, RequestKind, Settings, VARIABLE};

use super::{call, holder};

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Returns the settings of the run that this process belongs to.
pub(super) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// Counts a connection of TCP, if connections are counted.
pub(super) fn note_tcp(settings: &Settings, has_failed_before: bool) {
    if settings.is_reported {
        let errno = call::errno();
        let mut request = Request::new(RequestKind::Tcp, settings.token);
        request.number = has_failed_before.into();
        let _ = holder::ask_soon(settings, &request);
        call::fail(errno);
    }
}

/// Tells the holder of this process.
extern "C" fn say_hello() {
    if let Some(settings) = settings() {
        let errno = call::errno();
        let _ = holder::ask_soon(settings, &Request::new(RequestKind::Hello, settings.token));
        call::fail(errno);
    }
}

extern "C" fn start() {
    // The names of variables have no zero byte in them.
    let mut name = [0; VARIABLE.len() + 1];
    name[..VARIABLE.len()].copy_from_slice(VARIABLE.as_bytes());
    let Ok(name) = CStr::from_bytes_with_nul(&name) else { return };
    // SAFETY: the name is a string of C; no other thread is there yet that changes the environment.
    let text = unsafe {
        let text = libc::getenv(name.as_ptr());
        if text.is_null() {
            return;
        }
        CStr::from_ptr(text)
    };
    let Some(settings) = text.to_str().ok().and_then(|text| text.parse().ok()) else { return };
    let _ = SETTINGS.set(settings);
    say_hello();
    // SAFETY: a function that a child can call at once: it makes system calls only.
    let _ = unsafe { libc::pthread_atfork(None, None, Some(say_hello)) };
}

extern "C" fn end() {
    if let Some(settings) = settings().filter(|settings| settings.is_reported) {
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
