//! The library by which a program may use buffers whose messages are still in transit
//! (`prp-mpi-early`): found by the names of its interface, where it was preloaded.

use std::ffi::{CStr, c_char};
use std::ops::Range;
use std::sync::OnceLock;

use prp_mpi::process::early;
use prp_mpi::sys::protection;

/// Its file.
pub(crate) const NAME: &str = "libprp_mpi_early.so";

/// Of its interface.
const VERSION: u32 = 1;

/// Where libraries to preload are listed, separated by colons or blanks.
const PRELOADED: &str = "LD_PRELOAD";

type Begin =
    unsafe extern "C" fn(u32, *const protection::ClosedCount, extern "C" fn(usize, usize)) -> u32;
type MayClose = extern "C" fn(usize, usize) -> u32;

static MAY_CLOSE: OnceLock<MayClose> = OnceLock::new();

/// Has the library call this one.
///
/// # Errors
/// Says what is missing.
pub(crate) fn begin() -> Result<(), String> {
    let (begin, may_close) =
        (address_of(c"prp_mpi_early_begin"), address_of(c"prp_mpi_early_may_close"));
    let (Some(begin), Some(may_close)) = (begin, may_close) else {
        return Err(format!("{NAME} is not preloaded"));
    };
    // SAFETY: functions of these names have these types.
    let (begin, may_close) = unsafe {
        (
            std::mem::transmute::<usize, Begin>(begin),
            std::mem::transmute::<usize, MayClose>(may_close),
        )
    };
    let closed = protection::closed_count();
    // SAFETY: both are parts of this library, which stays loaded.
    if unsafe { begin(VERSION, std::ptr::from_ref(closed), complete) } == 0 {
        return Err(format!("{NAME} is of another version"));
    }
    let _ = MAY_CLOSE.set(may_close);
    leave_out_of_environment();
    Ok(())
}

/// Whether pages with these addresses may be closed.
pub(crate) fn may_close(addresses: &Range<usize>) -> bool {
    MAY_CLOSE.get().is_some_and(|may_close| may_close(addresses.start, addresses.end) != 0)
}

extern "C" fn complete(start: usize, end: usize) {
    early::complete(start..end);
}

fn address_of(name: &CStr) -> Option<usize> {
    let name: *const c_char = name.as_ptr();
    // SAFETY: the name is a string of C.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) } as usize;
    (found != 0).then_some(found)
}

/// The programs that this one starts need not load it.
fn leave_out_of_environment() {
    let Ok(all) = std::env::var(PRELOADED) else { return };
    let is_other = |path: &&str| !path.is_empty() && path.rsplit('/').next() != Some(NAME);
    let others: Vec<_> = all.split([':', ' ']).filter(is_other).collect();
    // SAFETY: a program begins with MPI before it has threads that read the environment without
    // the C library's lock.
    unsafe {
        if others.is_empty() {
            std::env::remove_var(PRELOADED);
        } else {
            std::env::set_var(PRELOADED, others.join(":"));
        }
    }
}
