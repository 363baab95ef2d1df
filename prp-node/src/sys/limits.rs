//! What a process says when a limit ends it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::errno::Errno;
use nix::sys::signal::SigSet;

/// The name of the program.
static PROGRAM: OnceLock<&str> = OnceLock::new();

/// An allocation has failed.
static FAILED: AtomicBool = AtomicBool::new(false);

/// The allocator of the system. It remembers that an allocation has failed, so that an abort that
/// follows says so.
#[derive(Copy, Clone, Debug, Default)]
pub struct NotingAllocator;

// SAFETY: each call is handed on to the system's allocator as it is, and so is its result.
unsafe impl GlobalAlloc for NotingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the system's allocator wants.
        noted(unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        noted(unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        noted(unsafe { System.realloc(block, layout, size) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) };
    }
}

#[inline]
fn noted(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        FAILED.store(true, Ordering::Relaxed);
    }
    block
}

/// Has `program` say why the signals of a limit end it.
pub(crate) fn handle_signals(program: &'static str) -> io::Result<()> {
    let _ = PROGRAM.set(program);
    handle(libc::SIGXCPU, say_no_time)?;
    handle(libc::SIGABRT, say_no_memory)
}

/// Has `program`, which may be another's, say why Rust aborts it. A handler of its own stays.
pub(crate) fn handle_aborts(program: &'static str) -> io::Result<()> {
    let _ = PROGRAM.set(program);
    // SAFETY: as in `handle`.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: it writes to `action` alone.
    let done = unsafe { libc::sigaction(libc::SIGABRT, std::ptr::null(), &raw mut action) };
    Errno::result(done)?;
    if action.sa_sigaction == libc::SIG_DFL { handle(libc::SIGABRT, say_no_memory) } else { Ok(()) }
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    // SAFETY: all zeros are a sigaction without flags and with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as libc::sighandler_t;
    // SAFETY: the handler takes a number alone, as without SA_SIGINFO, and calls only what a
    // handler may; `action` lives for as long as the call.
    let done = unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    Errno::result(done).map(drop).map_err(Into::into)
}

extern "C" fn say_no_time(_: libc::c_int) {
    end(": has used all processor time that RLIMIT_CPU or RLIMIT_RTTIME allows \
         (ulimit -t, LimitCPU=)\n");
}

/// Rust has said how much was wanted, or the C library what for, and aborts. An abort for another
/// reason goes on.
extern "C" fn say_no_memory(_: libc::c_int) {
    if FAILED.load(Ordering::Relaxed) || is_out_of_memory() {
        end(": ends without memory: RLIMIT_AS or RLIMIT_DATA (ulimit -v, -d), or the machine's\n");
    }
}

/// Whether there is not even as much as the C library asks the kernel for at a time.
fn is_out_of_memory() -> bool {
    const LEN: usize = 1 << 20;
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: new memory at a place that the kernel chooses, which nothing else uses.
    let place = unsafe { libc::mmap(std::ptr::null_mut(), LEN, protection, flags, -1, 0) };
    if place != libc::MAP_FAILED {
        // SAFETY: it was made above.
        unsafe { libc::munmap(place, LEN) };
    }
    place == libc::MAP_FAILED
}

/// Takes a signal of `set` that waits for this thread, where one does.
pub(crate) fn take(set: &SigSet) {
    let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: set and time live for as long as the call, and nothing is to be written.
    unsafe { libc::sigtimedwait(set.as_ref(), std::ptr::null_mut(), &raw const at_once) };
}

/// Ends the process in a signal handler.
fn end(text: &str) -> ! {
    for text in [PROGRAM.get().copied().unwrap_or_default(), text] {
        // SAFETY: the bytes live for as long as the call, which a handler may make.
        unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    }
    // SAFETY: it runs nothing of this process any more.
    unsafe { libc::_exit(1) }
}
