//! Frames in: whose they are, and whether they may be believed (SPEC PRP-NET-1 to 4).

use alloc::vec::Vec;

use super::Endpoint;
use crate::addr::{DeviceId, LinkAddr, PrpAddr};
use crate::buffer::Sink;
use crate::connection::Connection;
use crate::device::PacketRun;
use crate::event::{ConnHandle, Disposition};
use crate::state::State;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::wire::{Flags, Frame, ResetBlock, ResetReason};

impl Endpoint {
    /// Takes what `device` received from the neighbour at `from`: an Ethernet frame, whose source
    /// that is, or on a device for datagrams the payload of one, over UDP from an address that
    /// prphosts lists (SPEC PRP-UDP-1, PRP-UNIX-1). `sink` may lend a reader's buffer for the data
    /// of its connection. Never panics and never fails, whatever the bytes are.
    pub fn handle_packet(
        &mut self,
        now: Instant,
        device: DeviceId,
        from: LinkAddr,
        bytes: &[u8],
        sink: Option<&mut Sink<'_>>,
    ) -> Disposition {
        self.handle_first(now, device, from, (bytes, &mut PacketRun::default()), sink)
    }

    /// As [`Self::handle_packet`], of the first packet of `run`, and of those behind it that only
    /// continue it: the next segments of the same stream, of the same length. They leave `run`.
    /// Returns what became of the first; the others were accepted. None if `run` is empty.
    #[inline]
    pub fn handle_run(
        &mut self,
        now: Instant,
        device: DeviceId,
        from: LinkAddr,
        run: &mut PacketRun<'_>,
        sink: Option<&mut Sink<'_>>,
    ) -> Option<Disposition> {
        let first = run.next()?;
        Some(self.handle_first(now, device, from, (first, run), sink))
    }

