//! The tuned constants of the engine: what each is for, its unit, and the row of
//! `netns-scripts/bench` that shows it (docs/experiments has the measurements).
//!
//! Constants of the lock are in `sys/baton.rs`, which a model checker compiles by itself; those
//! that tell a busy processor are in `prp_device::CpuContention`, which the router uses too. What
//! the protocol decides is in `prp_proto::config`.

use std::time::Duration;

// Spinning. Rows: latency, core, busy.

/// Time that an adaptive wait polls before it sleeps: three to four wake-ups across processors.
pub(super) const SPIN_BUDGET: Duration = Duration::from_micros(20);

/// The same where each message passes another process at both ends: what is waited for takes four
/// changes of the process, or wake-ups, more. Row: holder place of `bench --programs`.
pub(super) const PATIENT_SPIN_BUDGET: Duration = Duration::from_micros(50);

/// Waits in a row in which polling found nothing, after which it is only tried now and then.
pub(super) const FAILED_SPINS: u32 = 8;

/// Polling that does not pay is tried again after this number of waits; for
/// [`LONGEST_SPIN_BUDGET`], after twice as many each time that it still does not.
pub(super) const SPIN_RETRY_WAITS: u32 = 32;

/// As [`SPIN_RETRY_WAITS`] says, at most.
pub(super) const LONGEST_RETRY_WAITS: u32 = 256;

/// How long a patient wait polls when it is tried again: a request and its answer where all four
/// processes on their way sleep. Each of them that polls has the others wait less, so that
/// [`PATIENT_SPIN_BUDGET`] is enough again. Row: pgbench of `bench --programs`.
pub(super) const LONGEST_SPIN_BUDGET: Duration = Duration::from_micros(250);

/// Waits in a row that poll for so long.
pub(super) const LONG_SPINS: u32 = 16;

/// Polls between two yields while it is not certain that no other thread wants the processor. They
/// take about as long as a yield that returns at once: a frame that comes during one is seen late.
pub(super) const POLLS_PER_YIELD: usize = 16;

/// Polls between two readings of the clock once that is certain: a microsecond or two, so what is
/// due meanwhile is done no later.
pub(super) const POLLS_UNCONTENDED: usize = 64;

/// Polls of shared memory in the time of a poll by a system call, which takes 150 ns.
pub(super) const POLLS_PER_SYSCALL: usize = 8;

/// Yields in a row that returned at once before it is certain that no other thread wants the
/// processor. The scheduler may pass over a peer on the same processor once or twice.
pub(super) const UNCONTENDED_YIELDS: u32 = 16;

/// Time between two yields once that is certain. A yield that returns at once is up to half a
/// microsecond without a poll, so this is 3 % of the time. A thread that comes to want the
/// processor waits no longer than it waits for a thread that polls its whole budget.
pub(super) const YIELD_INTERVAL: Duration = SPIN_BUDGET;

/// A `sched_yield` that took no longer than this let no other thread run.
pub(super) const UNCONTENDED_YIELD: Duration = Duration::from_micros(1);

/// Batches of frames for other threads after which a leader that got nothing leaves its role to one
/// of them. Each handover costs two wake-ups: less than 1/10 of those that it saves. Row: 64 bytes
/// of `bench --bindings`, where a thread accepts and another one answers.
pub(super) const HANDOVER_BATCHES: u32 = 32;

// Naps of a reader at full rate. Rows: goodput, size, streams.

/// Frames without a pause that make a flow. The window of one stream at the usual MTU is some 350.
pub(super) const FLOW_FRAMES: u32 = 512;

/// A nap lasts until at most 1/4 of the receive ring is full, so several senders do not overflow
/// it.
pub(super) const NAP_RING_PART: u32 = 4;

/// Bytes of ring memory that frames may fill during a nap, as the kernel counts them, in powers of
/// two for each frame: 128 frames of the usual size, 16 of 9,014 bytes. That is less than 1/3 of
/// the window that a sender usually has, so such a sender never waits for a reader that naps. With
/// half of it, windows that are still small stay so for half a second. A sender with a smaller
/// window shows it by sending less than was meant to gather.
pub(super) const NAP_RING_BYTES: usize = 256 * 1024;

/// Over UDP a nap lasts until at most 1/2 of a window has gathered: a sender with that window does
/// not wait then.
pub(super) const NAP_WINDOW_PART: usize = 2;

/// The kernel may let a nap last this much longer (`PR_SET_TIMERSLACK`): the thread asks for it,
/// since with the usual 50 us naps would not pay at more than 20 Gbit/s.
pub(super) const TIMER_SLACK: Duration = Duration::from_micros(10);

/// Shorter naps are not worth their timer.
pub(super) const SHORTEST_NAP: Duration = Duration::from_micros(30);

/// A nap lasts no longer than this, or 1/32 of the time that the flow has lasted: what comes last
/// is seen that much later. The time of a flow is that of its last 4,096 frames at most. It is the
/// longest nap where others wait, too, whose messages are seen as late.
pub(super) const SHORT_FLOW_NAP: Duration = Duration::from_micros(300);

