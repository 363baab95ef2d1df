//! One direction of a cable: it takes time, has a queue in front of it, and may do harm.

use core::time::Duration;
use std::collections::VecDeque;

use prp_proto::time::Instant;

use crate::rng::SimRng;

/// Bytes every frame costs on the link beside its own: preamble and start 8, FCS 4, gap 12.
const WIRE_OVERHEAD: u64 = 24;

/// Least frame on the link, without FCS.
const LEAST_FRAME: u64 = 60;

/// How much may wait in front of a link.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum QueueLimit {
    /// Bytes, as in a switch with shared memory.
    Bytes(usize),
    /// Frames, as in a transmit queue of a host.
    Frames(usize),
}

/// What a link does to frames beside carrying them, in parts per million of frames.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Harm {
    /// Frames that vanish.
    pub loss: u32,
    /// How many vanish in a row when one does; 0 and 1 mean the same.
    pub burst: u32,
    /// Frames that arrive twice.
    pub duplicate: u32,
    /// Frames that arrive later than their turn.
    pub reorder: u32,
    /// Frames with flipped bits.
    pub corrupt: u32,
    /// Most that a late frame, or the second copy of one, comes later.
    pub late_by: Duration,
}

impl Harm {
    /// Whether it does any.
    pub const fn is_none(&self) -> bool {
        self.loss == 0 && self.duplicate == 0 && self.reorder == 0 && self.corrupt == 0
    }
}

/// One direction of a link.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct LinkConfig {
    /// Its rate.
    pub bits_per_second: u64,
    /// Time from the last bit in to the last bit out.
    pub delay: Duration,
    /// What may wait in front of it.
    pub queue: QueueLimit,
    /// Bytes after the Ethernet header it takes.
    pub mtu: u32,
    /// When it comes to take only so many bytes after the Ethernet header, and says nothing of it.
    pub shrinks: Option<(Instant, u32)>,
    /// What it does to frames until it is healed.
    pub harm: Harm,
    /// When it is down: from, until. Healing does not shorten these.
    pub outages: Vec<(Instant, Instant)>,
    /// When its harm ends.
    pub healed: Instant,
}

impl Default for LinkConfig {
    /// A clean gigabit cable of a hundred metres behind a queue that Linux would give it.
    fn default() -> Self {
        Self {
            bits_per_second: 1_000_000_000,
            delay: Duration::from_nanos(500),
            queue: QueueLimit::Frames(1000),
            mtu: 1500,
            shrinks: None,
            harm: Harm::default(),
            outages: Vec::new(),
            healed: Instant::ZERO,
        }
    }
}

/// What became of a frame that was put on a link.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Fate {
    /// It will arrive.
    Sent,
    /// It will arrive, twice.
    Duplicated,
    /// It will arrive late.
    Late,
    /// It will arrive with flipped bits.
    Corrupted,
    /// It vanishes.
    Lost,
    /// The link is down.
    Down,
    /// The queue is full.
    QueueFull,
    /// It is longer than the link takes.
    TooLong,
}

impl Fate {
    /// Every fate.
    pub const ALL: [Self; 8] = [
        Self::Sent,
        Self::Duplicated,
        Self::Late,
        Self::Corrupted,
        Self::Lost,
        Self::Down,
        Self::QueueFull,
        Self::TooLong,
    ];

    /// Its name in traces and statistics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Duplicated => "duplicated",
            Self::Late => "late",
            Self::Corrupted => "corrupted",
            Self::Lost => "lost",
            Self::Down => "link down",
            Self::QueueFull => "queue full",
            Self::TooLong => "too long",
        }
    }
}

/// A link with its queue.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) config: LinkConfig,
    /// Frames that have not left the queue: when they will have, and their bytes.
    queued: VecDeque<(Instant, usize)>,
    queued_bytes: usize,
    busy_until: Instant,
    /// Frames still to be lost of a burst.
    losing: u32,
}

impl Link {
    pub(crate) const fn new(config: LinkConfig) -> Self {
        Self {
            config,
            queued: VecDeque::new(),
            queued_bytes: 0,
            busy_until: Instant::ZERO,
            losing: 0,
        }
    }

