//! Whether bytes pour through: then it pays to let some frames gather.

use prp_proto::time::Instant;

use super::tuning::{RATE_WINDOW, STREAM_BYTES};

/// The rate of bytes.
#[derive(Debug, Default)]
pub(super) struct RateMeter {
    since: Instant,
    bytes: u64,
    is_streaming: bool,
}

impl RateMeter {
    /// Takes note of how many `bytes` there were so far.
    #[inline]
    pub(super) fn note(&mut self, now: Instant, bytes: u64) {
        let span = now.since(self.since);
        if span >= RATE_WINDOW {
            // A window that was long because there was no call is no stream.
            self.is_streaming =
                bytes.saturating_sub(self.bytes) >= STREAM_BYTES && span < 2 * RATE_WINDOW;
            (self.since, self.bytes) = (now, bytes);
        }
    }

    /// Whether they pour in.
    #[inline]
    pub(super) const fn is_streaming(&self) -> bool {
        self.is_streaming
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn note__much_in_a_millisecond_is_a_pour_and_little_is_none() {
        let mut rate_meter = RateMeter::default();
        let mut total = 0;
        let mut step = |after: u64, bytes: u64| {
            total += bytes;
            rate_meter.note(Instant::ZERO + Duration::from_micros(after), total);
            rate_meter.is_streaming()
        };
        let mut run = |from: u64, bytes: u64| (0..200).map(|n| step(from + n * 50, bytes)).last();
        // Expect: small frames to and fro are none, full ones at four gigabits per second are.
        assert_eq!(run(0, 700), Some(false));
        assert_eq!(run(10_000, 25_000), Some(true));
        assert_eq!(run(20_000, 700), Some(false));
        // Expect: as much after a sleep is none.
        assert!(!step(500_000, 1_000_000));
    }
}
