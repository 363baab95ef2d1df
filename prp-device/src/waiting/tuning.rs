//! The parameters of waiting: what each is for, its unit, and the row of `netns-scripts/bench` that
//! shows it (docs/experiments has the measurements). What follows from one of them is written as a
//! multiple or a part of it.

use std::time::Duration;

use prp_proto::device::Device;

// Polling. Rows: latency, core, busy.

/// Time that a wait polls before it sleeps: three to four wake-ups across processors. Also the time
/// between two yields where no other thread wants the processor: a thread that comes to want it
/// waits no longer than for one that polls its whole budget. A yield that returns at once is up to
/// half a microsecond without a poll, so this is 3 % of the time.
pub const BUDGET: Duration = Duration::from_micros(20);

/// The same where each message passes another process at both ends: what is waited for takes four
/// changes of the process, or wake-ups, more. Row: holder place of `bench --programs`.
pub(super) const PATIENT_BUDGET: Duration = Duration::from_micros(50);

/// How long such a wait polls when that is tried again: a request and its answer where all four
/// processes on their way sleep. Each of them that polls has the others wait less, so that
/// [`PATIENT_BUDGET`] is enough again. Row: pgbench of `bench --programs`.
pub(super) const RETRY_BUDGET: Duration = fraction(PATIENT_BUDGET, 5, 1);

/// The same for the ranks of a job: some times what a message takes from node to node. Row: 64
/// bytes of `bench --mpi`.
pub(super) const RANK_BUDGET: Duration = Duration::from_micros(30);

/// How often a rank yields before it sleeps where a node has more ranks than processors: each yield
/// lets another rank run, whose message is what this one waits for. Row: as [`RANK_BUDGET`].
pub(super) const RANK_YIELDS: u32 = 4;

/// Waits in a row in which polling found nothing, after which it is only tried now and then.
pub(super) const FAILED_POLLS: u32 = 8;

/// Polling that does not pay is tried again after this number of waits; for [`RETRY_BUDGET`], after
/// twice as many each time that it still does not.
pub(super) const RETRY_WAITS: u32 = 4 * FAILED_POLLS;

/// As [`RETRY_WAITS`] says, at most.
pub(super) const LONGEST_RETRY_WAITS: u32 = 8 * RETRY_WAITS;

/// Waits in a row that poll for [`RETRY_BUDGET`].
pub(super) const LONG_POLLS: u32 = 2 * FAILED_POLLS;

/// Polls between two yields while it is not certain that no other thread wants the processor. They
/// take about as long as a yield that returns at once: a frame that comes during one is seen late.
/// It is certain after as many yields that returned at once: the scheduler may pass over a peer on
/// the same processor once or twice.
pub(super) const POLLS_PER_YIELD: u32 = 16;

/// Polls between two readings of the clock once that is certain: a microsecond or two, so what is
/// due meanwhile is done no later.
pub(super) const POLLS_UNCONTENDED: u32 = 4 * POLLS_PER_YIELD;

/// Polls of shared memory in the time of a poll by a system call, which takes 150 ns, half as long
/// as a yield.
pub(super) const POLLS_PER_SYSCALL: u32 = POLLS_PER_YIELD / 2;

/// A `sched_yield` that took no longer than this let no other thread run.
pub(super) const UNCONTENDED_YIELD: Duration = Duration::from_micros(1);

/// A thread that keeps the processor for this long computes, and will until the scheduler takes it
/// away: after most of a millisecond at least. A frame that comes meanwhile waits for that, where a
/// thread asleep would be woken, and go first. A peer on the same processor gives it back sooner.
pub(super) const CONTENDED_YIELD: Duration = Duration::from_micros(500);

/// A thread does not poll, and so does not yield, for this multiple of the time of the last yield:
/// long yields are then 1 % of the time.
pub(super) const REST: u32 = 100;

/// Long yields count if no more than this multiple of their time is between one and the next. Short
/// yields may be between them: to a program on the same processor, beside one that computes.
pub(super) const NEAR: u32 = REST / 10;

