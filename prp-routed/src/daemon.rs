//! The loop: turns of work while there is any, then sleep until a frame, a signal, a question or a timer.

mod loader;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::TimeSpec;
use prp_proto::addr::DeviceId;
use prp_proto::endpoint::Device;
use prp_proto::forward::Forwarder;
use prp_proto::time::Instant;
use prp_sock::node::{
    Carrier, DownHop, DownHops, FrameIo, Interface, PacketDevice, RouterFilter, Stewardship,
};
use sd_notify::NotifyState;
use socket2::SockRef;
use tracing::{info, warn};

use crate::clock::Clock;
use crate::control::{Asker, Control};
use crate::link::Link;
use crate::neighbours::{Neighbour, Neighbours};
use crate::pour::{NAP, Pour};
use crate::privilege;
use crate::register::Register;
use crate::report::{self, Question, Reloaded, Reply};
use crate::router::Router;
use crate::settings::Settings;
use crate::table::Table;
use crate::{exporter, metrics};
use loader::{Loader, Wish};

/// How often a router that is always busy looks after everything else.
const CHORES: Duration = Duration::from_millis(5);

/// A router that is to look for frames for longer than this does so without a break.
const SPINS: Duration = Duration::from_millis(1);

/// A router that runs.
#[derive(Debug)]
pub struct Daemon {
    settings: Settings,
    clock: Clock,
    table: Table,
    router: Router,
    /// What to poll for each link.
    poll_fds: Vec<OwnedFd>,
    carrier: Carrier,
    neighbours: Neighbours,
    pour: Pour,
    stewardship: Stewardship,
    register: Register,
    control: Control,
    signals: SignalFd,
    loader: Loader,
    /// A device has found or lost its carrier.
    carrier_news: bool,
    reloads: u64,
    last_error: Option<String>,
}

impl Daemon {
    /// Reads prphosts, opens its devices, and takes the node's name.
    ///
    /// # Errors
    /// A mistake in prphosts, a missing privilege, another daemon that runs: each with its mend.
    pub fn start(settings: Settings) -> io::Result<Self> {
        // Before any thread is started, since each takes over which signals it leaves to others.
        let mut set = SigSet::empty();
        [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM].into_iter().for_each(|s| set.add(s));
        set.thread_block()?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        // A nap is as long as it is said to be. Without that, 50 us longer.
        let _ = set_timerslack(1000);
        let table = Table::load(&settings, &[])?;
        let node = table.routes.local();
        let control = Control::bind(node)?;
        let register = Register::open(node)?;
        let stewardship = Stewardship::seek(node);
        let ethertype = table.file.hosts().ethertype();
        let forwarder = Forwarder::new(ethertype, table.routes.clone(), Vec::new());
        let neighbours = Neighbours::new(settings.liveness);
        let mut daemon = Self {
            settings,
            clock: Clock::start(),
            router: Router::new(forwarder, Vec::new()),
            table,
            poll_fds: Vec::new(),
            carrier: Carrier::watch()?,
            neighbours,
            pour: Pour::default(),
            stewardship,
            register,
            control,
            signals,
            loader: Loader::new()?,
            carrier_news: true,
            reloads: 0,
            last_error: None,
        };
        daemon.router.set_steward(daemon.stewardship.is_ours());
        let devices = daemon.table.devices.clone();
        daemon.open_links(&devices)?;
        daemon.neighbours.follow(&daemon.table.routes, daemon.clock.now());
        privilege::reduce()?;
        if let Some(address) = daemon.settings.metrics {
            exporter::serve(address, daemon.table.routes.local())?;
        }
        // Without a service manager nobody listens.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        info!(node = node.number(), nodes = daemon.table.file.hosts().len(), "routing");
        Ok(daemon)
    }

    /// The node this is.
    pub fn node(&self) -> u16 {
        self.table.routes.local().number()
    }

