//! The life of a fast path, to send or to receive, that is open while there is a flow.
//!
//! Opening and closing take system calls that may take long. So a thread of the engine does both.
//! Threads that send or receive only count frames, and call it.

use std::io;
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use prp_proto::time::Instant;

use crate::fast_path_state::{Action, FastPathState};
use crate::managed::Managed;

/// A fast path, and what it takes to be open.
pub(super) trait FastPathKind: Send + Sync {
    type Resource: Send;

    fn fast_path(&self) -> &FastPath<Self::Resource>;

    /// Whether it may be open at all, as things are.
    fn check(&self, netdev: &Netdev) -> io::Result<()>;

    fn open(&self, netdev: &Netdev) -> io::Result<Self::Resource>;
}

impl<W: FastPathKind> Managed for W {
    fn set_waker(&self, waker: &Waker) {
        self.fast_path().set_waker(waker);
    }

    fn is_requested(&self) -> bool {
        self.fast_path().is_requested()
    }

    fn service(&self, now: Instant) -> Option<Instant> {
        self.fast_path().service(now, |netdev| self.check(netdev), |netdev| self.open(netdev))
    }
}

/// The device of a fast path.
#[derive(Debug)]
pub(super) struct Netdev {
    /// Where the packet socket is.
    index: AtomicU32,
    pub(super) mtu: u32,
}

impl Netdev {
    pub(super) fn index(&self) -> u32 {
        self.index.load(Ordering::Relaxed)
    }
}

/// A fast path, which takes a `T` to be open.
#[derive(Debug)]
pub(super) struct FastPath<T> {
    netdev: Netdev,
    /// How long a flow may pause.
    pause: Duration,
    /// Calls the thread that services it. Without, it stays closed.
    waker: OnceLock<Waker>,
    /// Frames so far, on whichever path. The thread that has the device to itself counts them.
    frames: AtomicU64,
    /// At how many it may be a flow.
    threshold: AtomicU64,
    /// Frames that took this path since [`Self::take_count`] was called last.
    count: AtomicU64,
    /// It may be open: mostly it is not, and the lock is not worth taking.
    is_open: AtomicBool,
    state: Mutex<State<T>>,
}

#[derive(Debug)]
struct State<T> {
    /// If it is open.
    means: Option<T>,
    /// They are of no use any more.
    broken: bool,
    phase: FastPathState,
}

impl<T> FastPath<T> {
    /// One at the device with this number and MTU, for flows that do not pause for longer than
    /// that.
    pub(super) fn new(index: u32, mtu: u32, pause: Duration) -> Self {
        Self {
            netdev: Netdev { index: AtomicU32::new(index), mtu },
            pause,
            waker: OnceLock::new(),
            frames: AtomicU64::new(0),
            threshold: AtomicU64::new(u64::MAX),
            count: AtomicU64::new(0),
            is_open: AtomicBool::new(false),
            state: Mutex::new(State {
                means: None,
                broken: false,
                phase: FastPathState::default(),
            }),
        }
    }

    /// The device has been made again, and has this number now.
    pub(super) fn rebind(&self, index: u32) {
        if self.netdev.index.swap(index, Ordering::Relaxed) != index {
            // What the path needs was the old one's.
            self.state.lock().broken = true;
        }
    }

    fn set_waker(&self, waker: &Waker) {
        if self.waker.set(waker.clone()).is_ok() {
            self.publish(&self.state.lock());
        }
    }

    fn is_requested(&self) -> bool {
        self.state.lock().phase == FastPathState::Requested
    }

