//! What the receiver owes the sender, and when it acknowledges.

use super::Connection;
use crate::seq::Seq;
use crate::time::Instant;
use crate::timer::Timer;
use crate::timing::ACK_DELAY;

/// In-order segments that make an acknowledgement due at once. Measured: every frame costs 2 to 7 %
/// of goodput, every 8 to 16 nothing.
const ACK_EVERY: u32 = 16;

/// As [`ACK_EVERY`], over UDP, where they come in GSO batches: two of 44 segments at the usual MTU,
/// each of which may bring a message that is answered at once. A frame of its own costs such a
/// message of 64 KiB 10 % of its time.
pub(super) const ACK_EVERY_BY_UDP: u32 = 96;

/// The receiver's account of what it owes the sender.
#[derive(Copy, Clone, Debug, Default, Hash)]
pub(crate) struct AckState {
    /// `next` as last told.
    pub(super) acked: Seq,
    /// In-order segments since.
    pub(super) unacked: u32,
    /// Segments thrown away since the gap was last reported (go-back-N).
    pub(super) discarded: u32,
    /// The latest probe, if it is not answered yet.
    pub(super) probe: Option<u8>,
    /// The latest arrival.
    pub(super) echo: Option<(Seq, bool, Instant)>,
}

impl AckState {
    pub(super) fn arrival(&mut self, seq: Seq, retransmitted: bool, now: Instant) {
        self.echo = Some((seq, retransmitted, now));
    }
}

impl Connection {
    /// Makes an acknowledgement frame due at once. Classic peers know none.
    pub(super) fn ack_now(&mut self) {
        self.pending.ack = self.terms.extended;
    }

    /// Decides when to acknowledge `segments` that came in order.
    pub(super) fn note_in_order(&mut self, now: Instant, segments: u32) {
        self.recv.ack.discarded = 0;
        if !self.terms.extended {
            return;
        }
        self.recv.ack.unacked += segments;
        let every = if self.path.to.is_udp() {
            ACK_EVERY_BY_UDP.min(self.recv.max_advertised / 4)
        } else {
            ACK_EVERY.min(self.recv.max_advertised / 8)
        };
        // After our EOC no data will carry it.
        let nothing_to_ride_on = self.send.eoc_sent;
        if self.recv.ack.unacked >= every.max(1) || nothing_to_ride_on || self.recv.has_gap() {
            self.ack_now();
        } else if !self.timers.is_set(Timer::AckDelay) {
            self.timers.set(Timer::AckDelay, now + ACK_DELAY);
        }
    }

    /// Go-back-N: reports the first discarded segment of a gap at once and then every sixteenth, in
    /// case the report was lost.
    pub(super) fn note_discarded(&mut self) {
        if self.recv.ack.discarded.is_multiple_of(ACK_EVERY) {
            self.ack_now();
        }
        self.recv.ack.discarded += 1;
    }
}
