//! Who has locked a window, and who wants to.

use std::collections::VecDeque;

/// The locks of a window, in the order in which they were asked for.
#[derive(Debug, Default)]
pub(super) struct Locks {
    holders: Vec<usize>,
    /// The holder is the only one.
    is_exclusive: bool,
    waiting: VecDeque<LockRequest>,
}

/// A lock that a rank has not got yet.
#[derive(Debug)]
struct LockRequest {
    rank: usize,
    id: u32,
    is_exclusive: bool,
}

impl Locks {
    /// A rank wants the lock; `id` is its number for that.
    pub(super) fn ask(&mut self, rank: usize, id: u32, is_exclusive: bool) {
        self.waiting.push_back(LockRequest { rank, id, is_exclusive });
    }

    /// Gives the lock to the rank that has waited for longest, if it can have it now: that rank,
    /// and its number.
    pub(super) fn next(&mut self) -> Option<(usize, u32)> {
        let next = self.waiting.front()?;
        if !self.holders.is_empty() && (self.is_exclusive || next.is_exclusive) {
            return None;
        }
        let LockRequest { rank, id, is_exclusive } = self.waiting.pop_front()?;
        self.holders.push(rank);
        self.is_exclusive = is_exclusive;
        Some((rank, id))
    }

    /// A rank gives the lock back. `None` if it does not have it.
    pub(super) fn release(&mut self, rank: usize) -> Option<()> {
        let at = self.holders.iter().position(|holder| *holder == rank)?;
        self.holders.swap_remove(at);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_next(locks: &mut Locks) -> Vec<usize> {
        std::iter::from_fn(|| locks.next()).map(|(rank, _)| rank).collect()
    }

    #[test]
    fn next__in_the_order_of_asking_and_never_with_an_exclusive_one() {
        let mut locks = Locks::default();
        for (rank, is_exclusive) in [(0, false), (1, false), (2, true), (3, false), (4, false)] {
            locks.ask(rank, rank as u32 + 10, is_exclusive);
        }
        assert_eq!(locks.next(), Some((0, 10)));
        assert_eq!(all_next(&mut locks), [1]);
        locks.release(0).unwrap();
        assert_eq!(all_next(&mut locks), []);
        locks.release(1).unwrap();
        assert_eq!(all_next(&mut locks), [2]);
        assert!(locks.release(3).is_none());
        locks.release(2).unwrap();
        assert_eq!(all_next(&mut locks), [3, 4]);
    }
}
