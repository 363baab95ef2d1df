//! A way past the packet socket, out or in, that is open while there is a flow: when it is opened and closed, and who sees to it.
//!
//! Opening and closing take system calls that may take their time. So a thread of the engine's does both, and who sends or
//! receives only counts frames, and calls it.

use std::io;
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use prp_proto::time::Instant;

use super::phase::{Phase, Step};

/// Something that somebody looks after, in the network namespace of the device, without a lock that others wait for.
pub trait Tended: Send + Sync {
    /// From now on `tender` calls who looks after it.
    fn attend(&self, tender: &Waker);

    /// Whether somebody has been called, and has not looked since.
    fn is_called(&self) -> bool;

    /// Opens or closes it, as things are `now`; when to look again, unless called before.
    fn tend(&self, now: Instant) -> Option<Instant>;
}

/// A way, and what it takes to be open.
pub(super) trait Way: Send + Sync {
    type Means: Send;

    fn passage(&self) -> &Passage<Self::Means>;

    /// Whether it may be open at all, as things are.
    fn check(place: &Place) -> io::Result<()>;

    fn open(&self, place: &Place) -> io::Result<Self::Means>;
}

impl<W: Way> Tended for W {
    fn attend(&self, tender: &Waker) {
        self.passage().attend(tender);
    }

    fn is_called(&self) -> bool {
        self.passage().is_called()
    }

    fn tend(&self, now: Instant) -> Option<Instant> {
        self.passage().tend(now, W::check, |place| self.open(place))
    }
}

/// The device a way is at.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) name: String,
    /// Where the packet socket is.
    index: AtomicU32,
    pub(super) mtu: u32,
}

impl Place {
    pub(super) fn index(&self) -> u32 {
        self.index.load(Ordering::Relaxed)
    }
}

/// A way, which takes a `T` to be open.
#[derive(Debug)]
pub(super) struct Passage<T> {
    place: Place,
    /// How long a flow may pause.
    pause: Duration,
    /// Calls the thread that looks after it. Without, it stays closed.
    tender: OnceLock<Waker>,
    /// Frames so far, whichever way they went. The thread that has the device to itself counts
    /// them.
    frames: AtomicU64,
    /// At how many it may be a flow.
    threshold: AtomicU64,
    /// Those that went this way, until somebody asks.
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
    phase: Phase,
}

impl<T> Passage<T> {
    /// One at the device called `name`, with this number and MTU, for flows that do not pause for longer than that.
    pub(super) fn new(name: &str, index: u32, mtu: u32, pause: Duration) -> Self {
        Self {
            place: Place { name: name.to_owned(), index: AtomicU32::new(index), mtu },
            pause,
            tender: OnceLock::new(),
            frames: AtomicU64::new(0),
            threshold: AtomicU64::new(u64::MAX),
            count: AtomicU64::new(0),
            is_open: AtomicBool::new(false),
            state: Mutex::new(State { means: None, broken: false, phase: Phase::default() }),
        }
    }

    /// The device has been made again, and has this number now.
    pub(super) fn follow(&self, index: u32) {
        if self.place.index.swap(index, Ordering::Relaxed) != index {
            // What it took to go this way was the old one's.
            self.state.lock().broken = true;
        }
    }

    fn attend(&self, tender: &Waker) {
        if self.tender.set(tender.clone()).is_ok() {
            self.publish(&self.state.lock());
        }
    }

    fn is_called(&self) -> bool {
        self.state.lock().phase == Phase::Called
    }

