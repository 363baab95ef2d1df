//! Data coming in: order, gaps, room (SPEC PRP-SEG-4 to 5, PRP-WIN-1 to 6).

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::parts::PartsReceived;
use super::{Connection, Seed, Terms};
use crate::buffer::{RecvBuffer, Sink};
use crate::config::MAX_WINDOW;
use crate::error::ConnError;
use crate::recovery::OnGap;
use crate::seq::Seq;
use crate::state::{ReceiveSide, State, StateEvent};
use crate::stats::DropReason;
use crate::time::Instant;
use crate::wire::{Bitmap, CLASSIC_MSS, Flags, Frame, ResetReason};

/// Bytes that a connection advertises at first, before an application has accepted it, or where
/// many have advertised much: a flow over a local network loses little by it, and thousands of such
/// connections are a few hundred megabytes.
const SMALL: usize = 64 * 1024;

/// How much a connection may advertise.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub(crate) enum Share {
    /// What its receive buffer takes.
    Full,
    /// 64 KiB, or two segments if that is more.
    Small,
    /// Two segments: one may be lost without closing the window.
    Least,
}

/// A segment kept beyond a gap.
#[derive(Clone, Debug, Hash)]
struct OutOfOrderSegment {
    bytes: Vec<u8>,
    eom: bool,
    eoc: bool,
}

/// The receiving half of a connection.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Receiver {
    pub(super) buf: RecvBuffer,
    share: Share,
    /// Next number expected.
    pub(super) next: Seq,
    /// First number the peer may not send yet. Never moves back (SPEC PRP-WIN-2).
    pub(super) right_edge: Seq,
    /// Largest window ever advertised: what the peer may take an acknowledgement that rides on data
    /// for.
    pub(super) max_advertised: u32,
    /// Window last stated in a frame: what such an acknowledgement repeats, if that frame arrived.
    pub(super) last_advertised: u32,
    /// The edge the peer has been told of at least.
    pub(super) peer_known_edge: Seq,
    mss: u16,
    /// Slot `i` is for number `next + i`; empty while nothing is missing.
    held: VecDeque<Option<OutOfOrderSegment>>,
    /// Of the segment that comes in parts, if one does.
    pub(super) parts: Option<Box<PartsReceived>>,
    /// The application reads no more; what comes is acknowledged and thrown away.
    pub(super) shut: bool,
    /// The peer's EOC has come: reading ends in good order whatever happens later (SPEC
    /// PRP-CLOSE-9).
    pub(super) ended: bool,
    pub(super) ack: super::ack_state::AckState,
}

impl Receiver {
    pub(super) fn new(seed: &Seed) -> Self {
        let mut buf = RecvBuffer::new(seed.config.recv_limit());
        buf.set_advertised(seed.share.bytes(seed.device_mss));
        Self {
            buf,
            share: seed.share,
            next: Seq::default(),
            right_edge: Seq::default(),
            max_advertised: 0,
            last_advertised: 0,
            peer_known_edge: Seq::default(),
            mss: CLASSIC_MSS,
            held: VecDeque::new(),
            parts: None,
            shut: false,
            ended: false,
            ack: super::ack_state::AckState::default(),
        }
    }

    /// The peer's first segment will be `first`.
    pub(super) fn start(&mut self, first: Seq, terms: &Terms) {
        self.mss = terms.mss;
        self.next = first;
        self.ack.acked = first;
        self.max_advertised = self.window();
        self.last_advertised = self.max_advertised;
        self.right_edge = first + self.max_advertised;
        self.peer_known_edge = self.right_edge;
    }

    /// Full segments there is room for.
    pub(super) fn window(&self) -> u32 {
        self.window_at(self.mss)
    }

    /// Whether there is room for the largest window ever advertised.
    pub(super) fn has_advertised(&self) -> bool {
        self.buf.spare() >= self.max_advertised as usize * usize::from(self.mss)
    }

