//! Messages in parts, each of which goes when the sender says that it is ready.
//!
//! The parts of one message have a context of their own, and their numbers as tags. The receiver
//! may divide the same bytes otherwise: so the sender describes its parts once, before the
//! first of them, and the receiver begins to receive when it knows them. Whoever has the lock of
//! the exchange may take that of a message, and not the reverse.

use std::fmt;
use std::ops::Range;

use parking_lot::Mutex;
use prp_mpi::exchange::Exchange;
use prp_mpi::matching::Pattern;
use prp_mpi::request::{Outcome, RequestId, Status};
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::{Header, Kind, Signature};

use super::{Detail, HeldComm, communicator};

/// The tag of the description, which is that of no part.
const DESCRIPTION: i32 = i32::MAX;

/// Bytes of the description: how many parts, and of how many bytes all together.
const DESCRIPTION_LEN: usize = 16;

/// One end of a message in parts.
pub(crate) struct Partitioned {
    pub(crate) of: HeldComm,
    pub(crate) detail: Detail,
    /// The rank of the world at the other end. None of `MPI_PROC_NULL`.
    peer: Option<usize>,
    context: u64,
    /// The buffer, as a whole and in the parts that this rank divides it into.
    whole: Region,
    parts: Vec<Region>,
    state: Mutex<State>,
}

impl fmt::Debug for Partitioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Partitioned").field("detail", &self.detail).finish_non_exhaustive()
    }
}

/// What is in progress.
#[derive(Debug, Default)]
struct State {
    is_active: bool,
    /// The description was sent, or is received by this request.
    described: Option<(RequestId, Region)>,
    /// How the sender divides the bytes, once the receiver knows.
    theirs: Option<Theirs>,
    /// Messages of this start, by number of the sender's part.
    messages: Vec<Message>,
}

/// How the other end divides the bytes.
#[derive(Copy, Clone, Debug)]
struct Theirs {
    parts: usize,
    bytes: usize,
}

/// A part in progress.
#[derive(Clone, Debug, Default)]
enum Message {
    /// Not yet.
    #[default]
    Waits,
    /// Begun. What is received elsewhere goes to the buffer in the end.
    Begun(RequestId, Option<Region>),
    Done,
}

impl Partitioned {
    pub(crate) fn new(
        of: HeldComm,
        detail: Detail,
        context: u64,
        whole: Region,
        parts: Vec<Region>,
    ) -> Self {
        let peer = usize::try_from(detail.peer).ok().map(|peer| of.comm.peers()[peer]);
        Self { of, detail, peer, context, whole, parts, state: Mutex::default() }
    }

    fn is_receive(&self) -> bool {
        self.detail.is_receive
    }

    fn pattern(&self, tag: i32) -> Pattern {
        Pattern { context: self.context, source: Some(self.detail.peer), tag: Some(tag) }
    }

    fn header(&self, tag: i32) -> Header {
        Header {
            kind: Kind::Message,
            source: self.of.comm.rank as i32,
            tag,
            id: 0,
            context: self.context,
            len: 0,
            signature: Signature::default(),
        }
    }

    /// Begins: no part has gone or come.
    pub(crate) fn start(&self, exchange: &mut Exchange) {
        let mut state = self.state.lock();
        state.is_active = true;
        state.messages.clear();
        let Some(peer) = self.peer else { return };
        if !self.is_receive() {
            state.messages.resize(self.parts.len(), Message::Waits);
            if state.described.is_none() {
                let mut text = Region::owned(DESCRIPTION_LEN);
                let words = [self.parts.len() as u64, self.whole.len() as u64];
                text.write(0, &words.map(u64::to_le_bytes).concat());
                let request = exchange.send(peer, self.header(DESCRIPTION), &text);
                exchange.free(request);
                state.described = Some((request, text));
            }
        } else if state.described.is_none() {
            let text = Region::owned(DESCRIPTION_LEN);
            let request = exchange.receive(self.pattern(DESCRIPTION), text.clone());
            state.described = Some((request, text));
        } else {
            self.begin_receives(exchange, &mut state);
        }
    }

    /// The program has filled a part. `false` if there is no such part, or it has gone.
    pub(crate) fn send_part(&self, exchange: &mut Exchange, part: usize) -> bool {
        let mut state = self.state.lock();
        if self.is_receive() || part >= self.parts.len() || !state.is_active {
            return false;
        }
        let Some(peer) = self.peer else { return true };
        if !matches!(state.messages[part], Message::Waits) {
            return false;
        }
        let request = exchange.send(peer, self.header(part as i32), &self.parts[part]);
        state.messages[part] = Message::Begun(request, None);
        true
    }

