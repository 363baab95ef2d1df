//! The kernel's resource limits (setrlimit(2)) that end a process by a signal. After [`guard`] they
//! lead to an error or to a message.
//!
//! | limit | the kernel's signal | what comes of it here |
//! | --- | --- | --- |
//! | `RLIMIT_FSIZE` | SIGXFSZ | writing fails, `EFBIG` |
//! | `RLIMIT_CPU`, `RLIMIT_RTTIME` | SIGXCPU, then SIGKILL | a message and exit code 1, before SIGKILL |
//! | `RLIMIT_STACK` | SIGSEGV | a larger stack, or an error of [`guard`] |
//! | `RLIMIT_AS`, `RLIMIT_DATA` | none; Rust aborts where an allocation may not fail | a message and exit code 1 |
//!
//! The others are errors of the calls that meet them.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

pub use crate::sys::limits::NotingAllocator;

/// What gives a process more descriptors.
pub const MORE_DESCRIPTORS: &str = "`ulimit -n 1024`, or LimitNOFILE= of the systemd unit";

/// Bytes of stack that the main thread has at least: an unoptimised program uses half of it to
/// parse its command line. Other threads have 2 MiB, whatever the limit.
const STACK: u64 = 512 << 10;

/// The limits that [`guard`] may change.
const GUARDED: [Resource; 3] =
    [Resource::RLIMIT_CPU, Resource::RLIMIT_RTTIME, Resource::RLIMIT_STACK];

/// What [`guard`] has found.
static FOUND: OnceLock<Found> = OnceLock::new();

/// What programs that a process starts inherit of what [`guard`] changes.
#[derive(Copy, Clone)]
struct Found {
    blocked: SigSet,
    limits: [(u64, u64); GUARDED.len()],
}

/// The soft limit of processor time when [`guard`] was called, in seconds.
static PROCESSOR_SECONDS: AtomicU64 = AtomicU64::new(RLIM_INFINITY);

/// Has limits of this process, `program`, lead to errors and messages. To be called before any
/// thread is started, which inherits what is blocked. With [`NotingAllocator`] as the program's
/// allocator the message of an abort says what was missing.
///
/// # Errors
/// The stack is too small, and this process may have no larger one.
pub fn guard(program: &'static str) -> io::Result<()> {
    let blocked = SigSet::from(Signal::SIGXFSZ).thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let mut limits = [(RLIM_INFINITY, RLIM_INFINITY); GUARDED.len()];
    for (found, resource) in limits.iter_mut().zip(GUARDED) {
        *found = getrlimit(resource)?;
    }
    FOUND.get_or_init(|| Found { blocked, limits });
    crate::sys::limits::handle_signals(program)?;
    lower_before_kill(Resource::RLIMIT_CPU, |hard| hard - 1)?;
    lower_before_kill(Resource::RLIMIT_RTTIME, |hard| hard / 2)?;
    PROCESSOR_SECONDS.store(getrlimit(Resource::RLIMIT_CPU)?.0, Ordering::Relaxed);
    provide_stack()
}

/// Undoes [`guard`], for a program that this process is about to become. It may be called between
/// fork(2) and exec(3).
///
/// # Errors
/// Those of setrlimit(2).
pub fn unguard() -> io::Result<()> {
    let Some(Found { blocked, limits }) = FOUND.get() else { return Ok(()) };
    blocked.thread_set_mask()?;
    for ((soft, hard), resource) in limits.iter().zip(GUARDED) {
        setrlimit(resource, *soft, *hard)?;
    }
    Ok(())
}

/// Has an abort for want of memory say so, where `program` is a library in a program that has not
/// called [`guard`]. What aborts is the library's [`NotingAllocator`].
///
/// # Errors
/// Those of sigaction(2).
pub fn explain_aborts(program: &'static str) -> io::Result<()> {
    crate::sys::limits::handle_aborts(program)
}

/// Returns the limit that `error` may come of, for people.
pub fn behind(error: &io::Error) -> Option<&'static str> {
    Some(match Errno::from_raw(error.raw_os_error()?) {
        Errno::EMFILE => "RLIMIT_NOFILE (ulimit -n)",
        Errno::EFBIG => "RLIMIT_FSIZE (ulimit -f)",
        Errno::EAGAIN => "RLIMIT_NPROC or RLIMIT_AS, for a thread (ulimit -u, -v)",
        Errno::ENOMEM => "RLIMIT_AS or RLIMIT_DATA (ulimit -v, -d)",
        _ => return None,
    })
}

