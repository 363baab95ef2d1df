//! The loop: iterations while there is work, then sleep until a frame, a signal, a question or a
//! timer.

mod answers;
mod devices;
mod key;
mod latest;
mod loader;
mod reload;
mod startup;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::sys::time::TimeSpec;
use prp_device::LinkStates;
use prp_device::waiting::{Next, WaitPolicy, WaitSettings, WaitTarget};
use prp_node::{DownHop, DownHops, limits};
use prp_proto::addr::DeviceId;
use prp_proto::hosts::renamed;
use prp_proto::time::Instant;
use socket2::SockRef;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::link::Link;
use crate::local_service::{Event, ServiceHandle};
use crate::neighbours::{Neighbour, Neighbours};
use crate::node_port::RouterNodePort;
use crate::notify::ServiceManager;
use crate::router::Router;
use crate::settings::Settings;
use crate::table::Table;
use key::KeyFollower;
use latest::LatestReading;
use loader::{Loader, ReloadRequest};

/// How often a router that is always busy does everything else.
const CHORES: Duration = Duration::from_millis(5);

/// A router that runs.
#[derive(Debug)]
pub struct Daemon {
    settings: Settings,
    clock: Clock,
    table: Table,
    router: Router,
    /// What to poll for each link.
    poll_fds: Vec<OwnedFd>,
    link_states: LinkStates,
    neighbours: Neighbours,
    wait_policy: WaitPolicy,
    /// The processes of the node.
    service: ServiceHandle,
    /// What was announced to them last.
    announced: DownHops,
    signals: SignalFd,
    loader: Loader,
    key: KeyFollower,
    manager: ServiceManager,
    /// A device has found or lost its link.
    link_news: bool,
    /// What was last found to keep devices of prphosts from use.
    troubles: Vec<String>,
    reloads: u64,
    latest: LatestReading,
}

impl Daemon {
    /// The node this is.
    pub fn node(&self) -> u16 {
        self.table.routes.local().number()
    }

    /// Routes until a signal ends it.
    ///
    /// # Errors
    /// A device is gone for good, or the kernel has no more descriptors.
    pub fn run(&mut self) -> io::Result<()> {
        let outcome = self.route();
        // However it ends, neighbours need not wait for its silence.
        self.announce_admin_down();
        if outcome.is_ok() {
            info!("stopped");
        }
        outcome
    }

    /// Iterations and sleep, until a signal.
    fn route(&mut self) -> io::Result<()> {
        let waits = WaitSettings::router(self.settings.spin);
        let (mut last_frame, mut last_chores) = (self.clock.now(), self.clock.now());
        loop {
            let now = self.clock.now();
            self.manager.beat(now);
            let busy = self.router.poll(now)? > 0;
            self.wait_policy.note_passed_on(now, self.router.forwarder.stats().bytes);
            self.update_neighbours(now);
            self.router.instruct_kernel();
            if busy {
                last_frame = now;
            }
            let target = WaitTarget::Transit;
            let next = (!busy).then(|| self.wait_policy.next(waits, target, last_frame, now));
            let awake = next != Some(Next::Sleep);
            if awake && now.since(last_chores) < CHORES {
                self.pause(now, next);
                continue;
            }
            last_chores = now;
            let due = self.next_timeout().map(|at| at.since(self.clock.now()));
            let timeout = if awake { Some(Duration::ZERO) } else { due };
            if self.wait(timeout)? && self.housekeeping(now)? {
                return Ok(());
            }
        }
    }

    /// Lets others run, or frames gather, as `next` says that is asked `now`.
    fn pause(&mut self, now: Instant, next: Option<Next>) {
        match next {
            Some(Next::Gather { until, .. }) => std::thread::sleep(until.since(now)),
            Some(Next::Poll(_)) => {
                std::thread::yield_now();
                self.wait_policy.note_yield(now, self.clock.now());
            }
            Some(Next::Sleep) | None => {}
        }
    }

    /// When there is something to do by itself.
    fn next_timeout(&self) -> Option<Instant> {
        let node_port = self.router.node_port.as_ref().and_then(RouterNodePort::next_timeout);
        let others = self.manager.next_timeout().into_iter().chain(node_port);
        self.neighbours.next_timeout().into_iter().chain(others).min()
    }

    /// How it is, in a line.
    fn summary(&self) -> String {
        let names: Vec<_> = self.router.links.iter().map(Link::name).collect();
        let nodes = self.table.file.hosts().len();
        let words = format!("node {} of {nodes}, by {}", self.node(), names.join(" "));
        match self.latest.error() {
            None => words,
            Some(why) => {
                let first = why.lines().next().unwrap_or_default();
                format!("{words}; prphosts not read again: {first}")
            }
        }
    }

    /// Probes in and out, and what follows from them and from time.
    fn update_neighbours(&mut self, now: Instant) {
        let due = self.neighbours.next_timeout().is_some_and(|at| at <= now);
        if !due && self.router.probes.is_empty() && !self.link_news {
            return;
        }
        self.link_news = false;
        for probe in std::mem::take(&mut self.router.probes) {
            let forwarder = &mut self.router.forwarder;
            let is_asked = |node| forwarder.keyring_for(node).is_some();
            if let Err(why) = self.neighbours.receive(now, &probe, is_asked) {
                forwarder.stats_mut().drops.count(why);
            }
        }
        let down: Vec<bool> = self.router.links.iter().map(|link| !link.is_up()).collect();
        let up = |device: DeviceId| down.get(usize::from(device.0)).is_none_or(|down| !down);
        let mut probes = Vec::new();
        self.neighbours.poll(
            now,
            &mut self.router.forwarder,
            up,
            |probe| probes.push(probe),
            |neighbour| {
                let (node, usable) = (neighbour.hop.node.number(), neighbour.usable);
                warn!(neighbour = node, address = %neighbour.station, usable, "neighbour");
            },
        );
        probes.iter().for_each(|probe| self.router.probe(probe));
        self.announce_down_hops();
    }

