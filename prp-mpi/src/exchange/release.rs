//! Receives that end before their message is there: the pages still to come are closed to the
//! application until they have come.
//!
//! Source: J. Ke, M. Burtscher and E. Speight, *Tolerating Message Latency Through the Early
//! Release of Blocked Receives*, 2005.

use std::ops::Range;

use super::Exchange;
use crate::channel::{Incoming, Target};
use crate::matching::{Pattern, Posted};
use crate::request::{Request, RequestId, Status};
use crate::sys::memory::Region;
use crate::sys::protection;
use crate::wire::Header;

/// Smallest buffer for which a receive is released early. The papers' programs gain from this size
/// on, and not with less (docs/experiments/small-messages.md).
pub const THRESHOLD: usize = 32 << 10;

/// Fewest bytes still to come for which it is. Closing pages, a touch and opening them again take
/// some 15 us, which is what these bytes take at 10 Gbit/s.
const LEAST_TO_COME: usize = 16 << 10;

/// Receives that were released.
#[derive(Debug, Default)]
pub(super) struct Released {
    /// How many of them have not begun to arrive.
    not_begun: usize,
    /// Answers to synchronous sends that may not leave before all have begun.
    delayed: Vec<(Header, usize)>,
    counts: Counts,
}

/// How receives were released.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Before anything of their message was there.
    pub before_header: u64,
    /// While their message was in transit.
    pub after_header: u64,
}

/// A message that was longer than the buffer of a receive that had been released.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Overrun {
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Bytes of the buffer.
    pub room: usize,
}

impl Exchange {
    /// As [`Self::receive`]; the receive may be released early.
    pub fn receive_early(&mut self, pattern: Pattern, region: Region) -> RequestId {
        let is_releasable = region.len() >= THRESHOLD && region.addresses().is_some();
        let id = self.receive(pattern, region);
        if let Some(request) = self.requests.at(id) {
            request.is_releasable = is_releasable;
        }
        id
    }

    /// Whether a request is done, or could be released now. `is_ignored`: its status will not be
    /// read.
    pub fn can_release(&mut self, id: RequestId, is_ignored: bool) -> bool {
        if self.requests.is_done(id) {
            return true;
        }
        if !self.requests.at(id).is_some_and(|r| r.is_releasable) {
            return false;
        }
        if let Some(posted) = self.matching.posted_mut(id) {
            return is_ignored && part_of_posted(posted).is_some();
        }
        self.incoming_for(id).is_some_and(|i| part_of_incoming(i).is_some())
    }

    /// Releases a receive. `false` if its pages cannot be closed: then it has to be waited for.
    pub fn release(&mut self, id: RequestId) -> bool {
        if self.requests.is_done(id) {
            return true;
        }
        // What is done with a window is done inside the exchange, where no page may be closed.
        if self.addresses_of(id).is_some_and(|addresses| self.is_in_window(&addresses)) {
            return self.refuse(id);
        }
        if let Some(posted) = self.matching.posted_mut(id) {
            let Some(part) = part_of_posted(posted) else { return false };
            let status = Status {
                source: posted.pattern.source.unwrap_or(Status::EMPTY.source),
                tag: posted.pattern.tag.unwrap_or(Status::EMPTY.tag),
                bytes: posted.region.len() as u64,
                ..Status::EMPTY
            };
            if !posted.region.close(part) {
                return self.refuse(id);
            }
            self.released.not_begun += 1;
            self.released.counts.before_header += 1;
            self.mark(id, |request| request.status = status);
        } else {
            let Some(incoming) = self.incoming_for(id) else { return false };
            let Some(part) = part_of_incoming(incoming) else { return false };
            let Target::Request(_, region) = &mut incoming.target else { return false };
            if !region.close(part) {
                return self.refuse(id);
            }
            self.released.counts.after_header += 1;
            self.mark(id, |_| {});
        }
        true
    }

    fn mark(&mut self, id: RequestId, change: impl FnOnce(&mut Request)) {
        if let Some(request) = self.requests.at(id) {
            request.is_released = true;
            change(request);
        }
    }

