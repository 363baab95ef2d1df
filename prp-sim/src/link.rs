//! One direction of a cable: it takes time, has a queue in front of it, and may lose or damage
//! frames.

use core::mem;
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
pub struct Impairment {
    /// Frames that vanish.
    pub loss: u32,
    /// How many vanish in a row when one does; 0 and 1 mean the same.
    pub burst: u32,
    /// Frames that arrive twice.
    pub duplicate: u32,
    /// Frames that arrive later than in their order.
    pub reorder: u32,
    /// Frames with flipped bits.
    pub corrupt: u32,
    /// Most that a late frame, or the second copy of one, comes later.
    pub late_by: Duration,
}

impl Impairment {
    /// Whether it does any.
    pub const fn is_none(&self) -> bool {
        self.loss == 0 && self.duplicate == 0 && self.reorder == 0 && self.corrupt == 0
    }
}

/// What a link makes of datagrams that are sent as a GSO batch (SPEC PRP-UDP-6).
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum GsoBatches {
    /// It carries a GSO batch in one piece, as virtual links do: one place in the queue, one fate,
    /// and all datagrams arrive at the same time.
    Whole,
    /// The sender's device cuts it, so that each datagram is on the link by itself. The receiver's
    /// device joins those that come in order, and passes them on with the last.
    Cut,
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
    /// When it begins to drop longer frames, without a report, and the most bytes after the
    /// Ethernet header from then on.
    pub shrinks: Option<(Instant, u32)>,
    /// What it makes of GSO batches.
    pub gso_batches: GsoBatches,
    /// What it does to frames until it is healed.
    pub impairment: Impairment,
    /// When it is down: from, until. Healing does not shorten these.
    pub outages: Vec<(Instant, Instant)>,
    /// When its impairment ends.
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
            gso_batches: GsoBatches::Cut,
            impairment: Impairment::default(),
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
        frame: Vec<u8>,
        rng: &mut SimRng,
        mut arrive: impl FnMut(Instant, Vec<u8>),
    ) -> Fate {
        self.carry(now, &mut [frame], rng, &mut arrive)
    }

    /// Puts the datagrams of `gso_batch` on the link; `arrive` is called for every copy that will
    /// arrive, with the time. What becomes of each.
    pub(crate) fn transmit_gso_batch(
        &mut self,
        now: Instant,
        mut gso_batch: Vec<Vec<u8>>,
        rng: &mut SimRng,
        mut arrive: impl FnMut(Instant, Vec<u8>),
    ) -> Vec<Fate> {
        if self.config.gso_batches == GsoBatches::Whole {
            let count = gso_batch.len();
            return vec![self.carry(now, &mut gso_batch, rng, &mut arrive); count];
        }
        let (mut fates, mut joined, mut last) = (Vec::new(), Vec::new(), now);
        for datagram in gso_batch {
            let mut came = Vec::new();
            let fate = self.transmit(now, datagram, rng, |at, datagram| came.push((at, datagram)));
            if fate == Fate::Sent {
                last = came.iter().fold(last, |last, (at, _)| last.max(*at));
                joined.extend(came.into_iter().map(|(_, datagram)| datagram));
            } else {
                came.into_iter().for_each(|(at, datagram)| arrive(at, datagram));
            }
            fates.push(fate);
        }
        joined.into_iter().for_each(|datagram| arrive(last, datagram));
        fates
    }

    /// Puts `pieces`, which have one fate, on the link one behind the other; a frame is one piece.
    fn carry(
        &mut self,
        now: Instant,
        pieces: &mut [Vec<u8>],
        rng: &mut SimRng,
        arrive: &mut impl FnMut(Instant, Vec<u8>),
    ) -> Fate {
        let longest = self.mtu(now) as usize + prp_proto::wire::ETHERNET_LEN;
        if pieces.iter().any(|piece| piece.len() > longest) {
            return Fate::TooLong;
        }
        self.settle(now);
        let bytes = pieces.iter().map(Vec::len).sum();
        let full = match self.config.queue {
            QueueLimit::Bytes(limit) => self.queued_bytes + bytes > limit,
            QueueLimit::Frames(limit) => self.queued.len() >= limit,
        };
        if full {
            return Fate::QueueFull;
        }
        let time: Duration = pieces.iter().map(|piece| self.time_on_wire(piece.len())).sum();
        let gone = self.busy_until.max(now) + time;
        self.busy_until = gone;
        self.queued_bytes += bytes;
        self.queued.push_back((gone, bytes));
        if self.config.outages.iter().any(|(from, until)| (*from..*until).contains(&gone)) {
            return Fate::Down;
        }
        let at = gone + self.config.delay;
        let mut bring = |at, pieces: &mut [Vec<u8>]| {
            pieces.iter_mut().for_each(|piece| arrive(at, mem::take(piece)));
        };
        if now >= self.config.healed || self.config.impairment.is_none() {
            bring(at, pieces);
            return Fate::Sent;
        }
        let fate = self.judge(rng);
        match fate {
            Fate::Lost => {}
            Fate::Duplicated => {
                bring(at + self.lateness(rng), &mut pieces.to_vec());
                bring(at, pieces);
            }
            Fate::Late => bring(at + self.lateness(rng), pieces),
            Fate::Corrupted => {
                pieces.iter_mut().for_each(|piece| corrupt(piece, rng));
                bring(at, pieces);
            }
            _ => bring(at, pieces),
        }
        fate
    }

    fn mtu(&self, now: Instant) -> u32 {
        let shrunk = self.config.shrinks.filter(|(from, _)| *from <= now);
        shrunk.map_or(self.config.mtu, |(_, mtu)| mtu)
    }

    /// Frames waiting or being taken in.
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
        let impairment = self.config.impairment;
        if self.losing > 0 {
            self.losing -= 1;
            return Fate::Lost;
        }
        if rng.chance(impairment.loss) {
            self.losing = impairment.burst.saturating_sub(1);
            return Fate::Lost;
        }
        if rng.chance(impairment.corrupt) {
            return Fate::Corrupted;
        }
        if rng.chance(impairment.reorder) {
            return Fate::Late;
        }
        if rng.chance(impairment.duplicate) { Fate::Duplicated } else { Fate::Sent }
    }

    fn lateness(&self, rng: &mut SimRng) -> Duration {
        Duration::from_nanos(rng.below(self.config.impairment.late_by.as_nanos() as u64 + 1))
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
mod tests;