    /// Announces to the node's processes which neighbours not to use.
    fn announce_down_hops(&mut self) {
        let down = self.neighbours.iter().filter(|neighbour| !neighbour.usable);
        let hop = |neighbour: &Neighbour| {
            let link = self.router.links.get(usize::from(neighbour.hop.device.0))?;
            let (station, hop_use) = (neighbour.station, neighbour.hop_use());
            Some(DownHop { device: self.name_in_force(link), station, hop_use })
        };
        let down = DownHops(down.filter_map(hop).collect());
        if down != self.announced {
            self.announced = down.clone();
            self.service.announce(down);
        }
    }

    /// What prphosts calls the device of `link`: as when it was opened, unless it is called
    /// otherwise by now.
    fn name_in_force(&self, link: &Link) -> String {
        let by_now = link.state.and_then(|state| self.link_states.name(state.index));
        let is_named = |name: &String| self.table.file.hosts().devices().any(|named| named == name);
        let by_now = by_now.map(|now| renamed(link.name(), now)).filter(is_named);
        by_now.unwrap_or_else(|| link.name().to_owned())
    }

    fn announce_admin_down(&mut self) {
        let farewells: Vec<_> = self.neighbours.farewells().collect();
        farewells.iter().for_each(|probe| self.router.probe(probe));
        self.manager.stopping();
    }

    /// Sleeps until something happens, at most for `timeout`; whether there are chores.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let read = PollFlags::POLLIN;
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(self.poll_fds.len() + 6);
        for (index, fd) in self.poll_fds.iter().enumerate() {
            let room =
                if self.router.is_stalled(index) { PollFlags::POLLOUT } else { PollFlags::empty() };
            fds.push(PollFd::new(fd.as_fd(), read | room));
        }
        let links = fds.len();
        let node_port = self.router.node_port.as_ref().and_then(RouterNodePort::fd);
        fds.extend(node_port.map(|fd| PollFd::new(fd, read)));
        let others = fds.len();
        fds.push(PollFd::new(self.signals.as_fd(), read));
        fds.push(PollFd::new(self.loader.eventfd(), read));
        fds.push(PollFd::new(self.key.eventfd(), read));
        fds.push(PollFd::new(self.link_states.as_fd(), read));
        fds.push(PollFd::new(self.service.eventfd(), read));
        match ppoll(&mut fds, timeout.map(TimeSpec::from_duration), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        // The interface being down is an error that ends every poll at once until it is taken.
        let failed = |fd: &PollFd<'_>| fd.revents().is_some_and(|r| r.contains(PollFlags::POLLERR));
        for fd in fds[..others].iter().filter(|fd| failed(fd)) {
            let _ = SockRef::from(&fd.as_fd()).take_error();
        }
        let failed: Vec<bool> = fds[..links].iter().map(failed).collect();
        let has_chores = fds[others..].iter().any(|fd| fd.any() == Some(true));
        for (link, _) in self.router.links.iter_mut().zip(failed).filter(|(_, failed)| *failed) {
            link.io.take_errors();
        }
        Ok(has_chores)
    }

    /// Everything but frames; whether to stop.
    fn housekeeping(&mut self, now: Instant) -> io::Result<bool> {
        while let Some(signal) = self.signals.read_signal()? {
            match Signal::try_from(signal.ssi_signo.cast_signed()) {
                Ok(Signal::SIGHUP) => {
                    self.request_reload(ReloadRequest::Apply(None));
                }
                Ok(Signal::SIGXCPU) => self.take_processor_limit()?,
                _ => return Ok(true),
            }
        }
        if self.link_states.read()? {
            self.link_news = true;
            self.devices_changed();
        }
        while let Some((reading, requests)) = self.loader.take() {
            self.loaded(reading, &requests);
            // Public keys of nodes are in prphosts.
            self.key.look(&self.table.file);
            self.loader.read_again(&self.settings, &self.table.devices);
        }
        self.follow_key();
        for event in self.service.events() {
            match event {
                Event::Request(asked) => self.asked(now, asked),
                Event::Resets(connections) => self.router.reset(&connections),
            }
        }
        Ok(false)
    }

    /// The kernel says that this process has had the processor for long, and ends it soon.
    ///
    /// # Errors
    /// That is so in any case.
    fn take_processor_limit(&mut self) -> io::Result<()> {
        if let Some(seconds) = limits::used_processor_seconds() {
            let message = format!(
                "RLIMIT_CPU: {seconds} s of processor time are used, as many as it has \
                 (LimitCPU=infinity, ulimit -t unlimited)"
            );
            return Err(io::Error::other(message));
        }
        // What counts for RLIMIT_RTTIME is the time without a sleep.
        warn!("RLIMIT_RTTIME: this daemon may not poll for so long (spin_us, LimitRTTIME=)");
        // Any sleep ends the time that counts.
        std::thread::sleep(Duration::from_micros(50));
        Ok(())
    }

    fn request_reload(&mut self, request: ReloadRequest) {
        if let ReloadRequest::Apply(_) = request {
            self.manager.reloading();
            self.key.look(&self.table.file);
        }
        self.loader.request_reload(request, &self.settings, &self.table.devices);
    }
}