    /// Segments of `mss` bytes there is room for.
    pub(super) fn window_at(&self, mss: u16) -> u32 {
        ((self.buf.spare() / usize::from(mss)) as u32).min(MAX_WINDOW)
    }

    /// Which segments beyond `next` are here.
    pub(super) fn bitmap(&self) -> Bitmap {
        let mut bitmap = Bitmap::EMPTY;
        for (i, _) in (0u32..).zip(&self.held).skip(1).filter(|(_, h)| h.is_some()) {
            bitmap.set(i - 1);
        }
        bitmap
    }

    /// Whether something beyond `next` has arrived and is kept.
    pub(super) fn has_gap(&self) -> bool {
        !self.held.is_empty()
    }

    /// Gives back memory an idle connection does not need.
    pub(super) fn trim(&mut self) {
        self.buf.trim();
        if self.held.is_empty() {
            self.held = VecDeque::new();
        }
    }

    pub(super) fn memory(&self) -> usize {
        let held: usize = self.held.iter().flatten().map(|h| h.bytes.capacity()).sum();
        self.buf.allocated() + held + self.held.capacity() * size_of::<Option<OutOfOrderSegment>>()
    }

    /// Keeps a segment for later. `false` if there is no memory for it.
    fn hold(&mut self, ahead: usize, payload: &[u8], flags: Flags) -> Result<(), DropReason> {
        if matches!(self.held.get(ahead), Some(Some(_))) {
            return Err(DropReason::Duplicate);
        }
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(payload.len()).map_err(|_| DropReason::NoBuffer)?;
        bytes.extend_from_slice(payload);
        while self.held.len() <= ahead {
            self.held.push_back(None);
        }
        let (eom, eoc) = (flags.contains(Flags::EOM), flags.contains(Flags::EOC));
        self.held[ahead] = Some(OutOfOrderSegment { bytes, eom, eoc });
        Ok(())
    }

    /// Moves on to the next number and hands out what was held for it, if it is here.
    fn advance(&mut self) {
        self.next += 1;
        self.held.pop_front();
        // What is left at the back of an empty queue is nothing.
        while matches!(self.held.back(), Some(None)) {
            self.held.pop_back();
        }
    }
}

impl Share {
    /// Bytes, of segments of `mss`.
    fn bytes(self, mss: u16) -> usize {
        match self {
            Self::Full => usize::MAX,
            Self::Small => SMALL.max(2 * usize::from(mss)),
            Self::Least => 2 * usize::from(mss),
        }
    }
}

impl Connection {
    /// Bytes that wait to be read, and those that the peer may send.
    #[inline]
    pub(crate) fn receive_charge(&self) -> usize {
        let may_come = if self.state.can_receive() && self.terms.extended {
            self.recv.right_edge.since(self.recv.next).max(0).cast_unsigned()
        } else {
            0
        };
        self.recv.buf.held() + may_come as usize * usize::from(self.recv.mss)
    }

    /// How much it may advertise.
    pub(crate) const fn share(&self) -> Share {
        self.recv.share
    }

    /// Invites no more than its share from now on; whether that is less than before. While the
    /// handshake is in progress it stays what it was, so that both ends mean the same.
    #[cold]
    pub(crate) fn set_share(&mut self, share: Share) -> bool {
        if !matches!(self.state, State::Established { .. }) {
            return false;
        }
        let (before, now) = [self.recv.share, share].map(|share| share.bytes(self.recv.mss)).into();
        self.recv.share = share;
        self.recv.buf.set_advertised(now);
        now < before
    }

