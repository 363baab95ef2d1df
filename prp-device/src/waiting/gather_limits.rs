//! How many frames may gather at a device while no thread polls.

use super::tuning::{GSO_BATCH_BYTES, NAP_PART, NAP_RING_BYTES, NAP_WINDOW_PART};
use crate::Peek;

/// How many frames may gather at a device, and how many of them come at a time.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct GatherLimits {
    /// Frames that may gather; 0 if it is not known how many fit.
    pub(super) target_frames: u32,
    /// Frames that it brings at once, at most.
    pub(super) gso_frames: u32,
}

impl GatherLimits {
    /// Those of a device that shows by `peek` what waits, and whose peers send at most `window`
    /// bytes before they wait.
    pub fn new(peek: &Peek, window: usize) -> Self {
        match peek {
            Peek::Ring(ring) => Self::of_ring(ring.slots(), ring.slot_bytes()),
            Peek::Queue(queue) => Self::of_queue(queue.room(), window, queue.datagram_bytes()),
            Peek::Unknown => Self { target_frames: 0, gso_frames: 1 },
        }
    }

    /// The limits where frames come from a device with `other` ones, too.
    #[inline]
    pub(super) fn tighten(&mut self, other: Self) {
        self.target_frames = self.target_frames.min(other.target_frames);
        self.gso_frames = self.gso_frames.max(other.gso_frames);
    }

    /// Those of a receiving ring of `slots` slots of `slot_bytes` bytes.
    pub(super) fn of_ring(slots: u32, slot_bytes: usize) -> Self {
        let fitting = NAP_RING_BYTES / slot_bytes.next_power_of_two();
        Self { target_frames: (slots / NAP_PART).min(fitting as u32), gso_frames: 1 }
    }

    /// Those of a socket with `room` bytes of room for datagrams of `datagram_bytes`.
    fn of_queue(room: usize, window: usize, datagram_bytes: usize) -> Self {
        let bytes = (room / NAP_PART as usize).min(window / NAP_WINDOW_PART);
        let gso_frames = (GSO_BATCH_BYTES / datagram_bytes).max(1);
        Self { target_frames: (bytes / datagram_bytes) as u32, gso_frames: gso_frames as u32 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ring__is_a_part_of_the_ring_and_of_a_window() {
        let target = |slots, slot_bytes| GatherLimits::of_ring(slots, slot_bytes).target_frames;
        assert_eq!(target(512, 1_600), 128);
        assert_eq!(target(256, 9_152), 16, "of 58 that a window has");
        assert_eq!(target(32, 9_152), 8, "a quarter of a ring that is small");
        assert_eq!(target(32, 65_664), 2);
        assert_eq!(target(0, 1_600), 0);
    }

    #[test]
    fn of_queue__is_a_part_of_its_room_and_of_a_window() {
        let limits = |room| {
            let limits = GatherLimits::of_queue(room, 512 * 1024, 1_500);
            (limits.target_frames, limits.gso_frames)
        };
        assert_eq!(limits(4 << 20), (174, 43), "half a window");
        assert_eq!(limits(600_000), (100, 43), "a quarter of a socket that is small");
    }
}
