//! Answers to frames that belong to no connection (SPEC PRP-RST-2 to 6).

use alloc::collections::VecDeque;

use crate::addr::{Port, PrpAddr};
use crate::seq::{Seq, SeqWidth};
use crate::time::Instant;
use crate::transmit::{Path, TransmitBatch};
use crate::wire::{CrcKey, Flags, ResetBlock, ResetReason, TransportHeader};

/// Refusals waiting for the device at most; a flood gets no longer queue than this.
const MAX_QUEUED: usize = 64;

/// A RST in answer to somebody.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Refusal {
    pub(super) path: Path,
    pub(super) local: Port,
    pub(super) remote: Port,
    pub(super) block: ResetBlock,
}

/// A request for a port that this endpoint does not own.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrphanRequest {
    pub(super) refusal: Refusal,
}

impl OrphanRequest {
    /// The port it was for.
    pub const fn port(&self) -> Port {
        self.refusal.local
    }

    /// Who asked.
    pub const fn peer(&self) -> PrpAddr {
        PrpAddr::new(self.refusal.path.dst, self.refusal.remote)
    }
}

/// Refusals on their way out, no more than so many a second.
#[derive(Clone, Debug, Hash)]
pub(super) struct Refusals {
    queue: VecDeque<Refusal>,
    per_second: u32,
    tokens: u32,
    refilled: Instant,
}

impl Refusals {
    pub(super) fn new(per_second: u32) -> Self {
        Self { queue: VecDeque::new(), per_second, tokens: per_second, refilled: Instant::ZERO }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes held.
    pub(super) fn memory(&self) -> usize {
        self.queue.capacity() * size_of::<Refusal>()
    }

    /// Queues a refusal unless there have been too many; whether it was queued.
    pub(super) fn push(&mut self, now: Instant, refusal: Refusal) -> bool {
        let earned =
            u128::from(self.per_second) * now.since(self.refilled).as_nanos() / 1_000_000_000;
        if earned > 0 {
            self.tokens =
                self.tokens.saturating_add(earned.min(u128::from(self.per_second)) as u32);
            self.tokens = self.tokens.min(self.per_second);
            self.refilled = now;
        }
        if self.tokens == 0 || self.queue.len() >= MAX_QUEUED {
            return false;
        }
        self.tokens -= 1;
        self.queue.push_back(refusal);
        true
    }

    /// Puts one into `batch`; whether there was one.
    pub(super) fn transmit(&mut self, batch: &mut TransmitBatch) -> bool {
        let Some(r) = self.queue.pop_front() else { return false };
        let len = ResetBlock::LEN as u16;
        let mut header =
            TransportHeader::new(r.local, r.remote, Seq::default(), SeqWidth::Bits20, len);
        header.flags |= Flags::RST;
        batch.push_inline(&r.path, None, header, &r.block.emit(), Some(CrcKey::NONE));
        true
    }
}

/// The RST that tells `block_for` there is no such thing here.
pub(super) const fn refusal(
    path: Path,
    local: Port,
    remote: Port,
    reason: ResetReason,
    receiver: u32,
    sender: u32,
) -> Refusal {
    Refusal { path, local, remote, block: ResetBlock { reason, receiver, sender } }
}