    /// Begins to receive all parts, if it is known how the sender divides the bytes.
    fn begin_receives(&self, exchange: &mut Exchange, state: &mut State) {
        let Some(theirs) = state.theirs.filter(|_| state.messages.is_empty()) else { return };
        if theirs.bytes > self.whole.len() {
            return;
        }
        let each = theirs.bytes / theirs.parts.max(1);
        for part in 0..theirs.parts {
            let range = part * each..(part + 1) * each;
            let is_alike = theirs.parts == self.parts.len() && theirs.bytes == self.whole.len();
            let (region, elsewhere) = if is_alike {
                (self.parts[part].clone(), None)
            } else if self.whole.addresses().is_some() {
                (self.whole.part(range), None)
            } else {
                let own = Region::owned(each);
                (own.clone(), Some(own))
            };
            let request = exchange.receive(self.pattern(part as i32), region);
            state.messages.push(Message::Begun(request, elsewhere));
        }
    }

    /// Takes what has come since.
    fn progress(&self, exchange: &mut Exchange, state: &mut State) {
        if self.is_receive()
            && state.theirs.is_none()
            && let Some((request, text)) = &state.described
            && exchange.take(*request).is_some()
        {
            let text = text.to_vec();
            let word = |at| u64::from_le_bytes(std::array::from_fn(|i| text[at + i])) as usize;
            state.theirs = Some(Theirs { parts: word(0), bytes: word(8) });
            self.begin_receives(exchange, state);
        }
        let each = state.theirs.map_or(0, |theirs| theirs.bytes / theirs.parts.max(1));
        for (part, message) in state.messages.iter_mut().enumerate() {
            if let Message::Begun(request, elsewhere) = message
                && exchange.take(*request).is_some()
            {
                if let Some(from) = elsewhere {
                    self.whole.clone().write(part * each, &from.to_vec());
                }
                *message = Message::Done;
            }
        }
    }

    fn is_too_long(&self, state: &State) -> bool {
        state.theirs.is_some_and(|theirs| theirs.bytes > self.whole.len())
    }

    /// Whether all parts have gone or come.
    pub(crate) fn is_done(&self, exchange: &mut Exchange) -> bool {
        let mut state = self.state.lock();
        if self.peer.is_none() || !state.is_active {
            return true;
        }
        self.progress(exchange, &mut state);
        let is_known = !self.is_receive() || state.theirs.is_some();
        let is_done = |message: &Message| matches!(message, Message::Done);
        is_known && (self.is_too_long(&state) || state.messages.iter().all(is_done))
    }

    /// Whether the bytes of a part of this rank have come. `None` if there is no such part.
    pub(crate) fn has_arrived(&self, exchange: &mut Exchange, part: usize) -> Option<bool> {
        if !self.is_receive() || part >= self.parts.len() {
            return None;
        }
        let mut state = self.state.lock();
        if self.peer.is_none() || !state.is_active {
            return Some(true);
        }
        self.progress(exchange, &mut state);
        let Some(theirs) = state.theirs else { return Some(false) };
        let own = self.whole.len() / self.parts.len();
        let needed = overlapping(part * own..(part + 1) * own, theirs);
        let needed = state.messages.get(needed).unwrap_or_default();
        Some(needed.iter().all(|message| matches!(message, Message::Done)))
    }

    /// What became of it, and it may be started again.
    pub(crate) fn end(&self) -> Status {
        self.state.lock().is_active = false;
        self.status()
    }

    /// What became of it.
    pub(crate) fn status(&self) -> Status {
        let state = self.state.lock();
        if !self.is_receive() {
            return Status::EMPTY;
        }
        let outcome = if self.is_too_long(&state) { Outcome::Truncated } else { Outcome::Success };
        let bytes = match (self.peer, state.theirs) {
            (Some(_), Some(theirs)) => theirs.bytes.min(self.whole.len()) as u64,
            _ => 0,
        };
        let Detail { peer, tag, .. } = self.detail;
        let tag = if self.peer.is_some() { tag } else { Status::EMPTY.tag };
        Status { source: peer, tag, bytes, outcome, ..Status::EMPTY }
    }

    /// The program waits for it no more.
    pub(crate) fn free(&self, exchange: &mut Exchange) {
        for message in std::mem::take(&mut self.state.lock().messages) {
            if let Message::Begun(request, _) = message {
                exchange.free(request);
            }
        }
    }
}

impl Drop for Partitioned {
    fn drop(&mut self) {
        communicator::note_gone(self.context);
    }
}

/// The parts of the sender that have some of these bytes.
fn overlapping(bytes: Range<usize>, theirs: Theirs) -> Range<usize> {
    match theirs.bytes / theirs.parts.max(1) {
        0 => 0..theirs.parts,
        each => bytes.start / each..bytes.end.div_ceil(each).min(theirs.parts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping__are_the_parts_that_have_a_byte_of_it() {
        let theirs = Theirs { parts: 4, bytes: 40 };
        let of = |bytes| overlapping(bytes, theirs);
        assert_eq!([of(0..10), of(0..11), of(9..21), of(30..40)], [0..1, 0..2, 0..3, 3..4]);
        assert_eq!(overlapping(0..0, Theirs { parts: 3, bytes: 0 }), 0..3);
    }
}
