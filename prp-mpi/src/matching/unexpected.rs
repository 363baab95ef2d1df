//! Messages that came before their receives, found by sender and tag without a search.

use std::collections::VecDeque;

use slab::Slab;

use super::{ByNumber, Pattern};
use crate::wire::Header;

/// A message that came before its receive.
#[derive(Debug)]
pub struct Unexpected {
    /// Its header.
    pub header: Header,
    /// World rank of the sender.
    pub from: usize,
    /// What has come of it.
    pub data: Vec<u8>,
    id: MessageId,
    /// The next one of the same sender with the same tag.
    next: Option<MessageId>,
    /// A matched probe has it.
    is_reserved: bool,
}

/// Which unexpected message is meant: its place in memory, and a number that tells it from those
/// that had the place before.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct MessageId {
    place: u32,
    number: u32,
}

/// The messages, by communicator.
#[derive(Debug, Default)]
pub(super) struct UnexpectedMessages {
    /// Those that came one after the other lie so, since they are most often taken so.
    all: Slab<Unexpected>,
    queues: ByNumber<u64, Queue>,
    added: u64,
    /// Of all messages, counted when they begin.
    bytes: u64,
    /// How many there are of each world rank, also of those that are reserved.
    by_rank: ByNumber<usize, usize>,
}

/// The messages of one communicator.
#[derive(Debug, Default)]
struct Queue {
    /// The first and the last of each sender and tag.
    ends: ByNumber<u64, (MessageId, MessageId)>,
    /// All in the order in which they came, among others that have been taken since.
    order: VecDeque<MessageId>,
    /// How many are there.
    len: usize,
}

/// Sender and tag as one number.
const fn key(source: i32, tag: i32) -> u64 {
    (source.cast_unsigned() as u64) << 32 | tag.cast_unsigned() as u64
}

impl UnexpectedMessages {
    /// A message of which nothing has come but the header.
    pub(super) fn add(&mut self, header: Header, from: usize) -> MessageId {
        let id = MessageId { place: self.all.vacant_key() as u32, number: self.added as u32 };
        self.added += 1;
        self.bytes += header.len;
        *self.by_rank.entry(from).or_default() += 1;
        let queue = self.queues.entry(header.context).or_default();
        queue.order.push_back(id);
        queue.len += 1;
        let ends = queue.ends.entry(key(header.source, header.tag)).or_insert((id, id));
        if ends.1 != id {
            if let Some(last) = self.all.get_mut(ends.1.place as usize) {
                last.next = Some(id);
            }
            ends.1 = id;
        }
        let data = Vec::new();
        self.all.insert(Unexpected { header, from, data, id, next: None, is_reserved: false });
        id
    }

    /// The oldest message that `pattern` takes. Takes as long as there are messages if the pattern
    /// leaves sender or tag open, and the oldest of all are others.
    pub(super) fn oldest(&self, pattern: &Pattern) -> Option<MessageId> {
        let queue = self.queues.get(&pattern.context)?;
        if let (Some(source), Some(tag)) = (pattern.source, pattern.tag) {
            return queue.ends.get(&key(source, tag)).map(|ends| ends.0);
        }
        let takes = |id: &&MessageId| self.waiting(**id).is_some_and(|m| pattern.takes(&m.header));
        queue.order.iter().find(takes).copied()
    }

    /// A message that any receive may take.
    fn waiting(&self, id: MessageId) -> Option<&Unexpected> {
        self.at(id).filter(|message| !message.is_reserved)
    }

    /// Keeps a message from receives. It is the oldest one of its sender and tag.
    pub(super) fn reserve(&mut self, id: MessageId) {
        let Some(message) = self.at_mut(id).filter(|message| !message.is_reserved) else { return };
        message.is_reserved = true;
        let (header, next) = (message.header, message.next.take());
        let Some(queue) = self.queues.get_mut(&header.context) else { return };
        let key = key(header.source, header.tag);
        match (next, queue.ends.get_mut(&key)) {
            (Some(next), Some(ends)) => ends.0 = next,
            _ => {
                queue.ends.remove(&key);
            }
        }
        queue.len -= 1;
        if queue.len == 0 {
            self.queues.remove(&header.context);
            return;
        }
        let Self { all, queues, .. } = self;
        if let Some(queue) = queues.get_mut(&header.context) {
            queue.trim(|id| at(all, id).is_some_and(|message| !message.is_reserved));
        }
    }

    /// Takes a message out. It is reserved, or the oldest one of its sender and tag.
    pub(super) fn take(&mut self, id: MessageId) -> Option<Unexpected> {
        self.reserve(id);
        at(&self.all, id)?;
        let message = self.all.remove(id.place as usize);
        self.bytes -= message.header.len;
        if let Some(count) = self.by_rank.get_mut(&message.from) {
            *count -= 1;
        }
        Some(message)
    }

    /// How many of a world rank there are, also of those that are reserved.
    pub(super) fn len_of(&self, from: usize) -> usize {
        self.by_rank.get(&from).copied().unwrap_or(0)
    }

    /// A message, also one that is reserved.
    pub(super) fn at(&self, id: MessageId) -> Option<&Unexpected> {
        at(&self.all, id)
    }

    fn at_mut(&mut self, id: MessageId) -> Option<&mut Unexpected> {
        self.all.get_mut(id.place as usize).filter(|message| message.id == id)
    }

    /// More of a message has come.
    pub(super) fn append(&mut self, id: MessageId, bytes: &[u8]) {
        if let Some(message) = self.at_mut(id) {
            message.data.extend_from_slice(bytes);
        }
    }

    /// The oldest message of each of the ranks `0..size` of a communicator that has this tag.
    pub(super) fn with_tag(
        &self,
        context: u64,
        tag: i32,
        size: usize,
    ) -> impl Iterator<Item = &Unexpected> {
        let queue = self.queues.get(&context);
        let of = move |source| self.at(queue?.ends.get(&key(source, tag))?.0);
        // Most often there is none at all.
        let size = queue.map_or(0, |_| size as i32);
        (0..size).filter_map(of)
    }

    /// Those that receives may take, of each communicator in the order in which they came.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Unexpected> {
        self.queues.values().flat_map(|queue| &queue.order).filter_map(|id| self.waiting(*id))
    }

    /// How many receives may take.
    pub(super) fn len(&self) -> usize {
        self.queues.values().map(|queue| queue.len).sum()
    }

    /// How many receives on a communicator may take.
    pub(super) fn len_in(&self, context: u64) -> usize {
        self.queues.get(&context).map_or(0, |queue| queue.len)
    }

    /// How many there were so far.
    pub(super) const fn added(&self) -> u64 {
        self.added
    }

    /// Bytes that all have, or will have when they are whole.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

fn at(all: &Slab<Unexpected>, id: MessageId) -> Option<&Unexpected> {
    all.get(id.place as usize).filter(|message| message.id == id)
}

impl Queue {
    /// Forgets messages that were taken: those before all others at once, the rest when they are
    /// most.
    fn trim(&mut self, is_there: impl Fn(MessageId) -> bool) {
        while self.order.front().is_some_and(|id| !is_there(*id)) {
            self.order.pop_front();
        }
        if self.order.len() > 2 * self.len + 16 {
            self.order.retain(|id| is_there(*id));
        }
    }
}

#[cfg(test)]
mod tests;
