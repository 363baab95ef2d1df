//! When a background thread reads the clock for threads that sleep.

use prp_proto::time::Instant;

use super::tuning::{LONG_TICK, SHORT_TICK, SHORTEST_TICK, SOON_DUE, TICK};

/// What threads that fell asleep have left to the background thread since it read the clock last.
#[derive(Copy, Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum TimerLoad {
    /// No timers: threads have napped through a flow, each for no longer than until what is due.
    Napping,
    /// No timers: none has slept, and a thread that does not sleep checks itself.
    #[default]
    None,
    /// Whatever there was, none of it soon due.
    Relaxed,
    /// Something that was soon due.
    Urgent,
}

impl TimerLoad {
    /// A thread falls asleep at `now`, which leaves what is `due`.
    pub(super) fn left(due: Option<Instant>, now: Instant) -> Self {
        if due.is_some_and(|due| due < now + SOON_DUE) { Self::Urgent } else { Self::Relaxed }
    }

    /// Whether it matters what is due.
    pub fn has_timers(self) -> bool {
        matches!(self, Self::Relaxed | Self::Urgent)
    }

    /// When to read the clock again, `now` that this is `due`.
    pub fn next_check(self, due: Option<Instant>, now: Instant) -> Instant {
        let longest = now
            + match self {
                Self::Napping => return now + LONG_TICK,
                Self::None => return now + TICK,
                Self::Relaxed => SOON_DUE,
                Self::Urgent => SHORT_TICK,
            };
        due.map_or(longest, |due| due.clamp(now + SHORTEST_TICK, longest))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn timer_load__timers_that_are_soon_due_make_the_keeper_wake_often() {
        let now = Instant::from_nanos(1_000_000_000);
        let at = |us| now + Duration::from_micros(us);
        assert_eq!(TimerLoad::left(None, now), TimerLoad::Relaxed);
        assert_eq!(TimerLoad::left(Some(at(999)), now), TimerLoad::Urgent);
        assert_eq!(TimerLoad::left(Some(at(1000)), now), TimerLoad::Relaxed);
        // The worst of what several sleeps left counts.
        assert_eq!(
            TimerLoad::None.max(TimerLoad::Relaxed).max(TimerLoad::Urgent).max(TimerLoad::Relaxed),
            TimerLoad::Urgent
        );
        for (timer_load, due, check) in [
            (TimerLoad::Napping, None, 8000),
            (TimerLoad::Napping, Some(10), 8000),
            (TimerLoad::None, None, 2000),
            (TimerLoad::None, Some(10), 2000),
            (TimerLoad::Relaxed, None, 1000),
            (TimerLoad::Relaxed, Some(1200), 1000),
            (TimerLoad::Relaxed, Some(700), 700),
            (TimerLoad::Urgent, None, 400),
            (TimerLoad::Urgent, Some(1200), 400),
            (TimerLoad::Urgent, Some(300), 300),
            (TimerLoad::Urgent, Some(10), 50),
        ] {
            assert_eq!(
                timer_load.next_check(due.map(at), now),
                at(check),
                "{timer_load:?}, due in {due:?} us"
            );
        }
        assert_eq!(TimerLoad::Relaxed.next_check(Some(Instant::ZERO), now), at(50));
    }
}
