//! Servers that answer as those of 1997 would: what is made of it, and when (SPEC PRP-OPT-5,
//! PRP-CLASSIC).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::{Connection, Terms};
use crate::config::{Classic, MAX_WINDOW};
use crate::seq::{Seq, SeqWidth};
use crate::state::State;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::timing::EXTENDED_ANSWER;
use crate::wire::{CLASSIC_MSS, Flags, Frame};

/// A CACK without options to our request.
#[derive(Clone, Debug, Hash)]
pub(super) struct ClassicAnswer {
    /// Number of the server's first segment.
    pub(super) first: Seq,
    /// When it is taken for the server's.
    until: Instant,
    /// What the server has sent behind it; it would not repeat that.
    pub(super) early: Vec<Vec<u8>>,
    /// Bytes of that.
    held: usize,
}

impl ClassicAnswer {
    pub(super) const fn until(&self) -> Instant {
        self.until
    }
}

impl Connection {
    /// A CACK without options while a request is out: noted, since it need not be the server's.
    pub(super) fn on_classic_answer(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
    ) -> Result<(), DropReason> {
        let first = frame.head.transport.first_seq(SeqWidth::Bits16);
        if self.config.classic == Classic::Only {
            self.adopt_classic();
            self.establish(now, first);
            return Ok(());
        }
        let refuses = self.config.classic == Classic::Refuse;
        if self.request.classic.is_none() {
            let give_up = self.request.give_up;
            let until = if refuses { give_up } else { give_up.min(now + EXTENDED_ANSWER) };
            let answer = ClassicAnswer { first, until, early: Vec::new(), held: 0 };
            self.request.classic = Some(Box::new(answer));
            self.set_request_timer();
        }
        if refuses { Err(DropReason::Refused) } else { Ok(()) }
    }

    /// A frame that a classic server sends behind its CACK, which is not believed yet: it is kept,
    /// as much as fits the receive buffer.
    pub(super) fn keep_early(&mut self, frame: &Frame<'_>) -> Result<(), DropReason> {
        let paper = Flags::EOM | Flags::EOC;
        let is_classic = frame.flags().with_hops(0).with(paper) == paper;
        let keeps = self.state == State::ConnWait && self.config.classic == Classic::Allow;
        let limit = self.config.recv_limit();
        let Some(answer) = self.request.classic.as_mut().filter(|_| keeps && is_classic) else {
            return Err(DropReason::BadState);
        };
        let len = frame.bytes().len();
        if answer.held + len > limit || answer.early.len() >= MAX_WINDOW as usize {
            return Err(DropReason::NoBuffer);
        }
        answer.early.try_reserve(1).map_err(|_| DropReason::NoBuffer)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| DropReason::NoBuffer)?;
        bytes.extend_from_slice(frame.bytes());
        answer.held += len;
        answer.early.push(bytes);
        Ok(())
    }

    pub(super) fn adopt_classic(&mut self) {
        self.segment = self.segment.min(CLASSIC_MSS);
        self.terms = Terms { mss: self.segment, ..Terms::CLASSIC };
        self.send.start(&self.terms, MAX_WINDOW, false);
    }
}
