//! What the engine's lock protects.

mod devices;
mod groups;
mod slots;

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use prp_node::{OwnerProbe, PortClaims, StewardClaim};
use prp_proto::TransmitBatch;
use prp_proto::addr::{DeviceId, Port};
use prp_proto::endpoint::{BorrowedWrite, Ending, Endpoint, SendRefusal, Sink};
use prp_proto::event::{ConnHandle, Event, Readiness};
use prp_proto::route::RouteTable;
use prp_proto::time::Instant;

#[cfg(test)]
pub(crate) use self::devices::LinkNews;
use self::devices::{MISDIRECTED, is_misdirected};
pub(super) use self::groups::{Lifetime, NodeShare, Timing, Waiting};
use super::device_slot::DeviceSlot;
use super::readiness::ShownReadiness;
use super::rx_handles::RxHandles;
use super::tuning::{RECEIVE_FRAMES, SEND_BYTES, SEND_FRAMES, SEND_GSO_BATCHES};
use super::wait::earliest;
use super::waiters::Interest;
use prp_device::waiting::{Polled, WaitPolicy};
use prp_device::{PortFilter, Refusal, Underlay};

/// How long an engine without listeners and connections stays ready for the next one. An engine of
/// a unit test is used by that test alone, and a hundred that stay would need more descriptors than
/// the usual limit of 1,024.
const RETIRE_AFTER: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 10_000 });

/// The state of an engine.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) endpoint: Endpoint,
    pub(crate) node: NodeShare,
    devices: Vec<DeviceSlot>,
    /// The devices' sockets, for those who do not hold the lock.
    pub(super) rx_handles: Arc<RxHandles>,
    filter: PortFilter,
    /// Frames that were not for this process, since they were counted last.
    misdirected: u32,
    batch: TransmitBatch,
    /// Frames of the batch that this machine does not send.
    refused: Vec<(usize, Refusal)>,
    /// The device set is unusable; every operation says so.
    pub(super) failed: Option<io::ErrorKind>,
    pub(crate) waiting: Waiting,
    pub(super) timing: Timing,
    pub(crate) wait_policy: WaitPolicy,
    pub(super) lifetime: Lifetime,
    /// Names for events.
    #[cfg(feature = "tracing")]
    pub(super) device_names: Arc<[String]>,
}

impl Core {
    pub(super) fn new(endpoint: Endpoint, devices: Vec<Box<dyn Underlay>>) -> io::Result<Self> {
        let node = endpoint.local_node();
        let mut claims = PortClaims::new(node);
        let mut claim = StewardClaim::new(node);
        let mut may_be_steward = true;
        for udp in devices.iter().filter_map(|io| io.udp()) {
            claims.set_udp_offset(udp.offset());
            // Requests come to that port.
            may_be_steward &= udp.has_node_ports();
        }
        let steward = may_be_steward && claim.try_take();
        // If another process was first, the frames for unowned ports are for that process.
        let filter = if steward {
            PortFilter::open(node, steward)
        } else {
            PortFilter::new(node, steward, std::iter::empty())
        };
        let mut devices: Vec<_> = devices.into_iter().map(DeviceSlot::new).collect();
        let rx_handles = RxHandles::new(&mut devices)?;
        let of_devices = (0..devices.len()).filter_map(|at| endpoint.device(DeviceId(at as u16)));
        let gso_frames = of_devices.map(|device| usize::from(device.gso_frames)).max().unwrap_or(1);
        let send_frames =
            SEND_FRAMES.max(if gso_frames > 1 { SEND_GSO_BATCHES * gso_frames } else { 1 });
        let mut core = Self {
            endpoint,
            node: NodeShare {
                claims,
                owners: OwnerProbe::new(node)?,
                steward: claim,
                ledger: None,
            },
            devices,
            rx_handles,
            filter: filter.clone(),
            misdirected: 0,
            batch: TransmitBatch::new(send_frames, SEND_BYTES),
            refused: Vec::new(),
            waiting: Waiting::default(),
            timing: Timing::default(),
            wait_policy: WaitPolicy::default(),
            lifetime: Lifetime::default(),
            failed: None,
            #[cfg(feature = "tracing")]
            device_names: Arc::default(),
        };
        core.endpoint.report_unowned_ports(true);
        core.endpoint.answer_unix_echoes(steward);
        core.apply_filter(filter)?;
        Ok(core)
    }

