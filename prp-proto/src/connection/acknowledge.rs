//! Acknowledgements: when to give them, what to learn from them (SPEC PRP-ACK-1 to 8).

use core::time::Duration;

use super::Connection;
use super::sender::OpenProbe;
use crate::congestion::{AckSample, LossSample};
use crate::error::ConnError;
use crate::flight::before;
use crate::recovery::{AckNews, LossVerdict, OnGap};
use crate::seq::{Seq, SeqWidth};
use crate::state::StateEvent;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::timer::Timer;
use crate::timing::ACK_DELAY;
use crate::wire::{AckBlock, Bitmap, Echo, Flags, ResetReason};

/// How far back an old acknowledgement may lie and still be a late one instead of a wrong one: by
/// as much as may be acknowledged while it is in transit. Each number more is one more that a
/// forger may guess (SPEC section 13).
const STALE: i32 = crate::config::MAX_WINDOW as i32;

/// Timeouts in a row that count when something turns out to be lost: the window is at its least
/// long before.
const MOST_TIMEOUTS: u32 = 16;

impl Connection {
    /// Whether an acknowledgement is owed for more than a message on an idle connection, which an
    /// answer will carry.
    pub(crate) const fn owes_ack(&self) -> bool {
        self.recv.ack.unacked >= 2
    }

    /// An acknowledgement is owed and the driver has nothing better to do than to wait.
    pub(crate) fn on_idle(&mut self) {
        if self.owes_ack() {
            self.ack_now();
        }
    }

    /// After reading: tells the peer if the window has opened by 25 %, or from nothing.
    /// Whether anything came of it.
    #[inline]
    pub(crate) fn note_read(&mut self) -> bool {
        let taken = self.take_held();
        let open = self.terms.extended && self.state.can_receive();
        if !open || !self.owes_window() {
            return taken;
        }
        self.ack_now();
        true
    }

    /// Whether the peer should learn that there is more room than it knows of.
    #[inline]
    fn owes_window(&self) -> bool {
        let known = self.recv.peer_known_edge.since(self.recv.next);
        let quarter = (self.recv.max_advertised / 4).max(1) as i32;
        // Mostly that is all it takes to see that nothing is owed. Where more may be advertised
        // than was promised ever, the peer hears of it with the next acknowledgement in a frame.
        let may_gain = self.recv.max_advertised.cast_signed() - known;
        if may_gain < quarter && known >= 2 {
            return false;
        }
        let gain = self.recv.window().cast_signed() - known;
        gain >= quarter || (known < 2 && gain >= 1)
    }

    /// The acknowledgement to put on an outgoing data segment. It slides the promised window, so
    /// where there is no longer room for that it repeats what was said before (SPEC PRP-WIN-4).
    #[inline]
    pub(super) fn piggyback_ack(&mut self) -> Option<Seq> {
        if !self.terms.extended {
            return None;
        }
        if self.recv.has_advertised() && !self.recv.has_gap() {
            self.recv.right_edge =
                self.recv.right_edge.max(self.recv.next + self.recv.max_advertised);
            // ... of which the peer may know only what the last frame said.
            self.recv.peer_known_edge =
                self.recv.peer_known_edge.max(self.recv.next + self.recv.last_advertised);
            self.acknowledged();
            if self.recv.ack.discarded == 0 && !self.owes_window() {
                self.pending.ack = false;
            }
        }
        Some(self.recv.ack.acked)
    }

    /// The acknowledgement to put into a frame of its own.
    pub(super) fn ack_block(&mut self, now: Instant) -> AckBlock {
        let window = self.recv.window();
        self.recv.right_edge = self.recv.right_edge.max(self.recv.next + window);
        self.recv.max_advertised = self.recv.max_advertised.max(window);
        let keeps = self.terms.policy().on_gap() == OnGap::Keep;
        let gap = self.recv.has_gap() || self.recv.ack.discarded > 0;
        let block = AckBlock {
            next: self.recv.next,
            window: self.recv.right_edge.since(self.recv.next).max(0).cast_unsigned(),
            gap,
            echo: self.recv.ack.echo.map(|(seq, retransmitted, at)| Echo {
                seq,
                retransmitted,
                held_ns: u32::try_from(now.since(at).as_nanos()).unwrap_or(u32::MAX),
            }),
            probe: self.recv.ack.probe.take(),
            finished: self.peer_left || self.state.is_finished(),
            leaves: self.leaving && self.is_fully_delivered(),
            received: if keeps { self.bitmap() } else { Bitmap::EMPTY },
        };
        self.recv.last_advertised = block.window;
        self.recv.peer_known_edge = self.recv.right_edge;
        self.acknowledged();
        self.pending.ack = false;
        self.stats.acks_sent += 1;
        block
    }

