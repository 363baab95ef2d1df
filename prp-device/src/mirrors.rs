//! Captures that get copies of what goes past their packet sockets ([`prp_node::mirror`]).

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::{Mutex, MutexGuard};
use prp_node::mirror::MirrorLink;

use crate::sys::mirror_ring::MirrorRing;
use crate::sys::mmsg::PIECES;

/// How long to wait for a capture's memory: it is asked when nothing else keeps frames from AF_XDP,
/// and they take the packet socket meanwhile, or not at all past it.
const MEMORY_TIMEOUT: Duration = Duration::from_millis(20);

/// Those of one device. A thread that searches for captures changes them; the one that sends fills
/// their memory.
#[derive(Debug, Default)]
pub(super) struct Mirrors {
    /// There may be some: mostly there are none, and the lock is not worth taking.
    any: AtomicBool,
    list: Mutex<Vec<MirroredCapture>>,
}

/// A capture.
#[derive(Debug)]
struct MirroredCapture {
    /// That of its packet socket.
    inode: u64,
    link: MirrorLink,
    ring: MirrorRing,
}

impl Mirrors {
    /// Whether the capture whose packet socket has this inode gets what is sent by `device`, from
    /// now on.
    pub(super) fn reach(&self, inode: u64, device: u32) -> bool {
        if self.list.lock().iter().any(|mirror| mirror.inode == inode) {
            return true;
        }
        let mirror = MirrorLink::connect(inode).and_then(|link| {
            let ring = MirrorRing::open(&link.receive(MEMORY_TIMEOUT)?, device)?;
            Ok(MirroredCapture { inode, link, ring })
        });
        let Ok(mirror) = mirror else { return false };
        self.list.lock().push(mirror);
        self.any.store(true, Ordering::Relaxed);
        true
    }

    /// Forgets those that have ended.
    pub(super) fn forget_ended(&self) {
        if self.any.load(Ordering::Relaxed) {
            let mut list = self.list.lock();
            list.retain(|mirror| !mirror.link.has_ended());
            self.any.store(!list.is_empty(), Ordering::Relaxed);
        }
    }

    /// What copies frames for all of them; none where there are none.
    #[inline]
    pub(super) fn copier(&self) -> Option<Copier<'_>> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Some(Copier { list: self.list.lock(), time: time.as_nanos() as u64 })
    }
}

/// Copies frames that leave at the same time.
pub(super) struct Copier<'a> {
    list: MutexGuard<'a, Vec<MirroredCapture>>,
    time: u64,
}

impl Copier<'_> {
    /// Copies a frame, given in pieces.
    pub(super) fn put(&mut self, frame: [&[u8]; PIECES]) {
        self.list.iter_mut().for_each(|mirror| mirror.ring.put(self.time, frame));
    }
}

impl Drop for Copier<'_> {
    fn drop(&mut self) {
        self.list.iter().for_each(|mirror| mirror.ring.publish());
    }
}
