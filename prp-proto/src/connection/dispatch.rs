//! A frame for this connection: its kind, and the code that acts on it.

use super::Connection;
use crate::buffer::Sink;
use crate::config::Classic;
use crate::error::ConnError;
use crate::state::State;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::wire::{Control, Flags, Frame, Part, ResetBlock};

impl Connection {
    /// Acts on a frame that carries this connection's ports and peer. CREQ is not among them: it
    /// may make connections, so the endpoint takes it.
    pub(crate) fn on_frame(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(), DropReason> {
        let flags = frame.flags();
        if flags.intersects(Flags::RST | Flags::CACK) {
            return self.on_cack_or_rst(now, frame);
        }
        if !matches!(self.state, State::Established { .. }) {
            return self.on_unexpected_state(frame);
        }
        if self.crc_in().is_some_and(|key| !frame.crc_ok(key)) {
            return Err(DropReason::BadCrc);
        }
        if flags.contains(Flags::CTL) {
            return self.on_control(now, frame, sink);
        }
        if self.terms.extended {
            self.on_piggybacked_ack(now, flags)?;
        }
        let outcome = self.on_segment(now, frame, sink);
        if matches!(outcome, Ok(()) | Err(DropReason::Duplicate | DropReason::OutOfOrder)) {
            self.note_received(now);
        }
        outcome
    }

    /// A frame that makes the connection or ends it.
    #[cold]
    fn on_cack_or_rst(&mut self, now: Instant, frame: &Frame<'_>) -> Result<(), DropReason> {
        if !frame.flags().contains(Flags::RST) {
            return self.on_accept(now, frame);
        }
        if !frame.is_whole() {
            let signed = frame.seems_signed();
            return Err(if signed { DropReason::UnknownKey } else { DropReason::BadCrc });
        }
        let block = ResetBlock::parse(frame.payload).ok_or(DropReason::Malformed)?;
        self.on_reset(now, &block)
    }

    /// A frame before the connection is established, or after it is over.
    #[cold]
    fn on_unexpected_state(&mut self, frame: &Frame<'_>) -> Result<(), DropReason> {
        if self.state == State::ConnWait && self.is_probe_for_us(frame) {
            // Our request was granted and the answer is lost (SPEC PRP-CONN-9).
            self.pending.request = true;
            return Ok(());
        }
        self.keep_early(frame)
    }

    /// Whether a frame is a probe that names our id, as only a server can that has our request.
    fn is_probe_for_us(&self, frame: &Frame<'_>) -> bool {
        let probe = frame.flags().contains(Flags::CTL).then(|| Control::parse(frame.payload));
        matches!(probe.flatten(), Some(Control::Probe { to, .. }) if to == self.ids.local)
    }

    fn on_control(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(), DropReason> {
        if !self.terms.extended {
            return Err(DropReason::BadState);
        }
        if let Some((part, bytes)) = Part::of(frame) {
            return self.on_part(now, frame, &part, bytes, sink);
        }
        let control = Control::parse(frame.payload).ok_or(DropReason::Malformed)?;
        if control.to() != self.ids.local {
            return Err(DropReason::BadId);
        }
        self.note_received(now);
        match control {
            Control::Ack { ack, .. } => {
                self.stats.acks_received += 1;
                self.on_ack(now, ack.next, Some(&ack))
            }
            Control::Probe { number, .. } => {
                self.recv.ack.probe = Some(number);
                self.ack_now();
                Ok(())
            }
            Control::SizeProbe { size, .. } => {
                if frame.payload.len() != usize::from(size) {
                    return Err(DropReason::Malformed);
                }
                self.pending.size_ack = Some(size);
                Ok(())
            }
            Control::SizeProbeAck { size, .. } => {
                self.on_size_probe_ack(size, now);
                Ok(())
            }
        }
    }

    /// No answer has options: the classic answer was the server's.
    pub(super) fn take_classic_answer(&mut self, now: Instant) {
        let Some(answer) = self.request.classic.take() else { return };
        if self.config.classic == Classic::Refuse {
            return self.fail(ConnError::ClassicPeer);
        }
        self.settle_protection();
        self.adopt_classic();
        self.establish(now, answer.first);
        for bytes in &answer.early {
            // As if it came now. What becomes of it is counted there.
            if let Ok(frame) = Frame::parse(bytes, self.path.ethertype)
                && let Err(why) = self.on_frame(now, &frame, None)
            {
                self.stats.drops.count(why);
            }
        }
    }
}