    /// Which segments beyond the next one are here, as far as a frame has room for that (SPEC
    /// PRP-CTL-2).
    fn bitmap(&self) -> Bitmap {
        let room = usize::from(self.device_mss.saturating_sub(self.terms.trailer()));
        self.recv.bitmap().limited(room.saturating_sub(AckBlock::FIXED_LEN) / 8)
    }

    fn acknowledged(&mut self) {
        self.recv.ack.acked = self.recv.next;
        self.recv.ack.unacked = 0;
        self.timers.stop(Timer::AckDelay);
    }

    /// The acknowledgement on a data segment.
    pub(super) fn on_piggybacked_ack(
        &mut self,
        now: Instant,
        flags: Flags,
    ) -> Result<(), DropReason> {
        if !flags.contains(Flags::ACK) {
            return Err(DropReason::BadAck);
        }
        let base = self.send.flight.base();
        let next = Seq::expand(u32::from(flags.ackno()), SeqWidth::Bits16, base);
        if next == base {
            // Most data says no more than that: a flow in one direction.
            return Ok(());
        }
        self.on_ack(now, next, None)
    }

    /// An acknowledgement: `next` is what the peer expects, `block` the rest of what it says.
    // What rides on data has none: half of this is nothing then, which a copy of its own does not
    // ask for.
    #[inline(always)]
    pub(super) fn on_ack(
        &mut self,
        now: Instant,
        next: Seq,
        block: Option<&AckBlock>,
    ) -> Result<(), DropReason> {
        let advance = next.since(self.send.flight.base());
        if advance > self.send.flight.next().since(self.send.flight.base()) || advance < -STALE {
            return Err(DropReason::BadAck);
        }
        if advance < 0 {
            return Ok(());
        }
        if advance == 0 && block.is_some_and(|b| self.is_tail_lost(b)) {
            self.pending.reset = Some(ResetReason::Gap);
            self.fail(ConnError::PeerGap);
            return Ok(());
        }
        let mut rtt = block.and_then(|b| self.echoed_rtt(now, b));
        let false_alarm = block.is_some_and(|b| self.is_false_alarm(b));
        // News ends the row of timeouts; what they were for is told by the answer.
        let timeouts = self.send.backoff;
        let limited = self.send.is_congestion_limited();
        let acked = self.send.flight.ack_to(next, now);
        let mut news = acked.cost;
        if let Some(block) = block {
            for index in block.received.iter() {
                news += self.send.flight.mark_received(next + 1 + index).unwrap_or(0);
            }
            self.note_window(block.window);
        } else {
            rtt = rtt.or(acked.rtt);
        }
        self.send.right_edge = self.send.right_edge.max(next + self.send.window);
        if let Some(upto) = acked.upto {
            self.send.release(upto);
            if self.starved && self.send.buf.has_worthwhile_room() {
                self.starved = false;
                self.ready.writable = true;
            }
        }
        if let Some(rtt) = rtt {
            self.send.rtt.sample(rtt);
        }
        if false_alarm || acked.false_loss {
            self.stats.spurious += 1;
            self.send.on_spurious();
        }
        if news > 0 {
            self.send.on_progress(
                now,
                AckSample { now, acked: news, in_flight: self.send.flight.cost(), limited, rtt },
            );
        }
        if let Some(probe) = block.and_then(|b| self.take_answered(b))
            && self.terms.policy().retains()
        {
            if news == 0 {
                self.send.note_unhelpful_answer();
                self.reduce_if_stuck(now);
            }
            self.find_missing(now, probe, timeouts);
        }
        if let Some(block) = block {
            self.note_path_answer(block);
        }
        self.find_losses(now, block.is_some_and(|b| b.gap));
        self.arm_loss();
        self.arm_persist(now);
        if acked.eoc && self.step(StateEvent::EocAcked) {
            self.on_half_closed();
        }
        if let Some(block) = block {
            self.on_peer_end(block);
        }
        self.note_flushed();
        Ok(())
    }

