//! The direct way: frames that leave many at a time are handed straight to the driver, by an AF_XDP socket, where that
//! passes by nothing. Only virtual links have no queue, and there it takes three quarters of the time a packet socket does.
//!
//! A queue of a device has one such socket in all. So it is for flows: a thread of the engine's that may take its time opens
//! it when one has begun, looks whether the way is still free, and closes it when the flow is over.

mod phase;

use std::mem;
use std::sync::OnceLock;
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
    mtu: u32,
    /// Calls who looks after it. Without, it stays closed.
    tender: OnceLock<Waker>,
    way: Mutex<Way>,
}

#[derive(Debug, Default)]
struct Way {
    /// If it is open.
    socket: Option<Xsk>,
    /// The socket is of no use any more.
    broken: bool,
    /// Frames that left many at a time, whichever way.
    frames: u64,
    /// Of those, the ones that took this way, until somebody asks.
    direct: u64,
    phase: Phase,
}

impl Direct {
    /// That of the device called `name`, with this MTU; none if its frames are too large.
    pub(super) fn new(name: &str, mtu: u32) -> Option<Self> {
        let fits = (mtu + HEADER) as usize <= SLOT;
        let name = name.to_owned();
        fits.then(|| Self { name, mtu, tender: OnceLock::new(), way: Mutex::default() })
    }

    /// From now on somebody looks after it whom `tender` calls: by [`Self::tend`], in the network namespace of the device, without
    /// a lock that others wait for.
    pub fn attend(&self, tender: &Waker) {
        self.tender.get_or_init(|| tender.clone());
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
        // Who has it opens or closes it, and is not worth waiting for.
        let mut way = self.way.try_lock()?;
        if way.broken {
            return None;
        }
        let socket = way.socket.as_mut().filter(|socket| socket.has_room())?;
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
        let (gone, outcome) = socket.submit();
        sent.lost = sent.done - gone;
        way.frames += sent.done as u64;
        way.direct += gone as u64;
        if outcome.is_err() {
            // Nothing of what it still has may leave.
            way.broken = true;
            self.call();
        }
        Some(sent)
    }

    /// So many frames have left together, another way.
    pub(super) fn note(&self, frames: usize) {
        let Some(mut way) = self.way.try_lock() else { return };
        way.frames += frames as u64;
        if way.phase.is_flow(way.frames) && self.tender.get().is_some() {
            way.phase = Phase::Called;
            self.call();
        }
    }

    fn call(&self) {
        if let Some(tender) = self.tender.get() {
            tender.wake_by_ref();
        }
    }

    /// Opens or closes it, as things are `now`; when to look again, unless called before.
    pub fn tend(&self, now: Instant) -> Option<Instant> {
        let mut way = self.way.lock();
        let (phase, step) = way.phase.look(now, way.frames, mem::take(&mut way.broken));
        way.phase = phase;
        let left = match step {
            Step::Rest => None,
            Step::Close => way.socket.take(),
            Step::Check | Step::Open => {
                drop(way);
                let free = bypass::number_if_none(&self.name, self.mtu);
                let socket = free.and_then(|number| match step {
                    Step::Open => Xsk::open(number).map(Some),
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
        drop(way);
        // The kernel takes some milliseconds for that.
        drop(left);
        due
    }
}