    /// A data segment, its acknowledgement already taken.
    #[inline]
    pub(super) fn on_segment(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(), DropReason> {
        let State::Established { receive, .. } = self.state else {
            return Err(DropReason::BadState);
        };
        if frame.payload.len() > usize::from(self.terms.mss) {
            return Err(DropReason::TooLong);
        }
        let flags = frame.flags();
        let seq = frame.head.transport.expand_seq(self.terms.width(), self.recv.next);
        let ahead = seq.since(self.recv.next);
        self.recv.ack.arrival(seq, flags.contains(Flags::RTX), now);
        if ahead < 0 {
            self.ack_now();
            let long_ago = self.terms.extended && ahead < -(MAX_WINDOW as i32);
            return Err(if long_ago { DropReason::OutOfWindow } else { DropReason::Duplicate });
        }
        if receive == ReceiveSide::Closed {
            return Err(DropReason::Closed);
        }
        let closed = self.orphan || (self.recv.shut && !self.state.can_send());
        if closed && !frame.payload.is_empty() {
            // The application closed in both directions; as a kernel would, say that no application
            // reads this.
            self.refuse_data();
            return Err(DropReason::Closed);
        }
        if self.terms.extended && seq.since(self.recv.right_edge) >= 0 {
            self.ack_now();
            return Err(DropReason::OutOfWindow);
        }
        if ahead > 0 {
            return self.on_gap(seq, ahead as usize, frame);
        }
        self.take(frame.payload, flags, sink)?;
        self.stats.segments_received += 1;
        self.take_held();
        self.note_in_order(now, 1);
        Ok(())
    }

    /// A segment after a gap.
    fn on_gap(&mut self, seq: Seq, ahead: usize, frame: &Frame<'_>) -> Result<(), DropReason> {
        match self.terms.policy().on_gap() {
            OnGap::Fail => {
                let error = ConnError::Gap { expected: self.recv.next, received: seq };
                self.pending.reset = self.terms.extended.then_some(ResetReason::Gap);
                self.fail(error);
                Err(DropReason::OutOfOrder)
            }
            OnGap::Discard => {
                self.note_discarded();
                Err(DropReason::OutOfOrder)
            }
            OnGap::Keep => {
                self.ack_now();
                self.recv.hold(ahead, frame.payload, frame.flags())?;
                self.stats.segments_received += 1;
                Ok(())
            }
        }
    }

    /// Takes the payload of the segment expected next.
    #[inline]
    pub(super) fn take(
        &mut self,
        payload: &[u8],
        flags: Flags,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(), DropReason> {
        if !self.recv.shut {
            if payload.len() > self.recv.buf.room() && sink.is_none() {
                return Err(DropReason::NoBuffer);
            }
            let eom =
                flags.contains(Flags::EOM) && !(flags.contains(Flags::EOC) && payload.is_empty());
            let kept = self.recv.buf.push(payload, eom, sink).map_err(|_| DropReason::NoBuffer)?;
            self.ready.readable |= kept;
        }
        self.recv.advance();
        self.stats.bytes_received += payload.len() as u64;
        if flags.contains(Flags::EOC) {
            self.ready.readable = true;
            self.recv.ended = true;
            self.step(StateEvent::Eoc);
            self.on_half_closed();
        }
        Ok(())
    }

    /// Takes what was kept and has become next; whether there was any. Where memory is short it
    /// stays kept, for the next read to try again.
    #[inline]
    pub(super) fn take_held(&mut self) -> bool {
        // Mostly there is none, and the caller need not ask for that.
        self.recv.has_gap() && self.take_from_held()
    }

    #[inline(never)]
    fn take_from_held(&mut self) -> bool {
        let mut taken = false;
        while let Some(Some(held)) = self.recv.held.front_mut() {
            let bytes = core::mem::take(&mut held.bytes);
            let mut flags = Flags::NONE;
            if held.eom {
                flags |= Flags::EOM;
            }
            if held.eoc {
                flags |= Flags::EOC;
            }
            if self.take(&bytes, flags, None).is_err() {
                if let Some(Some(held)) = self.recv.held.front_mut() {
                    held.bytes = bytes;
                }
                return taken;
            }
            taken = true;
        }
        taken
    }
}