/// Does `write`, for which `RLIMIT_FSIZE` is an error (`EFBIG`) alone: its signal would end a
/// program that has called no [`guard`]. Memory that is shared by a file counts as a file.
///
/// # Errors
/// Those of `write`.
pub fn without_size_signal<T>(write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let set = SigSet::from(Signal::SIGXFSZ);
    let before = set.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let done = write();
    let is_too_large = done.as_ref().is_err_and(|e| e.raw_os_error() == Some(Errno::EFBIG as i32));
    if is_too_large && !before.contains(Signal::SIGXFSZ) {
        // It waits for this thread.
        crate::sys::limits::take(&set);
    }
    before.thread_set_mask()?;
    done
}

/// Seconds of processor time after which the kernel ends this process, if it does.
pub fn processor_seconds() -> Option<u64> {
    let (_, hard) = getrlimit(Resource::RLIMIT_CPU).ok()?;
    // The kernel takes 0 for 1.
    (hard != RLIM_INFINITY).then_some(hard.max(1))
}

/// Returns the seconds of processor time that this process has used, if that is all that it has:
/// after SIGXCPU, which comes for `RLIMIT_RTTIME` as well.
///
/// With its signal the kernel raises the soft limit by one. It counts ticks for that: the time that
/// `getrusage` measures may be less.
pub fn used_processor_seconds() -> Option<u64> {
    let (soft, _) = getrlimit(Resource::RLIMIT_CPU).ok()?;
    (soft != PROCESSOR_SECONDS.load(Ordering::Relaxed)).then(|| soft.saturating_sub(1))
}

/// Whether `error` says that this process, or the machine, has no more of something.
pub fn is_exhausted(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    let exhausted = [Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::ENOBUFS, Errno::EFBIG];
    errno.is_some_and(|errno| exhausted.contains(&errno))
}

/// Has SIGXCPU come before SIGKILL, which comes at the hard limit.
fn lower_before_kill(resource: Resource, before: impl FnOnce(u64) -> u64) -> io::Result<()> {
    let (soft, hard) = getrlimit(resource)?;
    if hard != RLIM_INFINITY && hard > 1 {
        setrlimit(resource, soft.min(before(hard)), hard)?;
    }
    Ok(())
}

/// Has the main thread have a stack of [`STACK`] bytes. The limit counts when the stack grows.
fn provide_stack() -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_STACK)?;
    if soft >= STACK || setrlimit(Resource::RLIMIT_STACK, STACK, hard.max(STACK)).is_ok() {
        return Ok(());
    }
    let (is, least) = (soft >> 10, STACK >> 10);
    let message =
        format!("RLIMIT_STACK is {is} KiB, at least {least} are needed (ulimit -s, LimitSTACK=)");
    Err(io::Error::new(io::ErrorKind::OutOfMemory, message))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::process::{CommandExt, ExitStatusExt};

    use super::*;

    /// The program, again: a limit holds for a process, and its signal ends one.
    #[test]
    fn without_size_signal__the_limit_is_an_error_and_the_signal_is_gone() {
        const LIMITED: &str = "PRP_NODE_TEST_LIMITED";
        if std::env::var_os(LIMITED).is_none() {
            let test =
                "limits::tests::without_size_signal__the_limit_is_an_error_and_the_signal_is_gone";
            let mut command = std::process::Command::new("prlimit");
            command.arg("--fsize=4096:8192").arg(std::env::current_exe().expect("this program"));
            command.args(["--exact", test]).env(LIMITED, "1").process_group(0);
            let output = command.output().expect("prlimit");
            assert!(output.status.success(), "{:?} {output:?}", output.status.signal());
            return;
        }
        let flags = nix::sys::memfd::MFdFlags::empty();
        let file = File::from(nix::sys::memfd::memfd_create(c"limited", flags).expect("memory"));
        assert!(without_size_signal(|| file.set_len(4096)).is_ok());
        let error = without_size_signal(|| file.set_len(4097)).expect_err("too large");
        assert_eq!(error.raw_os_error(), Some(Errno::EFBIG as i32));
        // A signal that waits would end the program here.
        SigSet::from(Signal::SIGXFSZ).thread_unblock().expect("a mask");
    }

    #[test]
    fn lower_before_kill__leaves_time_where_there_is_some() {
        let resource = Resource::RLIMIT_RTTIME;
        let (soft, hard) = getrlimit(resource).expect("a known resource");
        lower_before_kill(resource, |hard| hard / 2).expect("a lower soft limit");
        let expected = if hard == RLIM_INFINITY { soft } else { soft.min(hard / 2) };
        assert_eq!(getrlimit(resource), Ok((expected, hard)));
    }
}
