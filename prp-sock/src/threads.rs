//! Threads of this crate's own.

use std::io;
use std::sync::mpsc::sync_channel;
use std::thread::Builder;

use nix::sys::signal::{SigSet, SigmaskHow, Signal};

use crate::engine::exempt_this_thread;
use crate::error;
use crate::sys::memory;

/// Bytes of a thread's stack. What an engine's threads call is not deep.
const STACK: usize = 256 * 1024;

/// Bytes a thread needs besides, before the first line of ours runs: a stack for signals, whose
/// size depends on the processor's registers, and the allocator's and the thread's own records.
const BEGINNING: usize = 256 * 1024;

/// Signals that a thread brings upon itself. If they are blocked when that happens the kernel ends
/// the process at once, and a handler that examines the fault learns nothing.
const FAULTS: [Signal; 4] = [Signal::SIGBUS, Signal::SIGFPE, Signal::SIGILL, Signal::SIGSEGV];

/// Runs `body` in a thread called `name`.
///
/// It takes no signals: they are for threads that the program knows. One that blocks a signal in
/// each of its threads, to take it from a `signalfd` or by `sigwait`, would otherwise be ended by
/// it here, and its handlers would run on a small stack.
///
/// A thread that finds no memory while it begins takes the process with it. So this checks first
/// whether there is some, and waits until the thread has begun, so that what its caller takes next
/// is not what the thread needs.
///
/// # Errors
/// `OutOfMemory`, also if no thread can be made.
pub(crate) fn start(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    memory::find_room(STACK + BEGINNING)?;
    let (begun, beginning) = sync_channel(1);
    let mut blocked = SigSet::all();
    FAULTS.into_iter().for_each(|signal| blocked.remove(signal));
    // A thread begins with the mask of the one that makes it.
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let started = Builder::new().name(name.to_owned()).stack_size(STACK).spawn(move || {
        // The caller does not wait for it if it was not heard.
        let _ = begun.send(());
        drop(begun);
        exempt_this_thread();
        body();
    });
    before.thread_set_mask()?;
    started.map_err(|e| error::no_thread(&e))?;
    // It ends without a word only if it has panicked, which is its own affair.
    let _ = beginning.recv();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// The mask of the thread that asks.
    fn mask() -> SigSet {
        SigSet::thread_get_mask().expect("a mask")
    }

    #[test]
    fn start__blocks_signals_there_and_not_here() {
        let before = mask();
        let (sender, receiver) = channel();
        start("test", move || sender.send(mask()).expect("there is a listener")).unwrap();
        let there = receiver.recv().unwrap();
        for signal in Signal::iterator() {
            let stays =
                FAULTS.contains(&signal) || [Signal::SIGKILL, Signal::SIGSTOP].contains(&signal);
            assert_eq!(there.contains(signal), !stays, "{signal}");
        }
        assert_eq!(mask(), before);
    }
}
