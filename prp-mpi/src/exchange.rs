//! All that a rank sends and receives: channels, matching, requests and the collective operations
//! in progress.

mod collective;
mod departure;
mod leaving;
mod linking;
mod release;
#[cfg(test)]
mod tests;
mod window;

use std::io;
use std::sync::Arc;
use std::time::Duration;

pub use crate::channel::Copies;
use crate::channel::{Channel, ChannelInput, Incoming, Stream, Target};
use crate::collective::schedule::Schedule;
use crate::matching::{ByNumber, Matching, MessageId, Pattern, Posted, Unexpected};
use crate::request::{Outcome, RequestId, Requests, Status};
use crate::sys::memory::Region;
use crate::sys::protection;
use crate::wire::{Header, Kind};
use collective::{CallHistory, Combining};
pub use collective::{Combination, Mismatch};
use release::Released;
pub use release::{Overrun, THRESHOLD};
use window::Windows;
pub use window::{Access, Action};

/// A message of at most this many bytes is copied if there is no room for it, so that a blocking
/// send of it returns.
const COPIED: usize = 64 << 10;

/// Unexpected messages are taken in up to this many bytes; beyond, their senders are held back as
/// long as this rank has something else to do.
pub const HELD: u64 = 64 << 20;

/// Unexpected messages of one rank that are taken in.
pub const HELD_MESSAGES: usize = 64 << 10;

/// Room that is made for a message that says how long it is, before any of it has come.
const MOST_ROOM: u64 = 1 << 20;

/// How many more of them where the rank has nothing else to do.
const CREDIT: usize = 1 << 10;

/// What a rank sends and receives, and its channels.
#[derive(Debug)]
pub struct Exchange {
    me: usize,
    channels: Vec<Option<Channel>>,
    /// Channels with a burst in progress.
    in_burst: Vec<usize>,
    matching: Matching,
    requests: Requests,
    schedules: Vec<Schedule>,
    combining: Combining,
    /// Collective calls that were begun here, by context.
    calls: ByNumber<u64, CallHistory>,
    /// A disagreement that was found: world rank, its signature, ours, context.
    pub mismatch: Option<Mismatch>,
    /// What came on a channel that is no header, and the rank that sent it.
    pub garbage: Option<(usize, u8)>,
    /// A rank to which nothing goes any more, and what has ended its stream.
    pub failure: Option<(usize, io::Error)>,
    /// A message that was longer than the buffer of a receive that had been released.
    pub overrun: Option<Overrun>,
    released: Released,
    windows: Windows,
    /// A rank that has asked for something of a window that there is not.
    pub stray: Option<usize>,
    /// A process of another job that has ended although a communicator has it.
    pub lost: Option<usize>,
    /// Ranks of the own job. Channels behind these are to other jobs.
    ranks: usize,
    /// Contexts on which nothing will be begun any more, and on which something waits.
    unused: Vec<u64>,
    /// What has happened that no other part of this counts.
    other_changes: u64,
}

