//! The background thread that agrees with the node's steward about frames, or is the steward's. What it does
//! may take the kernel long, so it is not the keeper's work.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Weak};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use parking_lot::{Condvar, Mutex};
use prp_proto::addr::{Port, PrpAddr};
use prp_proto::time::Instant;

use super::{Steering, Trouble};
use crate::device::{FrameIo, Interface, PacketDevice};
use crate::engine::core::Core;
use crate::engine::detours::Detours;
use crate::engine::doors::{Doors, take_errors};
use crate::engine::kick::Kick;
use crate::engine::poll_set::PollSet;
use crate::engine::registration::Registration;
use crate::engine::scout::Scouts;
use crate::engine::steward::Stewardship;
use crate::engine::wait::earliest;
use crate::engine::waiter::Waiter;
use crate::engine::{CoreGuard, Engine};
use crate::error;
use crate::register::is_router;
use crate::steering::message::{MAX_PORTS, Reply, Request};
use crate::steering::{Office, Whom};
use crate::sys::fork::CloseOnFork;
use crate::sys::rights;
use crate::threads;

/// How long a process is by itself before it asks to join: one that soon ends is not worth the trouble.
const JOIN_AFTER: Duration = Duration::from_millis(250);

/// ... after it has been made to leave, which doubles each time, up to the second one.
const BACK_AFTER: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(60));

/// One that has stayed for so long had no trouble.
const STAYED: Duration = Duration::from_secs(10);

/// How long somebody waits for the steward to agree to a port before we leave, many times what the kernel
/// takes to change a program, and then for that.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(1));

/// How soon to try again what has failed for want of memory, descriptors or an interface.
const RETRY: Duration = Duration::from_millis(100);

/// The usher as others see it.
#[derive(Debug)]
pub(in crate::engine) struct Usher {
    waiter: Arc<Waiter>,
    /// How often something has changed that somebody may wait for.
    changes: Mutex<u64>,
    changed: Condvar,
}

impl Usher {
    pub(in crate::engine) fn new() -> io::Result<Self> {
        let waiter = Waiter::new(Kick::new()?);
        Ok(Self { waiter, changes: Mutex::new(0), changed: Condvar::new() })
    }

    /// Makes it look at the state of things now.
    pub(in crate::engine) fn call(&self) {
        self.waiter.waker().wake();
    }

    fn note_change(&self) {
        *self.changes.lock() += 1;
        self.changed.notify_all();
    }
}

impl Drop for Usher {
    fn drop(&mut self) {
        // The engine is gone: so is the thread, once it looks.
        self.waiter.waker().wake();
    }
}

impl Engine {
    /// Locks the engine when frames for `local` reach it; without one, for any port that a new connection
    /// may get. `local` is ours then.
    ///
    /// # Errors
    /// `AddrInUse` if another process has the port; what made the devices unusable.
    pub(crate) fn lock_for(&self, local: Option<Port>) -> io::Result<CoreGuard<'_>> {
        let start = self.now();
        loop {
            let seen = *self.usher.changes.lock();
            let mut core = self.lock();
            core.check()?;
            if let Some(port) = local
                && !core.owns(port)
                && !core.claims.claim(port)?
            {
                return Err(error::in_use(PrpAddr::new(core.endpoint.local_node(), port)));
            }
            let Some(request) = core.steering.missing(local) else { return Ok(core) };
            let waited = self.now().since(start);
            if waited >= PATIENCE.0 + PATIENCE.1 {
                return Ok(core);
            }
            let news = if waited >= PATIENCE.0 {
                let first = core.steering.trouble.is_none();
                core.steering.be_troubled(Trouble::Silence);
                first
            } else {
                core.steering.ask(request)
            };
            drop(core);
            if news {
                self.usher.call();
            }
            let mut changes = self.usher.changes.lock();
            if *changes == seen {
                let _ = self.usher.changed.wait_for(&mut changes, PATIENCE.0);
            }
        }
    }

    /// Starts the usher of an engine on these packet sockets.
    pub(in crate::engine) fn start_usher(
        self: &Arc<Self>,
        devices: Vec<Interface>,
        ethertype: u16,
    ) -> io::Result<()> {
        let waiter = self.usher.waiter.clone();
        self.lock().steering.usher = Some(waiter.waker());
        let engine = Arc::downgrade(self);
        let work = Work {
            devices,
            ethertype,
            role: Role::None,
            registration: Registration::new(),
            detours: Detours::default(),
            missing: Vec::new(),
            scouts: Scouts::new(),
            due: None,
        };
        threads::start("prp-usher", move || work.run(&engine, &waiter))
    }
}

