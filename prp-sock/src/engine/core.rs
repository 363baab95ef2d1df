//! What the engine's lock protects.

mod devices;
mod slots;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use prp_node::{Ledger, OwnerProbe, PortClaims, StewardClaim};
use prp_proto::TransmitBatch;
use prp_proto::addr::{DeviceId, Port};
use prp_proto::endpoint::{Ending, Endpoint, Lent, Sink};
use prp_proto::event::{ConnHandle, Event, ListenHandle, Readiness};
use prp_proto::route::RouteTable;
use prp_proto::time::Instant;

use self::devices::{FOREIGN, is_foreign};
use super::device_slot::DeviceSlot;
use super::doors::Doors;
use super::driver::Driver;
use super::flow::Flow;
use super::guard::Calls;
use super::keeper::Duty;
use super::readiness::Shown;
use super::slot::{Interest, Slot};
use super::spin::SpinRecord;
use super::wait::earliest;
use super::waiter::Waiter;
use crate::device::{FrameIo, PortFilter};

/// Frames received per turn from one device, so that nobody holds the lock for long.
const RECEIVE_TURN: usize = 32;

/// Frames sent per system call: 16 to 32 are best at every frame size.
const SEND_FRAMES: usize = 32;

/// Bytes sent per system call: four of the largest frames.
const SEND_BYTES: usize = 256 * 1024;

/// How long an engine without listeners and connections stays ready for the next one. An engine of
/// a unit test is used by that test alone, and a hundred that stay would need more descriptors than
/// the usual limit of 1,024.
const RETIRE_AFTER: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 10_000 });

/// The state of an engine.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) endpoint: Endpoint,
    pub(crate) claims: PortClaims,
    /// Our claim to answer for ports that no process owns.
    steward: StewardClaim,
    owners: OwnerProbe,
    /// For the node's router, if it has one.
    pub(super) ledger: Option<Ledger>,
    devices: Vec<DeviceSlot>,
    /// The devices' sockets, for those who do not hold the lock.
    pub(super) doors: Arc<Doors>,
    filter: PortFilter,
    /// Frames that were not for us, since somebody looked.
    foreign: u32,
    batch: TransmitBatch,
    slots: Vec<Slot>,
    listeners: HashMap<ListenHandle, Slot>,
    /// To be made when the lock is let go.
    pub(super) calls: Calls,
    /// The application thread that drives.
    pub(super) driver: Option<Driver>,
    /// Application threads that wait while another one drives, longest first.
    pub(super) followers: Vec<Arc<Waiter>>,
    /// Waits that have no thread: wakers of tasks, descriptors in somebody's poll set.
    pub(crate) detached: usize,
    /// The number of the future that was numbered last.
    pub(super) next_future: u64,
    pub(super) spin: SpinRecord,
    pub(crate) flow: Flow,
    /// Turns taken, by anybody: shows activity.
    pub(super) turns: u64,
    /// The keeper sleeps until called.
    pub(super) keeper_parked: bool,
    /// The keeper sleeps in `poll`.
    pub(super) keeper_polls: bool,
    /// When the thread that sleeps in `poll` looks at the time again by itself.
    pub(super) looks_again: Option<Instant>,
    /// When the keeper, which is not in charge, looks at the time and does what is due.
    pub(super) keeper_looks: Option<Instant>,
    /// The driver sleeps in `poll`.
    pub(super) driver_sleeps: bool,
    /// What there was to do in time when drivers fell asleep, since the keeper looked.
    pub(super) duty: Duty,
    /// When an application thread last stopped driving, or looked for frames in passing.
    pub(super) left: Instant,
    /// When something was last sent or taken in.
    acted: Instant,
    /// When the engine ends, unless somebody uses it.
    retires: Option<Instant>,
    /// When to look whether devices that had an error are there: an interface that was removed and made
    /// again does not come back to its socket by itself.
    pub(super) revives: Option<Instant>,
    /// The process exits: only threads of ours, and the one that exits, have this lock from now on.
    pub(super) gone: bool,
    /// Threads that wanted it all the same.
    pub(super) held_back: usize,
    /// The device set is unusable; every operation says so.
    pub(super) failed: Option<io::ErrorKind>,
}

