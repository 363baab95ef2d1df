//! What both transports measure, and how figures are made of it.

use std::time::{Duration, Instant};

/// Bytes of a message.
pub(crate) const MESSAGE: usize = 64;

/// Bytes of a write and of a read of the stream: system calls are few, and the bytes stay in the
/// processor's cache.
pub(crate) const CHUNK: usize = 256 * 1024;

/// The first byte of a connection: what the client is going to measure.
pub(crate) const STREAM: u8 = 1;
pub(crate) const LATENCY: u8 = 2;

/// The part of the messages, at the beginning, that do not count: as `prp perf latency` has it.
const WARM_UP: f64 = 0.1;

/// What a client prints.
pub(crate) struct Figures {
    /// Gbit/s of payload.
    pub(crate) gbps: f64,
    /// Microseconds one way.
    pub(crate) p50_us: f64,
}

/// Returns Gbit/s.
pub(crate) fn gbps(bytes: u64, time: Duration) -> f64 {
    bytes as f64 * 8.0 / time.as_secs_f64() / 1e9
}

/// Round trips of one connection.
pub(crate) struct RoundTrips {
    end: Instant,
    begin: Instant,
    times: Vec<Duration>,
}

impl RoundTrips {
    /// Begins now.
    pub(crate) fn start(time: Duration) -> Self {
        let begin = Instant::now();
        // Memory is there before it begins.
        let mut times = vec![Duration::ZERO; 1 << 20];
        times.clear();
        Self { end: begin + time, begin, times }
    }

    /// Whether there is to be another one, which begins now.
    pub(crate) fn next(&mut self) -> bool {
        self.begin = Instant::now();
        self.begin < self.end
    }

    /// It has ended.
    pub(crate) fn done(&mut self) {
        self.times.push(self.begin.elapsed());
    }

    /// Half of the median, in microseconds; NaN without any.
    pub(crate) fn p50_us(self) -> f64 {
        let first = (self.times.len() as f64 * WARM_UP) as usize;
        let mut times = self.times;
        times.drain(..first);
        times.sort_unstable();
        times.get(times.len() / 2).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6 / 2.0)
    }
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests are named function__case")]
mod tests {
    use super::*;

    #[test]
    fn p50_us__is_half_of_the_median_without_the_first_tenth() {
        let mut trips = RoundTrips::start(Duration::ZERO);
        trips.times = [900, 20, 20, 20, 20, 30, 40, 40, 40, 40].map(Duration::from_micros).into();
        assert_eq!(trips.p50_us(), 15.0);
    }

    #[test]
    fn gbps__of_bytes_in_a_time() {
        assert_eq!(gbps(250_000_000, Duration::from_secs(2)), 1.0);
    }
}
