//! The thread that serves the processes of this node: the registry and the control socket.
//!
//! It is apart from the loop that forwards frames, since it deals with strangers. Where the kernel
//! does not refuse their descriptors (before Linux 6.16), closing a connection may make it wait for
//! what a stranger has attached; frames do not wait with it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{
    Receiver, Sender, SyncSender, TryRecvError, TrySendError, channel, sync_channel,
};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use prp_node::{DownHops, OwnerProbe, RunDir, Service, ServiceListener};
use prp_proto::addr::NodeId;
use prp_proto::endpoint::EstablishedId;
use prp_proto::time::Instant;

use crate::acceptor::Acceptor;
use crate::clock::Clock;
use crate::control::{ClientId, ClientRequest, Control};
use crate::registry::ProcessRegistry;
use crate::report::Reply;

/// What may wait for the loop, which takes it in milliseconds: questions of all clients at once,
/// and resets.
const EVENTS: usize = 64;

/// How long to rest when polling fails, or the loop has not taken what waits.
const RETRY_PAUSE: Duration = Duration::from_millis(1);

/// How long the daemon waits for the thread when it ends.
const GOODBYE: Duration = Duration::from_millis(200);

/// What the loop is told.
#[derive(Debug)]
pub enum Event {
    /// A question of a client.
    Request(ClientRequest),
    /// Connections of dead processes, to be reset.
    Resets(Vec<EstablishedId>),
}

/// What the thread is told.
#[derive(Debug)]
enum ThreadCommand {
    Answer(ClientId, Reply),
    Announce(DownHops),
}

/// The thread, as the loop sees it. It ends when this is dropped.
#[derive(Debug)]
pub struct ServiceHandle {
    commands: Option<Sender<ThreadCommand>>,
    events: Receiver<Event>,
    /// Wakes the thread.
    commands_eventfd: Arc<EventFd>,
    /// Wakes the loop.
    events_eventfd: Arc<EventFd>,
    processes: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread works with. The sockets are bound with the rights the daemon was started with;
/// the thread is started when these have been given up.
#[derive(Debug)]
pub struct LocalService {
    clock: Clock,
    control: Control,
    control_acceptor: Acceptor,
    registry: ProcessRegistry,
    registry_acceptor: Acceptor,
    owners: OwnerProbe,
    commands: Receiver<ThreadCommand>,
    events: SyncSender<Event>,
    commands_eventfd: Arc<EventFd>,
    events_eventfd: Arc<EventFd>,
    processes: Arc<AtomicUsize>,
    /// What the loop has not had room for.
    waiting: Vec<Event>,
}

impl LocalService {
    /// Takes the sockets of `node` in `dir`, which is made if it is not there.
    ///
    /// # Errors
    /// `AddrInUse` if a daemon for `node` runs already; the directory cannot be made or trusted;
    /// there are no descriptors.
    pub fn bind(dir: &RunDir, node: NodeId) -> io::Result<(Self, ServiceHandle)> {
        dir.prepare()?;
        let control = ServiceListener::bind(dir, node, Service::Control)?;
        let registry = ServiceListener::bind(dir, node, Service::Registry)?;
        let eventfd = || EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC);
        let (commands_eventfd, events_eventfd) = (Arc::new(eventfd()?), Arc::new(eventfd()?));
        let ((commands, ordered), (happens, events)) = (channel(), sync_channel(EVENTS));
        let processes = Arc::new(AtomicUsize::new(0));
        let service = Self {
            clock: Clock::start(),
            control: Control::default(),
            control_acceptor: Acceptor::new(control),
            registry: ProcessRegistry::new()?,
            registry_acceptor: Acceptor::new(registry),
            owners: OwnerProbe::new(node)?,
            commands: ordered,
            events: happens,
            commands_eventfd: commands_eventfd.clone(),
            events_eventfd: events_eventfd.clone(),
            processes: processes.clone(),
            waiting: Vec::new(),
        };
        let handle = ServiceHandle {
            commands: Some(commands),
            events,
            commands_eventfd,
            events_eventfd,
            processes,
            thread: None,
        };
        Ok((service, handle))
    }
}

impl ServiceHandle {
    /// Starts the thread of `service`.
    ///
    /// # Errors
    /// No thread can be had.
    pub fn start(&mut self, service: LocalService) -> io::Result<()> {
        let thread = std::thread::Builder::new().name("prp-routed-serve".into());
        self.thread = Some(thread.spawn(move || service.run())?);
        Ok(())
    }

