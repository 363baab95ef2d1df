//! The sending half of a connection: what is in flight, and what may go.

use alloc::boxed::Box;
use alloc::collections::TryReserveError;
use core::time::Duration;

use super::gso_batch::GsoBatch;
use super::path_size::PathSize;
use super::{Seed, Terms};
use crate::buffer::{Ending, SendBuffer};
use crate::congestion::{AckSample, Congestion, Controller};
use crate::flight::Flight;
use crate::recovery::RecoveryState;
use crate::rtt::Rtt;
use crate::seq::Seq;
use crate::time::Instant;
use crate::timing::MAX_RTO;
use crate::wire::CLASSIC_MSS;

/// Most of the time lost by a late timer that a paced sender makes up for. Sleeping threads are
/// late by tens of microseconds, and by a time slice now and then.
const MADE_UP_FOR: Duration = Duration::from_millis(1);

/// Bytes of the largest segment that passes wherever probes do, whatever the path's MTU.
const FITS_ANY_PATH: u16 = 128;

/// Answers to probes, without any news between them, that tell an MTU on the path from losses:
/// where 90 % of frames are lost, and those of all sizes alike, a segment gets through before.
const UNHELPFUL_ANSWERS: u8 = 8;

/// Answers to more probes than these before the last one are not waited for: numbers of a byte tell
/// 128 that came before from 127 to come.
const AWAITED: u8 = 64;

/// Whether probe `number` was sent after probe `other`, if both are not too long ago.
pub(super) const fn later_than(number: u8, other: u8) -> bool {
    other.wrapping_sub(number).cast_signed() < 0
}

/// The probe from which on answers are waited for, where that was `first` until now, and `next` is
/// about to go.
const fn awaited(first: u8, next: u8) -> u8 {
    if next.wrapping_sub(first) > AWAITED { next.wrapping_sub(AWAITED) } else { first }
}

/// A probe that asks what of what was sent before it has arrived.
#[derive(Copy, Clone, Debug, Hash)]
pub(super) struct OpenProbe {
    pub(super) number: u8,
    /// The order of transmissions at that time.
    pub(super) order: u32,
}

impl OpenProbe {
    /// Whether the answer to probe `number` answers it: a later one does as well.
    pub(super) const fn is_answered_by(self, number: u8) -> bool {
        !later_than(self.number, number)
    }
}

/// The sending half of a connection.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Sender {
    pub(super) buf: SendBuffer,
    pub(super) flight: Flight,
    /// The largest window that the peer has stated over UDP, in segments.
    pub(super) largest_window: u32,
    /// Window the peer last stated, in segments.
    pub(super) window: u32,
    /// First number the peer has no room for yet. Never moves back.
    pub(super) right_edge: Seq,
    pub(super) gso_batch: GsoBatch,
    pub(super) rtt: Rtt,
    pub(super) congestion: Box<dyn Congestion>,
    controller: Controller,
    /// The pace has held something back since the last news.
    pub(super) pacing_limited: bool,
    /// When what was sent so far will have been sent at the controller's pace.
    sent_until: Instant,
    pub(super) recovery: RecoveryState,
    /// Losses among transmissions before this one belong to a flight already answered for.
    pub(super) recovery_until: Option<u32>,
    /// When a segment that is late now counts as lost.
    pub(super) reorder_deadline: Option<Instant>,
    /// Tail-loss probes since the last news.
    pub(super) tail_probes: u8,
    /// Number of the next probe.
    pub(super) probes: u8,
    /// The first probe that asked for what was in flight and is not answered yet.
    pub(super) open_probe: Option<OpenProbe>,
    /// The first probe by a path of which nothing is known: segments wait for its answer.
    pub(super) path_probe: Option<u8>,
    /// Probes answered since the last news, of segments that the answers lack: saturating.
    pub(super) unhelpful_answers: u8,
    /// Timeouts in a row.
    pub(super) backoff: u32,
    /// Since when the oldest unacknowledged segment has waited without any news.
    pub(super) waiting_since: Instant,
    /// What the loss timer counts from: when a segment was last sent, or news of one came.
    pub(super) rto_base: Instant,
    /// A segment may go out whatever the congestion window says: a probe.
    pub(super) allow_one: bool,
    /// A repeat may go out although the congestion window is full.
    pub(super) retransmit_credit: bool,
    /// Largest segment known to get through.
    pub(super) mss: u16,
    pub(super) proven: u16,
    pub(super) size: PathSize,
    /// Sent bytes before this offset need not be kept (policy `detect`).
    pub(super) releasable: Option<u64>,
    /// EOC has a number.
    pub(super) eoc_sent: bool,
    /// The segment that carried EOC acknowledged the peer's EOC.
    pub(super) eoc_closed_both: bool,
}

