//! Segments that were sent and are not acknowledged yet.

use alloc::collections::{TryReserveError, VecDeque};
use core::time::Duration;

use crate::config::MAX_WINDOW;
use crate::seq::Seq;
use crate::time::Instant;

/// What one frame costs beside its payload when bytes in flight are counted: headers and the
/// kernel's own bookkeeping, so that a window full of tiny segments is not a window without end.
pub(crate) const FRAME_COST: usize = 64;

/// What is known of a segment's fate.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub(crate) enum Fate {
    /// Sent; no news.
    InFlight,
    /// Taken for lost; waits to be sent again.
    Lost,
    /// The peer holds it, out of order.
    Received,
}

/// One numbered segment.
#[derive(Copy, Clone, Debug, Hash)]
pub(crate) struct Segment {
    /// Stream offset of its bytes.
    pub(crate) at: u64,
    pub(crate) len: u16,
    pub(crate) eom: bool,
    pub(crate) eoc: bool,
    /// How often it was sent, saturating.
    pub(crate) sends: u8,
    pub(crate) fate: Fate,
    /// Its place in the order of all transmissions, repeats included.
    pub(crate) order: u32,
    /// When it was sent last.
    pub(crate) sent: Instant,
}

impl Segment {
    pub(crate) fn cost(&self) -> usize {
        usize::from(self.len) + FRAME_COST
    }

    pub(crate) const fn end(&self) -> u64 {
        self.at + self.len as u64
    }
}

/// What a cumulative acknowledgement took off the front.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Acked {
    /// Segments removed.
    pub(crate) segments: u32,
    /// Their bytes in flight that were not known to have arrived before, in cost.
    pub(crate) cost: usize,
    /// Everything before this stream offset is delivered.
    pub(crate) upto: Option<u64>,
    /// EOC was among them.
    pub(crate) eoc: bool,
    /// A segment among them had been taken for lost and was not sent again yet.
    pub(crate) false_loss: bool,
    /// Round trip of the newest of them, if it was sent only once.
    pub(crate) rtt: Option<Duration>,
}

/// The unacknowledged segments of a connection, in order of number.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Flight {
    segments: VecDeque<Segment>,
    base: Seq,
    /// Numbers marked lost, in the order they should be sent again; may hold stale ones.
    lost: VecDeque<Seq>,
    lost_count: usize,
    received_count: usize,
    cost: usize,
    order: u32,
    /// The latest transmission known to have arrived.
    newest: Option<u32>,
}

impl Flight {
    pub(crate) fn new(first: Seq) -> Self {
        Self {
            segments: VecDeque::new(),
            base: first,
            lost: VecDeque::new(),
            lost_count: 0,
            received_count: 0,
            cost: 0,
            order: 0,
            newest: None,
        }
    }

    /// The oldest unacknowledged number, or the next one to be given if there is none.
    pub(crate) const fn base(&self) -> Seq {
        self.base
    }

    /// The number the next new segment gets.
    pub(crate) fn next(&self) -> Seq {
        self.base + self.segments.len() as u32
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Whether there is none, and none to be sent again.
    pub(crate) fn is_clear(&self) -> bool {
        self.segments.is_empty() && self.lost.is_empty()
    }

    /// What is on the wire as far as we know, in bytes with frame cost.
    pub(crate) const fn cost(&self) -> usize {
        self.cost
    }

    /// Whether a segment waits to be sent again.
    pub(crate) const fn has_lost(&self) -> bool {
        self.lost_count > 0
    }

    /// Whether the peer holds segments beyond a gap.
    pub(crate) const fn has_received(&self) -> bool {
        self.received_count > 0
    }

    /// The latest transmission known to have arrived, by its place in the order of all of them.
    pub(crate) const fn newest(&self) -> Option<u32> {
        self.newest
    }

    /// Place in the order of transmissions that the next one will get.
    pub(crate) const fn next_order(&self) -> u32 {
        self.order
    }

    pub(crate) fn get(&self, seq: Seq) -> Option<&Segment> {
        self.segments.get(self.index(seq)?)
    }

    /// The segments, oldest first.
    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Segment> + '_ {
        self.segments.iter()
    }

    pub(crate) fn memory(&self) -> usize {
        self.segments.capacity() * size_of::<Segment>() + self.lost.capacity() * size_of::<Seq>()
    }

