//! Sleeping on a word of memory.

use std::io;
pub(crate) use std::sync::atomic::AtomicU32 as Word;
use std::time::Duration;

/// Sleeps while `word` is `expected`, at most for `timeout`. Returns on a wake-up, a timeout, a changed
/// word or for no reason at all; the caller looks again.
///
/// # Errors
/// `Interrupted` if a signal handler ran.
pub(crate) fn wait(word: &Word, expected: u32, timeout: Option<Duration>) -> io::Result<()> {
    let spec = timeout.map(|t| libc::timespec {
        tv_sec: libc::time_t::try_from(t.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: t.subsec_nanos().into(),
    });
    let timeout = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `word` is a live, aligned 32-bit word for the whole call, `timeout` is null or points to
    // `spec`, which outlives the call. FUTEX_WAIT reads both and writes neither.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            expected,
            timeout,
        )
    };
    if result < 0 {
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(())
}

/// Wakes one sleeper of `word`; whether there was one.
pub(crate) fn wake(word: &Word) -> bool {
    // SAFETY: FUTEX_WAKE uses the address as a key and does not touch the memory.
    let woken = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            1,
        )
    };
    woken > 0
}
