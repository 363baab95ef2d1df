//! How many frames a capture takes, and when it does not look at all.

use std::num::NonZeroU32;
use std::time::Duration;

use prp_proto::time::Instant;
use prp_proto::token_bucket::TokenBucket;

/// So long no frame is seen once the limit is reached. Between pauses all frames are seen, for the
/// 5 ms after which the kernel hands them over and some more. That costs a stream 20 % of its
/// goodput, so that with pauses of 100 ms 2 % are left. A user still sees ten samples a second.
const LIMIT_PAUSE: Duration = Duration::from_millis(100);

/// A limit.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    /// What its times count from.
    began: std::time::Instant,
    /// Of frames that the packet socket sees.
    captured: TokenBucket,
    /// Of those that all processes copy.
    copied: TokenBucket,
    /// How long each pause is: one frame is earned at least.
    pause_len: Duration,
    pause: Option<Pause>,
    /// How long pauses were that nobody has asked for.
    paused: Duration,
}

/// No frame is looked at.
#[derive(Copy, Clone, Debug)]
struct Pause {
    /// Up to here it is part of `paused`.
    counted: Instant,
    until: Instant,
}

impl Limit {
    pub(super) fn new(per_second: NonZeroU32) -> Self {
        let bucket = TokenBucket::new(per_second.get());
        Self {
            began: std::time::Instant::now(),
            captured: bucket,
            copied: bucket,
            pause_len: LIMIT_PAUSE.max(Duration::from_secs(1) / per_second.get()),
            pause: None,
            paused: Duration::ZERO,
        }
    }

    pub(super) fn now(&self) -> Instant {
        Instant::ZERO + self.began.elapsed()
    }

    /// Takes a frame that the packet socket has seen; whether there was one left to take.
    pub(super) fn take_captured(&mut self, now: Instant) -> bool {
        self.captured.take(now)
    }

    /// The same of one that a process has copied.
    pub(super) fn take_copied(&mut self, now: Instant) -> bool {
        self.copied.take(now)
    }

    /// Begins a pause, if there is none; whether it did.
    pub(super) fn begin_pause(&mut self, now: Instant) -> bool {
        if self.pause.is_some() {
            return false;
        }
        let until = now + self.pause_len;
        self.paused += self.pause_len;
        self.pause = Some(Pause { counted: until, until });
        true
    }

    /// How long the pause goes on, if there is one.
    pub(super) fn pause_left(&self, now: Instant) -> Option<Duration> {
        self.pause.map(|pause| pause.until.since(now))
    }

    /// Ends the pause, if it is over; whether it did.
    pub(super) fn end_pause(&mut self, now: Instant) -> bool {
        let ends = self.pause.is_some_and(|pause| pause.until <= now);
        if ends {
            self.count_pause(now);
            self.pause = None;
        }
        ends
    }

    /// How long pauses were since this was last called, with what is left of one.
    pub(super) fn take_paused(&mut self, now: Instant) -> Duration {
        self.count_pause(now);
        std::mem::take(&mut self.paused)
    }

    fn count_pause(&mut self, now: Instant) {
        if let Some(pause) = &mut self.pause {
            self.paused += now.since(pause.counted);
            pause.counted = pause.counted.max(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn limit(per_second: u32) -> NonZeroU32 {
        NonZeroU32::new(per_second).expect("not zero")
    }

    fn after(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn begin_pause__once_and_until_frames_are_earned() {
        let mut limit = Limit::new(limit(5000));
        let seen = (0..9000).filter(|_| limit.take_captured(after(1000))).count();
        assert_eq!((seen, limit.pause_left(after(1000))), (5000, None));
        assert!(limit.begin_pause(after(1000)) && !limit.begin_pause(after(1010)));
        assert_eq!(limit.pause_left(after(1010)), Some(Duration::from_millis(90)));
        assert!(!limit.end_pause(after(1099)));
        assert!(limit.end_pause(after(1100)) && !limit.end_pause(after(1100)));
        assert_eq!((0..9000).filter(|_| limit.take_captured(after(1100))).count(), 500);
        assert!(limit.take_copied(after(1100)), "they have a limit of their own");
    }

    #[test]
    fn begin_pause__until_a_frame_is_earned() {
        let mut limit = Limit::new(limit(2));
        assert_eq!((0..9).filter(|_| limit.take_captured(after(0))).count(), 2);
        assert!(limit.begin_pause(after(0)) && limit.end_pause(after(500)));
        assert!(limit.take_captured(after(500)) && !limit.take_captured(after(500)));
    }

    #[test]
    fn take_paused__each_time_once() {
        let mut limit = Limit::new(limit(5000));
        assert_eq!(limit.take_paused(after(7)), Duration::ZERO);
        assert!(limit.begin_pause(after(10)));
        assert_eq!(limit.take_paused(after(15)), Duration::from_millis(100));
        assert_eq!(limit.take_paused(after(105)), Duration::ZERO);
        // It ends late, where the processors are busy.
        assert_eq!(limit.take_paused(after(120)), Duration::from_millis(10));
        assert!(limit.end_pause(after(130)));
        assert_eq!(limit.take_paused(after(150)), Duration::from_millis(10));
        assert_eq!(limit.take_paused(after(159)), Duration::ZERO);
    }
}