    /// Forgets everything: the connection is over.
    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.next());
    }

    /// Gives memory back if nothing is held.
    pub(crate) fn trim(&mut self) {
        if self.segments.is_empty() {
            self.segments = VecDeque::new();
            self.lost = VecDeque::new();
        }
    }

    /// Finds memory for `more` segments, if they may be in flight: recording them cannot fail.
    pub(crate) fn prepare(&mut self, more: usize) -> Result<(), TryReserveError> {
        let most = MAX_WINDOW as usize;
        self.segments.try_reserve(more.min(most.saturating_sub(self.segments.len())))
    }

    /// Records a new segment that goes out now: its number, and what is recorded.
    pub(crate) fn push(
        &mut self,
        at: u64,
        len: u16,
        eom: bool,
        eoc: bool,
        now: Instant,
    ) -> (Seq, Segment) {
        let seq = self.next();
        let order = self.take_order();
        let segment =
            Segment { at, len, eom, eoc, sends: 1, fate: Fate::InFlight, order, sent: now };
        self.cost += segment.cost();
        self.segments.push_back(segment);
        (seq, segment)
    }

    /// Removes everything before `next`. The caller has checked `base ≤ next ≤ self.next()`.
    pub(crate) fn ack_to(&mut self, next: Seq, now: Instant) -> Acked {
        let mut acked = Acked::default();
        while self.base.before(next) {
            let Some(segment) = self.segments.pop_front() else { break };
            self.base += 1;
            match segment.fate {
                Fate::InFlight => {
                    self.cost -= segment.cost();
                    acked.cost += segment.cost();
                }
                Fate::Lost => {
                    self.lost_count -= 1;
                    acked.cost += segment.cost();
                    acked.false_loss = true;
                }
                Fate::Received => self.received_count -= 1,
            }
            self.arrived(segment.order);
            acked.segments += 1;
            acked.upto = Some(segment.end());
            acked.eoc |= segment.eoc;
            acked.rtt = (segment.sends == 1 && segment.fate == Fate::InFlight)
                .then(|| now.since(segment.sent));
        }
        acked
    }

    /// Whether there is a single segment, which is in flight and was sent once.
    #[inline]
    pub(crate) fn has_only_one(&self) -> bool {
        let first = self.segments.front().filter(|_| self.segments.len() == 1);
        first.is_some_and(|s| s.fate == Fate::InFlight && s.sends == 1)
    }

    /// Removes the only segment, as [`Self::has_only_one`] would have it, which has arrived.
    #[inline]
    pub(crate) fn take_only(&mut self) -> Option<Segment> {
        let segment = self.segments.pop_front()?;
        self.base += 1;
        self.cost = 0;
        self.arrived(segment.order);
        Some(segment)
    }

    /// Records that the peer holds `seq` out of order; its cost if that is news.
    pub(crate) fn mark_received(&mut self, seq: Seq) -> Option<usize> {
        let index = self.index(seq)?;
        let segment = self.segments.get_mut(index)?;
        match segment.fate {
            Fate::Received => return None,
            Fate::InFlight => self.cost -= segment.cost(),
            Fate::Lost => self.lost_count -= 1,
        }
        segment.fate = Fate::Received;
        self.received_count += 1;
        let (order, cost) = (segment.order, segment.cost());
        self.arrived(order);
        Some(cost)
    }

    /// Takes every segment in flight for lost that `is_lost` says is; how many, and the earliest
    /// transmission among them.
    pub(crate) fn mark_lost_if(
        &mut self,
        mut is_lost: impl FnMut(&Segment) -> bool,
    ) -> Option<(u32, u32)> {
        let mut found: Option<(u32, u32)> = None;
        for i in 0..self.segments.len() {
            let segment = &mut self.segments[i];
            if segment.fate != Fate::InFlight || !is_lost(segment) {
                continue;
            }
            segment.fate = Fate::Lost;
            self.cost -= segment.cost();
            self.lost_count += 1;
            self.lost.push_back(self.base + i as u32);
            let order = segment.order;
            found = Some(match found {
                Some((n, first)) if !before(order, first) => (n + 1, first),
                Some((n, _)) => (n + 1, order),
                None => (1, order),
            });
        }
        found
    }

    /// Takes everything the peer does not hold for lost, to be sent again from the oldest on.
    pub(crate) fn mark_all_lost(&mut self) {
        self.lost.clear();
        for (i, segment) in self.segments.iter_mut().enumerate() {
            match segment.fate {
                Fate::Received => continue,
                Fate::Lost => {}
                Fate::InFlight => {
                    segment.fate = Fate::Lost;
                    self.cost -= segment.cost();
                    self.lost_count += 1;
                }
            }
            self.lost.push_back(self.base + i as u32);
        }
    }

    /// The lost segment to send next. It goes out under the number, length and flags it had (SPEC
    /// PRP-LOSS-1).
    pub(crate) fn next_lost(&self) -> Option<(Seq, Segment)> {
        if !self.has_lost() {
            return None;
        }
        self.lost.iter().find_map(|seq| self.lost_at(*seq).map(|segment| (*seq, segment)))
    }

    /// Has [`Self::next_lost`] find the first one at once: drops those before it that were
    /// acknowledged or received since.
    pub(crate) fn forget_found(&mut self) {
        while let Some(seq) = self.lost.front().copied()
            && self.lost_at(seq).is_none()
        {
            self.lost.pop_front();
        }
    }

    fn lost_at(&self, seq: Seq) -> Option<Segment> {
        self.get(seq).filter(|segment| segment.fate == Fate::Lost).copied()
    }

    /// Records that `seq`, which is lost, goes out again now.
    pub(crate) fn resent(&mut self, seq: Seq, now: Instant) {
        let order = self.take_order();
        let Some(segment) = self.index(seq).and_then(|i| self.segments.get_mut(i)) else { return };
        self.lost_count -= 1;
        self.cost += segment.cost();
        segment.fate = Fate::InFlight;
        segment.sends = segment.sends.saturating_add(1);
        segment.order = order;
        segment.sent = now;
        if self.lost.front() == Some(&seq) {
            self.lost.pop_front();
        }
    }

    fn arrived(&mut self, order: u32) {
        if self.newest.is_none_or(|newest| before(newest, order)) {
            self.newest = Some(order);
        }
    }

    fn take_order(&mut self) -> u32 {
        let order = self.order;
        self.order = order.wrapping_add(1);
        order
    }

    fn index(&self, seq: Seq) -> Option<usize> {
        usize::try_from(seq.since(self.base)).ok()
    }
}

/// Whether transmission `a` was made before `b`; the counter wraps.
pub(crate) const fn before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() < 0
}

#[cfg(test)]
mod tests;
