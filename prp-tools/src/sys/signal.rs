//! Signals, and who has sent them.
#![allow(unsafe_code, reason = "a function of the C library that no crate here has")]

use std::mem::zeroed;

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SigSet, Signal};

/// Waits for one of `signals`, which are blocked. Returns it, and whether the kernel has sent it by
/// itself, such as for a key of the terminal.
///
/// # Errors
/// `EINTR` if a handler of another signal has run.
pub(crate) fn wait(signals: &SigSet) -> nix::Result<(Signal, bool)> {
    // SAFETY: all zeros is a value of this type.
    let mut info: libc::siginfo_t = unsafe { zeroed() };
    // SAFETY: both live for as long as the call.
    let number = unsafe { libc::sigwaitinfo(signals.as_ref(), &raw mut info) };
    let signal = Signal::try_from(Errno::result(number)?)?;
    Ok((signal, info.si_code == libc::SI_KERNEL))
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::raise;

    use super::*;

    #[test]
    fn wait__knows_a_signal_of_a_process() {
        let signals: SigSet = [Signal::SIGUSR2].into_iter().collect();
        signals.thread_block().expect("a set of signals");
        raise(Signal::SIGUSR2).expect("it is blocked");
        assert_eq!(wait(&signals), Ok((Signal::SIGUSR2, false)));
    }
}