    /// Receives what is there, up to a batch per device, and does everything that follows from it;
    /// how many frames there were.
    pub(crate) fn poll_once(&mut self, now: Instant, sink: Option<&mut Sink<'_>>) -> usize {
        let frames = self.receive_batch(now, sink);
        self.pump(now);
        frames
    }

    /// As [`Self::poll_once`], until nothing is there, or until the limit of batches, if frames
    /// come faster than they can be taken in.
    pub(crate) fn poll_what_waits(&mut self, now: Instant) {
        for _ in 0..RECEIVE_FRAMES {
            if self.poll_once(now, None) == 0 {
                break;
            }
        }
    }

    /// Receives what is there, up to a batch per device; how many frames there were.
    fn receive_batch(&mut self, now: Instant, mut sink: Option<&mut Sink<'_>>) -> usize {
        self.timing.last_io = self.timing.last_io.max(now);
        let mut polled = Polled::NONE;
        let mut failure = None;
        for (index, device) in self.devices.iter_mut().enumerate() {
            let id = DeviceId(index as u16);
            let (endpoint, misdirected) = (&mut self.endpoint, &mut self.misdirected);
            let mut shown = 0;
            let most = device.batch_frames;
            let received = device.io.receive(most, &mut |from, mut run| {
                shown += run.len() as u32;
                polled.bytes += run.total_bytes();
                while let Some(disposition) =
                    endpoint.handle_run(now, id, from, &mut run, sink.as_deref_mut())
                {
                    // A datagram reaches only the process whose socket it is for.
                    let is_astray = !from.is_datagram() && is_misdirected(disposition);
                    *misdirected += u32::from(is_astray);
                }
            });
            match received {
                Ok(received) => {
                    device.note_received(received);
                    if received.frames == 0 {
                        continue;
                    }
                    if device.io.ethernet().is_some() {
                        // The rest are for other machines.
                        *misdirected += received.frames.saturating_sub(shown);
                    }
                    polled.add(received.frames, device.gather_limits);
                }
                Err(e) => failure = Some(e.kind()),
            }
        }
        if let Some(kind) = failure {
            self.fail(kind);
        }
        self.wait_policy.note_frames(now, polled);
        polled.frames as usize
    }

    /// A reader let frames gather, for as long as it meant to: whether as many did.
    pub(super) fn note_gathered(&mut self) {
        if !self.rx_handles.hold(self.wait_policy.sufficient_frames()) {
            self.wait_policy.note_shortfall();
        }
    }

    /// Lets time act, sends what is due and wakes whom it concerns.
    pub(super) fn pump(&mut self, now: Instant) {
        if self.misdirected >= MISDIRECTED {
            self.close_filter_to_others();
        }
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        // Often there is nothing left to do: a message just read was handled when it came.
        if !self.endpoint.has_news() && self.is_unstalled() {
            return self.note_use(now);
        }
        self.transmit(now, None);
        self.dispatch();
        // Some events are answered, and some answers free what others wait for.
        self.transmit(now, None);
        self.note_use(now);
    }

    /// Notes whether anything uses the engine.
    fn note_use(&mut self, now: Instant) {
        if !self.endpoint.is_idle() {
            self.lifetime.retire_at = None;
        } else if self.lifetime.retire_at.is_none() {
            self.retire_later(now);
        }
    }

    /// Nothing uses the engine: it stays for a while.
    pub(super) fn retire_later(&mut self, now: Instant) {
        self.lifetime.retire_at = Some(now + RETIRE_AFTER);
    }

    /// Whether nothing has used the engine for long.
    pub(super) fn should_retire(&self, now: Instant) -> bool {
        self.lifetime.retire_at.is_some_and(|at| at <= now)
    }

    /// Whether there is more to send than went with the last batch, and room for it.
    pub(super) fn has_more(&self) -> bool {
        self.endpoint.wants_transmit()
    }