impl Core {
    pub(super) fn new(endpoint: Endpoint, devices: Vec<Box<dyn FrameIo>>) -> io::Result<Self> {
        let node = endpoint.local_node();
        let mut claim = StewardClaim::new(node);
        let steward = claim.try_take();
        // Where somebody else was first, there are frames for him.
        let filter = if steward {
            PortFilter::open(node, steward)
        } else {
            PortFilter::new(node, steward, std::iter::empty())
        };
        let devices: Vec<_> = devices.into_iter().map(DeviceSlot::new).collect();
        let doors = Doors::new(&devices)?;
        let mut core = Self {
            endpoint,
            claims: PortClaims::new(node),
            owners: OwnerProbe::new(node)?,
            steward: claim,
            ledger: None,
            devices,
            doors,
            filter,
            foreign: 0,
            batch: TransmitBatch::new(SEND_FRAMES, SEND_BYTES),
            slots: Vec::new(),
            listeners: HashMap::new(),
            calls: Calls::default(),
            driver: None,
            followers: Vec::new(),
            detached: 0,
            next_future: 0,
            spin: SpinRecord::default(),
            flow: Flow::new(),
            turns: 0,
            keeper_parked: false,
            keeper_polls: false,
            looks_again: None,
            keeper_looks: None,
            driver_sleeps: false,
            duty: Duty::Nothing,
            left: Instant::ZERO,
            acted: Instant::ZERO,
            retires: None,
            revives: None,
            gone: false,
            held_back: 0,
            failed: None,
        };
        core.endpoint.set_steward(steward);
        core.apply_filter()?;
        Ok(core)
    }

    /// Receives what is there, up to a batch per device, and does everything that follows from it; how
    /// many frames there were.
    pub(crate) fn turn(&mut self, now: Instant, sink: Option<&mut Sink<'_>>) -> usize {
        let frames = self.take_in(now, sink);
        self.pump(now);
        frames
    }

    /// Receives what is there, up to a batch per device; how many frames there were.
    fn take_in(&mut self, now: Instant, mut sink: Option<&mut Sink<'_>>) -> usize {
        self.acted = self.acted.max(now);
        let (mut frames, mut gather) = (0, u32::MAX);
        let mut failure = None;
        for (index, device) in self.devices.iter_mut().enumerate() {
            let id = DeviceId(index as u16);
            let (endpoint, foreign) = (&mut self.endpoint, &mut self.foreign);
            let mut shown = 0;
            let received = device.io.receive(RECEIVE_TURN, &mut |frame| {
                let disposition = endpoint.handle_frame(now, id, frame, sink.as_deref_mut());
                *foreign += u32::from(is_foreign(disposition));
                shown += 1;
            });
            match received {
                Ok(0) => {}
                Ok(n) => {
                    // The rest are for other machines.
                    *foreign += n.saturating_sub(shown) as u32;
                    frames += n;
                    gather = gather.min(device.gather);
                }
                Err(e) => failure = Some(e.kind()),
            }
        }
        if let Some(kind) = failure {
            self.fail(kind);
        }
        self.turns += u64::from(frames > 0);
        self.flow.note(now, frames, gather);
        frames
    }

    /// Lets time act, sends what is due and wakes whom it concerns.
    pub(super) fn pump(&mut self, now: Instant) {
        if self.foreign >= FOREIGN {
            self.close_filter_to_others();
        }
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
        // Often there is nothing left to do: a message just read has been seen to when it came.
        if !self.endpoint.has_news() && self.is_unstalled() {
            return self.note_use(now);
        }
        self.transmit(now, None);
        self.dispatch();
        // Some events are answered, and some answers free what others wait for.
        self.transmit(now, None);
        self.note_use(now);
    }

    /// Notes whether anybody uses the engine.
    fn note_use(&mut self, now: Instant) {
        if !self.endpoint.is_idle() {
            self.retires = None;
        } else if self.retires.is_none() {
            self.stay(now);
        }
    }

    /// Nobody uses the engine: it stays for a while.
    pub(super) fn stay(&mut self, now: Instant) {
        self.retires = Some(now + RETIRE_AFTER);
    }

    /// Whether nobody has used the engine for long.
    pub(super) fn is_to_retire(&self, now: Instant) -> bool {
        self.retires.is_some_and(|at| at <= now)
    }

    /// Whether there is more to send than went with the last batch, and room for it.
    pub(super) fn has_more(&self) -> bool {
        self.endpoint.wants_transmit() && self.is_unstalled()
    }