    /// Routes until a signal ends it.
    ///
    /// # Errors
    /// A device is gone for good, or the kernel has no more descriptors.
    pub fn run(&mut self) -> io::Result<()> {
        let (mut last_frame, mut last_chores) = (self.clock.now(), self.clock.now());
        loop {
            let now = self.clock.now();
            let busy = self.router.turn(now)? > 0;
            let pours = self.pour.note(now, self.router.forwarder.stats().bytes);
            self.look_after_neighbours(now);
            self.look_after_the_dead(now);
            if busy {
                last_frame = now;
            }
            let awake = pours || now.since(last_frame) < self.settings.spin;
            if (busy || awake) && now.since(last_chores) < CHORES {
                if !busy && pours && self.settings.spin < SPINS {
                    std::thread::sleep(NAP);
                } else if !busy {
                    std::thread::yield_now();
                }
                continue;
            }
            last_chores = now;
            let due =
                self.neighbours.next_timeout().into_iter().chain(self.register.next_timeout());
            let due = due.min().map(|at| at.since(self.clock.now()));
            let timeout = if busy || awake { Some(Duration::ZERO) } else { due };
            if self.wait(timeout)? && self.chores(now)? {
                self.say_goodbye();
                info!("stopped");
                return Ok(());
            }
        }
    }

    /// Probes in and out, and what follows from them and from time.
    fn look_after_neighbours(&mut self, now: Instant) {
        let due = self.neighbours.next_timeout().is_some_and(|at| at <= now);
        if !due && self.router.heard.is_empty() && !self.carrier_news {
            return;
        }
        self.carrier_news = false;
        for (device, mac, block) in std::mem::take(&mut self.router.heard) {
            self.neighbours.hear(now, device, mac, &block);
        }
        let names = self.router.links.iter().map(Link::name);
        let down: Vec<bool> = names.map(|name| !self.carrier.is_up(name)).collect();
        let up = |device: DeviceId| down.get(usize::from(device.0)).is_none_or(|down| !down);
        let mut probes = Vec::new();
        let forwarder = &mut self.router.forwarder;
        self.neighbours.turn(
            now,
            forwarder,
            up,
            |probe| probes.push(probe),
            |neighbour| {
                let (node, usable) = (neighbour.hop.node.number(), neighbour.usable);
                warn!(neighbour = node, mac = %neighbour.hop.mac, usable, "neighbour");
            },
        );
        probes.iter().for_each(|probe| self.router.probe(probe));
        self.tell_processes(now);
    }

    /// Tells the node's processes which neighbours not to use.
    fn tell_processes(&mut self, now: Instant) {
        let down = self.neighbours.iter().filter(|neighbour| !neighbour.usable);
        let hop = |neighbour: &Neighbour| {
            let link = self.router.links.get(usize::from(neighbour.hop.device.0))?;
            Some(DownHop { device: link.name().to_owned(), mac: neighbour.hop.mac })
        };
        let down = DownHops(down.filter_map(hop).collect());
        self.register.tell(now, &down);
    }

    /// Resets some connections of processes that have ended without closing them.
    fn look_after_the_dead(&mut self, now: Instant) {
        if self.register.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        let connections = self.register.resets(now, |port| self.router.is_free(port));
        self.router.reset(&connections);
    }

    fn say_goodbye(&mut self) {
        let farewells: Vec<_> = self.neighbours.farewells().collect();
        farewells.iter().for_each(|probe| self.router.probe(probe));
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
    }

    /// Sleeps until something happens, at most for `timeout`; whether there are chores.
    fn wait(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let read = PollFlags::POLLIN;
        let mut fds: Vec<PollFd<'_>> = Vec::with_capacity(self.poll_fds.len() + 4);
        for (index, fd) in self.poll_fds.iter().enumerate() {
            let room =
                if self.router.is_stalled(index) { PollFlags::POLLOUT } else { PollFlags::empty() };
            fds.push(PollFd::new(fd.as_fd(), read | room));
        }
        let links = fds.len();
        fds.push(PollFd::new(self.signals.as_fd(), read));
        fds.push(PollFd::new(self.loader.bell(), read));
        fds.push(PollFd::new(self.carrier.as_fd(), read));
        fds.push(PollFd::new(self.register.fd(), read));
        let link = self.stewardship.link();
        if let Some(link) = &link {
            // Nothing is ever said on it: it only breaks.
            fds.push(PollFd::new(link.as_fd(), PollFlags::empty()));
        }
        for (fd, write) in self.control.fds() {
            let room = if write { PollFlags::POLLOUT } else { PollFlags::empty() };
            fds.push(PollFd::new(fd, read | room));
        }
        match ppoll(&mut fds, timeout.map(TimeSpec::from_duration), None) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        // The interface being down is an error that, if nobody takes it, ends every poll at once.
        for fd in &fds[..links] {
            if fd.revents().is_some_and(|r| r.contains(PollFlags::POLLERR)) {
                let _ = SockRef::from(&fd.as_fd()).take_error();
            }
        }
        Ok(fds[links..].iter().any(|fd| fd.any() == Some(true)))
    }

