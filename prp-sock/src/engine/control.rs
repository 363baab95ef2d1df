//! The control thread of an engine: the steward's place, the node's own UDP ports, its router,
//! links, fast paths, the key file and the status page.
//! What it asks the kernel may take long, so the background thread that moves frames does not do
//! it.

use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use nix::poll::{PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::Engine;
use super::fast_path_thread::FastPathThreads;
use super::link_monitor::LinkMonitor;
use super::link_watch::LinkWatch;
use super::node_ports::NodePorts;
use super::poll_set::PollSet;
use super::router_client::RouterClient;
use super::status::Status;
use super::wait::earliest;
use super::waiter::Waiter;
use super::wake_fd::WakeFd;
use crate::threads;

/// How often the key file is looked at where there is one.
const KEY_INTERVAL: Duration = Duration::from_secs(2);

/// The control thread as other threads see it.
#[derive(Debug)]
pub(super) struct ControlThread {
    waiter: Arc<Waiter>,
}

impl ControlThread {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { waiter: Waiter::new(WakeFd::new()?) })
    }

    /// Has it do what there is to do now.
    pub(super) fn call(&self) {
        self.waiter.waker().wake();
    }
}

impl Drop for ControlThread {
    fn drop(&mut self) {
        // The engine is gone: the thread ends when it notices.
        self.waiter.waker().wake();
    }
}

impl Engine {
    /// Starts the control thread, in the network namespace of the calling thread, which `links` are
    /// those of.
    pub(super) fn start_control(self: &Arc<Self>, links: LinkWatch) -> io::Result<()> {
        let (engine, waiter) = (Arc::downgrade(self), self.control.waiter.clone());
        links.note(self);
        let work = ControlState {
            links,
            node_ports: NodePorts::serve(self, waiter.waker()),
            router: RouterClient::new(),
            link_monitor: LinkMonitor::default(),
            fast_paths: FastPathThreads::new(),
            status: Status::new(self),
        };
        threads::start("prp-control", move || work.run(&engine, &waiter))
    }
}

/// The thread's own state.
#[derive(Debug)]
struct ControlState {
    links: LinkWatch,
    node_ports: NodePorts,
    router: RouterClient,
    link_monitor: LinkMonitor,
    fast_paths: FastPathThreads,
    status: Status,
}

impl ControlState {
    fn run(mut self, engine: &Weak<Engine>, waiter: &Arc<Waiter>) {
        loop {
            let Some(alive) = engine.upgrade() else { return };
            waiter.take_call();
            let due = self.router.poll(&alive);
            let due = earliest(due, self.node_ports.check(&alive));
            // A router answers for ports that no process owns. Without one the steward does, which
            // is the process that gets what comes to the node.
            let may_be = !self.router.is_registered() && self.node_ports.are_held();
            alive.lock().set_steward(may_be);
            self.links.check(&alive);
            let link_monitor = self.link_monitor.check(&alive, &self.router.down);
            let due = earliest(due, link_monitor);
            let due = earliest(due, self.fast_paths.check(&alive, &waiter.waker()));
            let due = earliest(due, self.status.check(&alive));
            // A process that only listens reads the files of keys here, and nowhere else. Public
            // keys of nodes are in prphosts.
            if alive.has_key() {
                alive.read_hosts_again();
            }
            // One that cannot be read is tried again.
            let has_key = alive.follow_key().is_err() || alive.has_key();
            let key = has_key.then(|| alive.now() + KEY_INTERVAL);
            let due = earliest(due, key);
            let timeout = due.map(|due| due.since(alive.now()));
            drop(alive);
            self.sleep(waiter, timeout);
        }
    }

    fn sleep(&self, waiter: &Waiter, timeout: Option<Duration>) {
        let mut set = PollSet::new(waiter.wake_fd(), PollFlags::POLLIN);
        let others = self.router.fd().into_iter().chain(self.links.fd()).chain(self.status.fd());
        others.for_each(|fd| set.push(fd, PollFlags::POLLIN));
        if waiter.begin_poll() {
            return;
        }
        let fds = set.fds();
        let polled = ppoll(fds, timeout.map(TimeSpec::from_duration), None);
        waiter.end_poll(polled.is_ok() && fds[0].any() == Some(true));
    }
}