    /// When something is due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        earliest(self.endpoint.poll_timeout(), self.retires)
    }

    /// When something is due indeed, for a thread that is about to sleep.
    pub(super) fn revised_timeout(&mut self) -> Option<Instant> {
        self.endpoint.revise_timeout();
        self.next_timeout()
    }

    /// A deadline that has come into force while everybody slept, and that nobody would notice within
    /// `grace`.
    pub(super) fn overlooked(&self, grace: Duration) -> Option<Instant> {
        // Mostly nobody sleeps, and that is the cheaper question.
        let looks = self.looks_again?;
        let due = self.next_timeout()?;
        let looks = self.keeper_looks.map_or(looks, |keeper| keeper.min(looks));
        (due + grace < looks).then_some(due)
    }

    /// Whether something was sent or taken in later than `at`.
    pub(super) fn has_acted_after(&self, at: Instant) -> bool {
        self.acted > at
    }

    /// Whether every device has taken what it was given.
    pub(super) fn is_unstalled(&self) -> bool {
        !self.devices.iter().any(DeviceSlot::is_stalled)
    }

    /// Whether a device holds frames it could not take.
    pub(super) fn is_stalled(&self, device: usize) -> bool {
        self.devices.get(device).is_some_and(DeviceSlot::is_stalled)
    }

    fn transmit(&mut self, now: Instant, lent: Option<&Lent<'_>>) {
        if !self.is_unstalled() && !self.devices.iter_mut().all(DeviceSlot::unstall) {
            return;
        }
        if !self.endpoint.wants_transmit() {
            return;
        }
        self.batch.clear();
        self.endpoint.poll_transmit_with(now, &mut self.batch, lent);
        self.hand_over(now, lent);
    }

    /// Hands the frames of the batch to their devices, and sees to what follows.
    fn hand_over(&mut self, now: Instant, lent: Option<&Lent<'_>>) {
        self.acted = self.acted.max(now);
        let (endpoint, batch) = (&self.endpoint, &self.batch);
        let count = batch.len();
        let mut next = 0;
        while next < count {
            // A run of frames that leave by one device.
            let device = batch.device(next);
            let end = (next..count).find(|i| batch.device(*i) != device).unwrap_or(count);
            if let Some(slot) = self.devices.get_mut(usize::from(device.0)) {
                slot.send(next..end, |i| endpoint.frame_with(batch, i, lent));
            }
            next = end;
        }
        self.endpoint.handle_sent(now);
    }

    /// Hands the endpoint's events to whom they concern.
    fn dispatch(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Conn(conn, ready) => {
                    if let Some(slot) = self.slots.get_mut(conn.slot()) {
                        slot.wake(ready, &mut self.calls);
                    }
                    self.call_driver_if(|interest| interest.is_met_by(conn, ready));
                    if ready.readable {
                        self.show_arrival(conn);
                    } else {
                        self.show(conn);
                    }
                }
                Event::Incoming(listener) => {
                    if let Some(slot) = self.listeners.get_mut(&listener) {
                        let ready = Readiness { readable: true, ..Readiness::default() };
                        slot.wake(ready, &mut self.calls);
                    }
                    self.call_driver_if(|interest| interest == Interest::Accept(listener));
                    self.show_incoming(listener);
                }
                Event::UnownedPort(unowned) => {
                    if self.owners.is_free(unowned.port()) {
                        self.endpoint.refuse(&unowned);
                    }
                }
            }
        }
        self.note_roster();
        while let Some(port) = self.endpoint.poll_released_port() {
            self.own(port, false);
            self.claims.release(port);
        }
    }

    /// Puts new routes in force.
    pub(crate) fn set_routes(&mut self, routes: RouteTable) {
        self.endpoint.set_routes(routes);
    }

    /// Sends `bytes` if they are a message that may go at once, with nothing before it; whether they are.
    pub(crate) fn send_lone(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        bytes: &[u8],
        ending: Ending,
    ) -> bool {
        self.batch.clear();
        let is_lone = self.is_unstalled()
            && self.endpoint.send_lone(now, conn, bytes, ending, &mut self.batch);
        if is_lone {
            self.hand_over(now, None);
        }
        is_lone
    }

    /// Sends one batch of what is due.
    pub(crate) fn send_now(&mut self, now: Instant) {
        self.transmit(now, None);
    }

    /// Sends what may go of what a writer has lent, and of everything else, and takes in what comes meanwhile, above all what
    /// the peer has already.
    pub(crate) fn exchange(&mut self, now: Instant, lent: &Lent<'_>) {
        self.transmit(now, Some(lent));
        self.take_in(now, None);
        // A thread that looks for frames is not away: the keeper need not.
        self.left = now;
    }

    /// The devices are unusable: every thread that waits is to hear of it.
    fn fail(&mut self, kind: io::ErrorKind) {
        if self.failed.replace(kind).is_some() {
            return;
        }
        let everything =
            Readiness { readable: true, writable: true, connected: true, flushed: true };
        self.call_driver();
        for slot in self.slots.iter_mut().chain(self.listeners.values_mut()) {
            slot.wake(everything, &mut self.calls);
            if let Some(fd) = &mut slot.fd {
                fd.show(Shown {
                    readable: true,
                    writable: true,
                    ended: true,
                    over: true,
                    failed: true,
                });
            }
        }
    }

    /// What the driver, which is the caller, is to be called for.
    pub(super) fn set_driver_interest(&mut self, interest: Option<Interest>) {
        if let Some(driver) = &mut self.driver {
            driver.set_interest(interest);
        }
    }

    /// Has the driver look at the state of things anew.
    pub(super) fn call_driver(&mut self) {
        if let Some(driver) = &mut self.driver {
            driver.call(&mut self.calls);
        }
    }

    fn call_driver_if(&mut self, is_there: impl FnOnce(Interest) -> bool) {
        if let Some(driver) = &mut self.driver {
            driver.call_if(is_there, &mut self.calls);
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