impl Exchange {
    /// Rank `me` of the world, with a stream to each other rank.
    ///
    /// # Errors
    /// If a stream cannot be made nonblocking.
    pub fn new(me: usize, streams: Vec<Option<Stream>>) -> io::Result<Self> {
        let channels = streams.into_iter().map(|s| s.map(Channel::new).transpose());
        let channels = channels.collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            me,
            ranks: channels.len(),
            channels,
            in_burst: Vec::new(),
            matching: Matching::default(),
            requests: Requests::default(),
            schedules: Vec::new(),
            combining: Combining::default(),
            calls: ByNumber::default(),
            mismatch: None,
            garbage: None,
            failure: None,
            overrun: None,
            released: Released::default(),
            windows: Windows::default(),
            stray: None,
            lost: None,
            unused: Vec::new(),
            other_changes: 0,
        })
    }

    /// How often something has happened that a thread may wait for: it grows only.
    pub fn changes(&self) -> u64 {
        let own = self.requests.completed() + self.matching.held_so_far() + self.other_changes;
        own + protection::times_opened()
    }

    /// Something has happened that a thread may wait for.
    pub const fn note_change(&mut self) {
        self.other_changes += 1;
    }

    /// World rank.
    pub const fn me(&self) -> usize {
        self.me
    }

    /// Begins to send. `header.id` and `header.len` are filled in here.
    pub fn send(&mut self, to: usize, header: Header, body: &Region) -> RequestId {
        self.begin_send(to, header, body, |channel| {
            channel.end_burst();
            false
        })
    }

    /// As [`Self::send`], but the message may wait for the next one to this rank, so that both
    /// leave in one segment: until [`Self::end_bursts`], or until [`Self::send_overdue`] finds it
    /// twice.
    pub fn send_in_burst(&mut self, to: usize, header: Header, body: &Region) -> RequestId {
        let channel = self.channels.get(to).and_then(Option::as_ref);
        if channel.is_some_and(|channel| channel.is_remote() && !channel.is_in_burst()) {
            self.in_burst.push(to);
        }
        self.begin_send(to, header, body, Channel::may_wait)
    }

    fn begin_send(
        &mut self,
        to: usize,
        mut header: Header,
        body: &Region,
        may_wait: impl FnOnce(&mut Channel) -> bool,
    ) -> RequestId {
        let waits = if header.kind == Kind::Synchronous { 2 } else { 1 };
        let request = self.requests.begin(waits, Status::EMPTY);
        header.id = request.0;
        header.len = body.len() as u64;
        if to == self.me {
            if header.kind == Kind::EndFirst {
                header.kind = Kind::Message;
            }
            self.deliver_here(&header, body);
            self.requests.advance(request);
            return request;
        }
        // Bytes that another rank of this node takes are packed where it takes them from.
        let channel = self.channels.get(to).and_then(Option::as_ref);
        let packs = header.kind != Kind::EndFirst && channel.is_some_and(|c| !c.is_remote());
        let body = if packs || body.bytes().is_some() {
            body.clone()
        } else {
            let mut packed = Region::owned(body.len());
            packed.copy_from(body);
            packed
        };
        if let Some(channel) = self.channels.get_mut(to).and_then(Option::as_mut) {
            channel.queue(&header, body, Some(request));
            if may_wait(channel) {
                return request;
            }
            self.flush(to);
        }
        if let Some(channel) = self.channels.get_mut(to).and_then(Option::as_mut) {
            channel.note_burst_sent();
            if let Some(request) = channel.own_last(COPIED) {
                self.requests.advance(request);
            }
        }
        request
    }

    /// Sends what there is room for to a rank; how many bytes.
    fn flush(&mut self, to: usize) -> usize {
        let Some(channel) = self.channels.get_mut(to).and_then(Option::as_mut) else { return 0 };
        let waited = channel.waits_for_room();
        let sent = channel.flush(|r| self.requests.advance(r));
        self.other_changes += u64::from(channel.waits_for_room() != waited);
        if channel.is_over {
            self.note_failure(to);
        }
        sent
    }

    /// Notes what has ended the channel to a rank, where nobody else does.
    fn note_failure(&mut self, rank: usize) {
        if let Some(error) = self.channels[rank].as_mut().and_then(|channel| channel.failure.take())
        {
            self.failure.get_or_insert((rank, error));
        }
    }

    /// The program calls something that waits or polls: no message waits for another one.
    pub fn end_bursts(&mut self) {
        while let Some(to) = self.in_burst.pop() {
            if let Some(channel) = self.channels[to].as_mut() {
                channel.end_burst();
                self.flush(to);
            }
        }
    }

    /// Sends messages that have waited for another one since the last call of this.
    pub fn send_overdue(&mut self) {
        for to in 0..self.channels.len() {
            if self.channels[to].as_mut().is_some_and(Channel::is_overdue) {
                self.flush(to);
            }
        }
    }

    /// A message of a rank to itself.
    fn deliver_here(&mut self, header: &Header, body: &Region) {
        if let Some(mut posted) = self.matching.take_posted(header) {
            posted.region.copy_from(body);
            self.settle(header, posted.request, posted.region.len());
            self.requests.advance(posted.request);
            self.confirm(header, self.me);
        } else {
            let id = self.matching.hold(*header, self.me);
            self.matching.append(id, &body.to_vec());
        }
    }

    /// Begins to receive.
    pub fn receive(&mut self, pattern: Pattern, region: Region) -> RequestId {
        let request = self.requests.begin(1, Status::EMPTY);
        match self.matching.find(&pattern).map(|(id, _)| id) {
            Some(id) => self.claim(id, region, request),
            None => self.matching.post(Posted { pattern, region, request }),
        }
        request
    }

    /// Begins to receive a message that a probe has found.
    pub fn receive_message(&mut self, id: MessageId, region: Region) -> RequestId {
        let request = self.requests.begin(1, Status::EMPTY);
        self.claim(id, region, request);
        request
    }

    /// A message that is here goes to `region`, with what is still to come of it.
    fn claim(&mut self, id: MessageId, mut region: Region, request: RequestId) {
        let Some(Unexpected { header, from, data, .. }) = self.matching.take(id) else { return };
        let front = data.len().min(header.front() as usize);
        region.write((header.len - header.front()) as usize, &data[..front]);
        region.write(0, &data[front..]);
        self.settle(&header, request, region.len());
        if data.len() as u64 == header.len {
            self.requests.advance(request);
        } else if let Some(incoming) = self.incoming_of(from) {
            incoming.target = Target::Request(request, region);
        }
        self.confirm(&header, from);
    }

    fn incoming_of(&mut self, from: usize) -> Option<&mut Incoming> {
        self.channels.get_mut(from)?.as_mut()?.incoming.as_mut()
    }

    /// Writes down what a receive has got, or will have.
    fn settle(&mut self, header: &Header, request: RequestId, room: usize) {
        let fits = header.len <= room as u64;
        self.note_begun(header, request, room);
        if let Some(request) = self.requests.at(request) {
            request.status = Status {
                source: header.source,
                tag: header.tag,
                bytes: header.len.min(room as u64),
                cancelled: false,
                outcome: if fits { Outcome::Success } else { Outcome::Truncated },
            };
        }
    }

    /// Tells the sender of a synchronous message that it is being received.
    fn confirm(&mut self, header: &Header, from: usize) {
        if header.kind != Kind::Synchronous || self.is_delayed(header, from) {
            return;
        }
        if from == self.me {
            self.requests.advance(RequestId(header.id));
        } else if let Some(channel) = self.channels.get_mut(from).and_then(Option::as_mut) {
            let answer = Header { kind: Kind::Received, len: 0, ..*header };
            channel.queue(&answer, Region::owned(0), None);
            self.flush(from);
        }
    }

    /// The oldest message that `pattern` takes: its number, and what a receive of it would have.
    pub fn probe(&mut self, pattern: &Pattern) -> Option<(MessageId, Status)> {
        for from in 0..self.channels.len() {
            self.admit(from, |_, header| pattern.takes(header));
        }
        let (id, message) = self.matching.find(pattern)?;
        let header = message.header;
        let status =
            Status { source: header.source, tag: header.tag, bytes: header.len, ..Status::EMPTY };
        Some((id, status))
    }

    /// Keeps a message that a probe has found from all other receives.
    pub fn reserve(&mut self, id: MessageId) {
        self.matching.reserve(id);
    }

    /// Takes a receive back, unless its message has begun to come.
    pub fn cancel(&mut self, request: RequestId) {
        if self.matching.withdraw(request) {
            if let Some(request) = self.requests.at(request) {
                request.status.cancelled = true;
            }
            self.requests.advance(request);
        }
    }

    /// Moves what can be moved. `false` if that was nothing.
    pub fn progress(&mut self) -> bool {
        let mut moved = false;
        for from in 0..self.channels.len() {
            moved |= self.progress_channel(from);
        }
        moved | self.advance_schedules()
    }

    /// The only other rank that sends or receives anything, if it is on another node and has all
    /// that was sent.
    pub fn only_remote(&self) -> Option<usize> {
        let mut open = (0..self.channels.len())
            .filter(|&r| self.channels[r].as_ref().is_some_and(|l| !l.is_over));
        let (only, other) = (open.next()?, open.next());
        let channel = self.channels[only].as_ref()?;
        let waits = channel.is_remote() && channel.is_open() && !channel.wants_room();
        (other.is_none() && waits).then_some(only)
    }

    /// Whether a rank of this node may still send or receive anything.
    pub fn has_local(&self) -> bool {
        self.channels.iter().flatten().any(|l| !l.is_remote() && !l.is_over)
    }

    /// Whether a message is held back.
    pub fn is_stalled(&self) -> bool {
        self.channels.iter().flatten().any(|l| l.stalled.is_some())
    }

    /// As [`Self::progress`], but waits for `from` to send something, for up to `patience`.
    pub fn progress_patiently(&mut self, from: usize, patience: Duration) -> bool {
        if let Some(channel) = self.channels[from].as_mut() {
            channel.be_patient(patience);
        }
        self.progress()
    }

    fn progress_channel(&mut self, from: usize) -> bool {
        self.admit(from, |exchange, header| {
            exchange.can_hold(from) || exchange.matching.is_awaited(header)
        });
        let Some(channel) = self.channels[from].as_mut() else { return false };
        channel.mark_readable();
        let was_over = channel.is_over;
        let mut moved = channel.wants_room() && self.flush(from) > 0;
        while let Some(channel) = self.channels[from].as_mut().filter(|l| l.is_open()) {
            let matching = &mut self.matching;
            match channel.next(|id, bytes| matching.append(id, bytes)) {
                Ok(ChannelInput::Nothing) => break,
                Ok(ChannelInput::Header(header)) => self.begin(from, header),
                Ok(ChannelInput::Bytes) => {}
                Ok(ChannelInput::Whole) => self.end(from),
                Err(byte) => {
                    channel.is_over = true;
                    self.garbage.get_or_insert((from, byte));
                }
            }
            moved = true;
        }
        let is_over = self.channels[from].as_ref().is_some_and(|channel| channel.is_over);
        if is_over {
            self.note_failure(from);
        }
        self.other_changes += u64::from(is_over && !was_over);
        if is_over && from >= self.ranks {
            self.unlink(from);
        }
        moved
    }

    /// Whether one more unexpected message of a rank may be taken in.
    fn can_hold(&mut self, from: usize) -> bool {
        if self.matching.unexpected_bytes() >= HELD {
            return false;
        }
        let Some(channel) = self.channels[from].as_mut() else { return true };
        if self.matching.unexpected_of(from) < HELD_MESSAGES {
            channel.credit = 0;
            return true;
        }
        let has_credit = channel.credit > 0;
        channel.credit = channel.credit.saturating_sub(1);
        has_credit
    }

    /// The header of a message has come.
    fn begin(&mut self, from: usize, header: Header) {
        match header.kind {
            Kind::Received => return self.requests.advance(RequestId(header.id)),
            Kind::Goodbye | Kind::Leave | Kind::Return => {
                return self.note_presence(from, header.kind);
            }
            Kind::OneSided => {
                let room = header.len.min(MOST_ROOM) as usize;
                let target = Target::Gathered(Vec::with_capacity(room));
                return self.expect(from, Incoming { header, got: 0, target });
            }
            Kind::Collective => self.compare(&header, from),
            Kind::Message | Kind::Synchronous | Kind::EndFirst => {}
        }
        let target = match self.matching.take_posted(&header) {
            Some(Posted { region, request, .. }) => {
                self.settle(&header, request, region.len());
                self.confirm(&header, from);
                Target::Request(request, region)
            }
            None if !self.can_hold(from) => {
                if let Some(channel) = self.channels[from].as_mut() {
                    channel.stalled = Some(header);
                }
                return;
            }
            None => Target::Held(self.matching.hold(header, from)),
        };
        self.expect(from, Incoming { header, got: 0, target });
    }

    fn expect(&mut self, from: usize, incoming: Incoming) {
        if let Some(channel) = self.channels[from].as_mut() {
            let is_empty = incoming.header.len == 0;
            channel.incoming = Some(incoming);
            if is_empty {
                self.end(from);
            }
        }
    }

    /// The message in transit from `from` is whole.
    fn end(&mut self, from: usize) {
        let incoming = self.channels[from].as_mut().and_then(|l| l.incoming.take());
        let Some(Incoming { header, target, .. }) = incoming else { return };
        match target {
            Target::Request(request, _) => self.requests.advance(request),
            Target::Gathered(bytes) => self.act(from, &header, &bytes),
            Target::Held(_) => {}
        }
    }

    /// Takes in the message that was held back, if `may` says so.
    fn admit(&mut self, from: usize, may: impl Fn(&mut Self, &Header) -> bool) {
        let Some(header) = self.channels[from].as_ref().and_then(|l| l.stalled) else { return };
        if !may(self, &header) {
            return;
        }
        if let Some(channel) = self.channels[from].as_mut() {
            channel.stalled = None;
        }
        let target = match self.matching.take_posted(&header) {
            Some(Posted { region, request, .. }) => {
                self.settle(&header, request, region.len());
                self.confirm(&header, from);
                Target::Request(request, region)
            }
            None => Target::Held(self.matching.hold(header, from)),
        };
        self.expect(from, Incoming { header, got: 0, target });
    }

    /// Nothing else can happen: one message is taken in beyond the limit, or some that are many and
    /// not long, since what is waited for may be behind it.
    pub fn admit_one(&mut self) -> bool {
        let stalled = |l: &Option<Channel>| l.as_ref().is_some_and(|l| l.stalled.is_some());
        let Some(from) = self.channels.iter().position(stalled) else { return false };
        self.admit(from, |_, _| true);
        if let Some(channel) = self.channels[from].as_mut() {
            channel.credit = CREDIT;
        }
        true
    }

    /// Whether a request is done.
    pub fn is_done(&self, request: RequestId) -> bool {
        self.requests.is_done(request)
    }

    /// What became of a request, if it is done; then it is no more.
    pub fn take(&mut self, request: RequestId) -> Option<Status> {
        self.requests.take(request)
    }

    /// What became of a request, if it is done.
    pub fn peek(&mut self, request: RequestId) -> Option<Status> {
        if !self.requests.is_done(request) {
            return None;
        }
        self.requests.at(request).map(|r| r.status)
    }

    /// No call will ask for this request.
    pub fn free(&mut self, request: RequestId) {
        self.requests.free(request);
    }

    /// Nothing will be begun on these contexts any more: they are forgotten when nothing waits on
    /// them.
    pub fn forget(&mut self, contexts: &[u64]) {
        self.unused.extend(contexts);
        let (matching, schedules, calls) = (&mut self.matching, &self.schedules, &mut self.calls);
        let combining = &self.combining;
        self.unused.retain(|&context| {
            let is_used = schedules.iter().any(|s| s.context == context) || combining.has(context);
            if is_used || !matching.forget(context) {
                return true;
            }
            calls.remove(&context);
            false
        });
    }

    /// Contexts that collective calls are remembered of.
    #[cfg(test)]
    pub(crate) fn contexts(&self) -> usize {
        self.calls.len()
    }

    /// The streams to wait on, with whether each waits for room.
    pub fn streams(&self) -> Vec<(Arc<Stream>, bool, bool)> {
        let open = self.channels.iter().flatten().filter(|l| !l.is_over);
        open.map(|l| (l.stream(), l.is_open(), l.wants_room())).collect()
    }

    /// Receives that wait for a message.
    pub fn posted(&self) -> impl Iterator<Item = &Posted> {
        self.matching.posted()
    }

    /// Messages that wait for a receive.
    pub fn unexpected(&self) -> impl Iterator<Item = &Unexpected> {
        self.matching.unexpected()
    }

    /// How many these are.
    pub fn unexpected_len(&self) -> usize {
        self.matching.unexpected_len()
    }

    /// Where the bytes of messages went that have come from other ranks.
    pub fn copies(&self) -> Copies {
        let mut all = Copies::default();
        self.channels.iter().flatten().for_each(|channel| all += channel.copies);
        all
    }

    /// Bytes of messages that have come from other ranks.
    pub fn received(&self) -> u64 {
        let Copies { straight, staged, held } = self.copies();
        straight + staged + held
    }

    /// Requests that are not done.
    pub fn pending(&self) -> usize {
        self.requests.pending()
    }
}