    /// Puts `frame` on the link; `arrive` is called for every copy that will arrive, with the time.
    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        mut frame: Vec<u8>,
        rng: &mut SimRng,
        mut arrive: impl FnMut(Instant, Vec<u8>),
    ) -> Fate {
        if frame.len() > self.mtu(now) as usize + prp_proto::wire::ETHERNET_LEN {
            return Fate::TooLong;
        }
        self.settle(now);
        let full = match self.config.queue {
            QueueLimit::Bytes(limit) => self.queued_bytes + frame.len() > limit,
            QueueLimit::Frames(limit) => self.queued.len() >= limit,
        };
        if full {
            return Fate::QueueFull;
        }
        let gone = self.busy_until.max(now) + self.time_on_wire(frame.len());
        self.busy_until = gone;
        self.queued_bytes += frame.len();
        self.queued.push_back((gone, frame.len()));
        if self.config.outages.iter().any(|(from, until)| (*from..*until).contains(&gone)) {
            return Fate::Down;
        }
        let at = gone + self.config.delay;
        if now >= self.config.healed || self.config.harm.is_none() {
            arrive(at, frame);
            return Fate::Sent;
        }
        let fate = self.judge(rng);
        match fate {
            Fate::Lost => {}
            Fate::Duplicated => {
                arrive(at + self.lateness(rng), frame.clone());
                arrive(at, frame);
            }
            Fate::Late => arrive(at + self.lateness(rng), frame),
            Fate::Corrupted => {
                corrupt(&mut frame, rng);
                arrive(at, frame);
            }
            _ => arrive(at, frame),
        }
        fate
    }

    fn mtu(&self, now: Instant) -> u32 {
        let shrunk = self.config.shrinks.filter(|(from, _)| *from <= now);
        shrunk.map_or(self.config.mtu, |(_, mtu)| mtu)
    }

    /// Frames waiting or on their way in.
    pub(crate) fn waiting(&mut self, now: Instant) -> usize {
        self.settle(now);
        self.queued.len()
    }

    /// When no more than `frames` will be waiting.
    pub(crate) fn waits_no_more_than(&self, frames: usize) -> Instant {
        let first = self.queued.len().saturating_sub(frames + 1);
        self.queued.get(first).map_or(Instant::ZERO, |(gone, _)| *gone)
    }

    fn settle(&mut self, now: Instant) {
        while let Some((gone, bytes)) = self.queued.front().copied()
            && gone <= now
        {
            self.queued.pop_front();
            self.queued_bytes -= bytes;
        }
    }

    fn time_on_wire(&self, bytes: usize) -> Duration {
        let bits = 8 * ((bytes as u64).max(LEAST_FRAME) + WIRE_OVERHEAD);
        Duration::from_nanos(bits * 1_000_000_000 / self.config.bits_per_second)
    }

    fn judge(&mut self, rng: &mut SimRng) -> Fate {
        let harm = self.config.harm;
        if self.losing > 0 {
            self.losing -= 1;
            return Fate::Lost;
        }
        if rng.chance(harm.loss) {
            self.losing = harm.burst.saturating_sub(1);
            return Fate::Lost;
        }
        if rng.chance(harm.corrupt) {
            return Fate::Corrupted;
        }
        if rng.chance(harm.reorder) {
            return Fate::Late;
        }
        if rng.chance(harm.duplicate) { Fate::Duplicated } else { Fate::Sent }
    }

    fn lateness(&self, rng: &mut SimRng) -> Duration {
        Duration::from_nanos(rng.below(self.config.harm.late_by.as_nanos() as u64 + 1))
    }
}

