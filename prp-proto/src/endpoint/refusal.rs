//! Answers to frames that belong to no connection (SPEC PRP-RST-2 to 6), and last words to peers of
//! ours (PRP-CLOSE-10).

use alloc::collections::VecDeque;

use prp_key::{Keyring, Mode, TRAILER_BYTES, wish};

use super::stalled_devices::StalledDevices;
use crate::addr::{LinkAddr, Port, PrpAddr};
use crate::seq::{Seq, SeqWidth};
use crate::time::Instant;
use crate::token_bucket::TokenBucket;
use crate::transmit::{Path, TransmitBatch};
use crate::wire::{CRC_LEN, CrcKey, Flags, Frame, ResetBlock, TransportHeader};

/// Refusals waiting for the device at most; a flood gets no longer queue than this.
const MAX_QUEUED: usize = 64;

/// A RST in answer to a frame.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Refusal {
    pub(super) path: Path,
    pub(super) local: Port,
    pub(super) remote: Port,
    pub(super) block: ResetBlock,
    /// Its peer believes it only with a key.
    pub(super) is_signed: bool,
}

impl Refusal {
    /// The answer to `frame`, along `path`.
    pub(super) fn to_sender(path: Path, frame: &Frame<'_>, block: ResetBlock) -> Self {
        let ports = &frame.head.transport;
        let is_signed = is_keyed(frame);
        Self { path, local: ports.dst_port, remote: ports.src_port, block, is_signed }
    }
}

/// Returns whether `frame`, which no connection has checked, seems to be of one that has a key:
/// its request or answer says so, or what follows its payload is no CRC trailer with zeros as
/// padding.
pub(crate) fn is_keyed(frame: &Frame<'_>) -> bool {
    if frame.flags().intersects(Flags::CREQ | Flags::CACK) {
        return wish(frame.payload).is_some_and(|(mode, _)| mode > Mode::Off);
    }
    let rest = frame.rest().get(CRC_LEN..TRAILER_BYTES);
    rest.is_some_and(|rest| rest.iter().any(|byte| *byte != 0))
}

/// A port that this endpoint does not own, and the peer that waits for an answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct UnownedPort {
    pub(super) refusal: Refusal,
}

impl UnownedPort {
    /// The port.
    pub const fn port(&self) -> Port {
        self.refusal.local
    }

    /// Whether the frame came in a datagram, so that no other process has it.
    pub const fn came_by_udp(&self) -> bool {
        self.refusal.path.to.is_udp()
    }

    /// The peer that waits.
    pub const fn peer(&self) -> PrpAddr {
        PrpAddr::new(self.refusal.path.dst, self.refusal.remote)
    }
}

/// Refusals that are to be sent, no more than a given number a second (SPEC PRP-RST-6).
#[derive(Clone, Debug, Hash)]
pub(super) struct ResetQueue {
    queue: VecDeque<Refusal>,
    /// For ports of ours.
    own: TokenBucket,
    /// For ports that may be another process's, taken before the owner is searched for.
    unowned: TokenBucket,
}

impl ResetQueue {
    pub(super) fn new(per_second: u32) -> Self {
        let bucket = TokenBucket::new(per_second);
        Self { queue: VecDeque::new(), own: bucket, unowned: bucket }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many are to be sent.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        self.queue.capacity() * size_of::<Refusal>()
    }

    /// Queues a refusal of ours unless there have been too many; whether it was queued.
    pub(super) fn push(&mut self, now: Instant, refusal: Refusal) -> bool {
        self.has_room() && self.own.take(now) && self.push_allowed(refusal)
    }

    /// Whether it may be found out whose an unowned port is, for one refusal.
    pub(super) fn allow_unowned(&mut self, now: Instant) -> bool {
        self.unowned.take(now)
    }

    /// Queues a refusal that was allowed, if there is room; whether there was.
    pub(super) fn push_allowed(&mut self, refusal: Refusal) -> bool {
        let has_room = self.has_room();
        if has_room {
            self.queue.push_back(refusal);
        }
        has_room
    }

    /// Queues a reset to a peer of ours, which no host can cause: there are as many as there were
    /// connections.
    pub(super) fn push_own(&mut self, refusal: Refusal) {
        self.queue.push_back(refusal);
    }

    /// Has each refusal go to what `renumber` says is now the address that it is for, or nowhere.
    pub(super) fn renumber(&mut self, renumber: impl Fn(LinkAddr) -> Option<LinkAddr>) {
        self.queue.retain_mut(|refusal| refusal.path.renumber(&renumber));
    }

    fn has_room(&self) -> bool {
        self.queue.len() < MAX_QUEUED
    }

    /// Returns whether one could be sent, but for what waits for `stalled` devices.
    pub(super) fn has_any_to_go(&self, stalled: &StalledDevices) -> bool {
        self.first_to_go(stalled).is_some()
    }

    fn first_to_go(&self, stalled: &StalledDevices) -> Option<usize> {
        stalled.first_to_go(&self.queue, |refusal| refusal.path.device)
    }

    /// Puts one that need not wait for `stalled` devices into `batch`, signed with `keyring` where
    /// its peer or this end asks for that; whether there was one.
    pub(super) fn transmit(
        &mut self,
        batch: &mut TransmitBatch,
        keyring: Option<&Keyring>,
        stalled: &StalledDevices,
    ) -> bool {
        let first = self.first_to_go(stalled);
        let Some(r) = first.and_then(|at| self.queue.remove(at)) else { return false };
        let len = ResetBlock::LEN as u16;
        let mut header =
            TransportHeader::new(r.local, r.remote, Seq::default(), SeqWidth::Bits20, len);
        header.flags |= Flags::RST;
        let is_asked = |ring: &&Keyring| r.is_signed || ring.least(r.path.dst.number()) > Mode::Off;
        if let Some(keyring) = keyring.filter(is_asked) {
            batch.push_signed(&r.path, None, header, &r.block.emit(), keyring);
            return true;
        }
        batch.push_inline(&r.path, None, header, &r.block.emit(), Some(CrcKey::NONE));
        true
    }
}
