//! AIMD that asks the delay what a loss means, and goes below one segment in flight.
//!
//! A full queue delays what passes it before it drops anything, a bad cable does not. A loss while
//! the queue is short, as far as round trips show, is therefore answered by repeating the segment
//! and nothing else (the idea of TCP Veno, Fu and Liew 2003), unless more is lost than the worst
//! cable loses. Delay alone never shrinks the window: here a round trip grows as often because
//! another thread had the processor as because of a queue.
//!
//! Many senders to one receiver may have room for less than one segment each. Windows below
//! [`PACED`] segments are therefore kept by time, as in Swift (Kumar et al. 2020): one segment
//! every few round trips.

use core::time::Duration;

use super::{AckSample, Congestion, LossSample};
use crate::time::{Instant, saturating_nanos};

/// Segments a new connection may send at once: RFC 6928's ten. A receive ring holds hundreds.
const INITIAL_SEGMENTS: usize = 10;

/// Windows below this number of segments are paced. Larger ones are clocked by acknowledgements,
/// without timers.
const PACED: usize = 4;

/// Segments that may be in flight whatever the window: the second one's arrival reveals the loss of
/// the first, and makes the acknowledgement of both due.
const LEAST_IN_FLIGHT: usize = 2;

/// The least window is this part of a segment: five hundred senders find room in a queue of sixteen
/// frames.
const LEAST_PART: usize = 16;

/// Windows below this number of segments grow slowly while the queue is long: thirty senders with a
/// segment each must not add thirty segments to a queue of forty in one round trip.
const SMALL: usize = 8;

/// A small window grows in a round trip by this part of itself, or of a segment if that is more:
/// the first keeps losses rare, the second makes small windows equal in the end.
const GROWTH_PART: usize = 32;

/// A loss at more than this part of the longest queue seen lately is taken for congestion. At a
/// half, one sender of thirty-two that has grown early can keep a queue of twenty frames to itself:
/// what it sees is short of the queue it made then.
const LONG_QUEUE: u64 = 3;

/// A loss at a queue that takes longer than this is taken for congestion as well: sixteen full
/// frames at 1 Gbit/s, enough to keep a link busy, and less than shallow switches hold.
const SURELY_LONG: Duration = Duration::from_micros(200);

/// More than one segment lost of this number is congestion whatever the delay.
const BEARABLE: usize = 8;

/// Each lost part of what was sent takes this multiple of itself from the window: one lost in
/// sixteen takes half of it.
const YIELD_PER_LOSS: usize = 8;

/// A loss takes no less than this part of the window: a connection that has much must yield more
/// than one that has little, or a queue that loses little is never shared evenly.
const LEAST_YIELD: usize = 4;

/// Lost segments are counted over two rounds of at least this number: of 128 segments a cable that
/// loses one in twenty loses more than one in eight once in ten thousand times.
const ROUND_SEGMENTS: usize = 64;

/// How long the longest and shortest round trips are remembered, at least.
const MEMORY: Duration = Duration::from_secs(5);

/// A controller that tells full queues from bad cables.
#[derive(Clone, Debug)]
pub struct Delay {
    segment: usize,
    /// Bytes; a window of less than a segment is one segment in several round trips.
    window: usize,
    threshold: usize,
    before_loss: Option<(usize, usize)>,
    /// Smoothed, in nanoseconds.
    rtt: Option<u64>,
    least: Extreme,
    most: Extreme,
    /// Bytes acknowledged and lost in this round, and in the last one.
    round: (usize, usize),
    last_round: (usize, usize),
}

/// The smallest or largest of the values, in nanoseconds, of the last while: of the present epoch
/// and the one before.
#[derive(Copy, Clone, Debug, Default)]
struct Extreme {
    now: Option<u64>,
    before: Option<u64>,
    since: Instant,
}

impl Extreme {
    fn take(&mut self, now: Instant, value: u64, better: fn(u64, u64) -> u64) {
        if now.since(self.since) >= MEMORY {
            self.since = now;
            self.before = self.now.take();
        }
        self.now = Some(self.now.map_or(value, |old| better(old, value)));
    }

    fn value(&self, better: fn(u64, u64) -> u64) -> Option<u64> {
        match (self.now, self.before) {
            (Some(a), Some(b)) => Some(better(a, b)),
            (a, b) => a.or(b),
        }
    }
}