impl Sender {
    pub(super) fn new(seed: &Seed) -> Self {
        Self {
            buf: SendBuffer::new(seed.config.send_limit()),
            flight: Flight::new(seed.first),
            largest_window: 0,
            window: 0,
            right_edge: seed.first,
            gso_batch: GsoBatch::new(),
            rtt: Rtt::new(seed.id as u8),
            congestion: seed.config.congestion.start(usize::from(CLASSIC_MSS)),
            controller: seed.config.congestion,
            pacing_limited: false,
            sent_until: seed.now,
            recovery: RecoveryState::default(),
            recovery_until: None,
            reorder_deadline: None,
            tail_probes: 0,
            probes: 0,
            open_probe: None,
            path_probe: None,
            unhelpful_answers: 0,
            backoff: 0,
            waiting_since: seed.now,
            rto_base: seed.now,
            allow_one: false,
            retransmit_credit: false,
            mss: CLASSIC_MSS,
            proven: seed.proven,
            size: PathSize::new(),
            releasable: None,
            eoc_sent: false,
            eoc_closed_both: false,
        }
    }

    /// The peer takes `window` segments on these terms.
    pub(super) fn start(&mut self, terms: &Terms, window: u32, udp: bool) {
        self.window = window.min(crate::config::MAX_WINDOW);
        self.right_edge = self.flight.base() + self.window;
        self.start_sizes(terms, udp);
        self.congestion = self.controller.start(usize::from(terms.mss));
    }

    /// Whether the congestion window is what holds data back, or would with one more segment.
    pub(super) fn is_congestion_limited(&self) -> bool {
        self.pacing_limited
            || self.flight.cost() + usize::from(self.mss) >= self.congestion.window()
    }

    /// Takes what fits of `bytes`.
    ///
    /// # Errors
    /// There is no memory for them, or for the account of the segments that they will be; nothing
    /// was taken.
    pub(super) fn write(&mut self, bytes: &[u8], ending: Ending) -> Result<usize, TryReserveError> {
        self.prepare(bytes.len())?;
        self.buf.write(bytes, ending)
    }

    /// As [`Self::write`], of `len` bytes that stay with the writer until
    /// [`Self::end_borrow`](SendBuffer::end_borrow).
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(super) fn write_borrowed(
        &mut self,
        len: usize,
        ending: Ending,
    ) -> Result<usize, TryReserveError> {
        self.prepare(len)?;
        self.buf.write_borrowed(len, ending)
    }

    /// Finds memory for the account of the segments that `len` bytes more will be.
    fn prepare(&mut self, len: usize) -> Result<(), TryReserveError> {
        // Few need little.
        if len <= usize::from(self.mss) {
            return Ok(());
        }
        let unsent = self.buf.unsent() as usize + len.min(self.buf.room());
        self.flight.prepare(unsent / usize::from(self.mss) + 1)
    }

    /// Everything before `upto` is delivered.
    pub(super) fn release(&mut self, upto: u64) {
        self.buf.release(upto);
    }

    /// News from the peer: the path is alive.
    pub(super) fn on_progress(&mut self, now: Instant, sample: AckSample) {
        self.congestion.on_ack(&sample);
        self.pacing_limited = false;
        self.tail_probes = 0;
        self.unhelpful_answers = 0;
        self.backoff = 0;
        self.waiting_since = now;
        self.rto_base = now;
        // Something has left the network, so a repeat may enter it (SPEC PRP-CC-4).
        self.retransmit_credit = true;
        if self.recovery_until.is_some() && !self.flight.has_lost() && !self.flight.has_received() {
            self.recovery_until = None;
        }
    }

