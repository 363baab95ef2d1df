//! The engine: one endpoint, its devices, and the threads that move its frames.
//!
//! There is one engine per process, network namespace and prphosts. Everything is behind one lock,
//! which a thread holds for one batch of frames, or for up to 512 KiB of a write; short requests
//! for it go first. **The thread that waits does the work**: a blocking call that cannot finish
//! becomes the *leader*; it receives, runs the protocol, sends, and returns when its own condition
//! holds. Other waiting threads sleep until the leader wakes them or hands its role over
//! ([`wait`]). While no application thread waits, a background thread, the *keeper*, covers for
//! them ([`keeper`]).

#[cfg(feature = "tracing")]
mod connection_events;
mod control;
mod core;
mod device_slot;
mod exit;
mod fast_path_thread;
mod gather;
mod guard;
mod keeper;
mod leader;
mod link_monitor;
mod link_watch;
mod netns;
mod node_ports;
mod other_fd;
mod poll_set;
mod ports;
mod readiness;
mod registry;
mod reopen;
mod router_client;
mod rx_handles;
mod spin;
mod status;
#[cfg_attr(
    not(feature = "tokio"),
    allow(dead_code, reason = "only asynchronous streams have tasks")
)]
mod tasks;
pub(crate) mod tuning;
mod wait;
mod waiter;
mod waiters;
mod wake_fd;

use std::fmt;
use std::io;
use std::sync::Arc;

use prp_proto::addr::{DeviceId, NodeId};
use prp_proto::time::Instant;

pub(crate) use self::core::Core;
#[cfg(test)]
pub(crate) use self::core::LinkNews;
pub(crate) use self::exit::exempt_this_thread;
pub use self::exit::reset_all;
pub(crate) use guard::CoreGuard;
use guard::CoreLock;
pub(crate) use other_fd::OtherFd;
pub(crate) use ports::PortClaimer;
use prp_node::fork;
#[cfg(any(test, feature = "testing"))]
pub(crate) use registry::enlist;
pub(crate) use registry::{EngineKey, all as engines, engine_for};
pub use status::openmetrics;
#[cfg(feature = "tokio")]
pub(crate) use tasks::{FutureId, Task};
pub(crate) use wait::{Wait, WaitError};
pub(crate) use waiters::Interest;

use crate::clock::Clock;
use crate::sys::baton::LockClass;
use crate::sys::lock::Lock;
use prp_node::{HostsFile, KeyWatch};

/// One endpoint, its devices, and the threads that run it.
pub(crate) struct Engine {
    pub(crate) clock: Clock,
    core: CoreLock,
    device_names: Vec<String>,
    /// Used in place of the devices prphosts names.
    only_device: Option<String>,
    /// The reading of prphosts whose routes are in force.
    hosts: Lock<Option<HostsFile>>,
    /// The key file in force, if the engine was made by it.
    key: Lock<Option<KeyWatch>>,
    keeper: keeper::Keeper,
    control: control::ControlThread,
    leader_wake_fd: Arc<wake_fd::WakeFd>,
    /// The fork generation of the process this engine belongs to.
    generation: u32,
    /// Distinguishes engines in thread-local caches.
    id: u64,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Engine {
    /// The time.
    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// The engine's state. Brief: nothing that blocks happens under this lock.
    pub(crate) fn lock(&self) -> CoreGuard<'_> {
        self.lock_as(LockClass::Short)
    }

