//! Requests: which peers may connect, and what it may cost us (SPEC PRP-CONN-3 to 9).

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use super::Endpoint;
use super::refusal::{Refusal, UnownedPort};
use crate::addr::{Port, PrpAddr};
use crate::config::ConnConfig;
use crate::connection::{Connection, Protection, RequestKind, Seed};
use crate::event::{ConnHandle, Event, ListenHandle};
use crate::seq::SeqWidth;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::wire::{CrcKey, Frame, Offer, ResetBlock, ResetReason};

/// A port that takes requests.
#[derive(Clone, Debug, Hash)]
pub(super) struct Listener {
    pub(super) config: ConnConfig,
    pub(super) backlog: usize,
    /// Established and not yet accepted.
    pub(super) queue: VecDeque<ConnHandle>,
}

impl Endpoint {
    /// CREQ for one of our ports, or for a port that no process is known to own.
    pub(super) fn on_request(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        peer: PrpAddr,
        known: Option<ConnHandle>,
    ) -> Result<(), DropReason> {
        let offer = match frame.payload {
            // SPEC PRP-UDP-5, PRP-UNIX-5.
            [] if frame.from.is_datagram() => return Err(DropReason::Refused),
            [] => None,
            _ if !frame.crc_ok(CrcKey::NONE) => return Err(DropReason::BadCrc),
            payload => Some(Offer::parse(payload).map_err(|_| DropReason::Malformed)?),
        };
        let is_keyed = self.check_request(now, frame)?;
        let port = frame.head.transport.dst_port;
        if let Some(handle) = known {
            let Some(conn) = self.table.get_mut(handle) else { return Err(DropReason::BadState) };
            let reusable = conn.state.is_finished()
                && offer.is_some_and(|o| conn.terms.extended && o.id != conn.ids.remote);
            if !reusable {
                let mut outcome = conn.on_repeated_request(now, offer.as_ref());
                if let (Ok(()), Some(offer), true) = (outcome, &offer, is_keyed) {
                    outcome = self.answer_again(now, handle, frame, offer);
                }
                self.settle(handle, now);
                if let (Err(DropReason::Refused), Some(Offer { id: receiver, .. })) =
                    (outcome, offer)
                {
                    let reason = ResetReason::NoCommonPolicy;
                    self.send_refusal(now, frame, ResetBlock { reason, receiver, sender: 0 });
                }
                return outcome;
            }
            // The old connection is only in its TIME-WAIT (SPEC PRP-CLOSE-6).
            conn.end_time_wait_early();
            self.settle(handle, now);
        }
        if !self.listeners.contains_key(&port) {
            return Err(self.refuse_request(now, frame, offer.as_ref()));
        }
        self.check_limits(now, port, peer)?;
        let keyed = is_keyed.then(|| self.new_protection(now)).flatten();
        self.accept_request(now, frame, (port, peer), offer, keyed)
    }

    fn check_limits(&mut self, now: Instant, port: Port, peer: PrpAddr) -> Result<(), DropReason> {
        let full = self.listeners.get(&port).is_none_or(|l| l.queue.len() >= l.backlog);
        if full {
            return Err(DropReason::BacklogFull);
        }
        self.make_room_for(now, peer.node)
    }