/// As [`SHORT_FLOW_NAP`] says.
pub(super) const NAP_FLOW_PART: u32 = 32;

/// Longer naps save little at 1 Gbit/s and below. Rows: stream at 100 Mbit/s and 1 Gbit/s of `bench
/// --links`.
pub(super) const LONGEST_NAP: Duration = Duration::from_millis(2);

/// Naps in a row in which nothing came, after which a flow has ended. A GSO batch of 64 KiB takes
/// half a millisecond at 1 Gbit/s, and comes whole.
pub(super) const NAPS_IN_VAIN: u32 = 2;

/// Bytes of a GSO batch, at most.
pub(super) const GSO_BATCH_BYTES: usize = 64 * 1024;

/// A GSO batch that takes at least this long to come may come after a nap without a sign that the
/// sender's window is less than what was to gather: at 5 Gbit/s and below.
pub(super) const SLOW_GSO_BATCH: Duration = Duration::from_micros(100);

/// A writer whose segments wait in queues naps for 1/4 of the time that they wait there: so many
/// acknowledgements gather, and the queues do not run empty. Rows: as [`LONGEST_NAP`].
pub(super) const NAP_QUEUE_PART: u32 = 4;

/// The longest nap of a writer.
pub(super) const LONGEST_WRITER_NAP: Duration = Duration::from_millis(1);

/// Shorter ones would come as often as acknowledgements do.
pub(super) const SHORTEST_WRITER_NAP: Duration = Duration::from_micros(100);

/// Frames before the last one of a message for which a thread no longer sleeps: they take 75 us at
/// 1484 bytes, and a sleep that ends late delays the answer. Row: 1 MiB of `bench --mpi`.
pub(super) const AWAKE_FRAMES: u32 = 64;

// Hold-offs of a reader that knows how much comes, and does not poll until some of it has come.
// Row: 1 MiB of `bench --mpi`.

/// Frames that a hold-off lets gather: two batches. 32 and 128 take as long, 16 more.
pub(super) const HOLD_OFF_FRAMES: u32 = 64;

/// Frames since a message began that tell how fast they come.
pub(super) const HOLD_OFF_AFTER_FRAMES: u32 = 32;

/// A hold-off is for at most 1/3 of the frames that are still to come: it takes 60 % of the time
/// that frames take to come to take them in, so none is left when the last one comes.
pub(super) const HOLD_OFF_PART: u32 = 3;

/// A longer one ends too late, where the rate has changed.
pub(super) const LONGEST_HOLD_OFF: Duration = Duration::from_micros(300);

/// A hold-off for fewer saves nothing.
pub(super) const SHORTEST_HOLD_OFF_FRAMES: u32 = 8;

/// The largest mean time between the frames of a flow in which readers nap. Polling for
/// [`SPIN_BUDGET`] would pay there, and keep a processor busy for frames that come every ten or
/// twenty microseconds. Where frames come more rarely polling does not pay, and readers sleep
/// anyway.
pub(super) const FLOW_FRAME_GAP: Duration = Duration::from_nanos(37_500);

/// The same for frames of at least [`BULK_FRAME_BYTES`] on average, which are of a transfer: they
/// come every 120 us at 100 Mbit/s. Small frames as rare as that are messages, each waited for.
pub(super) const BULK_FRAME_GAP: Duration = Duration::from_micros(150);

/// As [`BULK_FRAME_GAP`] says.
pub(super) const BULK_FRAME_BYTES: u64 = 1_000;

/// Frames after which older ones count half: the rate is that of the last few milliseconds. What
/// naps have shown is forgotten then.
pub(super) const FLOW_MEMORY_FRAMES: u32 = 8 * FLOW_FRAMES;

// The keeper. Rows: latency (block), beside.

/// How long application threads may be away before the keeper takes over, and how late a timer may
/// run that is set while they are. An acknowledgement that is half a millisecond late makes its
/// peer ask for it once, at most.
pub(super) const TICK: Duration = Duration::from_millis(2);

/// A tick where leaders that sleep between frames leave timers to the keeper that are soon due. It
/// is less than most of those are set for, which are of acknowledgements: so hardly one that is set
/// meanwhile is due before.
pub(super) const SHORT_TICK: Duration = Duration::from_micros(400);

/// The shortest tick.
pub(super) const SHORTEST_TICK: Duration = Duration::from_micros(50);

/// A timer is soon due within this time. While none is, the keeper wakes no less often, unless
/// other threads have the lock all the time: so nothing that is set meanwhile is due before it
/// wakes. In a conversation where every message answers the last, nothing is soon due: a peer is
/// asked after a millisecond whether it has got what it was sent.
pub(super) const SOON_DUE: Duration = Duration::from_millis(1);

/// Ticks in a row without any activity after which the keeper sleeps until it is woken.
pub(super) const QUIET_TICKS: u32 = 3;

// Batches under the lock. Rows: goodput, beside.

/// Frames received from one device under one hold of the lock, at most.
pub(super) const RECEIVE_FRAMES: usize = 32;

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