    /// Everything but frames; whether to stop.
    fn chores(&mut self, now: Instant) -> io::Result<bool> {
        while let Some(signal) = self.signals.read_signal()? {
            if signal.ssi_signo != Signal::SIGHUP as u32 {
                return Ok(true);
            }
            self.wish(Wish { asker: None, dry_run: false });
        }
        self.carrier_news |= self.carrier.read()?;
        self.register.turn(now);
        if !self.stewardship.is_ours() {
            self.seek_stewardship()?;
        }
        while let Some((table, wishes)) = self.loader.take() {
            self.loaded(table, &wishes);
            self.loader.go_on(&self.settings, &self.table.devices);
        }
        for (asker, question) in self.control.turn() {
            match question {
                Ok(question) => self.asked(now, asker, &question),
                Err(why) => self.control.answer(asker, &Reply::Error(why)),
            }
        }
        Ok(false)
    }

    /// Perhaps the node's steward has ended, and we are its successor.
    fn seek_stewardship(&mut self) -> io::Result<()> {
        let node = self.table.routes.local();
        // A look, without waiting: the link breaks with the steward.
        let broken = self.stewardship.link().is_none_or(|link| {
            let mut fds = [PollFd::new(link.as_fd(), PollFlags::empty())];
            ppoll(&mut fds, Some(TimeSpec::from_duration(Duration::ZERO)), None) != Ok(0)
        });
        if !broken {
            return Ok(());
        }
        self.stewardship = Stewardship::seek(node);
        let steward = self.stewardship.is_ours();
        if steward {
            self.router.set_steward(true);
            let filter = RouterFilter { node, steward };
            for link in &mut self.router.links {
                link.io.set_router_filter(&filter)?;
            }
        }
        Ok(())
    }

    fn wish(&mut self, wish: Wish) {
        self.loader.wish(wish, &self.settings, &self.table.devices);
    }

    fn asked(&mut self, now: Instant, asker: Asker, question: &Question) {
        let value = match question {
            Question::Status => serde_json::to_value(self.status(now)),
            Question::Routes => serde_json::to_value(report::routes(&self.table)),
            Question::Neighbours => serde_json::to_value(self.neighbour_lines()),
            Question::Counters => Ok(report::counters(&self.router)),
            Question::Metrics => {
                let processes = self.register.len();
                Ok(metrics::text(&mut self.router, &self.neighbours, processes, self.reloads)
                    .into())
            }
            Question::Reload { dry_run } => {
                if !dry_run && !self.control.may_change(asker) {
                    let why = "only root and the daemon's own user may reload".into();
                    return self.control.answer(asker, &Reply::Error(why));
                }
                return self.wish(Wish { asker: Some(asker), dry_run: *dry_run });
            }
        };
        let reply = value.map_or_else(|e| Reply::Error(e.to_string()), Reply::Ok);
        self.control.answer(asker, &reply);
    }

    fn neighbour_lines(&self) -> Vec<report::NeighbourLine> {
        let hosts = self.table.file.hosts();
        let line = |neighbour: &Neighbour| {
            let hop = neighbour.hop;
            let link = self.router.links.get(usize::from(hop.device.0));
            report::NeighbourLine {
                node: hop.node.number(),
                name: hosts.name(hop.node).map(str::to_owned),
                device: link.map_or_else(String::new, |link| link.name().to_owned()),
                mac: hop.mac.to_string(),
                usable: neighbour.usable,
                carrier: link.is_none_or(|link| self.carrier.is_up(link.name())),
                liveness: neighbour.liveness(),
                routes: neighbour.routes,
                changes: neighbour.changes,
            }
        };
        self.neighbours.iter().map(line).collect()
    }

