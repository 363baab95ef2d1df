//! What the child of a fork has of its parent, and what it has not.
//!
//! A child has a copy of the parent's memory and of its descriptors, but only the thread that
//! forked. So the engines in that memory are of no use to it: no thread runs them, and a lock that
//! another thread held stays locked. The child begins anew ([`PerProcess`]), and lets go of the
//! descriptors by which the parent owns ports and receives frames ([`CloseOnFork`]): what the
//! parent gives up, or leaves behind when it ends, must not live on in a child that does not know
//! of it.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

/// Forks between the process that first asked and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// The process that has last been told that it is a child.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// Descriptors to be closed in a child, a bit each: as many as a process of an ordinary system may
/// have. A child keeps those with a larger number.
static CLOSED: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
const WORDS: usize = (1 << 20) / 64;

/// Words of [`CLOSED`] that have ever had a bit.
static USED: AtomicUsize = AtomicUsize::new(0);

/// The number of forks between the process that first asked and this one. Engines belong to the
/// process that made them.
pub fn generation() -> u32 {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if !WATCHING.load(Acquire) {
        // Threads that come here at the same time have the handler called several times. That is
        // better than to wait for one another: in a child the other one would never come to an end.
        // SAFETY: the handler does nothing that is not allowed between fork and exec.
        unsafe { libc::pthread_atfork(None, None, Some(begin_child)) };
        WATCHING.store(true, Release);
    }
    GENERATION.load(Relaxed)
}

/// Called in a child before its `fork` returns: only atomics and system calls are allowed here.
extern "C" fn begin_child() {
    // SAFETY: it only asks.
    let pid = unsafe { libc::getpid() };
    if CHILD.swap(pid, Relaxed) != pid {
        GENERATION.fetch_add(1, Relaxed);
        close_all();
    }
}

/// Puts a descriptor of nothing in the place of each that is to be closed: the numbers stay taken,
/// as long as code in the child's copy of the parent's memory might close them.
fn close_all() {
    let mut nothing = -1;
    let mut is_spare = false;
    for (at, word) in CLOSED.iter().take(USED.load(Relaxed)).enumerate() {
        let mut bits = word.swap(0, Relaxed);
        while bits != 0 {
            let fd = (at * 64) as RawFd + bits.trailing_zeros().cast_signed();
            bits &= bits - 1;
            // SAFETY: a bit is set as long as its descriptor is owned by a `CloseOnFork`, whose
            // owner is a thread that this process has not. Nothing here uses it, and the number is
            // taken again at once. An `eventfd` has no memory of ours.
            unsafe {
                if nothing < 0 {
                    // Made first, so that there is room for another one.
                    libc::close(fd);
                    nothing = libc::eventfd(0, libc::EFD_CLOEXEC);
                    is_spare = nothing != fd;
                }
                if nothing != fd {
                    libc::dup3(nothing, fd, libc::O_CLOEXEC);
                }
            }
        }
    }
    if is_spare {
        // SAFETY: it was made above, and its number given to nothing else.
        unsafe { libc::close(nothing) };
    }
}

/// A descriptor that the child of a fork does not have.
#[derive(Debug)]
pub struct CloseOnFork<T: AsFd>(T);

impl<T: AsFd> CloseOnFork<T> {
    /// `fd`, which a child would have had until now.
    pub fn new(fd: T) -> Self {
        generation();
        let number = fd.as_fd().as_raw_fd();
        if let Some((at, bit)) = place(number) {
            USED.fetch_max(at + 1, Relaxed);
            CLOSED[at].fetch_or(bit, Relaxed);
        }
        Self(fd)
    }

    /// The descriptor within.
    pub const fn get_ref(&self) -> &T {
        &self.0
    }
}

impl<T: AsFd> AsFd for CloseOnFork<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl<T: AsFd> std::ops::Deref for CloseOnFork<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: AsFd> std::ops::DerefMut for CloseOnFork<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: AsFd> Drop for CloseOnFork<T> {
    fn drop(&mut self) {
        // Before it is closed: its number may be another file's right after that.
        if let Some((at, bit)) = place(self.0.as_fd().as_raw_fd()) {
            CLOSED[at].fetch_and(!bit, Relaxed);
        }
    }
}

fn place(fd: RawFd) -> Option<(usize, u64)> {
    let fd = usize::try_from(fd).ok()?;
    (fd / 64 < WORDS).then_some((fd / 64, 1 << (fd % 64)))
}

/// A value that every process has for itself: in the child of a fork it begins anew. So a lock that
/// another thread of the parent held is not locked there.
#[derive(Debug)]
pub struct PerProcess<T: 'static> {
    /// The value of the process that asked last; none at first. What it once pointed to stays for
    /// ever.
    current: AtomicPtr<Owned<T>>,
    make: fn() -> T,
}

#[derive(Debug)]
struct Owned<T> {
    generation: u32,
    value: T,
}

impl<T: Send + Sync> PerProcess<T> {
    /// A value that is made by `make`, when it is first asked for.
    pub const fn new(make: fn() -> T) -> Self {
        Self { current: AtomicPtr::new(null_mut()), make }
    }

    /// This process's.
    pub fn get(&'static self) -> &'static T {
        let generation = generation();
        let mut current = self.current.load(Acquire);
        loop {
            // SAFETY: it is null or was leaked below, initialised before it was published.
            if let Some(owned) = unsafe { current.as_ref() }
                && owned.generation == generation
            {
                return &owned.value;
            }
            let fresh = Box::into_raw(Box::new(Owned { generation, value: (self.make)() }));
            match self.current.compare_exchange(current, fresh, AcqRel, Acquire) {
                // SAFETY: it was made above, and is never freed from here on. The replaced value is
                // the parent's, whose threads may have been at work on it: it is left as it is.
                Ok(_) => return unsafe { &(*fresh).value },
                Err(other) => {
                    // SAFETY: it was made above, and nothing else has seen it.
                    drop(unsafe { Box::from_raw(fresh) });
                    current = other;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
