//! The layout of the memory that the daemon and its programs in the kernel share.
//!
//! | bytes | what |
//! | --- | --- |
//! | 8 | the generation: its lowest bit says which half is in force |
//! | 56 | nothing, so that counters have a cache line of their own |
//! | 64 for each of 64 devices | frames and bytes taken from it, frames sent into it |
//! | a half | neighbours, then rows |
//! | the other half | as the first |
//!
//! A *neighbour* is a hardware address on a device. They are in a hash table; a neighbour's number
//! is its slot there, from 1. A *row* is a node.
//!
//! | neighbour, bytes | what |
//! | --- | --- |
//! | 0 | its device, and its hardware address: the key. 0 in an empty slot |
//! | 8 | lower half: the kernel's number of the device; upper half: the device |
//! | 16 | the first twelve bytes of frames to it: its hardware address and ours; then nothing |
//!
//! | row, bytes | what |
//! | --- | --- |
//! | 0 | lower half: the longest frame that goes on without another check, 0 for none; upper half: 1 if also back to the neighbour it came from, 2 and more if this number of neighbours share its frames |
//! | 8 | sixteen numbers of neighbours, 0 for none: those that may bring the node's frames; the first takes frames for it, or as many as the upper half says share them |

use prp_proto::addr::{DeviceId, MacAddr};
use prp_proto::route::MAX_NEXT_HOPS;

/// Devices that can take part. A machine with more has the others served in user space.
pub(super) const DEVICES: usize = 64;

/// Slot of the generation.
pub(super) const GENERATION: usize = 0;

/// Where counters begin: a cache line for each device.
pub(super) const COUNTERS: usize = 64;

/// Bytes for each device, and what they count.
pub(super) const COUNTER: usize = 64;
pub(super) const COUNTER_BYTES: usize = 8;
pub(super) const COUNTER_SENT: usize = 16;

/// Slot of the halves.
pub(super) const HALVES: usize = COUNTERS + DEVICES * COUNTER;

/// Bytes of a neighbour, and the slots of its parts.
pub(super) const NEIGHBOUR: usize = 32;
pub(super) const NEIGHBOUR_EXIT: usize = 8;
pub(super) const NEIGHBOUR_HEAD: usize = 16;

/// Bytes of a row, and the slot of its list.
pub(super) const ROW: usize = ROW_LIST + 2 * MAX_NEXT_HOPS;
pub(super) const ROW_LIST: usize = 8;

/// Slots to search for a neighbour. The table is four times as large as need be, so a few are
/// enough for nearly all; frames to a neighbour without a slot are forwarded in user space.
pub(super) const PROBES: usize = 8;

/// Spreads keys over the table (Fibonacci hashing: 2^64 divided by the golden ratio, made odd).
pub(super) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bits of a slot among the neighbours, at least and at most: numbers must fit in 16 bits.
const BITS: (u32, u32) = (8, 15);

/// Rows at least, so that a small cluster may grow a good deal.
const LEAST_ROWS: usize = 4096;

/// Rows at most: one for each number a frame can name.
const MOST_ROWS: usize = 1 << 16;

/// The size of a table. It holds for as long as the daemon runs.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Layout {
    /// Rows: nodes with numbers below that.
    pub rows: usize,
    /// The neighbours have 2 to the power of this many slots.
    pub bits: u32,
}

impl Layout {
    /// Room for nodes up to number `highest` and for `neighbours` neighbours, and as many again.
    pub fn for_cluster(highest: u16, neighbours: usize) -> Self {
        let rows = (2 * (usize::from(highest) + 1)).next_power_of_two();
        let slots = (4 * neighbours).next_power_of_two();
        Self {
            rows: rows.clamp(LEAST_ROWS, MOST_ROWS),
            bits: slots.trailing_zeros().clamp(BITS.0, BITS.1),
        }
    }

    /// Slots for neighbours.
    pub(super) const fn slots(&self) -> usize {
        1 << self.bits
    }

    /// Slot of the rows in a half.
    pub(super) const fn rows_at(&self) -> usize {
        self.slots() * NEIGHBOUR
    }

    /// Bytes of a half.
    pub(super) const fn half(&self) -> usize {
        self.rows_at() + self.rows * ROW
    }

    /// Words of the whole.
    pub const fn words(&self) -> usize {
        (HALVES + 2 * self.half()) / 8
    }

    /// The first slot to search for `key`.
    pub(super) const fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(SPREAD) >> (64 - self.bits)) as usize
    }
}

/// The key of a neighbour: its hardware address as loads of two bytes and of four see it, and the
/// device.
pub(super) fn key(device: DeviceId, mac: MacAddr) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    let (start, end) = (u16::from_ne_bytes([a, b]), u32::from_ne_bytes([c, d, e, f]));
    u64::from(start) | u64::from(end) << 16 | u64::from(device.0) << 48
}
