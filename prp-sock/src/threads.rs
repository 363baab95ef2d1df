//! Threads of this crate's own.

use std::io;
use std::sync::mpsc::sync_channel;
use std::thread::Builder;

use crate::engine::exempt_this_thread;
use crate::sys::memory;

/// Bytes of a thread's stack. What an engine's threads call is not deep.
const STACK: usize = 256 * 1024;

/// Bytes a thread needs besides, before the first line of ours runs: a stack for signals, whose size depends on the processor's
/// registers, and the allocator's and the thread's own records.
const BEGINNING: usize = 256 * 1024;

/// Runs `body` in a thread called `name`.
///
/// A thread that finds no memory while it begins takes the process with it. So this looks whether there is some first, and waits
/// until the thread has begun, so that what its caller takes next is not what the thread needs.
///
/// # Errors
/// `OutOfMemory`; no more threads.
pub(crate) fn start(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    memory::find_room(STACK + BEGINNING)?;
    let (begun, beginning) = sync_channel(1);
    Builder::new().name(name.to_owned()).stack_size(STACK).spawn(move || {
        // Nobody waits for it if it was not heard.
        let _ = begun.send(());
        drop(begun);
        exempt_this_thread();
        body();
    })?;
    // It ends without a word only if it has panicked, which is its own affair.
    let _ = beginning.recv();
    Ok(())
}
