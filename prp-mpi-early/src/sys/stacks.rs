//! The stacks of the threads of this process. A function that returns gives its part of the stack
//! back, for the next one that is called: the kernel ends a process whose stack is closed to it. So
//! no page of a stack is closed, of whatever thread.
//!
//! Threads are known by `pthread_create`. Where the process has others (`clone`, `thrd_create`,
//! those of the C library), or a thread runs on a stack that is not its own (`makecontext`), it is
//! not known what is a stack, and nothing is closed.

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::mask::heed_faults;
use super::next::NextFunction;

/// Threads that can be known: more are on no machine that runs a rank for each of its processors.
const MOST: usize = 4096;

/// Addresses below the end of the first thread's stack that the kernel keeps for it at least.
const LEAST_OF_FIRST: usize = 128 << 20;

/// Links of `/proc/self/task` that are not of threads.
const OTHER_LINKS: u64 = 2;

/// A stack; none if `end` is 0.
struct Stack {
    start: AtomicUsize,
    end: AtomicUsize,
}

static STACKS: [Stack; MOST] =
    [const { Stack { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; MOST];

/// Places of the table that were ever used: those before this one.
static USED: AtomicUsize = AtomicUsize::new(0);

/// Threads whose stacks are in the table, or will be before they run anything of the program's.
static KNOWN: AtomicUsize = AtomicUsize::new(0);

/// Threads that were not known when this was found out last.
static UNKNOWN: AtomicUsize = AtomicUsize::new(0);

/// How often the threads are counted until those that are about to end have done so.
const COUNTS: usize = 100;

/// A value of this key ends with its thread.
static KEY: AtomicUsize = AtomicUsize::new(0);

/// The process can know its threads.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The stack of this thread: a place in the table and 1; 0 if it has none.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// What `pthread_create` is given for a thread to run.
type Start = extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread runs.
struct Begun {
    start: Start,
    argument: *mut c_void,
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = begin;

/// The first thread, before the program's own code.
extern "C" fn begin() {
    let mut key = 0;
    // SAFETY: a function of this library, which is never unloaded.
    if unsafe { libc::pthread_key_create(&raw mut key, Some(end)) } == 0 {
        KEY.store(key as usize, Ordering::Relaxed);
        HAS_BEGUN.store(true, Ordering::Relaxed);
        KNOWN.fetch_add(1, Ordering::AcqRel);
        join();
    }
}

/// This thread's stack is known from now on; where that is not possible the thread is not.
fn join() {
    heed_faults();
    if !is_listed() {
        KNOWN.fetch_sub(1, Ordering::AcqRel);
    }
}

fn is_listed() -> bool {
    let Some(stack) = own_stack() else { return false };
    let is_free = |stack: &Stack| {
        stack.end.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    };
    let Some(place) = STACKS.iter().position(is_free) else { return false };
    USED.fetch_max(place + 1, Ordering::AcqRel);
    STACKS[place].start.store(stack.start, Ordering::Relaxed);
    STACKS[place].end.store(stack.end, Ordering::Release);
    OWN.set(place + 1);
    let key = KEY.load(Ordering::Relaxed) as libc::pthread_key_t;
    // SAFETY: the key was made by `begin`; the value is a number that is not null.
    unsafe { libc::pthread_setspecific(key, (place + 1) as *const c_void) == 0 }
}

/// A thread ends.
extern "C" fn end(place: *mut c_void) {
    KNOWN.fetch_sub(1, Ordering::AcqRel);
    STACKS[place as usize - 1].end.store(0, Ordering::Release);
}

/// The stack of this thread, as far as it may grow.
fn own_stack() -> Option<Range<usize>> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (null_mut(), 0);
    // SAFETY: the attributes are written by the first call before the others read them, and are
    // destroyed once.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let found =
            libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size) == 0;
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        let end = start as usize + size;
        // That of the first thread grows further where the process raises its limit.
        let is_first = libc::gettid() == libc::getpid();
        let least = if is_first { LEAST_OF_FIRST } else { 0 };
        found.then(|| (start as usize).min(end.saturating_sub(least))..end)
    }
}

/// Threads of the process, as the kernel counts them.
fn threads() -> Option<u64> {
    const FOLDER: &CStr = c"/proc/self/task";
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `found` is written when the call succeeds.
    unsafe {
        let is_there = libc::stat(FOLDER.as_ptr(), found.as_mut_ptr()) == 0;
        is_there.then(|| found.assume_init().st_nlink).and_then(|n| n.checked_sub(OTHER_LINKS))
    }
}

/// Whether all threads are known. One that ends or begins is not, for a moment.
fn are_all_known() -> bool {
    let before = UNKNOWN.load(Ordering::Relaxed);
    let mut unknown = before;
    for _ in 0..COUNTS {
        let Some(all) = threads() else { return false };
        unknown = (all as usize).wrapping_sub(KNOWN.load(Ordering::Acquire));
        if unknown == 0 || unknown == before {
            break;
        }
        std::thread::yield_now();
    }
    UNKNOWN.store(unknown, Ordering::Relaxed);
    unknown == 0
}

/// Whether the stacks of all threads are known, and none of them has any of these addresses.
pub(super) fn are_apart_from(addresses: &Range<usize>) -> bool {
    let here = std::ptr::from_ref(&addresses).addr();
    let Some(own) = OWN.get().checked_sub(1).map(range) else { return false };
    if !own.contains(&here) || !are_all_known() {
        return false;
    }
    let overlaps = |place| {
        let stack = range(place);
        stack.start < addresses.end && addresses.start < stack.end
    };
    !(0..USED.load(Ordering::Acquire)).any(overlaps)
}

/// The stack in a place of the table; an empty one if there is none.
fn range(place: usize) -> Range<usize> {
    let stack = &STACKS[place];
    let end = stack.end.load(Ordering::Acquire);
    stack.start.load(Ordering::Relaxed)..end
}

/// `pthread_exit` and the end of a thread that is cancelled unwind the stack.
extern "C-unwind" fn run(begun: *mut c_void) -> *mut c_void {
    // SAFETY: made by `pthread_create` below, for this thread.
    let Begun { start, argument } = *unsafe { Box::from_raw(begun.cast::<Begun>()) };
    join();
    start(argument)
}

/// As the function of the C library. The new thread is known, and heeds faults.
///
/// # Safety
/// As for that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        Start,
        *mut c_void,
    ) -> c_int;
    static NEXT: NextFunction = NextFunction::new(c"pthread_create");
    // SAFETY: the function of that name has these parameters, and the caller keeps what it demands.
    unsafe {
        let next = std::mem::transmute::<usize, Create>(NEXT.address());
        if !HAS_BEGUN.load(Ordering::Relaxed) {
            return next(thread, attributes, start, argument);
        }
        let begun = Box::into_raw(Box::new(Begun { start, argument }));
        let outcome = next(thread, attributes, run, begun.cast());
        if outcome == 0 {
            KNOWN.fetch_add(1, Ordering::AcqRel);
        } else {
            drop(Box::from_raw(begun));
        }
        outcome
    }
}
