//! The stream to another rank: what is to be sent on it, and what is being received from it.

mod burst;
mod copies;
mod outgoing;
mod stream;

use std::collections::VecDeque;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::burst::Bursts;
pub use self::copies::Copies;
use self::outgoing::{Outgoing, gather};
pub use self::stream::Stream;
use crate::matching::MessageId;
use crate::request::RequestId;
use crate::sys::memory::Region;
use crate::wire::{Header, Kind, LONG_HEADER};

/// What is read at a time unless it goes straight into a buffer: what a stream's window holds of
/// small messages.
const PIECE: usize = 64 << 10;

/// Messages written at a time: more make no call cheaper.
const BATCH: usize = 16;

/// Messages of a burst wait while they are at most this many bytes with their headers: these fit
/// one segment on any path but the narrowest.
const WAITING: usize = 1400;

/// Messages to one rank that may be copied because there was no room for them: a program that sends
/// more waits until the other rank takes them in.
const MOST_COPIED: usize = 16 << 10;

/// Bytes of these.
const MOST_COPIED_BYTES: usize = 4 << 20;

/// Where the bytes go that come next.
#[derive(Debug)]
pub(crate) enum Target {
    /// A receive that was posted.
    Request(RequestId, Region),
    /// A message that no call has asked for yet.
    Held(MessageId),
    /// Something that is done once all of it is here.
    Gathered(Vec<u8>),
}

/// A message that is being received.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) header: Header,
    pub(crate) got: u64,
    pub(crate) target: Target,
}

/// What a poll of a channel has found.
#[derive(Debug)]
pub(crate) enum ChannelInput {
    /// Nothing more for now.
    Nothing,
    /// The header of a message.
    Header(Header),
    /// Bytes of the message that is being received.
    Bytes,
    /// The last byte of it, too.
    Whole,
}

/// A channel to another rank.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: Arc<Stream>,
    out: VecDeque<Outgoing>,
    /// Messages that have left.
    left: u64,
    /// Messages in `out` that were copied, and their bytes.
    copied: (usize, usize),
    bursts: Bursts,
    /// The stream had no room when it was written to last.
    waits_for_room: bool,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    pub(crate) incoming: Option<Incoming>,
    /// A header whose message has to wait for a receive, since too much is held already.
    pub(crate) stalled: Option<Header>,
    /// Messages that are taken in although too many of this rank are held.
    pub(crate) credit: usize,
    /// The stream has ended.
    pub(crate) is_over: bool,
    /// What has ended it, where that is not that the other rank has gone.
    pub(crate) failure: Option<io::Error>,
    /// The rank at the other end sends no more unless it returns.
    pub(crate) has_left: bool,
    /// The rank at the other end has called `MPI_Finalize`. It may be there again by a session.
    pub(crate) has_finalized: bool,
    /// It is to a process of another job that no communicator has any more.
    pub(crate) is_detached: bool,
    /// For how long the next read may wait, by which a rank sleeps that has no other channel.
    patience: Option<Duration>,
    /// The last read has brought less than it could: there was no more at that moment.
    is_drained: bool,
    pub(crate) copies: Copies,
}

impl Channel {
    /// A channel over `stream`.
    pub(crate) fn new(stream: Stream) -> io::Result<Self> {
        stream.set_nonblocking()?;
        Ok(Self {
            stream: Arc::new(stream),
            out: VecDeque::new(),
            left: 0,
            copied: (0, 0),
            bursts: Bursts::new(),
            waits_for_room: false,
            buffer: vec![0; PIECE].into_boxed_slice(),
            start: 0,
            end: 0,
            incoming: None,
            stalled: None,
            credit: 0,
            is_over: false,
            failure: None,
            has_left: false,
            has_finalized: false,
            is_detached: false,
            patience: None,
            is_drained: false,
            copies: Copies::default(),
        })
    }

