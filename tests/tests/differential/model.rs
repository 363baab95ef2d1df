//! The effects of a call at either end, for which a run waits. The model does not predict return
//! values: the test compares those of the stacks.

use std::net::Shutdown;

use crate::random::{Call, Step};

/// An event at an end.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Effect {
    /// This number of bytes can be read.
    Available(usize),
    /// The other end has shut down its sending direction.
    Ended,
    /// The connection has ended.
    Over,
}

/// The state of one end.
#[derive(Clone, Debug, Default)]
struct End {
    /// Bytes written to it that it has not read.
    unread: usize,
    /// Whether its sending and its reading direction are shut down.
    sent_all: bool,
    reads_no_more: bool,
    dropped: bool,
}

/// The state of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    ends: [End; 2],
    /// Reset, or closed in both directions.
    over: bool,
}

impl Model {
    /// Whether `call` at `end` would leave more bytes unread than every kernel has room for. Then
    /// the result would depend on buffer sizes.
    pub(crate) fn is_too_much(&self, Step { end, call }: Step) -> bool {
        let bytes = match call {
            Call::Write(n) => n,
            Call::WriteVectored(n, m) => n + m,
            _ => return false,
        };
        self.ends[1 - end].unread + bytes > 45_000
    }

    /// Applies a call that succeeded with `done` bytes, or failed; returns the effects to wait for,
    /// with their ends.
    pub(crate) fn note(&mut self, step: Step, done: Option<usize>) -> Vec<(usize, Effect)> {
        if self.over {
            return Vec::new();
        }
        let (me, other) = (step.end, 1 - step.end);
        let dropped = matches!(step.call, Call::Drop | Call::Abort);
        let Some(bytes) = done.or_else(|| dropped.then_some(0)) else { return Vec::new() };
        match step.call {
            Call::Write(_) | Call::WriteVectored(..) => self.written(other, bytes),
            Call::Read(_) | Call::ReadVectored(..) => {
                self.ends[me].unread -= bytes;
                Vec::new()
            }
            Call::Peek(_) | Call::TakeError => Vec::new(),
            Call::Shutdown(how) => {
                self.ends[me].reads_no_more |= how != Shutdown::Write;
                self.ended(me, other)
            }
            Call::Drop if self.ends[me].unread == 0 => {
                self.ends[me].dropped = true;
                self.ends[me].reads_no_more = true;
                self.ended(me, other)
            }
            Call::Drop | Call::Abort => self.reset(),
        }
    }

    fn written(&mut self, other: usize, bytes: usize) -> Vec<(usize, Effect)> {
        let peer = &mut self.ends[other];
        if bytes == 0 {
            return Vec::new();
        }
        if peer.dropped || (peer.reads_no_more && peer.sent_all) {
            return self.reset();
        }
        peer.unread += bytes;
        vec![(other, Effect::Available(peer.unread))]
    }

    /// Shuts down the sending direction of `me`.
    fn ended(&mut self, me: usize, other: usize) -> Vec<(usize, Effect)> {
        self.ends[me].sent_all = true;
        if self.ends[other].sent_all {
            self.over = true;
            return vec![(me, Effect::Over), (other, Effect::Over)];
        }
        vec![(other, Effect::Ended)]
    }

    fn reset(&mut self) -> Vec<(usize, Effect)> {
        self.over = true;
        vec![(0, Effect::Over), (1, Effect::Over)]
    }
}