/// Flips one to three bits anywhere: what a CRC-32 is sure to find in frames of up to 11 KB.
fn corrupt(frame: &mut [u8], rng: &mut SimRng) {
    let before = frame.to_vec();
    while frame == before {
        for _ in 0..rng.between(1, 3) {
            let bit = rng.below(8 * frame.len() as u64);
            frame[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    fn transmit(link: &mut Link, now: u64, len: usize) -> (Fate, Vec<u64>) {
        let mut rng = SimRng::new(1, Purpose::Links);
        let mut times = Vec::new();
        let fate =
            link.transmit(at(now), vec![0; len], &mut rng, |at, _| times.push(at.as_nanos()));
        (fate, times)
    }

    #[test]
    fn transmit__frames_follow_each_other_at_the_rate_of_the_link() {
        let mut link = Link::new(LinkConfig::default());
        // 1514 + 24 bytes at 1 Gbit/s are 12,304 ns.
        assert_eq!(transmit(&mut link, 0, 1514), (Fate::Sent, vec![12_804]));
        assert_eq!(transmit(&mut link, 0, 1514), (Fate::Sent, vec![25_108]));
        assert_eq!(link.waiting(at(12_303)), 2);
        assert_eq!(link.waiting(at(12_304)), 1);
        // Short frames are padded: 84 bytes on the link.
        assert_eq!(transmit(&mut link, 100_000, 30), (Fate::Sent, vec![101_172]));
    }

    #[test]
    fn transmit__a_link_that_shrinks_takes_no_full_frames_from_then_on() {
        let shrinks = Some((at(50_000), 1300));
        let mut link = Link::new(LinkConfig { shrinks, ..LinkConfig::default() });
        assert_eq!(transmit(&mut link, 49_999, 1514).0, Fate::Sent);
        assert_eq!(transmit(&mut link, 50_000, 1315).0, Fate::TooLong);
        assert_eq!(transmit(&mut link, 50_000, 1314).0, Fate::Sent);
    }

    #[test]
    fn transmit__a_full_queue_drops_by_bytes_or_frames() {
        for queue in [QueueLimit::Bytes(3028), QueueLimit::Frames(2)] {
            let mut link = Link::new(LinkConfig { queue, ..LinkConfig::default() });
            let fates = [0; 3].map(|_| transmit(&mut link, 0, 1514).0);
            assert_eq!(fates, [Fate::Sent, Fate::Sent, Fate::QueueFull]);
            assert_eq!(link.waits_no_more_than(1), at(12_304));
            assert_eq!(transmit(&mut link, 12_304, 1514).0, Fate::Sent);
        }
    }

    #[test]
    fn transmit__what_is_too_long_or_leaves_during_an_outage_is_gone() {
        let outages = vec![(at(20_000), at(40_000))];
        let mut link = Link::new(LinkConfig { outages, ..LinkConfig::default() });
        assert_eq!(transmit(&mut link, 0, 1515).0, Fate::TooLong);
        let fates = [0; 4].map(|_| transmit(&mut link, 0, 1514).0);
        assert_eq!(fates, [Fate::Sent, Fate::Down, Fate::Down, Fate::Sent]);
    }

    #[test]
    fn transmit__harm_comes_in_its_share_and_ends_with_healing() {
        let harm = Harm {
            loss: 50_000,
            burst: 3,
            duplicate: 100_000,
            reorder: 100_000,
            corrupt: 100_000,
            late_by: Duration::from_millis(1),
        };
        let config = LinkConfig { harm, healed: at(1 << 40), ..LinkConfig::default() };
        let mut link = Link::new(config);
        let mut rng = SimRng::new(1, Purpose::Links);
        let mut count = [0; Fate::ALL.len()];
        for i in 0..20_000 {
            let mut copies = Vec::new();
            let fate = link.transmit(at(i * 20_000), vec![7; 100], &mut rng, |_, f| copies.push(f));
            count[fate as usize] += 1;
            let clean = copies.iter().filter(|f| **f == [7; 100]).count();
            let expected = match fate {
                Fate::Lost => (0, 0),
                Fate::Duplicated => (2, 2),
                Fate::Corrupted => (1, 0),
                _ => (1, 1),
            };
            assert_eq!((copies.len(), clean), expected, "{fate:?}");
        }
        assert!((2000..3500).contains(&count[Fate::Lost as usize]), "{count:?}");
        assert!((1200..2000).contains(&count[Fate::Duplicated as usize]), "{count:?}");
        assert_eq!(link.transmit(at(1 << 40), vec![7; 100], &mut rng, |_, _| ()), Fate::Sent);
    }
}
