//! The direct way: frames are handed straight to the driver, by an AF_XDP socket, where that passes by nothing. Most devices
//! without a queue are virtual links, and there it takes three quarters of the time a packet socket does for frames that leave
//! many at a time, and 0.15 us less for one alone.
//!
//! A queue of a device has one such socket in all. So it is for flows, of data or of messages ([`Passage`]).

use std::io;
use std::time::Duration;

use prp_proto::wire::ETHERNET_LEN;

use super::passage::{Passage, Place, Way};
use super::{Sent, bypass};
use crate::sys::mmsg::PIECES;
use crate::sys::xsk::{SLOT, Xsk};

/// How long a flow may pause. Another process that wants the way waits for that.
const PAUSE: Duration = Duration::from_secs(5);

/// The direct way of one device.
#[derive(Debug)]
pub struct Direct {
    passage: Passage<Xsk>,
}

impl Direct {
    /// That of the device called `name`, with this number and MTU; none if its frames are too large.
    pub(super) fn new(name: &str, index: u32, mtu: u32) -> Option<Self> {
        let fits = mtu as usize + ETHERNET_LEN <= SLOT;
        fits.then(|| Self { passage: Passage::new(name, index, mtu, PAUSE) })
    }

    /// The device has been made again, and has this number now.
    pub(super) fn follow(&self, index: u32) {
        self.passage.follow(index);
    }

    /// Frames that took this way since the last call.
    pub(super) fn take_count(&self) -> u64 {
        self.passage.take_count()
    }

    /// Sends as many of `frames` as there is room for, if it is open; otherwise takes none.
    pub(super) fn send<'a>(
        &self,
        frames: &mut impl Iterator<Item = [&'a [u8]; PIECES]>,
    ) -> Option<Sent> {
        let mut means = self.passage.means()?;
        let socket = means.of()?;
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
        self.passage.count(submitted.sent);
        if submitted.outcome.is_err() {
            // Nothing of what it still has may leave.
            means.give_up();
            self.passage.call();
        }
        drop(means);
        self.passage.note(sent.done);
        Some(sent)
    }

    /// So many frames have left.
    #[inline]
    pub(super) fn note(&self, frames: usize) {
        self.passage.note(frames);
    }
}

impl Way for Direct {
    type Means = Xsk;

    fn passage(&self) -> &Passage<Xsk> {
        &self.passage
    }

    fn check(place: &Place) -> io::Result<()> {
        bypass::check_none(&place.name, place.index(), place.mtu)
    }

    fn open(&self, place: &Place) -> io::Result<Xsk> {
        Xsk::open(place.index())
    }
}
