//! What the MPI library calls, and what it is called for.

use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use super::stacks;

/// Of this interface. A library of another version is not served.
const VERSION: u32 = 1;

/// How many receives have closed pages, as the MPI library counts them; null until it has begun.
static CLOSED: AtomicPtr<AtomicUsize> = AtomicPtr::new(null_mut());

/// Completes what was released into addresses from the first to before the second.
type Complete = extern "C" fn(usize, usize);

/// [`Complete`], as an address.
static COMPLETE: AtomicUsize = AtomicUsize::new(0);

/// The MPI library begins: it counts receives with closed pages in `closed`, and has them completed
/// by `complete`. 1 if this library serves that version of the interface.
///
/// # Safety
/// `closed` and `complete` are there until the process ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prp_mpi_early_begin(
    version: u32,
    closed: *mut AtomicUsize,
    complete: Complete,
) -> u32 {
    if version != VERSION {
        return 0;
    }
    COMPLETE.store(complete as usize, Ordering::Release);
    CLOSED.store(closed, Ordering::Release);
    1
}

/// Whether pages with addresses from `start` to before `end` may be closed: 1 if no thread of the
/// process has its stack there, and all threads are known.
#[unsafe(no_mangle)]
pub extern "C" fn prp_mpi_early_may_close(start: usize, end: usize) -> u32 {
    u32::from(stacks::are_apart_from(&(start..end)))
}

/// Whether no page is closed. That is all that a call costs then.
pub(super) fn is_idle() -> bool {
    let closed = CLOSED.load(Ordering::Acquire);
    // SAFETY: null, or a counter that is there until the process ends.
    unsafe { closed.as_ref() }.is_none_or(|closed| closed.load(Ordering::Acquire) == 0)
}

/// Completes what was released into these addresses, if anything was.
pub(super) fn complete(addresses: Range<usize>) {
    let known = COMPLETE.load(Ordering::Acquire);
    if known != 0 {
        // SAFETY: the MPI library has passed a function of this type.
        let complete = unsafe { std::mem::transmute::<usize, Complete>(known) };
        complete(addresses.start, addresses.end);
    }
}