    /// Whether it is open, or may be.
    #[inline]
    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// What it takes to go this way, if it is open.
    #[inline]
    pub(super) fn means(&self) -> Option<Means<'_, T>> {
        if !self.is_open() {
            return None;
        }
        // A thread that has it opens or closes it, and is not worth waiting for.
        let state = self.state.try_lock()?;
        (!state.broken && state.means.is_some()).then_some(Means(state))
    }

    /// So many frames more.
    #[inline]
    pub(super) fn note(&self, frames: usize) {
        let frames = self.frames.load(Ordering::Relaxed) + frames as u64;
        self.frames.store(frames, Ordering::Relaxed);
        if frames >= self.threshold.load(Ordering::Relaxed) {
            self.begin(frames);
        }
    }

    /// So many of them went this way. The thread that has the device to itself counts those.
    #[inline]
    pub(super) fn count(&self, frames: usize) {
        let frames = self.count.load(Ordering::Relaxed) + frames as u64;
        self.count.store(frames, Ordering::Relaxed);
    }

    /// Frames that went this way since the last call.
    pub(super) fn take_count(&self) -> u64 {
        self.count.swap(0, Ordering::Relaxed)
    }

    /// It may be a flow, now that there were so many frames: somebody is to look.
    #[cold]
    fn begin(&self, frames: u64) {
        let Some(mut state) = self.state.try_lock() else { return };
        if state.phase.is_flow(frames) {
            state.phase = Phase::Called;
            self.publish(&state);
            self.call();
        }
    }

    /// Shows who counts how things are.
    fn publish(&self, state: &State<T>) {
        self.threshold.store(state.phase.threshold(), Ordering::Relaxed);
        self.is_open.store(state.means.is_some(), Ordering::Relaxed);
    }

    /// Calls the thread that looks after it.
    pub(super) fn call(&self) {
        if let Some(tender) = self.tender.get() {
            tender.wake_by_ref();
        }
    }

    /// As [`Tended::tend`]: it is free if `check` says so, and `open` opens it.
    fn tend(
        &self,
        now: Instant,
        check: impl FnOnce(&Place) -> io::Result<()>,
        open: impl FnOnce(&Place) -> io::Result<T>,
    ) -> Option<Instant> {
        let mut state = self.state.lock();
        let frames = self.frames.load(Ordering::Relaxed);
        let broken = mem::take(&mut state.broken);
        let (phase, step) = state.phase.look(now, frames, broken, self.pause);
        state.phase = phase;
        let left = match step {
            Step::Rest => None,
            Step::Close => state.means.take(),
            Step::Check | Step::Open => {
                drop(state);
                let opened = check(&self.place).and_then(|()| match step {
                    Step::Open => open(&self.place).map(Some),
                    _ => Ok(None),
                });
                state = self.state.lock();
                match opened {
                    Ok(Some(means)) => state.means.replace(means),
                    Ok(None) => None,
                    Err(e) => {
                        state.phase = Phase::after(&e, now);
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

/// What it takes to go a way that is open.
pub(super) struct Means<'a, T>(MutexGuard<'a, State<T>>);

impl<T> Means<'_, T> {
    #[inline]
    pub(super) fn of(&mut self) -> Option<&mut T> {
        self.0.means.as_mut()
    }

    /// They are of no use any more.
    pub(super) fn give_up(&mut self) {
        self.0.broken = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);
    const FLOW: usize = 512;

    /// A way that is open, and the time.
    fn open(place: u32) -> (Passage<u32>, Instant) {
        let way = Passage::new("none", place, 1500, Duration::ZERO);
        way.attend(Waker::noop());
        let now = Instant::from_nanos(0);
        way.note(FLOW);
        assert!(way.is_called());
        let at = |place: &Place| Ok(place.index());
        assert!(way.tend(now, |_| Ok(()), at).is_some());
        way.note(FLOW);
        let now = now + 10 * MILLISECOND;
        assert!(way.tend(now, |_| Ok(()), at).is_some());
        let mut expected = place;
        assert_eq!(way.means().expect("it is open").of(), Some(&mut expected));
        (way, now)
    }

    #[test]
    fn follow__a_device_that_was_made_again_ends_what_was_at_the_old_one() {
        let (way, mut now) = open(3);
        way.follow(3);
        assert!(way.means().is_some(), "it is the same device");
        way.follow(4);
        assert!(way.means().is_none());
        let at = |place: &Place| Ok(place.index());
        way.tend(now, |_| Ok(()), at);
        assert!(!way.is_open());
        // Expect: a second later it is looked for at the new one.
        now = now + 1000 * MILLISECOND;
        way.tend(now, |_| Ok(()), at);
        way.note(FLOW);
        way.tend(now + 10 * MILLISECOND, |_| Ok(()), at);
        assert_eq!(way.means().expect("it is open").of(), Some(&mut 4));
    }

    #[test]
    fn tend__leaves_a_way_that_is_not_free() {
        let (way, now) = open(3);
        way.note(FLOW);
        let blocked = |_: &Place| Err(io::ErrorKind::WouldBlock.into());
        assert!(way.tend(now + 50 * MILLISECOND, blocked, |_| Ok(3)).is_some());
        assert!(way.means().is_none());
        // Expect: nothing else, and it is not looked at again.
        let barred = open(3);
        barred.0.note(FLOW);
        let never = |_: &Place| Err(io::ErrorKind::InvalidData.into());
        assert_eq!(barred.0.tend(barred.1 + 50 * MILLISECOND, never, |_| Ok(3)), None);
        assert!(barred.0.means().is_none());
    }
}
