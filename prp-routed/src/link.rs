//! A device of the router, with the queue of what it could not take yet.

use prp_device::{LinkState, Received, RefusalCounts, Sent, TxBacklog, Underlay};
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
    /// Frames dropped because the queue was full, or lost by the device, or refused.
    pub dropped: u64,
    /// Those of them that the kernel refused to send, for another reason than their size.
    pub refused: RefusalCounts,
    /// Frames of VLANs that prphosts does not name of the device, which has one itself.
    pub other_vlan: u64,
}

/// A device of the router.
#[derive(Debug)]
pub struct Link {
    name: String,
    /// Frames in and out.
    pub io: Box<dyn Underlay>,
    queue: TxBacklog,
    /// What went over it.
    pub counters: LinkCounters,
    /// Its frames have a tag, which the kernel's program neither reads nor writes.
    pub is_tagged: bool,
    /// What the kernel said of its device last; none while that is not there, and of a link that is
    /// no device.
    pub state: Option<LinkState>,
}

impl Link {
    /// The device `io`, called `name`.
    pub fn new(name: impl Into<String>, io: Box<dyn Underlay>) -> Self {
        let counters = LinkCounters::default();
        let (queue, state) = (TxBacklog::default(), None);
        Self { name: name.into(), io, queue, counters, is_tagged: false, state }
    }

    /// Notes a call that received frames.
    pub fn note_received(&mut self, received: Received) {
        self.counters.note_received(received);
        if self.is_tagged {
            let other_vlan = self.io.ethernet().map_or(0, |device| device.take_other_vlan());
            self.counters.other_vlan += other_vlan;
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its device is up and has a link. A link that is no device is taken to have one.
    pub fn is_up(&self) -> bool {
        self.io.udp().is_some() || self.state.is_some_and(|state| state.up)
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
                let mut pieces: Vec<FrameParts<'_>> = Vec::with_capacity(BATCH);
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

    /// Has each frame that waits go to what `renumber` says is now the address that it is for.
    /// Those for which it has none are dropped, and counted.
    pub fn renumber(
        &mut self,
        renumber: impl Fn(LinkAddr) -> Option<LinkAddr>,
        stats: &mut ForwardStats,
    ) {
        for _ in 0..self.queue.renumber(renumber) {
            self.counters.lose(0, stats);
        }
    }

    /// Sends what waits; whether all of it is gone.
    pub fn unstall(&mut self, stats: &mut ForwardStats) -> bool {
        let Self { queue, io, counters, .. } = self;
        queue.flush(io.as_mut(), BATCH, |sent, refused| counters.note(sent, refused, stats))
    }

    /// Sends until the device takes no more; how many frames are gone, sent or refused.
    fn send_some(&mut self, pieces: &[FrameParts<'_>], stats: &mut ForwardStats) -> usize {
        let mut at = 0;
        while at < pieces.len() {
            let sent = self.io.send(&mut pieces[at..].iter().copied());
            let refused = sent.refused.map_or(0, |_| bytes(pieces[at + sent.done].1));
            self.counters.note(&sent, refused, stats);
            at += sent.gone();
            if sent.full || sent.gone() == 0 {
                break;
            }
        }
        at
    }

    fn enqueue(&mut self, (to, [head, rest]): (LinkAddr, [&[u8]; 2]), stats: &mut ForwardStats) {
        if self.queue.len() < QUEUE {
            self.queue.push(to, [head, rest, &[], &[]]);
        } else {
            self.counters.lose(head.len() + rest.len(), stats);
        }
    }
}

impl LinkCounters {
    /// Notes a call that received frames.
    fn note_received(&mut self, received: Received) {
        self.received += u64::from(received.frames);
        self.overruns += u64::from(received.lost);
    }

    /// Notes a call that sent frames, and a frame of `refused` bytes that the kernel did not send.
    fn note(&mut self, sent: &Sent, refused: usize, stats: &mut ForwardStats) {
        self.sent += (sent.done - sent.lost) as u64;
        for _ in 0..sent.lost {
            self.lose(0, stats);
        }
        if let Some(refusal) = sent.refused {
            self.lose(if refusal.is_too_big() { refused } else { 0 }, stats);
            if !refusal.is_too_big() {
                self.refused.note(refusal);
            }
        }
    }

    fn lose(&mut self, bytes: usize, stats: &mut ForwardStats) {
        self.dropped += 1;
        stats.not_sent(bytes, ForwardDrop::SendFailed);
    }
}

fn bytes(pieces: [&[u8]; 4]) -> usize {
    pieces.iter().map(|piece| piece.len()).sum()
}

/// A frame for a neighbour.
type FrameParts<'a> = (LinkAddr, [&'a [u8]; 4]);

/// Frames per system call.
const BATCH: usize = 64;

#[cfg(test)]
mod tests;
