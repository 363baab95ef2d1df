//! How long nothing may move on a connection.

use std::time::{Duration, Instant};

/// A limit, and since when nothing has moved.
#[derive(Copy, Clone, Debug)]
pub(super) struct IdleLimit {
    limit: Option<Duration>,
    moved: u64,
    since: Instant,
}

impl IdleLimit {
    /// From `now` on; `None` is no limit.
    pub(super) const fn new(limit: Option<Duration>, now: Instant) -> Self {
        Self { limit, moved: 0, since: now }
    }

    /// The limit, if it is reached at `now`, when `moved` bytes have gone in either direction since
    /// the beginning.
    pub(super) fn reached(&mut self, moved: u64, now: Instant) -> Option<Duration> {
        if moved != self.moved {
            (self.moved, self.since) = (moved, now);
        }
        self.limit.filter(|limit| now.saturating_duration_since(self.since) >= *limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reached__begins_anew_with_each_byte() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let limit = Duration::from_secs(3);
        let mut idle = IdleLimit::new(Some(limit), start);
        assert_eq!(idle.reached(0, at(2)), None);
        assert_eq!(idle.reached(7, at(2)), None);
        assert_eq!(idle.reached(7, at(4)), None);
        assert_eq!(idle.reached(8, at(5)), None);
        assert_eq!(idle.reached(8, at(8)), Some(limit));
    }

    #[test]
    fn reached__never_without_a_limit() {
        let start = Instant::now();
        assert_eq!(IdleLimit::new(None, start).reached(0, start + Duration::from_secs(99)), None);
    }
}
