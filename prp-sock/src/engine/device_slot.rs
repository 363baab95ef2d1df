//! One device of an engine, with what it could not take yet.

use std::collections::VecDeque;
use std::ops::Range;

use crate::device::{FrameIo, Peek, Sent};

/// Counters of a device.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct DeviceCounters {
    /// Frames lost because the receiving ring was full.
    pub(crate) overruns: u64,
    /// Frames the device could not send.
    pub(crate) send_losses: u64,
    /// Frames larger than the device takes.
    pub(crate) too_big: u64,
}

/// One device.
#[derive(Debug)]
pub(super) struct DeviceSlot {
    pub(super) io: Box<dyn FrameIo>,
    counters: DeviceCounters,
    /// Frames made but not taken: copied, since the buffers they came from go on. A batch at most.
    stalled: VecDeque<Vec<u8>>,
    /// Buffers for the next ones: a device that is often full allocates nothing.
    spare: Vec<Vec<u8>>,
    /// Frames its receiving ring holds; 0 if that is not known.
    pub(super) slots: u32,
    /// It has gone down since somebody asked.
    down: bool,
}

impl DeviceSlot {
    pub(super) fn new(io: Box<dyn FrameIo>) -> Self {
        let counters = DeviceCounters::default();
        let slots = match io.peek() {
            Peek::Ring(ring) => ring.slots(),
            Peek::Unknown => 0,
        };
        Self { io, counters, stalled: VecDeque::new(), spare: Vec::new(), slots, down: false }
    }

    /// Whether it holds frames it could not take.
    pub(super) fn is_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// Goes on with another device, which takes the place of this one.
    pub(super) fn replace(&mut self, io: &mut Box<dyn FrameIo>) {
        self.counters.overruns += self.io.take_overruns();
        std::mem::swap(&mut self.io, io);
    }

    /// Whether it has gone down since this was last asked.
    pub(super) fn take_down(&mut self) -> bool {
        std::mem::take(&mut self.down)
    }

    pub(super) fn counters(&mut self) -> DeviceCounters {
        self.counters.overruns += self.io.take_overruns();
        self.counters
    }

    /// Sends the frames of `range`, whose pieces `frame` knows; keeps what the device does not take.
    pub(super) fn send<'a>(
        &mut self,
        range: Range<usize>,
        frame: impl Fn(usize) -> [&'a [u8]; 4] + Copy,
    ) {
        let mut at = range.start;
        while at < range.end {
            let sent = self.io.send(&mut (at..range.end).map(frame));
            at += sent.done + usize::from(sent.too_big);
            self.note(&sent);
            if sent.full {
                (at..range.end).for_each(|i| self.stall(frame(i)));
                return;
            }
            if sent.done == 0 && !sent.too_big {
                return;
            }
        }
    }

    /// Sends what it could not take before; whether it has taken all of it.
    pub(super) fn unstall(&mut self) -> bool {
        while !self.stalled.is_empty() {
            let mut frames = self.stalled.iter().map(|f| [f.as_slice(), &[], &[], &[]]);
            let sent = self.io.send(&mut frames);
            let gone = sent.done + usize::from(sent.too_big);
            self.note(&sent);
            self.spare.extend(self.stalled.drain(..gone));
            if sent.full || gone == 0 {
                return false;
            }
        }
        true
    }

    fn stall(&mut self, pieces: [&[u8]; 4]) {
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.clear();
        pieces.iter().for_each(|piece| frame.extend_from_slice(piece));
        self.stalled.push_back(frame);
    }

    fn note(&mut self, sent: &Sent) {
        self.counters.send_losses += sent.lost as u64;
        self.counters.too_big += u64::from(sent.too_big);
        self.down |= sent.down;
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;
    use crate::device::PortFilter;

    /// A device that takes so many more frames, and loses or refuses single ones.
    #[derive(Debug)]
    struct Tight {
        room: Arc<Mutex<usize>>,
        taken: Arc<Mutex<Vec<u8>>>,
        file: io::PipeReader,
    }

    const LOST: u8 = 100;
    const TOO_BIG: u8 = 101;

    impl FrameIo for Tight {
        fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
            Ok(0)
        }

        fn send(&mut self, frames: &mut dyn Iterator<Item = [&[u8]; 4]>) -> Sent {
            let mut sent = Sent::default();
            for frame in frames {
                let mut room = self.room.lock();
                if *room == 0 {
                    return Sent { full: true, ..sent };
                }
                let frame = frame.concat();
                assert_eq!(frame[0], frame[1], "one frame of two pieces");
                match frame[0] {
                    TOO_BIG => return Sent { too_big: true, ..sent },
                    LOST => sent.lost += 1,
                    byte => self.taken.lock().push(byte),
                }
                sent.done += 1;
                *room -= 1;
            }
            sent
        }

        fn as_fd(&self) -> BorrowedFd<'_> {
            self.file.as_fd()
        }

        fn peek(&self) -> Peek {
            Peek::Unknown
        }

        fn set_filter(&mut self, _: &PortFilter) -> io::Result<()> {
            Ok(())
        }

        fn take_overruns(&mut self) -> u64 {
            3
        }
    }

    #[test]
    fn send__keeps_in_order_what_the_device_does_not_take() {
        let room = Arc::new(Mutex::new(2));
        let taken = Arc::new(Mutex::new(Vec::new()));
        let file = io::pipe().unwrap().0;
        let mut slot =
            DeviceSlot::new(Box::new(Tight { room: room.clone(), taken: taken.clone(), file }));
        for round in 0..3 {
            let frames = [[0; 1], [1; 1], [TOO_BIG; 1], [2; 1], [LOST; 1], [3; 1]];
            slot.send(0..frames.len(), |i| [&frames[i], &[], &frames[i], &[]]);
            assert!(slot.is_stalled());
            assert!(!slot.unstall(), "there is still no room");
            // Expect: room for one frame at a time makes one frame at a time leave.
            for _ in 0..2 {
                *room.lock() = 1;
                assert!(!slot.unstall());
            }
            *room.lock() = 3;
            assert!(slot.unstall() && !slot.is_stalled());
            assert_eq!(*taken.lock(), [0, 1, 2, 3].repeat(round + 1));
        }
        let counters = slot.counters();
        assert_eq!((counters.too_big, counters.send_losses, counters.overruns), (3, 3, 3));
    }
}
