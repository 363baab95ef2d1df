//! What comes out: frames, deadlines, events.

use super::borrowed_write::BorrowedWrite;
use super::security::Security;
use super::{Device, Endpoint};
use crate::addr::Port;
use crate::connection::Connection;
use crate::event::{ConnHandle, Event};
use crate::state::State;
use crate::time::Instant;
use crate::transmit::TransmitBatch;

/// Deadlines revised at once: some microseconds, as long as it takes to be woken for nothing.
const REVISED: usize = 64;

/// The earlier one of two times that there may be.
#[inline]
fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// Segments of a GSO batch to the peer of `conn`.
#[inline]
fn gso_frames(devices: &[Device], conn: &Connection) -> u16 {
    devices.get(usize::from(conn.path.device.0)).map_or(1, |device| device.gso_frames)
}

impl Endpoint {
    /// Fills `batch`, which must be empty, with frames to send now; how many there are.
    ///
    /// The frames borrow from send buffers: hand them to the device, by [`Self::frame`] (or
    /// [`Self::frame_with_borrowed`]), before anything else is asked of the endpoint. What follows
    /// from their having been sent, deadlines above all, is done by [`Self::handle_sent`] or the
    /// next call: it need not delay the frames.
    pub fn poll_transmit(&mut self, now: Instant, batch: &mut TransmitBatch) -> usize {
        self.poll_transmit_with(now, batch, None)
    }

    /// As [`Self::poll_transmit`], while `lent` is lent.
    pub fn poll_transmit_with(
        &mut self,
        now: Instant,
        batch: &mut TransmitBatch,
        lent: Option<&BorrowedWrite<'_>>,
    ) -> usize {
        self.handle_sent(now);
        let keyring = self.security.as_deref().map(Security::keyring);
        let stalled = &self.stalled;
        while !batch.is_full() && self.refusals.transmit(batch, keyring, stalled) {}
        while !batch.is_full() && self.echoes.transmit(batch, keyring, stalled) {}
        while !batch.is_full() {
            let Some(handle) = self.transmit_queue.pop_front() else { break };
            let Some(conn) = self.table.get_mut(handle) else { continue };
            if self.stalled.contains(conn.path.device) {
                self.stalled.hold_back(handle);
                continue;
            }
            let gso_frames = gso_frames(&self.devices, conn);
            let more = conn.transmit(now, batch, gso_frames, BorrowedWrite::part_of(lent, handle));
            conn.queued_transmit = more;
            if more {
                self.transmit_queue.push_back(handle);
            }
            self.scheduler.update(conn);
            self.sent.push(handle);
        }
        while !batch.is_full() {
            let Some((queue, handle)) = self.scheduler.next() else { break };
            self.grant_slot(queue, handle, now, batch, lent);
        }
        if batch.is_empty() {
            self.handle_sent(now);
        }
        self.stats.frames_sent += batch.len() as u64;
        batch.len()
    }

    /// Has `handle`, the first in line on `queue`, send what new data it may.
    fn grant_slot(
        &mut self,
        queue: u32,
        handle: ConnHandle,
        now: Instant,
        batch: &mut TransmitBatch,
        lent: Option<&BorrowedWrite<'_>>,
    ) {
        let Some(conn) = self.table.get_mut(handle) else {
            self.scheduler.dequeue(queue);
            return self.scheduler.requeue(queue);
        };
        if self.stalled.contains(conn.path.device) {
            // It gets into line again once it can send.
            conn.send_slot.leave();
            self.scheduler.dequeue(queue);
            if !core::mem::replace(&mut conn.queued_transmit, true) {
                self.stalled.hold_back(handle);
            }
            return self.scheduler.requeue(queue);
        }
        if !self.scheduler.has_room(&conn.send_slot, conn.largest_window()) {
            // Once data of a connection have arrived it is checked again.
            conn.stats.blocked_by_share += 1;
            return;
        }
        conn.send_slot.give();
        let gso_frames = gso_frames(&self.devices, conn);
        conn.transmit(now, batch, gso_frames, BorrowedWrite::part_of(lent, handle));
        let over = conn.send_slot.take();
        if over || !conn.wants_send_slot() {
            conn.send_slot.leave();
            self.scheduler.dequeue(queue);
        }
        self.scheduler.update(conn);
        self.scheduler.requeue(queue);
        self.sent.push(handle);
    }

    /// The device has taken the last batch, or lost it: sets the deadlines of what was sent, and
    /// forgets what need not be kept.
    pub fn handle_sent(&mut self, now: Instant) {
        while let Some(handle) = self.sent.pop() {
            if let Some(conn) = self.table.get_mut(handle) {
                conn.on_sent(now);
                self.settle(handle, now);
            }
        }
    }

