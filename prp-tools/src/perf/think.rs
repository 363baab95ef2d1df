//! What a client does between an answer and its next message.

use std::hint::black_box;
use std::ops::AddAssign;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::prctl::{get_timerslack, set_timerslack};
use nix::time::{ClockId, clock_gettime};

use super::usage::{Spent, Usage};

/// The longest time: raw frames take the other end for gone after a few seconds.
const MOST: Duration = Duration::from_secs(1);

/// By how much, in nanoseconds, the kernel may end a sleep late. Its default of 50 us is longer
/// than many a time to think.
const SLACK: u64 = 1;

/// A time that passes between an answer and the next message, and how.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Think {
    /// How long, at least.
    pub(super) time: Duration,
    /// The thread computes. Otherwise it sleeps.
    pub(super) is_busy: bool,
}

/// Time that was spent thinking.
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub(super) struct Thought {
    /// By the clock: a sleep takes longer than it was asked for.
    pub(super) time: Duration,
    /// Processor time of the thread: that of computing, or of falling asleep and being woken.
    cpu: Usage,
    /// Times that it slept.
    wake_ups: u64,
}

impl AddAssign for Thought {
    fn add_assign(&mut self, other: Self) {
        self.time += other.time;
        self.cpu = self.cpu + other.cpu;
        self.wake_ups += other.wake_ups;
    }
}

impl Thought {
    /// What of `spent` was for something else.
    pub(super) fn taken_from(self, spent: Spent) -> Spent {
        let Usage { user, system } = spent.cpu - self.cpu;
        // The kernel tells user from system time by samples where it does not count exactly, so
        // that one of them may be too small for what is taken from it.
        let total = (user + system).max(0.0);
        let user = user.clamp(0.0, total);
        Spent {
            cpu: Usage { user, system: total - user },
            wake_ups: spent.wake_ups.saturating_sub(self.wake_ups),
        }
    }
}

/// Parses a duration in `us`, `ms` or `s`, of at most a second.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let unit = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let seconds = unit.and_then(|(number, scale)| Some(number.parse::<f64>().ok()? * scale));
    let seconds = seconds.filter(|seconds| (0.0..=MOST.as_secs_f64()).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or("expected a time from 0us to 1s, such as 20us or 1ms")
}

impl Think {
    /// Lets the time pass.
    pub(super) fn spend(self) -> Thought {
        if self.time.is_zero() {
            return Thought::default();
        }
        let (begun, cpu) = (Instant::now(), thread_cpu());
        if self.is_busy {
            let mut number = 1u64;
            while begun.elapsed() < self.time {
                number = black_box(number.wrapping_mul(3));
            }
        } else {
            // Not for longer than the sleep: what the transport waits for is to end as usual.
            let usual = get_timerslack();
            let _ = set_timerslack(SLACK);
            thread::sleep(self.time);
            let usual = usual.ok().and_then(|usual| u64::try_from(usual).ok());
            // 0 is the default of the process.
            let _ = set_timerslack(usual.unwrap_or(0));
        }
        let cpu = thread_cpu().saturating_sub(cpu).as_secs_f64();
        let (user, system) = if self.is_busy { (cpu, 0.0) } else { (0.0, cpu) };
        Thought {
            time: begun.elapsed(),
            cpu: Usage { user, system },
            wake_ups: u64::from(!self.is_busy),
        }
    }
}

/// Processor time of this thread.
fn thread_cpu() -> Duration {
    // It fails for a wrong clock only.
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    #[test]
    fn duration__in_all_units_and_bounded() {
        assert_eq!((duration("20us"), duration("0us")), (Ok(20 * US), Ok(Duration::ZERO)));
        assert_eq!((duration("0.5ms"), duration("1s")), (Ok(500 * US), Ok(1_000_000 * US)));
        for text in ["", "20", "us", "-1us", "1.1s", "nanus", "infs", "1 ms", "1m"] {
            assert!(duration(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn spend__takes_as_long_as_it_says_and_only_computing_takes_a_processor() {
        assert_eq!(Think::default().spend(), Thought::default());
        let slack = get_timerslack().expect("a thread has one");
        for is_busy in [false, true] {
            let time = 20_000 * US;
            let thought = Think { time, is_busy }.spend();
            assert!(thought.time >= time, "{thought:?}");
            // On a busy machine a thread that computes has a part of a processor.
            assert!(thought.cpu.total() <= thought.time.as_secs_f64(), "{thought:?}");
            assert!(is_busy || thought.cpu.total() < time.as_secs_f64() / 2.0, "{thought:?}");
            assert_eq!((thought.cpu.user > 0.0, thought.wake_ups == 0), (is_busy, is_busy));
        }
        assert_eq!(get_timerslack(), Ok(slack), "as it was");
    }

    #[test]
    fn taken_from__leaves_what_was_not_thinking() {
        let spent = |user, system, wake_ups| Spent { cpu: Usage { user, system }, wake_ups };
        let thought = |user, system, wake_ups| Thought {
            time: Duration::ZERO,
            cpu: Usage { user, system },
            wake_ups,
        };
        let left = thought(1.0, 0.5, 3).taken_from(spent(4.0, 2.5, 10));
        assert_eq!(left, spent(3.0, 2.0, 7));
        // A part that the kernel has counted as the other one.
        assert_eq!(thought(1.0, 0.0, 0).taken_from(spent(0.5, 2.5, 0)), spent(0.0, 2.0, 0));
        assert_eq!(thought(1.0, 0.0, 9).taken_from(spent(0.5, 0.0, 1)), spent(0.0, 0.0, 0));
    }
}
