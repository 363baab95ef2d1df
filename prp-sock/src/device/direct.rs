//! The direct way: frames are handed straight to the driver, by an AF_XDP socket, where that passes by nothing. Most devices
//! without a queue are virtual links, and there it takes three quarters of the time a packet socket does for frames that leave
//! many at a time, and 0.15 us less for one alone.
//!
//! A queue of a device has one such socket in all. So it is for flows, of data or of messages: a thread of the engine's that may
//! take its time opens it when one has begun, looks whether the way is still free, and closes it when the flow is over.

mod phase;

use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::Waker;

use parking_lot::Mutex;
use prp_proto::time::Instant;

use self::phase::{Phase, Step};
use super::{Sent, bypass};
use crate::sys::mmsg::PIECES;
use crate::sys::xsk::{SLOT, Xsk};

/// Bytes of a frame beyond the MTU.
const HEADER: u32 = 14;

/// The direct way of one device.
#[derive(Debug)]
pub struct Direct {
    name: String,
    /// Where the packet socket is.
    index: AtomicU32,
    mtu: u32,
    /// Calls who looks after it. Without, it stays closed.
    tender: OnceLock<Waker>,
    /// Frames that left, whichever way. Who sends counts them, and has the device to itself.
    frames: AtomicU64,
    /// At how many it may be a flow.
    threshold: AtomicU64,
    /// It may be open: mostly it is not, and the lock is not worth taking.
    is_open: AtomicBool,
    way: Mutex<Way>,
}

#[derive(Debug, Default)]
struct Way {
    /// If it is open.
    socket: Option<Xsk>,
    /// The socket is of no use any more.
    broken: bool,
    /// Frames that took this way, until somebody asks.
    direct: u64,
    phase: Phase,
}

impl Direct {
    /// That of the device called `name`, with this number and MTU; none if its frames are too large.
    pub(super) fn new(name: &str, index: u32, mtu: u32) -> Option<Self> {
        let fits = (mtu + HEADER) as usize <= SLOT;
        fits.then(|| Self {
            name: name.to_owned(),
            index: AtomicU32::new(index),
            mtu,
            tender: OnceLock::new(),
            frames: AtomicU64::new(0),
            threshold: AtomicU64::new(u64::MAX),
            is_open: AtomicBool::new(false),
            way: Mutex::default(),
        })
    }

    /// The device has been made again, and has this number now.
    pub(super) fn follow(&self, index: u32) {
        self.index.store(index, Ordering::Relaxed);
    }

    /// From now on somebody looks after it whom `tender` calls: by [`Self::tend`], in the network namespace of the device, without
    /// a lock that others wait for.
    pub fn attend(&self, tender: &Waker) {
        if self.tender.set(tender.clone()).is_ok() {
            self.publish(&self.way.lock());
        }
    }

    /// Frames that took this way since the last call.
    pub(super) fn take_count(&self) -> u64 {
        mem::take(&mut self.way.lock().direct)
    }

    /// Sends as many of `frames` as there is room for, if it is open; otherwise takes none.
    pub(super) fn send<'a>(
        &self,
        frames: &mut impl Iterator<Item = [&'a [u8]; PIECES]>,
    ) -> Option<Sent> {
        if !self.is_open.load(Ordering::Relaxed) {
            return None;
        }
        // Who has it opens or closes it, and is not worth waiting for.
        let mut way = self.way.try_lock()?;
        if way.broken {
            return None;
        }
        let socket = way.socket.as_mut()?;
        if !socket.has_room() {
            return None;
        }
        let mut sent = Sent::default();
        while socket.has_room()
            && let Some(frame) = frames.next()
        {
            if !socket.stage(frame) {
                sent.too_big = true;
                break;
            }
            sent.done += 1;
        }
        let submitted = socket.submit();
        sent.lost = submitted.lost;
        way.direct += submitted.sent as u64;
        if let Err(e) = submitted.outcome {
            // Nothing of what it still has may leave.
            way.broken = true;
            sent.down = matches!(e.raw_os_error(), Some(libc::ENETDOWN | libc::ENXIO));
            self.call();
        }
        drop(way);
        self.note(sent.done);
        Some(sent)
    }

    /// So many frames have left.
    #[inline]
    pub(super) fn note(&self, frames: usize) {
        let frames = self.frames.load(Ordering::Relaxed) + frames as u64;
        self.frames.store(frames, Ordering::Relaxed);
        if frames >= self.threshold.load(Ordering::Relaxed) {
            self.begin(frames);
        }
    }

    /// It may be a flow, now that there were so many frames: somebody is to look.
    #[cold]
    fn begin(&self, frames: u64) {
        let Some(mut way) = self.way.try_lock() else { return };
        if way.phase.is_flow(frames) {
            way.phase = Phase::Called;
            self.publish(&way);
            self.call();
        }
    }

    /// Shows who sends how things are.
    fn publish(&self, way: &Way) {
        self.threshold.store(way.phase.threshold(), Ordering::Relaxed);
        self.is_open.store(way.socket.is_some(), Ordering::Relaxed);
    }

    fn call(&self) {
        if let Some(tender) = self.tender.get() {
            tender.wake_by_ref();
        }
    }

    /// Whether somebody has been called, and has not looked since.
    pub(crate) fn is_called(&self) -> bool {
        self.way.lock().phase == Phase::Called
    }

    /// Opens or closes it, as things are `now`; when to look again, unless called before.
    pub fn tend(&self, now: Instant) -> Option<Instant> {
        let mut way = self.way.lock();
        let frames = self.frames.load(Ordering::Relaxed);
        let (phase, step) = way.phase.look(now, frames, mem::take(&mut way.broken));
        way.phase = phase;
        let left = match step {
            Step::Rest => None,
            Step::Close => way.socket.take(),
            Step::Check | Step::Open => {
                drop(way);
                let index = self.index.load(Ordering::Relaxed);
                let free = bypass::check_none(&self.name, index, self.mtu);
                let socket = free.and_then(|()| match step {
                    Step::Open => Xsk::open(index).map(Some),
                    _ => Ok(None),
                });
                way = self.way.lock();
                match socket {
                    Ok(Some(socket)) => way.socket.replace(socket),
                    Ok(None) => None,
                    Err(e) => {
                        way.phase = Phase::after(&e, now);
                        way.socket.take()
                    }
                }
            }
        };
        let due = way.phase.due();
        self.publish(&way);
        drop(way);
        // The kernel takes some milliseconds for that.
        drop(left);
        due
    }
}