    /// Takes a packet, and those behind it in a run that continue it.
    #[inline]
    fn handle_first(
        &mut self,
        now: Instant,
        device: DeviceId,
        from: LinkAddr,
        (bytes, rest): (&[u8], &mut PacketRun<'_>),
        sink: Option<&mut Sink<'_>>,
    ) -> Disposition {
        self.stats.frames_received += 1;
        let outcome = match self.devices.get(usize::from(device.0)).map(|ours| ours.addr) {
            None => Err(DropReason::NotOurMac),
            Some(own) => match Frame::parse_at(own, from, bytes, self.config.ethertype) {
                Ok(frame) if frame.is_for(own) && self.security.is_some() => {
                    self.sort_with_key(now, device, &frame, sink)
                }
                Ok(frame) if frame.is_for(own) => self.sort(now, device, &frame, rest, sink),
                Ok(_) => Err(DropReason::NotOurMac),
                Err(why) => Err(why.into()),
            },
        };
        self.count(outcome)
    }

    #[inline]
    fn count(&mut self, outcome: Result<Disposition, DropReason>) -> Disposition {
        outcome.unwrap_or_else(|why| {
            self.stats.drops.count(why);
            Disposition::Dropped(why)
        })
    }

    // A frame is some hundred bytes, which a call would write to memory and read back.
    #[inline(always)]
    pub(super) fn sort(
        &mut self,
        now: Instant,
        device: DeviceId,
        frame: &Frame<'_>,
        rest: &mut PacketRun<'_>,
        mut sink: Option<&mut Sink<'_>>,
    ) -> Result<Disposition, DropReason> {
        let network = frame.head.network;
        if network.dst != self.routes.local() {
            return if self.routes.is_source(network.src, device, frame.from) {
                Ok(Disposition::Transit(device))
            } else {
                Err(DropReason::BadSource)
            };
        }
        if !self.is_genuine(device, frame) {
            return Err(DropReason::BadSource);
        }
        let peer = PrpAddr::new(network.src, frame.head.transport.src_port);
        let known = self.table.find_for_frame(frame.head.transport.dst_port, peer);
        if let (Some(handle), Some(sink)) = (known, sink.as_deref_mut())
            && self.deliver_expected(now, handle, frame, rest, sink)
        {
            return Ok(Disposition::Accepted);
        }
        // Asked before the frame is heard, and acted upon only if it is believed.
        let follows =
            known.is_some_and(|handle| self.may_adopt_peer_path(now, handle, device, frame));
        let may_move = self.may_move_port(known, frame);
        let outcome = if frame.flags().contains(Flags::CREQ) {
            self.on_request(now, frame, peer, known)
        } else if let Some(handle) = known {
            self.deliver(now, handle, frame, rest, sink)
        } else if self.answer_echo(now, frame) || self.handle_no_onward_route(now, frame) {
            Ok(())
        } else {
            Err(self.on_stray(now, frame))
        };
        if let Some(handle) = known.filter(|_| is_believed(outcome) && may_move) {
            if follows {
                self.adopt_peer_path(handle, device, frame);
            } else if frame.from.is_datagram() {
                self.follow_process(handle, frame.from);
            }
        }
        outcome.map(|()| Disposition::Accepted)
    }

    /// Whether a frame that is for us comes from an address that its source node has (SPEC
    /// PRP-NET-3, PRP-NET-4).
    #[inline]
    pub(super) fn is_genuine(&self, device: DeviceId, frame: &Frame<'_>) -> bool {
        let src = frame.head.network.src;
        if src != self.routes.local() {
            return self.routes.is_source(src, device, frame.from);
        }
        self.devices
            .get(usize::from(device.0))
            .is_some_and(|ours| ours.loopback && ours.addr.covers(frame.from))
    }

    /// Delivers `frame` by header prediction if it is the one that was expected; whether it was.
    fn deliver_expected(
        &mut self,
        now: Instant,
        handle: ConnHandle,
        frame: &Frame<'_>,
        rest: &mut PacketRun<'_>,
        sink: &mut Sink<'_>,
    ) -> bool {
        let Some(conn) = self.table.get_mut(handle) else { return false };
        let expected = sink.is_for(handle) && conn.try_fast_receive(now, frame, sink);
        if expected {
            let sink = Some(sink);
            let run = conn.receive_run(now, frame, rest, sink, &mut self.pool);
            self.stats.frames_received += run;
            Self::owe(conn, &mut self.owing);
            self.settle_frames(handle, now);
        }
        expected
    }

    fn deliver(
        &mut self,
        now: Instant,
        handle: ConnHandle,
        frame: &Frame<'_>,
        rest: &mut PacketRun<'_>,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<(), DropReason> {
        let Some(conn) = self.table.get_mut(handle) else { return Err(DropReason::NoConnection) };
        let was_confirmed = conn.confirmed;
        let was_waiting = conn.state == State::ConnWait;
        let was_finished = conn.state.is_finished();
        let mut sink = sink.filter(|s| s.is_for(handle));
        conn.acquire_to_receive(frame.payload.len(), sink.as_deref(), &mut self.pool);
        let outcome = conn.on_frame(now, frame, sink.as_deref_mut());
        match outcome {
            Ok(()) => {
                let run = conn.receive_run(now, frame, rest, sink, &mut self.pool);
                self.stats.frames_received += run;
            }
            Err(why) => conn.stats.drops.count(why),
        }
        let confirmed = conn.confirmed && !was_confirmed && conn.is_server();
        let is_proven = confirmed && conn.is_protected();
        let (peer, port) = (conn.remote, conn.local.port);
        if was_waiting && matches!(conn.state, State::Established { .. }) {
            self.stats.connected += 1;
        }
        if !was_waiting && !was_finished && frame.flags().contains(Flags::RST) && outcome.is_ok() {
            self.stats.resets += 1;
        }
        Self::owe(conn, &mut self.owing);
        if confirmed {
            self.unconfirmed.remove(peer.node, handle);
        }
        if is_proven {
            self.offer_to_listener(now, port, handle);
        }
        self.settle(handle, now);
        if matches!(outcome, Err(DropReason::BadState | DropReason::BadId)) {
            // It names a connection that we do not have: its sender will believe this.
            if let Some(block) = ResetBlock::owed_to(frame) {
                self.send_refusal(now, frame, block);
            }
        }
        outcome
    }

    /// Notes `conn` in `owing` if it owes an acknowledgement.
    #[inline]
    fn owe(conn: &mut Connection, owing: &mut Vec<ConnHandle>) {
        if conn.owes_ack() && !conn.queued_owing {
            conn.queued_owing = true;
            owing.push(conn.handle);
        }
    }

    /// A frame whose ends no connection has.
    fn on_stray(&mut self, now: Instant, frame: &Frame<'_>) -> DropReason {
        let port = frame.head.transport.dst_port;
        let owed = ResetBlock::owed_to(frame);
        if !self.ports.owns(port) {
            if let Some(block) = owed {
                self.ask_owner(now, frame, block);
            }
            return DropReason::NotOurPort;
        }
        if let Some(block) = owed {
            self.send_refusal(now, frame, block);
        } else if Self::is_data(frame.flags()) {
            // The peer that sent it does not believe this RST, which names no id, and asks
            // (PRP-RST-4).
            let reason = ResetReason::NoConnection;
            self.send_refusal(now, frame, ResetBlock { reason, receiver: 0, sender: 0 });
        }
        DropReason::NoConnection
    }

    fn is_data(flags: Flags) -> bool {
        !flags.intersects(Flags::CREQ | Flags::CACK | Flags::CTL | Flags::RST)
            && flags.contains(Flags::ACK)
    }
}

/// Whether a frame of which this came is its peer's, whether it was of use or not.
const fn is_believed(outcome: Result<(), DropReason>) -> bool {
    matches!(outcome, Ok(()) | Err(DropReason::Duplicate | DropReason::OutOfOrder))
}

#[cfg(test)]
mod tests;
