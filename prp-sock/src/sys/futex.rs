//! Sleeping on a word of memory.

pub(crate) use std::hint::spin_loop;
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

/// As [`wait`] without a timeout and whatever ends it, for who is known by `bits`, of which there is at least one.
pub(crate) fn wait_among(word: &Word, expected: u32, bits: u32) {
    let (forever, unused) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
    // SAFETY: `word` is a live, aligned 32-bit word for the whole call. FUTEX_WAIT_BITSET reads it, and no other memory.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG,
            expected,
            forever,
            unused,
            bits,
        )
    };
}

/// Wakes one sleeper of `word`; whether there was one.
pub(crate) fn wake(word: &Word) -> bool {
    wake_among(word, u32::MAX)
}

/// Wakes one of those sleepers of `word` that are known by any of `bits`, the one that has slept longest; whether there was
/// one. Who sleeps by [`wait`] is known by all.
pub(crate) fn wake_among(word: &Word, bits: u32) -> bool {
    let (unused, too) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
    // SAFETY: FUTEX_WAKE_BITSET uses the address as a key and does not touch the memory.
    let woken = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG,
            1,
            unused,
            too,
            bits,
        )
    };
    woken > 0
}