    /// When something is due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        earliest(self.endpoint.poll_timeout(), self.lifetime.retire_at)
    }

    /// The exact time of what is due next, for a thread that is about to sleep.
    pub(super) fn revised_timeout(&mut self) -> Option<Instant> {
        self.endpoint.revise_timeout();
        self.next_timeout()
    }

    /// A deadline that was set while all threads slept, and that none would notice within `grace`.
    pub(super) fn missed_deadline(&self, grace: Duration) -> Option<Instant> {
        // Mostly no thread sleeps, and that is the cheaper question.
        let wakeup = self.timing.next_wakeup?;
        let due = self.next_timeout()?;
        let wakeup = self.timing.background_wakeup.map_or(wakeup, |keeper| keeper.min(wakeup));
        (due + grace < wakeup).then_some(due)
    }

    /// Whether something was sent or taken in later than `at`.
    pub(super) fn has_io_after(&self, at: Instant) -> bool {
        self.timing.last_io > at
    }

    /// Whether every device has taken what it was given.
    pub(super) fn is_unstalled(&self) -> bool {
        !self.devices.iter().any(DeviceSlot::is_stalled)
    }

    /// The process exits: devices let go of what would stay behind.
    pub(super) fn leave_devices(&mut self) {
        self.devices.iter_mut().for_each(|slot| slot.io.leave());
    }

    /// Which descriptor of a device that holds frames it could not take shows when it can.
    pub(super) fn full_place(&self, device: usize) -> Option<usize> {
        self.devices.get(device).filter(|slot| slot.is_stalled()).map(|slot| slot.io.full())
    }

    fn transmit(&mut self, now: Instant, lent: Option<&BorrowedWrite<'_>>) {
        if !self.is_unstalled() {
            self.devices.iter_mut().for_each(DeviceSlot::unstall);
            self.note_stalls();
        }
        if !self.endpoint.wants_transmit() {
            return;
        }
        self.batch.clear();
        self.endpoint.poll_transmit_with(now, &mut self.batch, lent);
        self.hand_over(now, lent);
    }

    /// Tells the endpoint which devices take no more: those that hold frames.
    #[cold]
    fn note_stalls(&mut self) {
        for (at, slot) in self.devices.iter().enumerate() {
            self.endpoint.set_stalled(DeviceId(at as u16), slot.is_stalled());
        }
    }

    /// Gives the frames of the batch to their devices, and handles what follows.
    fn hand_over(&mut self, now: Instant, lent: Option<&BorrowedWrite<'_>>) {
        self.timing.last_io = self.timing.last_io.max(now);
        let (endpoint, batch) = (&self.endpoint, &self.batch);
        let count = batch.len();
        let mut next = 0;
        let mut is_full = false;
        while next < count {
            // A run of frames that leave by one device.
            let device = batch.device(next);
            let end = (next..count).find(|i| batch.device(*i) != device).unwrap_or(count);
            if let Some(slot) = self.devices.get_mut(usize::from(device.0)) {
                let frame = |i| (batch.to(i), endpoint.frame_with_borrowed(batch, i, lent));
                let refused = &mut self.refused;
                slot.send(next..end, frame, |at, refusal| refused.push((at, refusal)));
                is_full |= slot.is_stalled();
            }
            next = end;
        }
        if is_full {
            self.note_stalls();
        }
        if !self.refused.is_empty() || self.endpoint.has_refused_hops() {
            self.note_refused(now);
        }
        self.endpoint.handle_sent(now);
    }

    /// Tells the endpoint which frames of the batch this machine has not sent, and which it has.
    #[cold]
    fn note_refused(&mut self, now: Instant) {
        let Self { endpoint, batch, refused, .. } = self;
        // A frame that waits for room is taken for one that was sent: nothing was said against it.
        for at in (0..batch.len()).filter(|at| !refused.iter().any(|(refused, _)| refused == at)) {
            endpoint.note_sent_to(batch.device(at), batch.to(at));
        }
        let mut lasting = Vec::new();
        for (at, refusal) in refused.drain(..).filter(|(_, refusal)| !refusal.is_too_big()) {
            let hop = (batch.device(at), batch.to(at));
            if refusal.is_of_route && !lasting.contains(&hop) {
                lasting.push(hop);
            }
            let refusal = SendRefusal { code: refusal.errno, is_lasting: refusal.is_of_route };
            endpoint.note_refused(hop.0, hop.1, refusal);
        }
        if !lasting.is_empty() {
            endpoint.end_refused_requests(now, &lasting);
        }
    }

    /// Hands the endpoint's events to whom they concern.
    fn dispatch(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Conn(conn, ready) => {
                    if let Some(slot) = self.waiting.slots.get_mut(conn.slot()) {
                        slot.wake(ready, &mut self.waiting.calls);
                    }
                    self.call_leader_if(|interest| interest.is_met_by(conn, ready));
                    if ready.readable {
                        self.show_arrival(conn);
                    } else {
                        self.show(conn);
                    }
                }
                Event::Incoming(listener) => {
                    if let Some(slot) = self.waiting.listeners.get_mut(&listener) {
                        let ready = Readiness { readable: true, ..Readiness::default() };
                        slot.wake(ready, &mut self.waiting.calls);
                    }
                    self.call_leader_if(|interest| interest.is_met_by_incoming(listener));
                    self.show_incoming(listener);
                }
                Event::UnownedPort(unowned) => {
                    if self.node.answers_for(unowned.port(), unowned.came_by_udp()) {
                        self.endpoint.refuse(&unowned);
                    }
                }
            }
        }
        self.note_connections();
        #[cfg(feature = "tracing")]
        self.note_connection_events();
        while let Some(port) = self.endpoint.poll_released_port() {
            self.give_back(port);
        }
    }

    /// Puts new routes in force, and the IP addresses that they number.
    pub(crate) fn set_routes(&mut self, routes: RouteTable, peers: &[IpAddr]) {
        let before = self.endpoint.routes();
        self.devices.iter_mut().for_each(|slot| slot.renumber(|to| routes.renumber(before, to)));
        self.note_stalls();
        self.udp_devices().for_each(|udp| udp.set_peers(peers));
        self.endpoint.set_routes(routes);
    }

    /// Sends `bytes` if they are a message that may go at once, with nothing before it; whether
    /// they are.
    pub(crate) fn try_send_now(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        bytes: &[u8],
        ending: Ending,
    ) -> bool {
        self.batch.clear();
        let can_send_now = self.endpoint.try_send_now(now, conn, bytes, ending, &mut self.batch);
        if can_send_now {
            self.hand_over(now, None);
        }
        can_send_now
    }

    /// Sends one batch of what is due.
    pub(crate) fn send_now(&mut self, now: Instant) {
        self.transmit(now, None);
    }

    /// Sends what may go of what a writer has lent, and of everything else, and takes in what comes
    /// meanwhile, above all what the peer has already.
    pub(crate) fn exchange(&mut self, now: Instant, lent: &BorrowedWrite<'_>) {
        self.transmit(now, Some(lent));
        self.receive_batch(now, None);
        // A thread that polls for frames is not away: the keeper need not.
        self.timing.leader_left_at = now;
    }

    /// The devices are unusable: every thread that waits is to hear of it.
    fn fail(&mut self, kind: io::ErrorKind) {
        if self.failed.replace(kind).is_some() {
            return;
        }
        let everything =
            Readiness { readable: true, writable: true, connected: true, flushed: true };
        self.call_leader();
        for slot in self.waiting.slots.iter_mut().chain(self.waiting.listeners.values_mut()) {
            slot.wake(everything, &mut self.waiting.calls);
            if let Some(fd) = &mut slot.fd {
                fd.show(ShownReadiness {
                    readable: true,
                    writable: true,
                    ended: true,
                    over: true,
                    failed: true,
                });
            }
        }
    }

    /// What the leader, which is the caller, is to be called for.
    pub(super) fn set_leader_interest(&mut self, interest: Option<Interest>) {
        if let Some(leader) = &mut self.waiting.leader {
            leader.set_interest(interest);
        }
    }

    /// Has the leader read the state anew.
    pub(super) fn call_leader(&mut self) {
        if let Some(leader) = &mut self.waiting.leader {
            leader.call(&mut self.waiting.calls);
        }
    }

    fn call_leader_if(&mut self, is_present: impl FnOnce(Interest) -> bool) {
        if let Some(leader) = &mut self.waiting.leader {
            leader.wake_if(is_present, &mut self.waiting.calls);
        }
    }

    /// # Errors
    /// What made the devices unusable, if anything did.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.failed.map_or(Ok(()), |kind| Err(kind.into()))
    }

    /// Whether the port belongs to this process.
    pub(crate) fn owns(&self, port: Port) -> bool {
        self.endpoint.owns(port)
    }
}