/// What a process is on its node.
#[derive(Debug)]
enum Role {
    /// It has not found out.
    None,
    Steward(Office),
    Other(Client),
}

/// Our side of the connection to the steward.
#[derive(Debug)]
struct Client {
    link: Arc<CloseOnFork<UnixStream>>,
    /// The steward's user is to be trusted. Nothing is sent to another one, and nothing received.
    trusted: bool,
    bytes: Vec<u8>,
    number: u32,
    /// When to ask whether the steward is one who answers.
    join_at: Option<Instant>,
    /// The request that asks. Nothing depends on the answer: it may never come.
    hello: Option<u32>,
    /// It has come.
    welcome: bool,
    joined_at: Instant,
    back_after: Duration,
    over: bool,
}

/// Whether the other end of `link` is gone, without receiving what it may have said.
fn has_ended(link: &UnixStream) -> bool {
    let mut fds = [PollFd::new(link.as_fd(), PollFlags::empty())];
    ppoll(&mut fds, Some(TimeSpec::from_duration(Duration::ZERO)), None) != Ok(0)
}

/// The usher's own state.
#[derive(Debug)]
struct Work {
    devices: Vec<Interface>,
    ethertype: u16,
    role: Role,
    registration: Registration,
    detours: Detours,
    /// Devices whose sockets are of no use, until their interfaces are there again.
    missing: Vec<usize>,
    scouts: Scouts,
    /// When to look again, whatever happens.
    due: Option<Instant>,
}

impl Work {
    fn run(mut self, engine: &Weak<Engine>, waiter: &Arc<Waiter>) {
        loop {
            let Some(alive) = engine.upgrade() else { return };
            waiter.take_call();
            self.due = None;
            self.look(&alive);
            self.due = earliest(self.due, self.registration.look(&alive));
            self.due = earliest(self.due, self.detours.look(&alive, &self.registration.said));
            self.due = earliest(self.due, self.scouts.look(&alive, &waiter.waker()));
            let doors = self.watched(&alive);
            let timeout = self.due.map(|due| due.since(alive.now()));
            drop(alive);
            let down = self.sleep(waiter, doors.as_deref(), timeout);
            if down && let Some(engine) = engine.upgrade() {
                engine.lock().disturb();
            }
        }
    }

    /// Does what there is to do.
    fn look(&mut self, engine: &Engine) {
        let now = engine.now();
        let mut core = engine.lock();
        if let Role::Other(client) = &self.role
            && client.over
            && core.stewardship.link().is_some_and(|link| Arc::ptr_eq(&link, &client.link))
        {
            core.seek_stewardship();
        }
        let link = core.stewardship.link();
        let known = match (&self.role, &link) {
            (Role::Other(client), Some(link)) => Arc::ptr_eq(&client.link, link),
            (Role::Steward(_), None) => core.stewardship.is_ours(),
            _ => false,
        };
        if !known {
            let office = match (&core.stewardship, &link) {
                (Stewardship::Ours(listener), _) => {
                    let devices = self.devices.clone();
                    Office::open(listener, devices, self.ethertype, Whom::OwnUser).ok()
                }
                _ => None,
            };
            if let Role::Other(client) = &mut self.role {
                client.hear(&mut core.steering);
            }
            drop(core);
            // What was agreed with another steward holds no more.
            if !self.withdraw(engine) {
                return;
            }
            self.role = match (office, link) {
                (Some(office), _) => Role::Steward(office),
                (None, Some(link)) => Role::Other(Client::new(link, now + JOIN_AFTER)),
                (None, None) => Role::None,
            };
        } else {
            drop(core);
        }
        match &mut self.role {
            Role::None => {}
            Role::Steward(office) => self.due = office.work(now),
            Role::Other(_) => self.consult(engine, now),
        }
        if !self.missing.is_empty() {
            drop(self.reopen(engine));
            self.due = earliest(self.due, Some(engine.now() + RETRY));
        }
    }

