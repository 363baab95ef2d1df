//! The handler of SIGSEGV: it answers for closed pages, and passes all else on to the handler that
//! was there before.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use libc::{c_int, c_void, sigaction, siginfo_t};

use super::{MEMORY, OPENED, is_idle, open_all, overlaps};

/// `si_code` of a fault at a page that is there but gives no access (`SEGV_ACCERR`).
const NO_ACCESS: c_int = 2;

/// The handler that was there before. Leaked each time that it is another one, since the handler
/// may be reading it: a program changes it a few times at most.
static BEFORE: AtomicPtr<sigaction> = AtomicPtr::new(std::ptr::null_mut());

/// Where the information about a signal ends with bytes that the kernel clears: a handler that was
/// passed the information may pass it back, and finds this there.
const MARK_AT: usize = size_of::<siginfo_t>() / size_of::<u64>() - 1;
const MARK: u64 = 0x7072_7020_7365_656e;

/// A fault that was not answered: address, thread and count of openings, mixed.
static UNANSWERED: AtomicUsize = AtomicUsize::new(0);

type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
type PlainHandler = extern "C" fn(c_int);

/// Puts the handler in place unless it is.
///
/// # Errors
/// Those of `sigaction`; `ResourceBusy` while pages are closed, whose touches another handler sees
/// now.
pub(super) fn install() -> io::Result<()> {
    let mut found = MaybeUninit::<sigaction>::uninit();
    // SAFETY: only asks; `found` is written when that succeeds.
    let found = unsafe {
        if sigaction(libc::SIGSEGV, std::ptr::null(), found.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        found.assume_init()
    };
    let ours: Handler = on_fault;
    if found.sa_sigaction == ours as usize {
        return Ok(());
    }
    if !is_idle() {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    BEFORE.store(Box::leak(Box::new(found)), Ordering::Release);
    let mut action = found;
    action.sa_sigaction = ours as usize;
    // On the stack of the thread: an alternate stack may be too small for what receiving needs. And
    // while it runs a function of the program may touch other pages, by which a reduction goes on.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_NODEFER;
    // SAFETY: a set of this function, and the number of a signal.
    unsafe { libc::sigdelset(&raw mut action.sa_mask, libc::SIGSEGV) };
    // SAFETY: the handler is a function of this library with the parameters of SA_SIGINFO.
    if unsafe { sigaction(libc::SIGSEGV, &raw const action, std::ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes what SA_SIGINFO promises; errno is this thread's.
    let (code, address, errno) =
        unsafe { ((*info).si_code, (*info).si_addr() as usize, *libc::__errno_location()) };
    if code == NO_ACCESS {
        let is_ours = overlaps(&(address..address.saturating_add(1)));
        if let Some(memory) = MEMORY.get().filter(|_| is_ours) {
            (memory.hooks.touched)(address);
        }
        if is_ours || is_out_of_date(address) {
            // SAFETY: errno is this thread's.
            unsafe { *libc::__errno_location() = errno };
            return;
        }
    }
    pass_on(signal, code, info, context);
}

/// Whether the page may have been opened between the fault and this call: then the touch is tried
/// again. A fault that comes again while nothing was opened is the program's own.
fn is_out_of_date(address: usize) -> bool {
    let opened = OPENED.load(Ordering::Acquire);
    let mixed = address.rotate_left(24) ^ (thread() as usize).rotate_left(48) ^ opened;
    opened > 0 && UNANSWERED.swap(mixed, Ordering::AcqRel) != mixed
}

fn thread() -> i32 {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() }
}

fn pass_on(signal: c_int, code: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: null, or leaked by `install` and never changed.
    let before = unsafe { BEFORE.load(Ordering::Acquire).as_ref() };
    let handler = before.map_or(libc::SIG_DFL, |b| b.sa_sigaction);
    let is_fault = code > 0;
    let mark = info.cast::<u64>().wrapping_add(MARK_AT);
    // SAFETY: within the information, at its end.
    let is_back = unsafe { mark.replace(MARK) } == MARK;
    match handler {
        libc::SIG_IGN if !is_fault => {}
        _ if is_back || handler == libc::SIG_DFL || handler == libc::SIG_IGN => {
            open_all();
            // SAFETY: plain calls. After this handler the fault comes again, or the signal that was
            // sent, and ends the process as it would have without this library.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                if !is_fault {
                    libc::raise(signal);
                }
            }
        }
        _ => {
            let has_info = before.is_some_and(|b| b.sa_flags & libc::SA_SIGINFO != 0);
            // SAFETY: the program has installed this function for this signal, with parameters as
            // its flags say.
            unsafe {
                if has_info {
                    std::mem::transmute::<usize, Handler>(handler)(signal, info, context);
                } else {
                    std::mem::transmute::<usize, PlainHandler>(handler)(signal);
                }
            }
        }
    }
}
