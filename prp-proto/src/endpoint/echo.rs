//! Answers to echoes (SPEC PRP-NODE-2), where no router gives them: over UDP a packet for the
//! control port of a node without one comes to the process that holds the node's own port, and by
//! Unix sockets to all processes, of which the steward answers.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use prp_key::Keyring;

use super::Endpoint;
use super::stalled_devices::StalledDevices;
use crate::addr::{LinkAddr, Port};
use crate::seq::{Seq, SeqWidth};
use crate::time::Instant;
use crate::token_bucket::TokenBucket;
use crate::transmit::{Path, TransmitBatch};
use crate::wire::{CrcKey, Flags, Frame, NodeBlock, NodeKind, TransportHeader};

/// Answers waiting for the device at most.
const MAX_QUEUED: usize = 64;

/// Answers a second (SPEC PRP-NODE-4).
const PER_SECOND: u32 = 1000;

/// An answer to an echo.
#[derive(Clone, Debug, Hash)]
struct EchoReply {
    path: Path,
    to: Port,
    payload: Vec<u8>,
    /// The echo was signed.
    is_signed: bool,
}

/// Answers that are to be sent.
#[derive(Clone, Debug, Hash)]
pub(super) struct EchoQueue {
    queue: VecDeque<EchoReply>,
    allowed: TokenBucket,
}

impl EchoQueue {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::new(), allowed: TokenBucket::new(PER_SECOND) }
    }

    /// Returns whether one could be sent, but for what waits for `stalled` devices.
    pub(super) fn has_any_to_go(&self, stalled: &StalledDevices) -> bool {
        self.first_to_go(stalled).is_some()
    }

    fn first_to_go(&self, stalled: &StalledDevices) -> Option<usize> {
        stalled.first_to_go(&self.queue, |reply| reply.path.device)
    }

    /// Has each answer go to what `renumber` says is now the address that it is for, or nowhere.
    pub(super) fn renumber(&mut self, renumber: impl Fn(LinkAddr) -> Option<LinkAddr>) {
        self.queue.retain_mut(|reply| reply.path.renumber(&renumber));
    }

    /// Puts one that need not wait for `stalled` devices into `batch`, signed with `keyring` if the
    /// echo was; whether there was one.
    pub(super) fn transmit(
        &mut self,
        batch: &mut TransmitBatch,
        keyring: Option<&Keyring>,
        stalled: &StalledDevices,
    ) -> bool {
        let first = self.first_to_go(stalled);
        let Some(reply) = first.and_then(|at| self.queue.remove(at)) else { return false };
        let EchoReply { path, to, payload, is_signed } = reply;
        let (len, from) = (payload.len() as u16, Port::CONTROL);
        let mut header = TransportHeader::new(from, to, Seq::default(), SeqWidth::Bits20, len);
        header.flags |= Flags::CTL;
        if let Some(keyring) = keyring.filter(|_| is_signed) {
            batch.push_signed(&path, None, header, &payload, keyring);
            return true;
        }
        batch.push_inline(&path, None, header, &payload, Some(CrcKey::NONE));
        true
    }
}

impl Endpoint {
    /// Answers `frame` if it is an echo that came in a datagram; whether it is one.
    pub(super) fn answer_echo(&mut self, now: Instant, frame: &Frame<'_>) -> bool {
        let transport = frame.head.transport;
        let is_asked = frame.from.is_datagram() && transport.dst_port == Port::CONTROL;
        let block = NodeBlock::of(frame).filter(|block| block.kind == NodeKind::Echo);
        let Some(asked) = block.filter(|_| is_asked) else { return false };
        if frame.from.is_unix() && !self.answers_echoes {
            return true;
        }
        if let Some(path) = self.path_back(frame)
            && self.echoes.queue.len() < MAX_QUEUED
            && self.echoes.allowed.take(now)
        {
            let hops = transport.flags.hops();
            let block = NodeBlock { kind: NodeKind::EchoReply, hops, ..asked };
            let mut payload = block.emit().to_vec();
            payload.extend_from_slice(frame.payload.get(NodeBlock::LEN..).unwrap_or_default());
            let (to, is_signed) = (transport.src_port, frame.is_authentic());
            self.echoes.queue.push_back(EchoReply { path, to, payload, is_signed });
        }
        true
    }
}
