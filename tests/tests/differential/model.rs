//! What a call must bring about at either end, for a run to wait for. Nothing here says what calls
//! return: that is what the stacks are asked.

use std::net::Shutdown;

use crate::random::{Call, Step};

/// Something an end comes to see.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Effect {
    /// This number of bytes to read.
    Available(usize),
    /// The other end sends no more.
    Ended,
    /// There is no connection any more.
    Over,
}

/// The state of one end.
#[derive(Clone, Debug, Default)]
struct End {
    /// Bytes written to it and not yet read.
    unread: usize,
    /// Its own sending and reading directions are shut.
    sent_all: bool,
    reads_no_more: bool,
    dropped: bool,
}

/// The state of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    ends: [End; 2],
    /// Reset, or closed both ways.
    over: bool,
}

impl Model {
    /// Whether `call` at `end` would leave more unread than a kernel surely has room for: then it
    /// would be a matter of buffer sizes how much of it is taken.
    pub(crate) fn is_too_much(&self, Step { end, call }: Step) -> bool {
        let bytes = match call {
            Call::Write(n) => n,
            Call::WriteVectored(n, m) => n + m,
            _ => return false,
        };
        self.ends[1 - end].unread + bytes > 45_000
    }

    /// Takes note of a call that succeeded with `done` bytes, or failed; what to wait for, and
    /// where.
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

    /// `me` sends no more.
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