    fn status(&mut self, now: Instant) -> report::Status {
        let hosts = self.table.file.hosts();
        let node = self.table.routes.local();
        report::Status {
            node: node.number(),
            name: hosts.name(node).map(str::to_owned),
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            uptime: now.since(Instant::ZERO).as_secs(),
            hosts: self.table.file.path().display().to_string(),
            nodes: hosts.len(),
            reloads: self.reloads,
            last_error: self.last_error.clone(),
            steward: self.router.is_steward(),
            processes: self.register.len(),
            devices: report::devices(&mut self.router),
        }
    }

    /// prphosts has been read again: puts it in force unless something is wrong with it or everybody
    /// only wished to know.
    fn loaded(&mut self, table: io::Result<Table>, wishes: &[Wish]) {
        let table = table.and_then(|table| self.compatible(table));
        let apply = wishes.iter().any(|wish| !wish.dry_run);
        let outcome = table.and_then(|table| {
            let changes = self.table.changes(&table);
            if apply {
                self.put_in_force(table)?;
            }
            Ok(changes)
        });
        match &outcome {
            Ok(changes) if apply => info!(changed = changes.len(), "prphosts read again"),
            Err(e) if apply => warn!("prphosts not put in force: {e}"),
            _ => {}
        }
        if apply {
            self.last_error = outcome.as_ref().err().map(ToString::to_string);
        }
        for wish in wishes {
            let Some(asker) = wish.asker else { continue };
            let reply = match &outcome {
                Ok(changes) => {
                    let report = serde_json::to_value(Reloaded::new(!wish.dry_run, changes));
                    report.map_or_else(|e| Reply::Error(e.to_string()), Reply::Ok)
                }
                Err(e) => Reply::Error(format!("{e}\nthe routes so far stay in force")),
            };
            self.control.answer(asker, &reply);
        }
    }

    /// What cannot change while it runs.
    fn compatible(&self, table: Table) -> io::Result<Table> {
        let (old, new) = (self.table.routes.local(), table.routes.local());
        let refuse = |what: String| {
            let message = format!("{}: {what}; restart prp-routed", table.file.path().display());
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        };
        if old != new {
            return refuse(format!("this machine would be node {new} and no longer {old}"));
        }
        let (old, new) = (self.table.file.hosts().ethertype(), table.file.hosts().ethertype());
        if old != new {
            return refuse(format!("the EtherType would be {new:#06x} and no longer {old:#06x}"));
        }
        Ok(table)
    }

    /// All at once, between two frames; what can fail comes first.
    fn put_in_force(&mut self, table: Table) -> io::Result<()> {
        let added = table.devices[self.table.devices.len()..].to_vec();
        self.open_links(&added)?;
        self.router.forwarder.set_routes(table.routes.clone());
        self.neighbours.follow(&table.routes, self.clock.now());
        self.carrier_news = true;
        self.table = table;
        self.reloads += 1;
        Ok(())
    }

    fn open_links(&mut self, added: &[Interface]) -> io::Result<()> {
        let hosts = self.table.file.hosts();
        let filter =
            RouterFilter { node: self.table.routes.local(), steward: self.router.is_steward() };
        let mut opened = Vec::new();
        for interface in added {
            let mut device = PacketDevice::open(interface, hosts.ethertype())
                .map_err(|e| explain(&e, interface))?;
            let ours = Device { mac: interface.mac, mtu: device.mtu(), loopback: false };
            let fd = device.as_fd().try_clone_to_owned()?;
            device.set_router_filter(&filter)?;
            let link = Link::new(&interface.name, Box::new(device));
            opened.push((ours, fd, link));
        }
        for (device, fd, link) in opened {
            self.router.forwarder.add_device(device);
            self.poll_fds.push(fd);
            self.router.links.push(link);
        }
        Ok(())
    }
}

/// Says what is missing, and how to mend it, where the kernel only says no.
fn explain(error: &io::Error, interface: &Interface) -> io::Error {
    let name = &interface.name;
    let message = match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES) => format!(
            "{name}: a packet socket needs CAP_NET_RAW: run as root, or see etc/prp-routed.service"
        ),
        _ => format!("{name}: opening a packet socket: {error}"),
    };
    io::Error::new(error.kind(), message)
}