    /// As [`Self::lock`], to hold it for as long as `lock_class` takes.
    pub(crate) fn lock_as(&self, lock_class: LockClass) -> CoreGuard<'_> {
        CoreGuard::new(&self.core, lock_class)
    }

    /// Whether this process is the one the engine's threads live in.
    pub(crate) fn is_ours(&self) -> bool {
        fork::generation() == self.generation
    }

    /// Does what is due without waiting: sends, wakes the threads it concerns, and lets the keeper
    /// know if it has to take over. To be called after a command, with the lock it was given under.
    pub(crate) fn finish(&self, mut core: CoreGuard<'_>, now: Instant) {
        if core.rx_handles.has_frame() {
            core.poll_once(now, None);
            // A thread that takes frames is not away: the keeper need not.
            core.timing.leader_left_at = now;
        } else {
            core.pump(now);
        }
        self.send_rest(&mut core);
        self.after_command(core);
    }

    /// Sends what has not gone with one batch; between batches others may have the lock.
    fn send_rest(&self, core: &mut CoreGuard<'_>) {
        while core.has_more() {
            core.bump();
            core.pump(self.now());
        }
    }

    /// As [`Self::finish`], right after an iteration at `now`, which has done most of it.
    fn finish_iteration(&self, core: CoreGuard<'_>, now: Instant) {
        if core.endpoint.has_news() || core.rx_handles.has_frame() {
            self.finish(core, now);
        } else {
            self.after_command(core);
        }
    }

    /// The local node.
    pub(crate) fn local_node(&self) -> NodeId {
        self.lock().endpoint.local_node()
    }

    /// Devices by index.
    pub(crate) fn device_names(&self) -> &[String] {
        &self.device_names
    }

    /// Finds the device that is meant by a name in prphosts: the one that was opened by it, or else
    /// the one that has it by now.
    fn device_ids(&self) -> impl Fn(&str) -> Option<DeviceId> {
        let other_names = self.lock().other_names();
        move |name| {
            let first = self.device_names.iter().position(|known| known == name);
            let by_now = || other_names.iter().find(|(_, other)| other == name).map(|(id, _)| *id);
            first.map(|at| DeviceId(at as u16)).or_else(by_now)
        }
    }

    /// What `device` is called.
    pub(crate) fn device_name(&self, device: DeviceId) -> &str {
        self.device_names.get(usize::from(device.0)).map_or("a device", String::as_str)
    }

    /// Puts prphosts in force as it is now, if it was read before and can be.
    fn read_hosts_again(&self) {
        let path = self.hosts.lock().as_ref().map(|file| file.path().to_owned());
        if let Some(Ok(file)) = path.map(|path| HostsFile::cached(&path)) {
            self.follow_hosts(&file);
        }
    }

    /// Puts the keys in force as the key files and prphosts have them now, if they have changed.
    /// Where one cannot be read, the keys of before stay.
    ///
    /// # Errors
    /// There is a file that cannot be read, and no key of before: nothing must begin without one.
    pub(crate) fn follow_key(&self) -> io::Result<()> {
        // Held until the keys are in force: of two threads with two readings, the later one's stay.
        let mut watch = self.key.lock();
        let Some(watch) = watch.as_mut() else { return Ok(()) };
        let Some(hosts) = self.hosts.lock().clone() else { return Ok(()) };
        let protect = |ring| registry::protect(&mut self.lock().endpoint, ring);
        let followed = watch.follow(&hosts, self.local_node(), protect);
        followed.or_else(|e| if self.has_key() { Ok(()) } else { Err(e) })
    }

    /// Returns whether new connections are protected where the key file says so.
    fn has_key(&self) -> bool {
        self.lock().endpoint.keyring().is_some()
    }

    /// Puts the routes of prphosts in force as it is now, unless those of `file` are, which was
    /// read just now.
    pub(crate) fn follow_hosts(&self, file: &HostsFile) {
        let mut current = self.hosts.lock();
        let is_current = |file: &HostsFile| current.as_ref().is_some_and(|c| c.is_same(file));
        if is_current(file) {
            return;
        }
        // Another thread may have read a later one, and put it in force.
        let file = HostsFile::cached(file.path()).unwrap_or_else(|_| file.clone());
        if !is_current(&file) {
            self.reload(&file);
            *current = Some(file);
        }
    }

    /// Puts the routes of prphosts in force anew, since devices are called otherwise.
    fn reload_hosts(&self) {
        if let Some(file) = &*self.hosts.lock() {
            self.reload(file);
        }
    }
}

#[cfg(test)]
mod tests;