    /// The pages of a receive cannot be closed: no use to try again.
    fn refuse(&mut self, id: RequestId) -> bool {
        if let Some(request) = self.requests.at(id) {
            request.is_releasable = false;
        }
        false
    }

    /// Where a receive goes, if that is one piece.
    fn addresses_of(&mut self, id: RequestId) -> Option<Range<usize>> {
        if let Some(posted) = self.matching.posted_mut(id) {
            return posted.region.addresses();
        }
        match &self.incoming_for(id)?.target {
            Target::Request(_, region) => region.addresses(),
            _ => None,
        }
    }

    fn incoming_for(&mut self, id: RequestId) -> Option<&mut Incoming> {
        let mut all = self.channels.iter_mut().flatten().filter_map(|l| l.incoming.as_mut());
        all.find(|i| matches!(i.target, Target::Request(request, _) if request == id))
    }

    /// Whether all receives that were released have begun to arrive: until then no message may
    /// leave, since it could be what the message to come is an answer to.
    pub fn has_begun(&self) -> bool {
        self.released.not_begun == 0
    }

    /// How receives were released so far.
    pub fn release_counts(&self) -> Counts {
        self.released.counts
    }

    /// The message of a receive has begun to arrive.
    pub(super) fn note_begun(&mut self, header: &Header, id: RequestId, room: usize) {
        if !self.requests.at(id).is_some_and(|r| r.is_released) {
            return;
        }
        if header.len > room as u64 {
            let Header { source, tag, .. } = *header;
            self.overrun.get_or_insert(Overrun { source, tag, room });
        }
        self.released.not_begun -= 1;
        if self.released.not_begun == 0 {
            self.other_changes += 1;
            for (header, from) in std::mem::take(&mut self.released.delayed) {
                self.confirm(&header, from);
            }
        }
    }

    /// Keeps the answer to a synchronous send until it may leave.
    pub(super) fn is_delayed(&mut self, header: &Header, from: usize) -> bool {
        let is_delayed = !self.has_begun();
        if is_delayed {
            self.released.delayed.push((*header, from));
        }
        is_delayed
    }
}

/// Which part of a buffer can be closed while nothing is known of its message: all of it, if it is
/// whole pages and no call has to be told what came from where.
fn part_of_posted(posted: &Posted) -> Option<Range<usize>> {
    let page = protection::page()?;
    let addresses = posted.region.addresses()?;
    let is_whole = addresses.start % page == 0 && addresses.end % page == 0;
    let is_named = posted.pattern.source.is_some() && posted.pattern.tag.is_some();
    (is_whole && is_named).then_some(0..posted.region.len())
}

/// Which part of the buffer of a message in transit can be closed.
fn part_of_incoming(incoming: &Incoming) -> Option<Range<usize>> {
    let page = protection::page()?;
    let Target::Request(_, region) = &incoming.target else { return None };
    let addresses = region.addresses()?;
    let Incoming { header, got, .. } = incoming;
    if header.len > region.len() as u64 {
        return None;
    }
    part_to_close(addresses.start, page, header.front(), *got, header.len)
}

/// Which part of a buffer at address `start` can be closed where `got` bytes of a message of `len`
/// have come, `front` of which were its end: what is still to come, if that is whole pages but for
/// what comes before them. Pages of `page` bytes that are not all the buffer's stay open, so what
/// lies on them must be here.
fn part_to_close(
    start: usize,
    page: usize,
    front: u64,
    got: u64,
    len: u64,
) -> Option<Range<usize>> {
    let (got, end) = (got.checked_sub(front)? as usize, (len - front) as usize);
    let first = start.next_multiple_of(page) - start;
    let last = (start + len as usize) % page;
    let is_here = got >= first && last <= front as usize;
    // A page is closed if any part of it is still to come.
    let closed_end = (start + end).next_multiple_of(page) - start;
    (is_here && end - got.min(end) >= LEAST_TO_COME).then_some(got..closed_end)
}

impl std::fmt::Display for Overrun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { source, tag, room } = self;
        write!(
            f,
            "the message from rank {source} with tag {tag} is longer than the buffer of {room} \
             bytes of a receive that was released early"
        )
    }
}

#[cfg(test)]
mod tests;
