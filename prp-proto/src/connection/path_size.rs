//! Which segments the path carries: probes search upwards, and smaller ones are taken where full
//! ones vanish (SPEC PRP-SIZE).

use super::sender::Sender;
use super::{Connection, Terms};
use crate::time::Instant;
use crate::timer::Timer;
use crate::timing::{SIZE_PROBE_PAUSE, SIZE_RETRY};
use crate::wire::{CLASSIC_MSS, CRC_LEN, PACKET_HEADER_LEN};

/// Segments that every path is taken to carry, as QUIC has it: 1200 bytes with headers and trailer
/// (RFC 9000, 14). IPv6 asks 1280 of every link, of which its tunnels take some.
pub(super) const FLOOR: u16 = 1200 - (PACKET_HEADER_LEN + CRC_LEN) as u16;

/// Size probes sent before a size is taken for too large.
const SIZE_PROBES: u8 = 5;

/// Sizes closer to each other than this are not told apart: 64 bytes are 5 % of a segment.
const GRAIN: u16 = 64;

/// Segments that paths often carry at most: MTUs of 9000 and 1500, the UDP header and IPv4's or
/// IPv6's off.
const USUAL: [u16; 4] = [
    8972 - (PACKET_HEADER_LEN + CRC_LEN) as u16,
    8952 - (PACKET_HEADER_LEN + CRC_LEN) as u16,
    1472 - (PACKET_HEADER_LEN + CRC_LEN) as u16,
    1452 - (PACKET_HEADER_LEN + CRC_LEN) as u16,
];

/// What is known of the sizes that the path carries.
#[derive(Copy, Clone, Debug, Hash)]
pub(super) struct PathSize {
    /// The size that is probed.
    target: u16,
    /// A size that does not get through; the largest number there is if none is known.
    ceiling: u16,
    /// Probes of it sent so far.
    probes: u8,
    /// All sizes between are tried, since what is taken for granted is not true of this path.
    searches: bool,
    /// Bytes by which the trailer is longer than that of a CRC.
    extra: u16,
}

impl PathSize {
    pub(super) const fn new() -> Self {
        Self { target: 0, ceiling: u16::MAX, probes: 0, searches: false, extra: 0 }
    }

    /// Begins with what was agreed on.
    const fn from(agreed: u16, searches: bool, extra: u16) -> Self {
        Self { target: agreed, searches, extra, ..Self::new() }
    }

    /// The largest segment that every path is taken to carry.
    const fn floor(self) -> u16 {
        FLOOR - self.extra
    }

    /// Aims at a size between `mss`, which gets through, and the ceiling; whether there is one.
    fn aim_above(&mut self, mss: u16) -> bool {
        self.probes = 0;
        let mut usual = USUAL.into_iter().map(|size| size - self.extra);
        let usual = usual.find(|size| (mss + 1..self.ceiling).contains(size));
        let gap = self.ceiling - mss;
        let next = usual.or_else(|| (gap > GRAIN).then_some(mss + gap / 2));
        self.target = next.unwrap_or(self.target);
        next.is_some()
    }
}

impl Sender {
    /// Begins with the largest segment that is safe, or known to get through (SPEC PRP-SIZE-1 to
    /// 3).
    pub(super) fn start_sizes(&mut self, terms: &Terms, udp: bool) {
        let (agreed, trailer) = (terms.mss, terms.trailer());
        let extra = trailer.saturating_sub(CRC_LEN as u16);
        let floor = FLOOR - extra;
        let safe = if udp { floor } else { CLASSIC_MSS - trailer };
        let reduced = (floor..safe).contains(&self.proven);
        let first = if reduced { self.proven } else { safe.max(self.proven) };
        self.mss = agreed.min(first);
        self.size = PathSize::from(agreed, udp || reduced, extra);
    }
}

impl Connection {
    /// Begins to search for the largest segment that gets through, if there is data for it (SPEC
    /// PRP-SIZE-1).
    #[inline]
    pub(super) fn arm_size_probe(&mut self, now: Instant) {
        let wanted = self.send.mss < self.terms.mss
            && self.send.size.probes < SIZE_PROBES
            && self.send.buf.unsent() > u64::from(self.send.mss);
        if wanted && !self.timers.is_set(Timer::SizeProbe) {
            self.on_size_probe_timer(now);
        }
    }

    /// The size to probe next.
    pub(super) const fn probed_size(&self) -> u16 {
        self.send.size.target
    }

    pub(super) fn on_size_probe_timer(&mut self, now: Instant) {
        if self.send.mss >= self.terms.mss {
            return;
        }
        if self.send.size.probes >= SIZE_PROBES {
            if !self.send.size.searches {
                return;
            }
            self.send.size.ceiling = self.send.size.target;
            if !self.send.size.aim_above(self.send.mss) {
                return self.try_sizes_later(now);
            }
        }
        if self.send.size.probes == 0 && !self.send.buf.has_unsent() && self.send.flight.is_empty()
        {
            // The application need not know; the next large write asks.
            return;
        }
        self.send.size.probes += 1;
        self.pending.size_probe = true;
        self.timers.set(Timer::SizeProbe, now + SIZE_PROBE_PAUSE);
    }

    /// The peer says that a probe of `size` bytes has arrived. What was not asked is not believed.
    pub(super) fn on_size_probe_ack(&mut self, size: u16, now: Instant) {
        if size != self.send.size.target || self.send.size.probes == 0 {
            return;
        }
        self.prove(size);
        if self.send.mss >= self.terms.mss {
            return;
        }
        if self.send.size.aim_above(self.send.mss) {
            self.on_size_probe_timer(now);
        } else {
            self.try_sizes_later(now);
        }
    }

    /// What gets through is known; it may be more some time later.
    fn try_sizes_later(&mut self, now: Instant) {
        self.send.size = PathSize::from(self.terms.mss, true, self.send.size.extra);
        self.timers.set(Timer::SizeProbe, now + SIZE_RETRY);
    }

    /// Segments of `size` bytes are known to arrive.
    pub(crate) fn prove(&mut self, size: u16) {
        self.send.proven = self.send.proven.max(size);
        self.send.mss = self.send.mss.max(self.terms.mss.min(size));
        if self.send.mss == self.terms.mss {
            self.timers.stop(Timer::SizeProbe);
        }
    }

    /// Takes the least segments from now on where small frames pass and full segments do not (SPEC
    /// PRP-SIZE-4), and searches again how large they may be.
    pub(super) fn reduce_if_stuck(&mut self, now: Instant) {
        let floor = self.send.size.floor();
        let stuck = self.send.stuck_segment().is_some_and(|len| len > floor);
        if !stuck || self.send.mss <= floor || !self.terms.policy().retains() {
            return;
        }
        self.stats.segment_reductions += 1;
        (self.send.mss, self.send.proven) = (floor, floor);
        self.send.unhelpful_answers = 0;
        self.send.size = PathSize::from(self.terms.mss, true, self.send.size.extra);
        self.on_size_probe_timer(now);
    }

    /// Largest segment known to arrive.
    pub(crate) const fn proven(&self) -> u16 {
        self.send.proven
    }

    /// Whether the path carries less than is taken for granted of a path.
    pub(crate) const fn is_reduced(&self) -> bool {
        self.send.size.searches && self.send.proven >= self.send.size.floor()
    }
}