impl Delay {
    /// A controller for segments that cost `segment` bytes each when full.
    pub fn new(segment: usize) -> Self {
        Self {
            segment,
            window: segment * INITIAL_SEGMENTS,
            threshold: usize::MAX,
            before_loss: None,
            rtt: None,
            least: Extreme::default(),
            most: Extreme::default(),
            round: (0, 0),
            last_round: (0, 0),
        }
    }

    fn least_window(&self) -> usize {
        self.segment / LEAST_PART
    }

    fn take_rtt(&mut self, now: Instant, rtt: Duration) {
        // Leaves room to calculate.
        let rtt = saturating_nanos(rtt).min(u64::MAX / 8);
        let smooth = self.rtt.map_or(rtt, |old| (old * 7 + rtt) / 8);
        self.rtt = Some(smooth);
        self.least.take(now, rtt, u64::min);
        // Of the smoothed: one round trip during which another thread had the processor says
        // nothing.
        self.most.take(now, smooth, u64::max);
    }

    /// Time in queues now, and the longest lately.
    fn queues(&self) -> Option<(u64, u64)> {
        let least = self.least.value(u64::min)?;
        let most = self.most.value(u64::max)?;
        Some((self.rtt?.saturating_sub(least), most.saturating_sub(least)))
    }

    fn queue_is_long(&self) -> bool {
        // Nothing known: believe the worst.
        self.queues().is_none_or(|(now, longest)| {
            now >= (longest / LONG_QUEUE).min(saturating_nanos(SURELY_LONG))
        })
    }

    /// Whether more is lost than a cable can be blamed for.
    fn loses_many(&self) -> bool {
        let acked = self.round.0 + self.last_round.0;
        let lost = self.round.1 + self.last_round.1;
        lost * BEARABLE > acked + lost
    }

    /// What a loss at a long queue takes from the window: as much as is lost says, 25 to 50 %.
    /// Where the queue is shared by all senders, much is lost; where it is that of a host whose
    /// processor other threads have, little.
    fn share_to_yield(&self) -> usize {
        let acked = self.round.0 + self.last_round.0;
        let lost = self.round.1 + self.last_round.1;
        let part =
            self.window as u64 * (lost * YIELD_PER_LOSS) as u64 / (acked + lost).max(1) as u64;
        (part as usize).clamp(self.window / LEAST_YIELD, self.window / 2)
    }

    fn count(&mut self, acked: usize, lost: usize) {
        self.round.0 += acked;
        self.round.1 += lost;
        let enough = self.window.max(self.segment * ROUND_SEGMENTS);
        if self.round.0 + self.round.1 >= enough {
            self.last_round = core::mem::take(&mut self.round);
        }
    }

    fn shrink(&mut self, to: usize) {
        self.before_loss = Some((self.window, self.threshold));
        self.window = to.max(self.least_window());
        self.threshold = self.window;
    }
}

impl Congestion for Delay {
    fn window(&self) -> usize {
        self.window.max(self.segment * LEAST_IN_FLIGHT)
    }

    fn on_ack(&mut self, sample: &AckSample) {
        if let Some(rtt) = sample.rtt {
            self.take_rtt(sample.now, rtt);
        }
        self.count(sample.acked, 0);
        if !sample.limited {
            return;
        }
        if self.window < self.threshold {
            self.window = self.window.saturating_add(sample.acked);
            return;
        }
        // A segment for every window of acknowledged bytes is a segment in a round trip.
        let whole = self.segment * sample.acked / self.window;
        if self.window < self.segment * SMALL && self.queue_is_long() {
            let part = whole.max(sample.acked) / GROWTH_PART;
            self.window += part.min(sample.acked / 2);
        } else {
            self.window += whole.min(sample.acked / 2);
        }
    }

    fn on_loss(&mut self, sample: &LossSample) {
        self.count(0, sample.lost);
        if !sample.new_flight {
            return;
        }
        if self.threshold == usize::MAX || self.loses_many() {
            self.shrink(self.window / 2);
        } else if self.queue_is_long() {
            self.shrink(self.window - self.share_to_yield());
        }
    }

    fn on_timeout(&mut self, _now: Instant) {
        self.shrink(self.window / 2);
    }

    fn on_spurious(&mut self) {
        if let Some((window, threshold)) = self.before_loss.take() {
            self.window = self.window.max(window);
            self.threshold = threshold;
        }
    }

    fn pacing_rate(&self) -> Option<u64> {
        let rtt = self.rtt.filter(|_| self.window < self.segment * PACED)?;
        Some((self.window as u64).saturating_mul(1_000_000_000) / rtt.max(1))
    }
}

#[cfg(test)]
mod tests;
