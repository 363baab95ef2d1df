//! What will happen, in order of time.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

use prp_proto::time::Instant;

/// Happenings by time; those of the same time in the order they were entered.
#[derive(Debug)]
pub(crate) struct EventQueue<T> {
    heap: BinaryHeap<Entry<T>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: Instant,
    order: u64,
    what: T,
}

impl<T> Default for EventQueue<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), entered: 0 }
    }
}

impl<T> EventQueue<T> {
    pub(crate) fn push(&mut self, at: Instant, what: T) {
        self.entered += 1;
        self.heap.push(Entry { at, order: self.entered, what });
    }

    /// What comes next, if it comes before `end`.
    pub(crate) fn pop_before(&mut self, end: Instant) -> Option<(Instant, T)> {
        self.heap.peek().filter(|entry| entry.at < end)?;
        self.pop()
    }

    pub(crate) fn pop(&mut self) -> Option<(Instant, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.what))
    }
}

impl<T> Ord for Entry<T> {
    /// The heap gives the greatest first: what comes first is greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pop__by_time_then_by_order_of_entry() {
        let mut queue = EventQueue::default();
        for (at, what) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b')] {
            queue.push(Instant::from_nanos(at), what);
        }
        let order: String = std::iter::from_fn(|| queue.pop().map(|(_, what)| what)).collect();
        assert_eq!(order, "abcd");
    }
}