    /// Talks with the steward.
    fn consult(&mut self, engine: &Engine, now: Instant) {
        let Role::Other(client) = &mut self.role else { return };
        let mut core = engine.lock();
        let heard = client.hear(&mut core.steering);
        if client.over {
            self.due = Some(now);
            return;
        }
        if let Some(trouble) = core.steering.trouble {
            drop(core);
            if self.withdraw(engine)
                && let Role::Other(client) = &mut self.role
            {
                client.leave(trouble, engine.now());
                self.due = client.join_at;
            }
            return;
        }
        if client.join_at.is_some_and(|at| at <= now) && self.missing.is_empty() {
            client.join_at = None;
            client.greet();
        }
        if std::mem::take(&mut client.welcome) {
            client.join(&mut core, now);
        }
        client.speak(&mut core.steering);
        self.due = client.join_at;
        if core.steering.trouble.is_some() {
            self.due = Some(now);
        }
        drop(core);
        if heard {
            engine.usher.note_change();
        }
    }

    /// Receives by our own means from now on; `false` if that was not possible yet.
    fn withdraw(&mut self, engine: &Engine) -> bool {
        if engine.lock().steering.enlisted {
            self.missing = (0..self.devices.len()).collect();
        }
        let Ok(old) = self.reopen(engine) else {
            self.due = Some(engine.now() + RETRY);
            return false;
        };
        engine.lock().steering.end();
        engine.usher.note_change();
        // That takes the kernel long: some 30 ms each.
        drop(old);
        true
    }

    /// Opens new sockets, which are in no row, in place of those we have; the old ones. Interfaces that do
    /// not exist have to wait.
    fn reopen(&mut self, engine: &Engine) -> io::Result<Vec<(usize, Box<dyn FrameIo>)>> {
        let mut fresh: Vec<(usize, Box<dyn FrameIo>)> = Vec::new();
        for at in &self.missing {
            match PacketDevice::open(&self.devices[*at], self.ethertype) {
                Ok(device) => fresh.push((*at, Box::new(device))),
                Err(e) if matches!(e.raw_os_error(), Some(libc::ENODEV | libc::ENXIO)) => {}
                Err(e) => return Err(e),
            }
        }
        if fresh.is_empty() {
            return Ok(Vec::new());
        }
        let now = engine.now();
        let mut core = engine.lock();
        let old = core.replace_devices(now, fresh)?;
        engine.finish(core, now);
        engine.keeper.call();
        self.missing.retain(|at| !old.iter().any(|(index, _)| index == at));
        Ok(old)
    }

    /// The sockets to be watched for devices that go down: those that may be in rows.
    fn watched(&self, engine: &Engine) -> Option<Arc<Doors>> {
        let core = engine.lock();
        core.steering.enlisted.then(|| core.doors.clone())
    }

    /// Sleeps until there is something to do; whether a device has gone down.
    fn sleep(&self, waiter: &Waiter, doors: Option<&Doors>, timeout: Option<Duration>) -> bool {
        let mut set = PollSet::new(waiter.kick_fd(), PollFlags::POLLIN);
        match &self.role {
            Role::None => {}
            Role::Steward(office) => office.fds().for_each(|fd| set.push(fd, PollFlags::POLLIN)),
            Role::Other(client) if client.over => {}
            Role::Other(client) if client.trusted => {
                set.push(client.link.as_fd(), PollFlags::POLLIN);
            }
            // Only its end: what it says stays where it is.
            Role::Other(client) => set.push(client.link.as_fd(), PollFlags::empty()),
        }
        let others = self.registration.fd().into_iter().chain(self.detours.fd());
        others.for_each(|fd| set.push(fd, PollFlags::POLLIN));
        let before = set.fds().len();
        for fd in doors.into_iter().flat_map(Doors::fds) {
            set.push(fd, PollFlags::empty());
        }
        if waiter.begin_poll() {
            return false;
        }
        let fds = set.fds();
        let polled = ppoll(fds, timeout.map(TimeSpec::from_duration), None);
        waiter.end_poll(polled.is_ok() && fds[0].any() == Some(true));
        polled.is_ok() && take_errors(&fds[before..])
    }
}

