//! A device of the router, with the queue of what it could not take yet.

use std::collections::VecDeque;

use prp_device::DeviceIo;
use prp_proto::addr::LinkAddr;
use prp_proto::forward::{ForwardDrop, ForwardStats};

/// Frames a busy device may have waiting: as many as a receiving ring holds. More only makes them
/// late.
const QUEUE: usize = 512;

/// What went over a link.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct LinkCounters {
    /// Frames received that passed the filter.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames lost before we saw them: the receiving ring was full.
    pub overruns: u64,
    /// Frames dropped because the queue was full, or lost by the device.
    pub dropped: u64,
}

/// A device of the router.
#[derive(Debug)]
pub struct Link {
    name: String,
    /// Frames in and out.
    pub io: DeviceIo,
    queue: VecDeque<(LinkAddr, Vec<u8>)>,
    spare: Vec<Vec<u8>>,
    /// What went over it.
    pub counters: LinkCounters,
}

impl Link {
    /// The device `io`, called `name`.
    pub fn new(name: impl Into<String>, io: impl Into<DeviceIo>) -> Self {
        let (queue, spare) = (VecDeque::new(), Vec::new());
        Self { name: name.into(), io: io.into(), queue, spare, counters: LinkCounters::default() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether frames wait for room.
    pub fn is_stalled(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Sends `frames`, each for a neighbour and of two pieces, behind those that wait; keeps what
    /// the device does not take, as far as there is room, and counts the rest.
    pub fn send<'a>(
        &mut self,
        frames: impl Iterator<Item = (LinkAddr, [&'a [u8]; 2])>,
        stats: &mut ForwardStats,
    ) {
        let mut frames = frames.peekable();
        if self.unstall(stats) {
            while frames.peek().is_some() {
                let mut pieces: Vec<Pieces<'_>> = Vec::with_capacity(BATCH);
                let batch = frames.by_ref().take(BATCH);
                pieces.extend(batch.map(|(to, [a, b])| (to, [a, b, &[], &[]])));
                let done = self.send_some(&pieces, stats);
                if done < pieces.len() {
                    let left = pieces[done..].iter();
                    left.for_each(|(to, p)| self.enqueue((*to, [p[0], p[1]]), stats));
                    break;
                }
            }
        }
        frames.for_each(|frame| self.enqueue(frame, stats));
    }

    /// Sends what waits; whether all of it is gone.
    pub fn unstall(&mut self, stats: &mut ForwardStats) -> bool {
        while !self.queue.is_empty() {
            let queue = std::mem::take(&mut self.queue);
            let whole = queue.iter().take(BATCH).map(|(to, f)| (*to, [&f[..], &[], &[], &[]]));
            let pieces: Vec<Pieces<'_>> = whole.collect();
            let (done, tried) = (self.send_some(&pieces, stats), pieces.len());
            self.queue = queue;
            self.spare.extend(self.queue.drain(..done).map(|(_, frame)| frame));
            if done < tried {
                return false;
            }
        }
        true
    }

    /// Sends until the device takes no more; how many frames are gone, one way or the other.
    fn send_some(&mut self, pieces: &[Pieces<'_>], stats: &mut ForwardStats) -> usize {
        let mut at = 0;
        while at < pieces.len() {
            let mut left = pieces[at..].iter().copied();
            let sent = match &mut self.io {
                DeviceIo::Frames(io) => io.send(&mut left.map(|(_, pieces)| pieces)),
                DeviceIo::Udp(io) => io.send(&mut left),
            };
            at += sent.done;
            self.counters.sent += (sent.done - sent.lost) as u64;
            for _ in 0..sent.lost {
                self.lose(0, stats);
            }
            if sent.too_big {
                self.lose(pieces[at].1.iter().map(|p| p.len()).sum(), stats);
                at += 1;
            } else if sent.full || sent.done == 0 {
                break;
            }
        }
        at
    }

    fn enqueue(&mut self, (to, frame): (LinkAddr, [&[u8]; 2]), stats: &mut ForwardStats) {
        if self.queue.len() >= QUEUE {
            return self.lose(frame[0].len() + frame[1].len(), stats);
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        frame.iter().for_each(|piece| copy.extend_from_slice(piece));
        self.queue.push_back((to, copy));
    }

    fn lose(&mut self, bytes: usize, stats: &mut ForwardStats) {
        self.counters.dropped += 1;
        stats.not_sent(bytes, ForwardDrop::SendFailed);
    }
}

/// A frame for a neighbour.
type Pieces<'a> = (LinkAddr, [&'a [u8]; 4]);

/// Frames per system call.
const BATCH: usize = 64;

#[cfg(test)]
mod tests;
