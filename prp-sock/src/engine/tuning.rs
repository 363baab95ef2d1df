//! The tuned constants of the engine: what each is for, its unit, and the row of
//! `netns-scripts/bench` that shows it (docs/experiments has the measurements).
//!
//! Those of waiting are in `prp_device::waiting`, which the router and MPI use too. Those of the
//! lock are in `sys/baton.rs`, which a model checker compiles by itself. What the protocol decides
//! is in `prp_proto::config`.

use std::time::Duration;

use prp_device::waiting::BATCH_FRAMES;

/// Batches of frames for other threads after which a leader that got nothing leaves its role to one
/// of them. Each handover costs two wake-ups: less than 1/10 of those that it saves. Row: 64 bytes
/// of `bench --bindings`, where a thread accepts and another one answers.
pub(super) const HANDOVER_BATCHES: u32 = 32;

// Batches under the lock. Rows: goodput, beside.

/// Frames received from one device under one hold of the lock, at most.
pub(super) const RECEIVE_FRAMES: usize = BATCH_FRAMES as usize;

/// Bytes of them at most, 25 % of the window that a sender has by default: an acknowledgement
/// leaves only when a batch is taken in, and the sender must not use up its window before. Row:
/// MTU 9000 of part udp.
pub(super) const RECEIVE_BYTES: usize = 128 * 1024;

/// Frames sent in one system call: 16 to 32 are best at every frame size.
pub(super) const SEND_FRAMES: usize = 32;

/// GSO batches made at a time for a UDP device; each leaves by a system call of its own.
pub(super) const SEND_GSO_BATCHES: usize = 4;

/// Bytes sent in one system call: four of the largest frames.
pub(super) const SEND_BYTES: usize = 256 * 1024;

/// A device that could not take all frames is tried again after this time at the latest: a process
/// that is stopped never shows room at its Unix socket, and packets for others wait behind its own.
pub(super) const LONGEST_STALL: Duration = Duration::from_millis(20);

// Writes. Rows: goodput, size.

/// Bytes copied into the send buffer before some are sent: a batch of full frames.
pub(crate) const COPY_BYTES: usize = 64 * 1024;

/// Bytes from which a write lends its memory. Of fewer none is acknowledged by the end of the call.
pub(crate) const BORROW_BYTES: usize = 32 * 1024;

/// Bytes written under one hold of the lock: what buffers hold by default. Acknowledgements that
/// come meanwhile make room, so the write would not end by itself.
pub(crate) const WRITE_HOLD_BYTES: usize = 512 * 1024;

/// Pieces of at most this number of bytes together are put in one before they are written: what a
/// segment of the usual MTU holds, which then leaves without a stop in the send buffer.
pub(crate) const GATHER_BYTES: usize = 1536;

/// Room that is worth waking a writer for while much is left to write; half the buffer if that is
/// less.
pub(crate) const WAKE_ROOM_BYTES: usize = 16 * 1024;
