//! Sleeping on a word of memory.

pub(crate) use std::hint::spin_loop;
use std::io;
pub(crate) use std::sync::atomic::AtomicU32 as Word;
use std::time::Duration;

/// All sleepers.
pub(crate) const ANYBODY: u32 = u32::MAX;

/// Sleeps while `word` is `expected`, at most for `timeout`. Returns on a wake-up, a timeout, a
/// changed word or for no reason at all; the caller checks again.
///
/// # Errors
/// `Interrupted` if a signal handler ran.
pub(crate) fn wait(word: &Word, expected: u32, timeout: Option<Duration>) -> io::Result<()> {
    let spec = timeout.map(|t| libc::timespec {
        // Fits every C library's type, and is some decades: the caller checks again.
        tv_sec: t.as_secs().min(i32::MAX as u64) as _,
        tv_nsec: t.subsec_nanos().into(),
    });
    match call(word, libc::FUTEX_WAIT, expected, spec.as_ref(), ANYBODY) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Err(e),
        _ => Ok(()),
    }
}

/// As [`wait`] without a timeout and whatever ends it, for a thread that is known by `bits`, of
/// which there is at least one.
pub(crate) fn wait_among(word: &Word, expected: u32, bits: u32) {
    // Whatever ended it, the caller checks again.
    let _ = call(word, libc::FUTEX_WAIT_BITSET, expected, None, bits);
}

/// Wakes one sleeper of `word`; whether there was one.
pub(crate) fn wake(word: &Word) -> bool {
    wake_among(word, ANYBODY)
}

/// Wakes one of those sleepers of `word` that are known by any of `bits`, the one that has slept
/// longest; whether there was one. A thread that sleeps by [`wait`] is known by all.
pub(crate) fn wake_among(word: &Word, bits: u32) -> bool {
    call(word, libc::FUTEX_WAKE_BITSET, 1, None, bits).is_ok_and(|woken| woken > 0)
}

/// Makes the system call, for this process alone; what it says.
fn call(
    word: &Word,
    operation: libc::c_int,
    value: u32,
    timeout: Option<&libc::timespec>,
    bits: u32,
) -> io::Result<libc::c_long> {
    let timeout = timeout.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: `word` is a live, aligned 32-bit word for the whole call, and `timeout` is null or
    // points to what is borrowed as long. The operations above read both at most, write neither,
    // and take no second word.
    super::cvt(unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            operation | libc::FUTEX_PRIVATE_FLAG,
            value,
            timeout,
            std::ptr::null::<u32>(),
            bits,
        )
    })
}
