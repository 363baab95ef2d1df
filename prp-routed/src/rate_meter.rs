//! Whether bytes pour in: then it pays to let some frames gather.

use std::time::Duration;

use prp_proto::time::Instant;

/// What the rate is taken over.
const WINDOW: Duration = Duration::from_millis(1);

/// Bytes forwarded in a window that are a stream, a gigabit per second: only streams move as much.
/// Small messages to and fro, however fast, do not, and are not to wait.
const STREAM_BYTES: u64 = 128 * 1024;

/// How long to let frames gather: at ten times that rate 12 % of a ring, and far less than the time
/// that what is in flight takes.
pub const NAP: Duration = Duration::from_micros(50);

/// The rate of bytes.
#[derive(Debug)]
pub struct RateMeter {
    since: Instant,
    bytes: u64,
    is_streaming: bool,
}

impl Default for RateMeter {
    fn default() -> Self {
        Self { since: Instant::ZERO, bytes: 0, is_streaming: false }
    }
}

impl RateMeter {
    /// Takes note of how many `bytes` were forwarded so far; whether they pour in.
    pub fn note(&mut self, now: Instant, bytes: u64) -> bool {
        let span = now.since(self.since);
        if span >= WINDOW {
            // A window that was long because there was no call is no stream.
            self.is_streaming =
                bytes.saturating_sub(self.bytes) >= STREAM_BYTES && span < 2 * WINDOW;
            (self.since, self.bytes) = (now, bytes);
        }
        self.is_streaming
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note__much_in_a_millisecond_is_a_pour_and_little_is_none() {
        let mut rate_meter = RateMeter::default();
        let mut total = 0;
        let mut step = |after: u64, bytes: u64| {
            total += bytes;
            rate_meter.note(Instant::ZERO + Duration::from_micros(after), total)
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
