//! What a connection sends next, or what keeps it from sending: the one place that decides it.
//!
//! The answer is asked for after everything that touches a connection, and mostly there is nothing
//! to send. So callers check [`Connection::has_segment`] or [`Connection::has_unnumbered`] first,
//! which are a few comparisons, and only then call.

use super::Connection;
use crate::buffer::Span;
use crate::flight::Segment;
use crate::seq::Seq;
use crate::state::{SendSide, State};
use crate::stats::ConnStats;
use crate::timer::Timer;

/// What a connection sends next.
#[derive(Copy, Clone, Debug)]
pub(super) enum NextSend {
    /// There is nothing that has not been sent.
    Nothing,
    /// A segment that is lost.
    Repeat(Seq, Segment),
    /// A segment with data that have no number yet.
    New(Span),
    /// The end of the stream, without data.
    Eoc,
    /// There is something, and it may not go.
    Blocked(Blocker),
}

/// What keeps a connection from sending.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Blocker {
    /// The peer has no room for another segment.
    Window,
    /// The congestion window is full.
    Congestion,
    /// The controller's pace, until the timer says otherwise.
    Pace,
    /// It has to get into line, or waits there, behind others to the same node.
    Slot,
    /// The end of a write is shorter than a segment, and more of the write is announced.
    ShortEnd,
    /// It is less than a GSO batch, and what is in flight is enough until it is one.
    ShortGsoBatch,
}

impl NextSend {
    /// Whether there is a segment that may go.
    pub(super) const fn may_go(self) -> bool {
        matches!(self, Self::Repeat(..) | Self::New(_) | Self::Eoc)
    }
}

impl Connection {
    /// What may go out next, as far as everything but the pace is concerned: a repeat comes before
    /// new data, and a new segment waits for its send slot.
    pub(super) fn next_to_send(&self) -> NextSend {
        if let Some((seq, segment)) = self.send.flight.next_lost() {
            // Where a new segment may go, so may this one, be it longer than those are by now: the
            // scheduler grants slots to send new ones, and this must not hinder it.
            return if self.send.may_repeat(usize::from(segment.len.min(self.send.mss))) {
                NextSend::Repeat(seq, segment)
            } else {
                NextSend::Blocked(Blocker::Congestion)
            };
        }
        self.next_new()
    }

    /// As [`Self::next_to_send`], of what has no number yet.
    fn next_new(&self) -> NextSend {
        if !self.has_unnumbered() {
            return NextSend::Nothing;
        }
        if !self.send.window_open() {
            return NextSend::Blocked(Blocker::Window);
        }
        if !self.send.may_send(usize::from(self.send.mss)) {
            return NextSend::Blocked(Blocker::Congestion);
        }
        let alone = self.send.flight.is_empty();
        let next = match self.send.buf.peek_segment(self.send.mss, alone) {
            Some(span) => NextSend::New(span),
            None if self.wants_eoc() => NextSend::Eoc,
            None => return NextSend::Blocked(Blocker::ShortEnd),
        };
        if self.waits_for_gso_batch() {
            return NextSend::Blocked(Blocker::ShortGsoBatch);
        }
        if self.send_slot.allows(alone) { next } else { NextSend::Blocked(Blocker::Slot) }
    }

    /// Whether a segment, new or repeated, may go out now; a new one that must wait for its slot
    /// may not.
    #[inline]
    pub(super) fn has_sendable(&self) -> bool {
        self.has_segment() && !self.is_paced() && self.may_send_segment()
    }

    #[inline(never)]
    fn may_send_segment(&self) -> bool {
        self.next_to_send().may_go()
    }

    /// Whether it has new data that may go as far as its own windows are concerned, and must wait
    /// for its slot.
    #[inline]
    pub(crate) fn wants_send_slot(&self) -> bool {
        // After most of what happens there is nothing new, and the caller need not ask for that.
        self.has_unnumbered()
            && !self.send_slot.allows(self.send.flight.is_empty())
            && self.waits_for_slot()
    }

    fn waits_for_slot(&self) -> bool {
        matches!(self.state, State::Established { .. })
            && !self.is_paced()
            && matches!(self.next_new(), NextSend::Blocked(Blocker::Slot))
    }

    /// Whether there is something that has no number yet.
    #[inline]
    pub(super) fn has_unnumbered(&self) -> bool {
        self.send.buf.has_unsent() || self.wants_eoc()
    }

    /// Whether there is a segment to send, new or repeated, once it may go.
    #[inline]
    pub(super) fn has_segment(&self) -> bool {
        self.has_unnumbered() || self.send.flight.has_lost()
    }

    /// EOC is due: everything written has a number, EOC has none.
    #[inline]
    pub(super) fn wants_eoc(&self) -> bool {
        matches!(self.state, State::Established { send: SendSide::Closing, .. })
            && !self.send.eoc_sent
            && !self.send.buf.has_unsent()
    }

    /// Whether the pace holds it back, until the timer says otherwise.
    #[inline]
    fn is_paced(&self) -> bool {
        self.timers.is_set(Timer::Pace) && !self.send.allow_one
    }
}

impl ConnStats {
    /// Something could not go.
    pub(super) fn count_blocked(&mut self, blocker: Blocker) {
        *match blocker {
            Blocker::Window => &mut self.blocked_by_peer_window,
            Blocker::Congestion => &mut self.blocked_by_congestion,
            Blocker::Pace => &mut self.blocked_by_pace,
            Blocker::ShortEnd => &mut self.blocked_by_short_end,
            // The slot may come at once. The scheduler knows whether there are others.
            Blocker::Slot => return,
            // It goes with what follows.
            Blocker::ShortGsoBatch => return,
        } += 1;
    }
}
