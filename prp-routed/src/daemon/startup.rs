//! How a daemon starts, step by step. The order of the steps is the point: each needs something
//! that a later one gives up.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use nix::sys::prctl::set_timerslack;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use prp_device::LinkStates;
use prp_device::waiting::WaitPolicy;
use prp_node::{DownHops, RunDir, descriptors, limits};
use prp_proto::forward::Forwarder;
use tracing::{info, warn};

use super::Daemon;
use super::key::KeyFollower;
use super::latest::LatestReading;
use super::loader::Loader;
use crate::clock::Clock;
use crate::exporter::Exporter;
use crate::kernel::Kernel;
use crate::local_service::LocalService;
use crate::neighbours::Neighbours;
use crate::notify::ServiceManager;
use crate::privilege::{self, Identity};
use crate::router::Router;
use crate::seccomp;
use crate::settings::Settings;
use crate::table::Table;

impl Daemon {
    /// Reads prphosts, opens its devices, takes the node's name, and gives up what it does not need
    /// any more.
    ///
    /// # Errors
    /// A mistake in prphosts, a missing privilege, another daemon that runs: each with its fix.
    pub fn start(settings: Settings) -> io::Result<Self> {
        // 1. What must be found before anything is opened.
        check_processor_limit()?;
        let identity = settings.user.as_deref().map(Identity::find).transpose()?;
        let manager = ServiceManager::find();
        // 2. Sockets, and programs for the kernel: files are read and names taken with the rights
        //    it was started with.
        let dir = RunDir::in_force();
        let (mut daemon, service) = Self::open(settings, manager, &dir)?;
        let exporter = daemon.settings.metrics.map(Exporter::bind).transpose()?;
        check_descriptors(daemon.signals.as_fd())?;
        // 3. The user and its capabilities, while there is one thread: they are a thread's own.
        privilege::reduce(identity.as_ref())?;
        // 4. System calls. Threads take that over too.
        if let Err(e) = seccomp::confine() {
            warn!("system calls are not filtered: {e}");
        }
        // 5. Threads, and the programs that wait for the router.
        daemon.check_reload();
        daemon.service.start(service)?;
        daemon.key.start(daemon.table.file.clone(), daemon.table.routes.local())?;
        check_memory()?;
        if let Some(exporter) = exporter {
            exporter.serve(dir, daemon.table.routes.local())?;
        }
        daemon.manager.ready(&daemon.summary());
        let nodes = daemon.table.file.hosts().len();
        info!(node = daemon.node(), nodes, "routing");
        daemon.warn_of_troubles();
        Ok(daemon)
    }

    /// A daemon with all its sockets, and the kernel's part.
    fn open(
        settings: Settings,
        manager: ServiceManager,
        dir: &RunDir,
    ) -> io::Result<(Self, LocalService)> {
        // Before any thread is started, since each takes over which signals it leaves to others.
        let mut set = SigSet::empty();
        let signals = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM, Signal::SIGXCPU];
        signals.into_iter().for_each(|signal| set.add(signal));
        set.thread_block()?;
        let signals = SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?;
        // A nap is as long as it is said to be. Without that, 50 us longer.
        let _ = set_timerslack(1000);
        // Each process of the node costs some. With few it does as well, for fewer processes.
        let _ = descriptors::raise_limit();
        let table = Table::load(&settings, &[])?;
        let node = table.routes.local();
        let (local, service) = LocalService::bind(dir, node)?;
        let ethertype = table.file.hosts().ethertype();
        let forwarder = Forwarder::new(ethertype, table.routes.clone(), Vec::new());
        let neighbours = Neighbours::new(settings.liveness);
        let mut daemon = Self {
            settings,
            clock: Clock::start(),
            router: Router::new(forwarder, Vec::new())?,
            latest: LatestReading::new(&table.file),
            table,
            poll_fds: Vec::new(),
            link_states: LinkStates::watch_with_addresses()?,
            neighbours,
            wait_policy: WaitPolicy::default(),
            service,
            announced: DownHops::default(),
            signals,
            loader: Loader::new()?,
            key: KeyFollower::new()?,
            manager,
            link_news: true,
            troubles: Vec::new(),
            reloads: 0,
        };
        let keyring = daemon.key.read(&daemon.table.file, node);
        daemon.set_keyring(keyring);
        let devices = daemon.table.devices.clone();
        daemon.open_links(&devices)?;
        daemon.follow_devices();
        daemon.neighbours.follow(&daemon.table.routes, daemon.clock.now());
        let Router { forwarder, links, .. } = &daemon.router;
        daemon.router.kernel = Kernel::start(daemon.settings.kernel_forwarding, forwarder, links)?;
        Ok((daemon, local))
    }

    /// Says so if prphosts cannot be read again as the user that this process has now.
    fn check_reload(&self) {
        if let Err(e) = File::open(&self.settings.hosts) {
            let (file, user) = (self.settings.hosts.display(), privilege::own_name());
            warn!("{file}: {e} as user {user}: reading it again will fail, and change nothing");
        }
    }
}

/// Descriptors without which it serves no program: those of a question, of a process and its
/// ledger, of its threads, and of a reading of prphosts.
const SPARE_DESCRIPTORS: usize = 12;

/// Whether there are descriptors left to serve programs with: copies of `any`, for as long as this
/// takes.
fn check_descriptors(any: BorrowedFd<'_>) -> io::Result<()> {
    let copies = (0..SPARE_DESCRIPTORS).map(|_| any.try_clone_to_owned());
    copies.collect::<io::Result<Vec<_>>>().map(drop).map_err(|e| {
        let fix = "LimitNOFILE=, ulimit -n";
        let message = format!("no descriptors are left to serve programs with: {e} ({fix})");
        io::Error::new(e.kind(), message)
    })
}

/// Bytes without which it serves no program: the stack of the thread that reads prphosts again,
/// which the C library keeps, what is read, and an answer.
const SPARE_BYTES: usize = 4 << 20;

/// Whether there is memory left to serve programs with: it is taken for as long as this takes.
fn check_memory() -> io::Result<()> {
    let mut spare = Vec::<u8>::new();
    let taken = spare.try_reserve_exact(SPARE_BYTES);
    std::hint::black_box(&spare);
    taken.map_err(|_| {
        let fix = "LimitAS=, LimitDATA=, ulimit -v, -d";
        let message = format!("no memory is left to serve programs with ({fix})");
        io::Error::new(io::ErrorKind::OutOfMemory, message)
    })
}

/// Says so where the kernel is to end this process after some time.
///
/// # Errors
/// The time is too short for anything.
fn check_processor_limit() -> io::Result<()> {
    let Some(seconds) = limits::processor_seconds() else { return Ok(()) };
    let fix = "a daemon needs LimitCPU=infinity (ulimit -t unlimited)";
    if seconds < 2 {
        return Err(io::Error::other(format!("RLIMIT_CPU is {seconds} s: {fix}")));
    }
    warn!("RLIMIT_CPU ends this daemon after {seconds} s of processor time: {fix}");
    Ok(())
}