    /// Whether this goes to another node.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(*self.stream, Stream::Remote(_))
    }

    /// Has the next read wait for up to `patience`.
    pub(crate) const fn be_patient(&mut self, patience: Duration) {
        self.patience = Some(patience);
    }

    /// The stream, to wait on.
    pub(crate) fn stream(&self) -> Arc<Stream> {
        self.stream.clone()
    }

    /// Copies a small message that there was no room for, so that its sender need not wait, unless
    /// too much is copied already.
    pub(crate) fn own_last(&mut self, most: usize) -> Option<RequestId> {
        let last = self.out.back_mut().filter(|m| m.body.len() <= most)?;
        let (messages, bytes) = (self.copied.0 + 1, self.copied.1 + last.body.len());
        if messages > MOST_COPIED || bytes > MOST_COPIED_BYTES {
            return None;
        }
        let request = last.request.take()?;
        let mut owned = Region::owned(last.body.len());
        owned.copy_from(&last.body);
        last.body = owned;
        last.is_copied = true;
        self.copied = (messages, bytes);
        Some(request)
    }

    /// Whether something waits for room.
    pub(crate) fn wants_room(&self) -> bool {
        !self.out.is_empty() && !self.is_over
    }

    /// Whether no message waits for room that asks for something of a window.
    pub(crate) fn has_sent_accesses(&self) -> bool {
        self.is_over || !self.out.iter().any(|message| Kind::is_one_sided(&message.head))
    }

    /// Whether the stream had no room for all of it.
    pub(crate) const fn waits_for_room(&self) -> bool {
        self.waits_for_room
    }

    /// Whether `MPI_Finalize` need not wait for the other end, and nothing is to be sent.
    pub(crate) fn is_done(&self) -> bool {
        let has_left = self.has_finalized || self.has_left || self.is_detached;
        self.is_over || has_left && !self.wants_room()
    }

    /// Notes that there may be more to read by now.
    pub(crate) const fn mark_readable(&mut self) {
        self.is_drained = false;
    }

    /// Whether anything could be read.
    pub(crate) const fn is_open(&self) -> bool {
        !self.is_over && self.stalled.is_none()
    }

    /// Queues a message; `request` is told when its bytes are no longer needed.
    pub(crate) fn queue(&mut self, header: &Header, body: Region, request: Option<RequestId>) {
        let mut front = Region::owned(0);
        let mut body = body;
        let len = header.front() as usize;
        if len > 0 {
            front = Region::owned(len);
            front.copy_from(&body.part(body.len() - len..body.len()));
            body = body.part(0..body.len() - len);
        }
        self.queue_parts(header, front, body, request);
    }

    /// As [`Self::queue`], of a message of two parts, each in one piece.
    pub(crate) fn queue_parts(
        &mut self,
        header: &Header,
        front: Region,
        body: Region,
        request: Option<RequestId>,
    ) {
        let mut head = [0; LONG_HEADER];
        let head_len = header.write(&mut head);
        self.out.push_back(Outgoing {
            head,
            head_len,
            front,
            body,
            sent: 0,
            request,
            is_copied: false,
            watchers: Vec::new(),
        });
    }

    /// Returns the number of the last message, if something is still to be sent.
    pub(crate) fn last_queued(&self) -> Option<u64> {
        self.wants_room().then(|| self.left + self.out.len() as u64)
    }

    /// Has `request` told when the message with this number has left. `false` if it has.
    pub(crate) fn watch(&mut self, number: u64, request: RequestId) -> bool {
        let index = number.checked_sub(self.left + 1).filter(|_| !self.is_over);
        let Some(index) = index else { return false };
        let Some(message) = self.out.get_mut(index as usize) else { return false };
        message.watchers.push(request);
        true
    }

    /// Whether a message of a burst was begun that has not ended.
    pub(crate) const fn is_in_burst(&self) -> bool {
        self.bursts.have_begun()
    }

    /// Whether what is queued can wait for the message that the program is about to begin.
    pub(crate) fn may_wait(&mut self) -> bool {
        self.is_remote()
            && self.bursts.begin(Instant::now)
            && self.out.iter().map(Outgoing::len).sum::<usize>() <= WAITING
    }

    /// A message of a burst has been sent at once.
    pub(crate) fn note_burst_sent(&mut self) {
        self.bursts.sent(Instant::now);
    }

    /// A call sends at once, polls or waits: what waits for another message waits no longer.
    pub(crate) fn end_burst(&mut self) {
        self.bursts.end(Instant::now);
    }

    /// Whether something has waited for another message since the last time that this was asked.
    pub(crate) fn is_overdue(&mut self) -> bool {
        self.wants_room() && self.bursts.is_overdue(Instant::now)
    }

    /// Sends what there is room for; tells whose bytes are no longer needed. How many bytes went
    /// out.
    pub(crate) fn flush(&mut self, mut done: impl FnMut(RequestId)) -> usize {
        let mut total = 0;
        while !self.out.is_empty() && !self.is_over {
            let n = match self.write_next() {
                Ok(n) if n > 0 => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                outcome => {
                    self.is_over = true;
                    self.failure = outcome.err().filter(is_no_end_of_a_rank);
                    break;
                }
            };
            total += n;
            self.note_sent(n, &mut done);
        }
        self.waits_for_room = self.wants_room();
        total
    }

    /// Writes what comes next, as far as there is room.
    fn write_next(&self) -> io::Result<usize> {
        if let (Stream::Local(end), Some(message)) = (&*self.stream, self.out.front())
            && message.is_spread()
        {
            return message.write_to(end);
        }
        // One message is the rule, and to clear room for more costs as much as to queue it.
        let (mut few, mut many);
        let bufs: &mut [IoSlice<'_>] = if self.out.len() == 1 {
            few = [IoSlice::new(&[]); 3];
            &mut few
        } else {
            many = [IoSlice::new(&[]); 3 * BATCH];
            &mut many
        };
        let filled = gather(&self.out, bufs);
        self.stream.write(&bufs[..filled])
    }

    fn note_sent(&mut self, mut n: usize, done: &mut impl FnMut(RequestId)) {
        while let Some(message) = self.out.front_mut() {
            let left = message.len() - message.sent;
            if n < left {
                message.sent += n;
                return;
            }
            n -= left;
            message.request.iter().chain(&message.watchers).copied().for_each(&mut *done);
            if message.is_copied {
                self.copied.0 -= 1;
                self.copied.1 -= message.body.len();
            }
            self.out.pop_front();
            self.left += 1;
        }
    }

    /// What comes next on the stream. Bytes of a message go where it says; `held` takes those that
    /// no call waits for.
    ///
    /// # Errors
    /// What the first byte of a header was, if that is none.
    pub(crate) fn next(&mut self, held: impl FnMut(MessageId, &[u8])) -> Result<ChannelInput, u8> {
        if self.incoming.is_some() {
            return Ok(self.take_body(held));
        }
        loop {
            if let Some((header, len)) = Header::read(&self.buffer[self.start..self.end])? {
                self.start += len;
                return Ok(ChannelInput::Header(header));
            }
            // The peer may send a header and nothing behind it.
            if !self.fill(1) {
                return Ok(ChannelInput::Nothing);
            }
        }
    }

    /// Reads what has come into the buffer, of which `expected` bytes come at least. `false` if
    /// there is nothing.
    fn fill(&mut self, expected: usize) -> bool {
        if self.is_drained {
            return false;
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let wait = self.patience.take().map(|patience| (expected, patience));
        let read = read(
            &self.stream,
            wait,
            &mut self.buffer[self.end..],
            &mut self.is_over,
            &mut self.failure,
        );
        self.end += read;
        self.is_drained = self.end < self.buffer.len();
        read > 0
    }

    fn take_body(&mut self, mut held: impl FnMut(MessageId, &[u8])) -> ChannelInput {
        let Some(mut incoming) = self.incoming.take() else { return ChannelInput::Nothing };
        let left = incoming.header.len - incoming.got;
        if left == 0 {
            self.incoming = Some(incoming);
            return ChannelInput::Whole;
        }
        let (at, left) = incoming.header.next_bytes(incoming.got);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let expected = usize::try_from(left).unwrap_or(usize::MAX);
        let mut n = 0;
        if self.start == self.end
            && let Target::Request(_, region) = &mut incoming.target
            && let Some(room) = region.bytes_mut(at.min(region.len()))
            && room.len().min(expected) >= PIECE / 4
        {
            // Much is to come: straight to where it belongs.
            let most = room.len().min(expected);
            let wait = self.patience.take().map(|patience| (expected, patience));
            n = if self.is_drained {
                0
            } else {
                read(&self.stream, wait, &mut room[..most], &mut self.is_over, &mut self.failure)
            };
            self.is_drained = n < most;
            self.copies.straight += n as u64;
        } else if self.start < self.end || self.fill(expected) {
            n = (self.end - self.start).min(expected);
            let bytes = &self.buffer[self.start..self.start + n];
            match &mut incoming.target {
                // What there is no room for is lost: the message is longer than the buffer.
                Target::Request(_, region) => {
                    self.copies.staged += region.write(at, bytes) as u64;
                }
                Target::Held(id) => {
                    self.copies.held += n as u64;
                    held(*id, bytes);
                }
                Target::Gathered(all) => {
                    self.copies.held += n as u64;
                    all.extend_from_slice(bytes);
                }
            }
            self.start += n;
        }
        incoming.got += n as u64;
        let whole = incoming.got == incoming.header.len;
        self.incoming = Some(incoming);
        match n {
            _ if whole => ChannelInput::Whole,
            0 => ChannelInput::Nothing,
            _ => ChannelInput::Bytes,
        }
    }
}

/// Reads once; 0 if nothing will ever come again, or nothing is there. With `wait` it waits, for
/// that time at most, and the peer sends as many bytes as that says.
fn read(
    stream: &Stream,
    wait: Option<(usize, Duration)>,
    into: &mut [u8],
    is_over: &mut bool,
    failure: &mut Option<io::Error>,
) -> usize {
    loop {
        let outcome = match (stream, wait) {
            // The thread that waits moves the frames itself, which no descriptor's waiter does. No
            // other thread uses the stream meanwhile.
            (Stream::Remote(remote), Some((expected, patience))) => {
                remote.read_expected(into, expected, patience)
            }
            _ => stream.read(into),
        };
        return match outcome {
            Ok(0) => {
                *is_over = true;
                0
            }
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => {
                *is_over = true;
                *failure = Some(e).filter(is_no_end_of_a_rank);
                0
            }
        };
    }
}

/// Whether what has ended a stream is neither rank's end, of which the launcher knows: the path is
/// dead, or this process has no memory.
fn is_no_end_of_a_rank(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::OutOfMemory)
}
