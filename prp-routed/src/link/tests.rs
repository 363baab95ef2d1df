use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex};

use prp_sock::node::{Peek, PortFilter, Sent};

use super::*;

/// A device that takes so many more frames.
#[derive(Debug)]
struct Tight {
    room: Arc<Mutex<usize>>,
    taken: Arc<Mutex<Vec<u16>>>,
    file: io::PipeReader,
}

const TOO_BIG: u16 = u16::MAX;

impl FrameIo for Tight {
    fn receive(&mut self, _: usize, _: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        Ok(0)
    }

    fn send(&mut self, frames: &mut dyn Iterator<Item = [&[u8]; 4]>) -> Sent {
        let mut sent = Sent::default();
        for frame in frames.take(64) {
            let mut room = self.room.lock().unwrap();
            if *room == 0 {
                return Sent { full: true, ..sent };
            }
            match u16::from_be_bytes([frame[0][0], frame[0][1]]) {
                TOO_BIG => return Sent { too_big: true, ..sent },
                number => self.taken.lock().unwrap().push(number),
            }
            *room -= 1;
            sent.done += 1;
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
        0
    }
}

/// Sends the frames `numbers` and says how many the device has by then.
fn send(link: &mut Link, numbers: impl Iterator<Item = u16>, stats: &mut ForwardStats) {
    let frames: Vec<_> = numbers.map(u16::to_be_bytes).collect();
    link.send(frames.iter().map(<[u8; 2]>::as_slice), stats);
}

#[test]
fn send__keeps_in_order_as_much_as_there_is_room_for_and_counts_the_rest() {
    let room = Arc::new(Mutex::new(100));
    let taken = Arc::new(Mutex::new(Vec::new()));
    let file = io::pipe().unwrap().0;
    let tight = Tight { room: room.clone(), taken: taken.clone(), file };
    let mut link = Link::new("eth0", 2, Box::new(tight));
    let mut stats = ForwardStats { frames: 1200, bytes: 2400, ..ForwardStats::default() };
    let (first, second) = (0..600u16, 600..1200u16);
    send(&mut link, first, &mut stats);
    assert!(link.is_stalled());
    send(&mut link, second, &mut stats);
    // Expect: 100 sent, the next 512 kept, the others lost.
    assert_eq!((link.counters.sent, link.counters.dropped), (100, 588));
    *room.lock().unwrap() = usize::MAX;
    send(&mut link, 1200..1201, &mut stats);
    assert!(!link.is_stalled());
    let expected: Vec<u16> = (0..612).chain(1200..1201).collect();
    assert_eq!(*taken.lock().unwrap(), expected);
    assert_eq!((stats.frames, stats.bytes), (612, 1224));
    assert_eq!(stats.drops[ForwardDrop::SendFailed], 588);
}

#[test]
fn send__a_frame_too_big_for_the_device_does_not_hold_up_others() {
    let taken = Arc::new(Mutex::new(Vec::new()));
    let file = io::pipe().unwrap().0;
    let room = Arc::new(Mutex::new(usize::MAX));
    let mut link = Link::new("eth0", 2, Box::new(Tight { room, taken: taken.clone(), file }));
    let mut stats = ForwardStats::default();
    send(&mut link, [1, TOO_BIG, TOO_BIG, 2, TOO_BIG, 3].into_iter(), &mut stats);
    assert_eq!(*taken.lock().unwrap(), [1, 2, 3]);
    assert_eq!((link.counters.sent, link.counters.dropped), (3, 3));
    assert!(!link.is_stalled());
}