    /// Asks the policy what is lost, and tells the congestion controller once per flight.
    pub(super) fn find_losses(&mut self, now: Instant, gap: bool) {
        if self.send.flight.is_empty() {
            self.send.reorder_deadline = None;
            return;
        }
        let rtt = self.send.rtt.smoothed().unwrap_or(ACK_DELAY);
        let news =
            AckNews { now, gap, rtt, least_rtt: self.send.rtt.least().unwrap_or(Duration::ZERO) };
        let policy = self.terms.policy();
        let verdict = policy.on_ack(&mut self.send.recovery, &mut self.send.flight, &news);
        self.send.reorder_deadline = verdict.reorder_deadline;
        self.note_lost(now, verdict);
    }

    /// A probe that was sent after the transmission `probe` is answered: what was sent before it
    /// and is not here is lost. If that took `timeouts` of them in a row, they were none of the
    /// link's slowness.
    fn find_missing(&mut self, now: Instant, probe: OpenProbe, timeouts: u32) {
        let missing = self.send.flight.mark_lost_if(|s| before(s.order, probe.order));
        let Some((lost, first_order)) = missing else { return };
        self.send.retransmit_credit = true;
        (0..timeouts.min(MOST_TIMEOUTS)).for_each(|_| self.send.congestion.on_timeout(now));
        if timeouts > 0 {
            self.send.recovery_until = Some(self.send.flight.next_order());
        }
        // A lost tail alone is no sign of congestion: a sender that has little in flight, and so
        // loses tails, would yield to one that has much.
        if lost > 1 {
            self.note_lost(
                now,
                LossVerdict { lost: lost - 1, first_order, reorder_deadline: None },
            );
        }
    }

    /// Has lost segments sent again, and tells the congestion controller of them, once per flight.
    fn note_lost(&mut self, now: Instant, verdict: LossVerdict) {
        if verdict.lost == 0 {
            return;
        }
        self.send.retransmit_credit = true;
        let new_flight =
            self.send.recovery_until.is_none_or(|until| !before(verdict.first_order, until));
        // Going back throws segments away that were not lost: one was.
        let keeps = self.terms.policy().on_gap() == OnGap::Keep;
        let lost = if keeps { verdict.lost as usize } else { 1 };
        let lost = lost * usize::from(self.send.mss);
        self.send.congestion.on_loss(&LossSample { now, lost, new_flight });
        if new_flight {
            self.send.recovery_until = Some(self.send.flight.next_order());
            self.send.recovery.on_flight();
        }
    }

    /// The probe that `block` answers, or that a later one it answers was for, if one was to be
    /// answered.
    fn take_answered(&mut self, block: &AckBlock) -> Option<OpenProbe> {
        self.send.open_probe.take_if(|probe| block.probe.is_some_and(|n| probe.is_answered_by(n)))
    }

    /// Policy `detect`: the peer was asked after the oldest segment in flight was sent, and lacks
    /// it. That an acknowledgement came after the question is not enough: the peer may have made it
    /// before it got to the question, and to what was sent before that (SPEC PRP-DETECT-3).
    fn is_tail_lost(&self, block: &AckBlock) -> bool {
        let oldest = self.send.flight.get(self.send.flight.base());
        let missing = |(probe, number): (OpenProbe, u8)| {
            probe.is_answered_by(number) && oldest.is_some_and(|s| before(s.order, probe.order))
        };
        !self.terms.policy().retains() && self.send.open_probe.zip(block.probe).is_some_and(missing)
    }

    /// Round trip of the arrival an acknowledgement names, if it is clear which copy arrived.
    fn echoed_rtt(&self, now: Instant, block: &AckBlock) -> Option<Duration> {
        let echo = block.echo?;
        let segment = self.send.flight.get(echo.seq)?;
        let clear = match segment.sends {
            1 => !echo.retransmitted,
            2 => echo.retransmitted,
            _ => false,
        };
        let held = Duration::from_nanos(u64::from(echo.held_ns));
        // Clocks are read once for many frames. Nothing takes no time.
        let round = now.since(segment.sent).checked_sub(held).filter(|r| !r.is_zero());
        round.filter(|_| clear && !echo.is_long_ago())
    }

    /// The original of a segment we had taken for lost and sent again has arrived after all.
    fn is_false_alarm(&self, block: &AckBlock) -> bool {
        self.send.recovery_until.is_some()
            && block.echo.is_some_and(|echo| {
                !echo.retransmitted && self.send.flight.get(echo.seq).is_some_and(|s| s.sends > 1)
            })
    }
}