    pub(super) fn on_spurious(&mut self) {
        self.recovery.on_spurious();
        self.congestion.on_spurious();
    }

    /// Whether the peer has everything that was written.
    pub(super) fn is_drained(&self) -> bool {
        self.flight.is_empty() && !self.buf.has_unsent()
    }

    /// Has a segment that is known to be lost and waits for the congestion window go out past it,
    /// in place of a probe. Whether there is such a one.
    pub(super) fn repeats_as_question(&mut self) -> bool {
        let repeats = self.flight.has_lost();
        self.allow_one |= repeats;
        repeats
    }

    /// Forgets what a policy without repeats has sent and the device has taken.
    pub(super) fn release_acknowledged(&mut self, upto: u64, acknowledged: bool, now: Instant) {
        self.buf.release(upto);
        if acknowledged {
            let next = self.flight.next();
            self.flight.ack_to(next, now);
            self.right_edge = next + self.window;
        }
    }

    /// Whether a segment could go out now.
    pub(super) fn may_send(&self, cost: usize) -> bool {
        self.allow_one
            || self.flight.cost() == 0
            || self.flight.cost() + cost <= self.congestion.window()
    }

    /// Whether a lost segment could go out again now.
    pub(super) fn may_repeat(&self, cost: usize) -> bool {
        let owed = self.retransmit_credit && self.congestion.pacing_rate().is_none();
        owed || self.may_send(cost)
    }

    /// When the pace allows a segment to go out, if not at `now`.
    pub(super) fn pace_holds(&self, now: Instant) -> Option<Instant> {
        // Most are not paced, which is quicker to see by the time than by asking the controller.
        let held =
            self.sent_until > now && !self.allow_one && self.congestion.pacing_rate().is_some();
        held.then_some(self.sent_until)
    }

    /// Counts `cost` bytes that go out at `now` against the pace.
    pub(super) fn note_paced(&mut self, now: Instant, cost: usize) {
        let Some(rate) = self.congestion.pacing_rate() else { return };
        let nanos = (cost as u64).saturating_mul(1_000_000_000) / rate.max(1);
        // What a rate of long ago would have taken holds nothing back (SPEC PRP-CC-3).
        let time = Duration::from_nanos(nanos).min(MAX_RTO);
        // Timers are late; what that costs may be made up for, so that the rate is kept.
        self.sent_until = self.sent_until.max(now - time.min(MADE_UP_FOR)) + time;
    }

    /// Whether the peer has room for another segment, as far as is known by the present path.
    pub(super) fn window_open(&self) -> bool {
        self.flight.next().before(self.right_edge) && self.path_probe.is_none()
    }

    /// A probe goes out, and asks what was sent before it.
    pub(super) fn ask(&mut self) {
        let Self { open_probe, probes: next, flight, .. } = self;
        let probe = open_probe
            .get_or_insert_with(|| OpenProbe { number: *next, order: flight.next_order() });
        probe.number = awaited(probe.number, *next);
    }

    /// A probe goes out while segments wait: for the peer to have room, or to answer by a path of
    /// which nothing is known. Whether that path has carried nothing by `enough` timeouts.
    pub(super) fn ask_for_window(&mut self, enough: u32) -> bool {
        self.backoff += 1;
        let next = self.probes;
        self.path_probe = self.path_probe.map(|first| awaited(first, next));
        self.path_probe.is_some() && self.backoff >= enough
    }

    /// The probe is answered, and what was asked for is not there.
    pub(super) fn note_unhelpful_answer(&mut self) {
        self.unhelpful_answers = (self.unhelpful_answers + 1).min(UNHELPFUL_ANSWERS);
    }

    /// Bytes of the oldest segment, if probes do get through to the peer, and it does not.
    pub(super) fn stuck_segment(&self) -> Option<u16> {
        let oldest = self.flight.get(self.flight.base())?;
        (self.unhelpful_answers >= UNHELPFUL_ANSWERS && oldest.len > FITS_ANY_PATH)
            .then_some(oldest.len)
    }

    /// Gives back memory an idle connection does not need.
    pub(super) fn trim(&mut self) {
        self.buf.trim();
        self.flight.trim();
    }

    pub(super) fn memory(&self) -> usize {
        self.buf.allocated() + self.flight.memory()
    }
}
