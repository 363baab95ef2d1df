//! The AF_XDP send path: frames are handed straight to the NIC driver, by an AF_XDP socket, where
//! that passes by nothing. Most devices without a queue are virtual links, and there it takes 75 %
//! of the time a packet socket does for frames that leave many at a time, and 0.15 us less for one
//! alone.
//!
//! A queue of a device has one such socket in all. So it is for flows, of data or of messages
//! ([`FastPath`]).

use std::io;
use std::time::Duration;

use prp_proto::wire::ETHERNET_LEN;

use crate::fast_path::{FastPath, FastPathKind, Netdev};
use crate::mirrors::Mirrors;
use crate::sys::mmsg::PIECES;
use crate::sys::xsk::{SLOT, Xsk};
use crate::{Refusal, Sent, conflicts};

/// How long a flow may pause. Another process that wants the path waits for that.
const MAX_FLOW_PAUSE: Duration = Duration::from_secs(5);

/// The AF_XDP send path of one device.
#[derive(Debug)]
pub struct XdpTx {
    fast_path: FastPath<Xsk>,
    mirrors: Mirrors,
}

impl XdpTx {
    /// That of the device with this number and MTU; none if its frames are too large.
    pub(super) fn new(index: u32, mtu: u32) -> Option<Self> {
        let fits = mtu as usize + ETHERNET_LEN <= SLOT;
        fits.then(|| Self {
            fast_path: FastPath::new(index, mtu, MAX_FLOW_PAUSE),
            mirrors: Mirrors::default(),
        })
    }

    /// The device has been made again, and has this number now.
    pub(super) fn rebind(&self, index: u32) {
        self.fast_path.rebind(index);
    }

    /// Frames that took this path since the last call.
    pub(super) fn take_count(&self) -> u64 {
        self.fast_path.take_count()
    }

    /// Sends as many of `frames` as there is room for, if it is open; otherwise takes none.
    pub(super) fn send<'a>(
        &self,
        frames: &mut impl Iterator<Item = [&'a [u8]; PIECES]>,
    ) -> Option<Sent> {
        let mut means = self.fast_path.means()?;
        let socket = means.of()?;
        if !socket.has_room() {
            return None;
        }
        let mut sent = Sent::default();
        let mut copier = self.mirrors.copier();
        while socket.has_room()
            && let Some(frame) = frames.next()
        {
            if !socket.stage(frame) {
                sent.refused = Some(Refusal::TOO_BIG);
                break;
            }
            copier.iter_mut().for_each(|copier| copier.put(frame));
            sent.done += 1;
        }
        drop(copier);
        let submitted = socket.submit();
        sent.lost = submitted.lost;
        self.fast_path.count(submitted.sent);
        if submitted.outcome.is_err() {
            // Nothing of what it still has may leave.
            means.mark_broken();
            self.fast_path.call();
        }
        drop(means);
        self.fast_path.note(sent.done);
        Some(sent)
    }

    /// Counts `frames` frames that have left.
    #[inline]
    pub(super) fn note(&self, frames: usize) {
        self.fast_path.note(frames);
    }
}

impl FastPathKind for XdpTx {
    type Resource = Xsk;

    fn fast_path(&self) -> &FastPath<Xsk> {
        &self.fast_path
    }

    fn check(&self, netdev: &Netdev) -> io::Result<()> {
        self.mirrors.forget_ended();
        let index = netdev.index();
        let is_reached = |inode| self.mirrors.reach(inode, index);
        conflicts::ensure_no_egress_hooks(index, netdev.mtu, is_reached)
    }

    fn open(&self, netdev: &Netdev) -> io::Result<Xsk> {
        Xsk::open(netdev.index())
    }
}