/// What happens this often in a row is no accident. A hypervisor may take a processor away once. A
/// nap may find nothing once: a GSO batch of 64 KiB takes half a millisecond at 1 Gbit/s, and comes
/// whole.
pub(super) const CERTAIN: u32 = 2;

// Naps of a reader at full rate. Rows: goodput, size, streams.

/// Frames that are received under one hold of a lock.
pub const BATCH_FRAMES: u32 = 32;

/// Frames without a pause that make a flow. The window of one stream at the usual MTU is some 350.
pub(super) const FLOW_FRAMES: u32 = 16 * BATCH_FRAMES;

/// Frames after which older ones count half: the rate is that of the last few milliseconds. What
/// naps have shown is forgotten then.
pub(super) const FLOW_MEMORY_FRAMES: u32 = 8 * FLOW_FRAMES;

/// Frames before the last one of a message for which a thread no longer sleeps: they take 75 us at
/// 1484 bytes, and a sleep that ends late delays the answer. Row: 1 MiB of `bench --mpi`.
pub(super) const AWAKE_FRAMES: u32 = 2 * BATCH_FRAMES;

/// A nap lasts until at most 1/4 of the receive ring is full, so several senders do not overflow
/// it; that of a writer whose segments wait in queues for 1/4 of the time that they wait there, so
/// that the queues do not run empty while acknowledgements gather.
pub(super) const NAP_PART: u32 = 4;

/// A nap lasts until at most 1/2 of a window has gathered: a sender with that window does not wait
/// for a reader that naps. One with a smaller window shows it by sending less than was meant to
/// gather.
pub(super) const NAP_WINDOW_PART: usize = 2;

/// The same for the memory of a ring, as the kernel counts it, in powers of two for each frame: 128
/// frames of the usual size, 16 of 9,014 bytes, less than 1/3 of a window. With 1/2 of it, windows
/// that are still small stay so for half a second.
pub(super) const NAP_RING_BYTES: usize = Device::WINDOW / NAP_WINDOW_PART;

/// The kernel may let a nap last this much longer (`PR_SET_TIMERSLACK`): the thread asks for it,
/// since with the usual 50 us naps would not pay at more than 20 Gbit/s.
pub const TIMER_SLACK: Duration = Duration::from_micros(10);

/// Shorter naps are not worth their timer.
pub(super) const SHORTEST_NAP: Duration = fraction(TIMER_SLACK, 3, 1);

/// A nap lasts no longer than this, or 1/32 of the time that the flow has lasted: what comes last
/// is seen that much later. The time of a flow is that of its last 4,096 frames at most. It is the
/// longest nap where others wait, too, whose messages are seen as late, and the longest hold-off,
/// which ends too late where the rate has changed.
pub(super) const SHORT_NAP: Duration = Duration::from_micros(300);

/// As [`SHORT_NAP`] says.
pub(super) const NAP_FLOW_PART: u32 = 32;

/// The longest nap: 64 frames of the usual size at 100 Mbit/s, where 16 in a nap take twice as much
/// processor time. At 1 Gbit/s and above a part of the window has gathered before. Rows: stream at
/// 100 Mbit/s and 1 Gbit/s of `bench --links`.
pub(super) const LONGEST_NAP: Duration = Duration::from_millis(8);

/// The largest mean time between the frames of a flow in which readers nap: eight come in a
/// [`SHORT_NAP`]. Polling would pay there, and keep a processor busy for frames that come every ten
/// or twenty microseconds. Where frames come more rarely polling does not pay, and readers sleep
/// anyway.
pub(super) const FLOW_FRAME_GAP: Duration = fraction(SHORT_NAP, 1, 8);

/// The same for frames of at least [`BULK_FRAME_BYTES`] on average, which are of a transfer: they
/// come every 120 us at 100 Mbit/s. Small frames as rare as that are messages, each waited for.
pub(super) const BULK_FRAME_GAP: Duration = fraction(SHORT_NAP, 1, 2);

/// As [`BULK_FRAME_GAP`] says.
pub(super) const BULK_FRAME_BYTES: u64 = 1_000;