impl Client {
    fn new(link: Arc<CloseOnFork<UnixStream>>, join_at: Instant) -> Self {
        // Another user's process could have our frames sent elsewhere; the administrator's may anyway, and so may
        // the node's router.
        let trusted = is_router(&*link);
        Self {
            link,
            trusted,
            bytes: Vec::new(),
            number: 0,
            join_at: trusted.then_some(join_at),
            hello: None,
            welcome: false,
            joined_at: join_at,
            back_after: BACK_AFTER.0,
            over: false,
        }
    }

    /// Takes what the steward has said; whether it has said anything.
    fn hear(&mut self, steering: &mut Steering) -> bool {
        if !self.trusted {
            self.over = has_ended(&self.link);
            return false;
        }
        let mut buffer = [0; 512];
        while !self.over {
            match rights::receive(self.link.as_fd(), &mut buffer) {
                Ok((n @ 1.., _)) => self.bytes.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok((0, _)) | Err(_) => self.over = true,
            }
        }
        let mut heard = false;
        while let Some((number, reply)) = Reply::take(&mut self.bytes) {
            heard = true;
            self.welcome |= self.hello.take_if(|hello| *hello == number).is_some();
            // What answers our time before the last leave is of no concern.
            if number == 0 || number >= steering.since {
                steering.hear(number, reply);
            }
        }
        heard
    }

    /// Asks whether the steward is one who answers.
    fn greet(&mut self) {
        self.number += 1;
        let sent = rights::send(self.link.as_fd(), &Request::Hello.encode(self.number), &[]);
        self.hello = sent.is_ok().then_some(self.number);
    }

    /// Asks to join, with the sockets and ports we have.
    fn join(&mut self, core: &mut Core, now: Instant) {
        if !self.trusted {
            return;
        }
        self.number += 1;
        let doors = core.doors.clone();
        let fds: Vec<_> = doors.fds().collect();
        let many = core.endpoint.ports().count() > MAX_PORTS || fds.len() > rights::MAX_FDS;
        let Core { endpoint, steering, .. } = core;
        let request = steering.begin(endpoint.ports(), self.number);
        let sent = rights::send(self.link.as_fd(), &request.encode(self.number), &fds);
        self.joined_at = now;
        if many || sent.is_err() {
            steering.be_troubled(Trouble::Silence);
        } else {
            steering.pending.push((self.number, request));
        }
    }

    /// Tells the steward what there is to tell.
    fn speak(&mut self, steering: &mut Steering) {
        for request in std::mem::take(&mut steering.outbox) {
            self.number += 1;
            if rights::send(self.link.as_fd(), &request.encode(self.number), &[]).is_err() {
                steering.be_troubled(Trouble::Silence);
                return;
            }
            steering.pending.push((self.number, request));
        }
    }

    /// Says that we receive by our own means, because of `trouble`, and puts off coming back.
    fn leave(&mut self, trouble: Trouble, now: Instant) {
        if !self.trusted {
            return;
        }
        self.number += 1;
        let request = Request::Leave(trouble == Trouble::Disorder);
        // If it cannot be said now the steward is told nothing more: it learns it when we end.
        let told = rights::send(self.link.as_fd(), &request.encode(self.number), &[]).is_ok();
        if now.since(self.joined_at) >= STAYED {
            self.back_after = BACK_AFTER.0;
        }
        self.join_at = told.then_some(now + self.back_after);
        (self.hello, self.welcome) = (None, false);
        self.back_after = (self.back_after * 2).min(BACK_AFTER.1);
    }
}

#[cfg(test)]
mod tests;