    /// Whether [`Self::poll_transmit`] may find something to do: frames to send, or sent ones to
    /// handle.
    pub fn wants_transmit(&self) -> bool {
        !self.transmit_queue.is_empty()
            || self.scheduler.is_any_active()
            || self.refusals.has_any_to_go(&self.stalled)
            || self.echoes.has_any_to_go(&self.stalled)
            || !self.sent.is_empty()
    }

    /// Whether any of the `poll_*` calls for frames, events, ports, the connection log and traces
    /// may have something. Cheaper than to ask them all, where mostly there is nothing.
    pub fn has_news(&self) -> bool {
        self.wants_transmit()
            || !self.event_queue.is_empty()
            || self.ports.has_released()
            || self.connection_log.has_news()
            || self.connection_traces.has_news()
    }

    /// The pieces of frame `index` of `batch`, in order; some may be empty.
    pub fn frame<'a>(&'a self, batch: &'a TransmitBatch, index: usize) -> [&'a [u8]; 4] {
        self.frame_with_borrowed(batch, index, None)
    }

    /// As [`Self::frame`], while `lent` is lent.
    pub fn frame_with_borrowed<'a>(
        &'a self,
        batch: &'a TransmitBatch,
        index: usize,
        lent: Option<&BorrowedWrite<'a>>,
    ) -> [&'a [u8]; 4] {
        batch.pieces(index, |conn, at, len| {
            let lent = BorrowedWrite::part_of(lent, conn);
            self.table.get(conn).map_or([&[], &[]], |c| c.payload(at, len, lent))
        })
    }

    /// When [`Self::handle_timeout`] wants to be called next, at the latest. It may be for nothing:
    /// deadlines are stopped and put off with every message, and searched for again only when they
    /// would have been due, or by [`Self::revise_timeout`].
    pub fn poll_timeout(&self) -> Option<Instant> {
        let conns = earlier(self.timers.next(), self.farewells.due());
        earlier(conns, earlier(self.pool.due(), self.ports.due()))
    }

    /// Makes [`Self::poll_timeout`] the exact time of what is due next, for callers that are about
    /// to set a timer that costs more than this: taking out, and mostly queueing anew, each of the
    /// deadlines before it that have been stopped or put off. Of very many it revises some, and the
    /// time is still too early.
    pub fn revise_timeout(&mut self) {
        for _ in 0..REVISED {
            let Some((at, handle)) = self.timers.first() else { return };
            let mut instead = None;
            if let Some(conn) = self.table.get_mut(handle) {
                let due = conn.timers.revise();
                if due.is_some_and(|due| due <= at) {
                    return;
                }
                conn.queued_deadlines.remove(at);
                instead = due.filter(|due| conn.queued_deadlines.add(*due));
            }
            self.timers.pop_due(at);
            if let Some(at) = instead {
                self.timers.push(at, handle);
            }
        }
    }

    /// Acts on everything that is due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.pool.expire(now);
        self.ports.expire(now);
        self.go_on_leaving(now);
        while let Some((at, handle)) = self.timers.pop_due(now) {
            let Some(conn) = self.table.get_mut(handle) else { continue };
            conn.queued_deadlines.remove(at);
            let was_waiting = conn.state == State::ConnWait;
            self.send_growth.pass_time(conn, now);
            // A classic answer may have been waited for.
            let is_established = was_waiting && matches!(conn.state, State::Established { .. });
            self.stats.connected += u64::from(is_established);
            self.fail_over(handle);
            self.settle(handle, now);
        }
    }

    /// The driver has run out of frames and is about to wait: acknowledgements that were held back
    /// for more segments to come are due.
    pub fn handle_idle(&mut self, now: Instant) {
        while let Some(handle) = self.owing.pop() {
            let Some(conn) = self.table.get_mut(handle) else { continue };
            conn.queued_owing = false;
            conn.on_idle();
            self.settle(handle, now);
        }
    }

    /// An event for which the caller may want to wake a thread.
    pub fn poll_event(&mut self) -> Option<Event> {
        loop {
            let event = self.event_queue.pop_front()?;
            let Event::Conn(handle, _) = event else { return Some(event) };
            // Readiness is read when the event is taken: what happened since is in it.
            if let Some(conn) = self.table.get_mut(handle) {
                conn.queued_event = false;
                let ready = core::mem::take(&mut conn.ready);
                if ready.any() {
                    return Some(Event::Conn(handle, ready));
                }
            }
        }
    }

    /// A port this endpoint no longer uses: the driver gives it back to the node.
    pub fn poll_released_port(&mut self) -> Option<Port> {
        self.ports.poll_released()
    }
}