    /// Whether it is open, or may be.
    #[inline]
    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// What the path needs, if it is open.
    #[inline]
    pub(super) fn means(&self) -> Option<FastPathGuard<'_, T>> {
        if !self.is_open() {
            return None;
        }
        // A thread that has it opens or closes it, and is not worth waiting for.
        let state = self.state.try_lock()?;
        (!state.broken && state.means.is_some()).then_some(FastPathGuard(state))
    }

    /// Counts `frames` more frames, on whichever path.
    #[inline]
    pub(super) fn note(&self, frames: usize) {
        let frames = self.frames.load(Ordering::Relaxed) + frames as u64;
        self.frames.store(frames, Ordering::Relaxed);
        if frames >= self.threshold.load(Ordering::Relaxed) {
            self.begin(frames);
        }
    }

    /// Counts `frames` more frames that took this path. The thread that has the device to itself
    /// counts them. The thread that has the device to itself counts those.
    #[inline]
    pub(super) fn count(&self, frames: usize) {
        let frames = self.count.load(Ordering::Relaxed) + frames as u64;
        self.count.store(frames, Ordering::Relaxed);
    }

    /// Frames that took this path since the last call.
    pub(super) fn take_count(&self) -> u64 {
        self.count.swap(0, Ordering::Relaxed)
    }

    /// `frames` frames so far may be a flow: requests service.
    #[cold]
    fn begin(&self, frames: u64) {
        let Some(mut state) = self.state.try_lock() else { return };
        if state.phase.is_flow(frames) {
            state.phase = FastPathState::Requested;
            self.publish(&state);
            self.call();
        }
    }

    /// Shows the threads that count frames how things are.
    fn publish(&self, state: &State<T>) {
        self.threshold.store(state.phase.threshold(), Ordering::Relaxed);
        self.is_open.store(state.means.is_some(), Ordering::Relaxed);
    }

    /// Calls the thread that services it.
    pub(super) fn call(&self) {
        if let Some(waker) = self.waker.get() {
            waker.wake_by_ref();
        }
    }

    /// As [`Managed::service`]: it is free if `check` says so, and `open` opens it.
    fn service(
        &self,
        now: Instant,
        check: impl FnOnce(&Netdev) -> io::Result<()>,
        open: impl FnOnce(&Netdev) -> io::Result<T>,
    ) -> Option<Instant> {
        let mut state = self.state.lock();
        let frames = self.frames.load(Ordering::Relaxed);
        let broken = mem::take(&mut state.broken);
        let (phase, action) = state.phase.advance(now, frames, broken, self.pause);
        state.phase = phase;
        let left = match action {
            Action::Rest => None,
            Action::Close => state.means.take(),
            Action::Check | Action::Open => {
                drop(state);
                let opened = check(&self.netdev).and_then(|()| match action {
                    Action::Open => open(&self.netdev).map(Some),
                    _ => Ok(None),
                });
                state = self.state.lock();
                match opened {
                    Ok(Some(means)) => state.means.replace(means),
                    Ok(None) => None,
                    Err(e) => {
                        state.phase = FastPathState::after(&e, now);
                        state.means.take()
                    }
                }
            }
        };
        let due = state.phase.due();
        self.publish(&state);
        drop(state);
        // The kernel takes some milliseconds for that.
        drop(left);
        due
    }
}

/// What a fast path needs that is open.
pub(super) struct FastPathGuard<'a, T>(MutexGuard<'a, State<T>>);

impl<T> FastPathGuard<'_, T> {
    #[inline]
    pub(super) fn of(&mut self) -> Option<&mut T> {
        self.0.means.as_mut()
    }

    /// They are of no use any more.
    pub(super) fn mark_broken(&mut self) {
        self.0.broken = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);
    const FLOW: usize = 512;

    /// A fast path that is open, and the time.
    fn open(netdev: u32) -> (FastPath<u32>, Instant) {
        let fast_path = FastPath::new(netdev, 1500, Duration::ZERO);
        fast_path.set_waker(Waker::noop());
        let now = Instant::from_nanos(0);
        fast_path.note(FLOW);
        assert!(fast_path.is_requested());
        let at = |netdev: &Netdev| Ok(netdev.index());
        assert!(fast_path.service(now, |_| Ok(()), at).is_some());
        fast_path.note(FLOW);
        let now = now + 10 * MILLISECOND;
        assert!(fast_path.service(now, |_| Ok(()), at).is_some());
        let mut expected = netdev;
        assert_eq!(fast_path.means().expect("it is open").of(), Some(&mut expected));
        (fast_path, now)
    }

    #[test]
    fn rebind__a_device_that_was_made_again_ends_what_was_at_the_old_one() {
        let (fast_path, mut now) = open(3);
        fast_path.rebind(3);
        assert!(fast_path.means().is_some(), "it is the same device");
        fast_path.rebind(4);
        assert!(fast_path.means().is_none());
        let at = |netdev: &Netdev| Ok(netdev.index());
        fast_path.service(now, |_| Ok(()), at);
        assert!(!fast_path.is_open());
        // Expect: a second later it is checked at the new one.
        now = now + 1000 * MILLISECOND;
        fast_path.service(now, |_| Ok(()), at);
        fast_path.note(FLOW);
        fast_path.service(now + 10 * MILLISECOND, |_| Ok(()), at);
        assert_eq!(fast_path.means().expect("it is open").of(), Some(&mut 4));
    }

    #[test]
    fn service__leaves_a_path_that_is_not_free() {
        let (fast_path, now) = open(3);
        fast_path.note(FLOW);
        let blocked = |_: &Netdev| Err(io::ErrorKind::WouldBlock.into());
        assert!(fast_path.service(now + 50 * MILLISECOND, blocked, |_| Ok(3)).is_some());
        assert!(fast_path.means().is_none());
        // Expect: nothing else, and it is not checked again.
        let barred = open(3);
        barred.0.note(FLOW);
        let never = |_: &Netdev| Err(io::ErrorKind::InvalidData.into());
        assert_eq!(barred.0.service(barred.1 + 50 * MILLISECOND, never, |_| Ok(3)), None);
        assert!(barred.0.means().is_none());
    }
}