/// A GSO batch that takes at least this long to come may come after a nap without a sign that the
/// sender's window is less than what was to gather: at 5 Gbit/s and below.
pub(super) const SLOW_GSO_BATCH: Duration = fraction(SHORT_NAP, 1, 3);

/// Bytes of a GSO batch, at most.
pub(super) const GSO_BATCH_BYTES: usize = 64 * 1024;

/// The longest nap of a writer. Rows: as [`LONGEST_NAP`].
pub(super) const LONGEST_WRITER_NAP: Duration = fraction(LONGEST_NAP, 1, 2);

/// Shorter ones would come as often as acknowledgements do.
pub(super) const SHORTEST_WRITER_NAP: Duration = SLOW_GSO_BATCH;

// Hold-offs of a reader that knows how much comes, and does not poll until some of it has come.
// Row: 1 MiB of `bench --mpi`.

/// Frames that a hold-off lets gather: two batches. 32 and 128 take as long, 16 more.
pub(super) const HOLD_OFF_FRAMES: u32 = 2 * BATCH_FRAMES;

/// Frames since a message began that tell how fast they come.
pub(super) const HOLD_OFF_AFTER_FRAMES: u32 = BATCH_FRAMES;

/// A hold-off for fewer saves nothing.
pub(super) const SHORTEST_HOLD_OFF_FRAMES: u32 = BATCH_FRAMES / 4;

/// A hold-off is for at most 1/3 of the frames that are still to come: it takes 60 % of the time
/// that frames take to come to take them in, so none is left when the last one comes.
pub(super) const HOLD_OFF_PART: u32 = 3;

// A router that bytes pour through. Rows: `bench --routed`.

/// What the rate is taken over.
pub(super) const RATE_WINDOW: Duration = Duration::from_millis(1);

/// A router that is to poll for this long has no other work, and does so without a break.
pub(super) const ALWAYS: Duration = RATE_WINDOW;

/// Bytes forwarded in a window that are a stream, a gigabit per second: only streams move as much.
/// Small messages to and fro, however fast, do not, and are not to wait.
pub(super) const STREAM_BYTES: u64 = 128 * 1024;

/// How long to let frames gather: at ten times that rate 12 % of a ring, and far less than the time
/// that what is in flight takes.
pub(super) const TRANSIT_NAP: Duration = Duration::from_micros(50);

// A background thread that sees to timers for those that sleep. Rows: latency (block), beside.

/// A timer is soon due within this time. While none is, the background thread wakes no less often,
/// unless other threads have the lock all the time: so nothing that is set meanwhile is due before
/// it wakes. In a conversation where every message answers the last, nothing is soon due: a peer is
/// asked after a millisecond whether it has got what it was sent.
pub(super) const SOON_DUE: Duration = Duration::from_millis(1);

/// How long application threads may be away before the background thread takes over, and how late a
/// timer may run that is set while they are. An acknowledgement that is half a millisecond late
/// makes its peer ask for it once, at most.
pub const TICK: Duration = fraction(SOON_DUE, 2, 1);

/// A tick where threads nap through a flow: a thread that does other work then is seen to be away
/// that much later, at the end of the flow. The fewer, the less processor time a slow flow takes.
/// Rows: as [`LONGEST_NAP`].
pub(super) const LONG_TICK: Duration = fraction(TICK, 4, 1);

/// A tick where threads that sleep between frames leave timers that are soon due. It is less than
/// most of those are set for, which are of acknowledgements: so hardly one that is set meanwhile is
/// due before.
pub(super) const SHORT_TICK: Duration = fraction(SOON_DUE, 2, 5);

/// The shortest tick.
pub const SHORTEST_TICK: Duration = fraction(SHORT_TICK, 1, 8);

/// Ticks in a row without any activity after which the background thread sleeps until it is woken.
pub const QUIET_TICKS: u32 = 3;

/// `times` the time `of`, divided by `parts`.
const fn fraction(of: Duration, times: u64, parts: u64) -> Duration {
    Duration::from_nanos(of.as_nanos() as u64 * times / parts)
}