    fn accept_request(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        (port, peer): (Port, PrpAddr),
        offer: Option<Offer>,
        keyed: Option<Box<Protection>>,
    ) -> Result<(), DropReason> {
        let path = self.path_back(frame).ok_or(DropReason::BadSource)?;
        let device_mss = self.largest_segment(peer.node).ok_or(DropReason::BadSource)?;
        let (asked, width) = match offer {
            Some(offer) => (RequestKind::Offer(offer), SeqWidth::Bits20),
            None => (RequestKind::Classic, SeqWidth::Bits16),
        };
        let config = self.listeners.get(&port).map(|l| l.config).unwrap_or_default();
        let config = self.config_for(peer, &path, config);
        let seed = Seed {
            handle: self.table.next_handle(),
            local: PrpAddr::new(self.local_node(), port),
            remote: peer,
            config,
            path,
            id: self.new_id(),
            first: self.new_first(width),
            device_mss,
            proven: self.proven_size(peer.node),
            share: self.receive_memory.share(false),
            now,
        };
        let first = frame.head.transport.first_seq(width);
        let mut conn = match Connection::accept(&seed, asked, first, keyed) {
            Ok(conn) => conn,
            Err(reason) => {
                // Classic peers know no resets (SPEC PRP-RST-5).
                if let Some(Offer { id: receiver, .. }) = offer {
                    self.send_refusal(now, frame, ResetBlock { reason, receiver, sender: 0 });
                }
                return Err(DropReason::Refused);
            }
        };
        self.answer_first(now, &mut conn, frame, offer.as_ref())?;
        let (handle, is_protected) = (conn.handle, conn.is_protected());
        let unconfirmed = self.unconfirmed.add(peer.node, handle);
        if unconfirmed > usize::from(self.config.unconfirmed_per_peer / 2) {
            conn.ask_to_confirm();
        }
        self.admit(conn, false);
        if !is_protected {
            self.offer_to_listener(now, port, handle);
        }
        self.settle(handle, now);
        Ok(())
    }

    /// Offers a connection to the application: one with a key once the client has shown that it can
    /// speak, since requests can be recorded (SPEC PRP-KEY-16).
    pub(super) fn offer_to_listener(&mut self, now: Instant, port: Port, handle: ConnHandle) {
        self.stats.accepted += 1;
        if let Some(listener) = self.listeners.get_mut(&port) {
            listener.queue.push_back(handle);
            self.event_queue.push_back(Event::Incoming(ListenHandle { port }));
        } else if let Some(conn) = self.table.get_mut(handle) {
            conn.release(now, true);
        }
    }

    /// No listener: sends a refusal if the port is ours, and asks the caller if it is not.
    fn refuse_request(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
        offer: Option<&Offer>,
    ) -> DropReason {
        // A classic peer knows no refusal; it waits without an answer, as in 1997.
        let Some(offer) = offer else { return DropReason::Refused };
        let block = ResetBlock { reason: ResetReason::Refused, receiver: offer.id, sender: 0 };
        if self.ports.owns(frame.head.transport.dst_port) {
            self.send_refusal(now, frame, block);
            return DropReason::Refused;
        }
        self.ask_owner(now, frame, block);
        DropReason::NotOurPort
    }

    /// A frame for a port that is not ours, whose sender waits for an answer: if no process owns
    /// the port, `block` is the answer. A datagram comes to no other process.
    pub(super) fn ask_owner(&mut self, now: Instant, frame: &Frame<'_>, block: ResetBlock) {
        if let Some(path) = self.path_back(frame)
            && (self.reports_unowned || path.to.is_udp())
            && self.refusals.allow_unowned(now)
        {
            let refusal = Refusal::to_sender(path, frame, block);
            self.event_queue.push_back(Event::UnownedPort(UnownedPort { refusal }));
        }
    }

    /// Sends RST in answer to a frame whose sender has no connection with us.
    pub(super) fn send_refusal(&mut self, now: Instant, frame: &Frame<'_>, block: ResetBlock) {
        if let Some(path) = self.path_back(frame)
            && self.refusals.push(now, Refusal::to_sender(path, frame, block))
        {
            self.stats.refusals_sent += 1;
        }
    }

    /// No process of the node owns the port: sends the refusal to the peer that waits for its
    /// answer.
    pub fn refuse(&mut self, unowned: &UnownedPort) {
        if self.refusals.push_allowed(unowned.refusal) {
            self.stats.refusals_sent += 1;
        }
    }

    /// Takes the next connection of a listener.
    pub fn accept(&mut self, now: Instant, listener: ListenHandle) -> Option<ConnHandle> {
        let handle = self.listeners.get_mut(&listener.port)?.queue.pop_front()?;
        if let Some(conn) = self.table.get_mut(handle) {
            conn.accepted = true;
            // The connection may advertise more now, and its peer may wait for that.
            self.receive_memory.charge(conn);
            conn.note_read();
        }
        self.settle(handle, now);
        Some(handle)
    }

    /// Connections waiting to be accepted.
    pub fn pending(&self, listener: ListenHandle) -> usize {
        self.listeners.get(&listener.port).map_or(0, |l| l.queue.len())
    }
}
