//! A device that takes only a given number of frames, for tests of threads that send.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use parking_lot::Mutex;
use prp_proto::device::Capabilities;

use crate::{Packets, Peek, Received, Refusal, Sent, Take, Underlay};

/// A device with little room. Its frames are numbers: two bytes, most significant first.
#[derive(Clone, Debug)]
pub struct LimitedDevice {
    room: Arc<Mutex<usize>>,
    taken: Arc<Mutex<Vec<u16>>>,
    file: Arc<io::PipeReader>,
}

impl LimitedDevice {
    /// A frame it refuses, though there is room.
    pub const REFUSED: u16 = u16::MAX - 1;

    /// What it says to that.
    pub const REFUSAL: Refusal = Refusal::of_frame(libc::EPERM);

    /// A frame it finds too big.
    pub const TOO_BIG: u16 = u16::MAX;

    /// What it says it has lost on receiving, in each call.
    pub const OVERRUNS: u32 = 3;

    /// Frames it takes at most in a call.
    const BATCH: usize = 64;

    /// A device with room for `room` frames. Its clones are the same device.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn new(room: usize) -> io::Result<Self> {
        let (room, file) = (Arc::new(Mutex::new(room)), Arc::new(io::pipe()?.0));
        Ok(Self { room, taken: Arc::default(), file })
    }

    /// Takes `room` more frames, whatever was left.
    pub fn set_room(&self, room: usize) {
        *self.room.lock() = room;
    }

    /// All it has taken, in order.
    pub fn taken(&self) -> Vec<u16> {
        self.taken.lock().clone()
    }
}

impl Underlay for LimitedDevice {
    fn receive(&mut self, _: usize, _: &mut Take<'_>) -> io::Result<Received> {
        Ok(Received { frames: 0, lost: Self::OVERRUNS })
    }

    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        let mut sent = Sent::default();
        for (_, frame) in packets.take(Self::BATCH) {
            let mut room = self.room.lock();
            if *room == 0 {
                return Sent { full: true, ..sent };
            }
            let frame = frame.concat();
            match u16::from_be_bytes([frame[0], frame[1]]) {
                Self::TOO_BIG => return Sent { refused: Some(Refusal::TOO_BIG), ..sent },
                Self::REFUSED => return Sent { refused: Some(Self::REFUSAL), ..sent },
                number => self.taken.lock().push(number),
            }
            *room -= 1;
            sent.done += 1;
        }
        sent
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        (place == 0).then(|| self.file.as_fd())
    }

    fn peek(&self) -> Peek {
        Peek::Unknown
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::ethernet(1500)
    }
}