    /// Readable when there are events.
    pub fn eventfd(&self) -> BorrowedFd<'_> {
        self.events_eventfd.as_fd()
    }

    /// What has happened.
    pub fn events(&self) -> Vec<Event> {
        // The eventfd first: what happens after that rings it again.
        let _ = self.events_eventfd.read();
        self.events.try_iter().take(EVENTS).collect()
    }

    /// Processes that are registered.
    pub fn processes(&self) -> usize {
        self.processes.load(Ordering::Relaxed)
    }

    /// Answers a question.
    pub fn answer(&self, asker: ClientId, reply: Reply) {
        self.command(ThreadCommand::Answer(asker, reply));
    }

    /// Announces to every process which next hops not to use.
    pub fn announce(&self, down: DownHops) {
        self.command(ThreadCommand::Announce(down));
    }

    fn command(&self, command: ThreadCommand) {
        if let Some(commands) = &self.commands {
            // Both fail only if the thread is gone, which nothing but a drop of this ends.
            let _ = commands.send(command);
            let _ = self.commands_eventfd.write(1);
        }
    }
}

impl Drop for ServiceHandle {
    fn drop(&mut self) {
        self.commands = None;
        let _ = self.commands_eventfd.write(1);
        // So that it removes its sockets; but a stranger may have made it wait.
        for _ in 0..GOODBYE.as_millis() {
            if self.thread.as_ref().is_none_or(JoinHandle::is_finished) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl LocalService {
    fn run(mut self) {
        loop {
            // The eventfd first: what is sent after that rings it again.
            let _ = self.commands_eventfd.read();
            let now = self.clock.now();
            if !self.run_commands(now) {
                return;
            }
            self.work(now);
            self.processes.store(self.registry.len(), Ordering::Relaxed);
            self.hand_over();
            self.sleep();
        }
    }

    /// Does what the loop has ordered; `false` if the loop is gone.
    fn run_commands(&mut self, now: Instant) -> bool {
        loop {
            match self.commands.try_recv() {
                Ok(ThreadCommand::Answer(asker, reply)) => self.control.answer(now, asker, &reply),
                Ok(ThreadCommand::Announce(down)) => self.registry.announce(now, &down),
                Err(TryRecvError::Empty) => return true,
                Err(TryRecvError::Disconnected) => return false,
            }
        }
    }

    fn work(&mut self, now: Instant) {
        let (control, registry) = (&mut self.control, &mut self.registry);
        self.control_acceptor.poll(now, |stream, user| control.admit(now, stream, user));
        self.registry_acceptor.poll(now, |link, user| registry.admit(link, user));
        self.waiting.extend(control.poll(now).into_iter().map(Event::Request));
        registry.poll(now);
        // While the loop has not taken the last ones there are no more.
        if self.waiting.is_empty() && registry.next_timeout().is_some_and(|at| at <= now) {
            let resets = registry.resets(now, |port| self.owners.is_free(port));
            if !resets.is_empty() {
                self.waiting.push(Event::Resets(resets));
            }
        }
    }

    /// Hands the loop what has happened, as far as there is room.
    fn hand_over(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting).into_iter();
        for event in waiting.by_ref() {
            if let Err(full) = self.events.try_send(event) {
                let (TrySendError::Full(event) | TrySendError::Disconnected(event)) = full;
                self.waiting.push(event);
                break;
            }
            let _ = self.events_eventfd.write(1);
        }
        self.waiting.extend(waiting);
    }

    fn sleep(&self) {
        let now = self.clock.now();
        let due = [
            self.control.next_timeout(),
            self.control_acceptor.next_timeout(),
            self.registry_acceptor.next_timeout(),
            self.registry.next_timeout(),
            (!self.waiting.is_empty()).then(|| now + RETRY_PAUSE),
        ];
        let due = due.into_iter().flatten().min();
        let read = PollFlags::POLLIN;
        let mut fds = vec![PollFd::new(self.commands_eventfd.as_fd(), read)];
        fds.push(PollFd::new(self.registry.fd(), read));
        let acceptors = [&self.control_acceptor, &self.registry_acceptor];
        fds.extend(acceptors.into_iter().filter_map(Acceptor::fd).map(|fd| PollFd::new(fd, read)));
        for (fd, write) in self.control.fds() {
            let room = if write { PollFlags::POLLOUT } else { PollFlags::empty() };
            fds.push(PollFd::new(fd, read | room));
        }
        let timeout = due.map(|due| TimeSpec::from_duration(due.since(now)));
        if ppoll(&mut fds, timeout, None).is_err() {
            // A signal, or no memory: not to be tried at full speed.
            std::thread::sleep(RETRY_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests;
