//! Signals. The kernel ends the process where a thread that has SIGSEGV blocked touches a closed
//! page, so no thread has it blocked: of a fault of a program's own that would be the end of the
//! process in any case.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use libc::{epoll_event, fd_set, nfds_t, pollfd, sigset_t, timespec};

use super::interface::{complete, is_idle};
use super::next::wrap;

/// A set of signals without SIGSEGV, where there is a set.
struct Heeding(Option<sigset_t>);

impl Heeding {
    fn of(set: *const sigset_t) -> Self {
        // SAFETY: the caller has passed a set, or none.
        let mut copy = unsafe { set.as_ref() }.copied();
        if let Some(set) = &mut copy {
            // SAFETY: a set of this function, and the number of a signal.
            unsafe { libc::sigdelset(set, libc::SIGSEGV) };
        }
        Self(copy)
    }

    fn as_ptr(&self) -> *const sigset_t {
        self.0.as_ref().map_or(null(), std::ptr::from_ref)
    }
}

/// Takes SIGSEGV out of the mask of this thread.
pub(super) fn heed_faults() {
    let mut set = MaybeUninit::<sigset_t>::uninit();
    // SAFETY: the set is written before it is read; the mask is of this thread.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGSEGV);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), null_mut());
    }
}

/// The mask that a thread has by this call. To unblock SIGSEGV changes nothing.
fn masked(how: c_int, set: *const sigset_t) -> Heeding {
    if how == libc::SIG_UNBLOCK {
        // SAFETY: the caller has passed a set, or none.
        return Heeding(unsafe { set.as_ref() }.copied());
    }
    Heeding::of(set)
}

/// A handler of SIGSEGV that takes the place of the library's would see touches of closed pages.
fn use_signal(signal: c_int, is_new: bool) {
    if signal == libc::SIGSEGV && is_new && !is_idle() {
        complete(0..usize::MAX);
    }
}

wrap! {
    sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
        use_signal(signal, !new.is_null());
        // While a handler runs its signals are blocked.
        // SAFETY: the caller has passed an action, or none.
        let action = unsafe { new.as_ref() }.map(|action| {
            let mut action = *action;
            // SAFETY: a set of this function, and the number of a signal.
            unsafe { libc::sigdelset(&raw mut action.sa_mask, libc::SIGSEGV) };
            action
        });
        let new = action.as_ref().map_or(null(), std::ptr::from_ref);
    }
    signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
        use_signal(signal, true);
    }
    pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
        let heeding = masked(how, set);
        let set = heeding.as_ptr();
    }
    sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
        let heeding = masked(how, set);
        let set = heeding.as_ptr();
    }
    sigsuspend(set: *const sigset_t) -> c_int {
        let heeding = Heeding::of(set);
        let set = heeding.as_ptr();
    }
    ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, set: *const sigset_t) -> c_int {
        let heeding = Heeding::of(set);
        let set = heeding.as_ptr();
    }
    pselect(
        count: c_int, reads: *mut fd_set, writes: *mut fd_set, errors: *mut fd_set,
        timeout: *const timespec, set: *const sigset_t
    ) -> c_int {
        let heeding = Heeding::of(set);
        let set = heeding.as_ptr();
    }
    epoll_pwait(
        epoll: c_int, events: *mut epoll_event, count: c_int, timeout: c_int, set: *const sigset_t
    ) -> c_int {
        let heeding = Heeding::of(set);
        let set = heeding.as_ptr();
    }
    epoll_pwait2(
        epoll: c_int, events: *mut epoll_event, count: c_int, timeout: *const timespec,
        set: *const sigset_t
    ) -> c_int {
        let heeding = Heeding::of(set);
        let set = heeding.as_ptr();
    }
}
