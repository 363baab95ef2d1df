//! Which message goes to which receive: in the order of sending and of posting, as the standard
//! says.

mod unexpected;

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use self::unexpected::UnexpectedMessages;
pub use self::unexpected::{MessageId, Unexpected};
use crate::request::RequestId;
use crate::sys::memory::Region;
use crate::wire::Header;

/// What a receive takes.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Pattern {
    /// The communicator.
    pub context: u64,
    /// Rank of the sender; any if none.
    pub source: Option<i32>,
    /// Tag; any if none.
    pub tag: Option<i32>,
}

impl Pattern {
    /// Whether it takes this message.
    pub fn takes(&self, header: &Header) -> bool {
        self.context == header.context
            && self.source.is_none_or(|s| s == header.source)
            && self.tag.is_none_or(|t| t == header.tag)
    }
}

/// A receive that waits for its message.
#[derive(Debug)]
pub struct Posted {
    /// What it takes.
    pub pattern: Pattern,
    /// Where the message goes.
    pub region: Region,
    /// The request that is to be told.
    pub request: RequestId,
}

/// A map by numbers that ranks of the job count up: no attacker chooses them to collide, and a
/// search for each message is to be short.
pub(crate) type ByNumber<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// Spreads a number over all bits of a hash.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64((*b).into()));
    }

    fn write_u64(&mut self, number: u64) {
        // 2^64 divided by the golden ratio: numbers that follow each other lie far apart.
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        // The table takes the highest bits and the lowest: the latter are the weak ones here.
        self.0.rotate_left(32)
    }
}

/// Receives without a message and messages without a receive.
#[derive(Debug, Default)]
pub struct Matching {
    posted: ByNumber<u64, VecDeque<Posted>>,
    unexpected: UnexpectedMessages,
}

impl Matching {
    /// Takes the receive that a message is for.
    pub fn take_posted(&mut self, header: &Header) -> Option<Posted> {
        let queue = self.posted.get_mut(&header.context)?;
        let at = queue.iter().position(|p| p.pattern.takes(header))?;
        queue.remove(at)
    }

    /// Whether a receive waits for this message.
    pub fn is_awaited(&self, header: &Header) -> bool {
        let queue = self.posted.get(&header.context);
        queue.is_some_and(|q| q.iter().any(|p| p.pattern.takes(header)))
    }

    /// A receive for which nothing has come yet.
    pub fn post(&mut self, posted: Posted) {
        self.posted.entry(posted.pattern.context).or_default().push_back(posted);
    }

    /// A receive for which nothing has come yet.
    pub fn posted_mut(&mut self, request: RequestId) -> Option<&mut Posted> {
        self.posted.values_mut().flatten().find(|p| p.request == request)
    }

    /// Takes a receive back. `false` if a message was matched to it already.
    pub fn withdraw(&mut self, request: RequestId) -> bool {
        for queue in self.posted.values_mut() {
            if let Some(at) = queue.iter().position(|p| p.request == request) {
                queue.remove(at);
                return true;
            }
        }
        false
    }

    /// A message without a receive, of which nothing has come but the header.
    pub fn hold(&mut self, header: Header, from: usize) -> MessageId {
        self.unexpected.add(header, from)
    }

    /// How many messages came before their receives so far.
    pub const fn held_so_far(&self) -> u64 {
        self.unexpected.added()
    }

    /// The oldest message that `pattern` takes.
    pub fn find(&self, pattern: &Pattern) -> Option<(MessageId, &Unexpected)> {
        let id = self.unexpected.oldest(pattern)?;
        Some((id, self.unexpected.at(id)?))
    }

    /// No other receive gets this message: a matched probe has it.
    pub fn reserve(&mut self, id: MessageId) {
        self.unexpected.reserve(id);
    }

    /// Takes a message out, whole or in part.
    pub fn take(&mut self, id: MessageId) -> Option<Unexpected> {
        self.unexpected.take(id)
    }

    /// A message that is here.
    pub fn message(&self, id: MessageId) -> Option<&Unexpected> {
        self.unexpected.at(id)
    }

    /// More of a message has come.
    pub fn append(&mut self, id: MessageId, bytes: &[u8]) {
        self.unexpected.append(id, bytes);
    }

    /// Forgets a context that is not used any more. `false` while a receive or a message waits.
    pub fn forget(&mut self, context: u64) -> bool {
        let waits = self.posted.get(&context).is_some_and(|queue| !queue.is_empty())
            || self.unexpected.len_in(context) > 0;
        if !waits {
            self.posted.remove(&context);
        }
        !waits
    }

    /// How many unexpected messages of a world rank are kept.
    pub fn unexpected_of(&self, from: usize) -> usize {
        self.unexpected.len_of(from)
    }

    /// Bytes that unexpected messages have, or will have when they are whole.
    pub const fn unexpected_bytes(&self) -> u64 {
        self.unexpected.bytes()
    }

    /// Receives that wait.
    pub fn posted(&self) -> impl Iterator<Item = &Posted> {
        self.posted.values().flatten()
    }

    /// The oldest message of each of the ranks `0..size` of a communicator that has this tag.
    pub fn unexpected_with(
        &self,
        context: u64,
        tag: i32,
        size: usize,
    ) -> impl Iterator<Item = &Unexpected> {
        self.unexpected.with_tag(context, tag, size)
    }

    /// Messages that no call has asked for yet, those of a communicator in the order in which they
    /// came.
    pub fn unexpected(&self) -> impl Iterator<Item = &Unexpected> {
        self.unexpected.iter()
    }

    /// How many there are.
    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }
}

#[cfg(test)]
mod tests;
