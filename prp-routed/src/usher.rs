//! The steward's office at the router (docs/steering.md): the kernel gives each frame to the one process of the node
//! that it is for. What that takes the kernel is not the router's time, so it is a thread's of its own.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::time::TimeSpec;
use prp_sock::node::{Interface, Office, Whom, interfaces};

use crate::clock::Clock;

/// Descriptors the router has for itself: devices, control socket, files, two for each of the processes it registers.
const OWN_DESCRIPTORS: u64 = 4096;

/// How long to rest when polling fails.
const PAUSE: Duration = Duration::from_millis(10);

/// The thread, as the router sees it. It ends when this is dropped.
#[derive(Debug)]
pub struct Usher {
    sender: Option<Sender<Vec<Interface>>>,
    bell: Arc<EventFd>,
}

impl Usher {
    /// Begins to serve the processes that connect to the steward's `listener`, with sockets on `devices`. To be
    /// called when privileges have been given up: the thread takes over what there is.
    ///
    /// # Errors
    /// There are no descriptors, or no thread can be had.
    pub fn start(
        listener: &UnixListener,
        devices: &[Interface],
        ethertype: u16,
    ) -> io::Result<Self> {
        let whom = Whom::Everybody { descriptors: descriptors() };
        let office = Office::open(listener, with_loopback(devices), ethertype, whom)?;
        let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let (bell, (sender, news)) = (Arc::new(bell), channel());
        let heard = bell.clone();
        std::thread::Builder::new()
            .name("usher".into())
            .spawn(move || serve(office, &news, &heard))?;
        Ok(Self { sender: Some(sender), bell })
    }

    /// There are other devices than before.
    pub fn follow(&self, devices: &[Interface]) {
        if let Some(sender) = &self.sender {
            // It fails only if the thread is gone, which nothing but this ends.
            let _ = sender.send(with_loopback(devices));
            let _ = self.bell.write(1);
        }
    }
}

impl Drop for Usher {
    fn drop(&mut self) {
        self.sender = None;
        let _ = self.bell.write(1);
    }
}

/// Processes have sockets on the loopback device too, which a router has no use for.
fn with_loopback(devices: &[Interface]) -> Vec<Interface> {
    let loopback = interfaces().into_iter().filter(|found| found.loopback);
    devices.iter().cloned().chain(loopback).collect()
}

/// Descriptors that may be taken for the sockets of others: half of what is not the router's own.
fn descriptors() -> usize {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or_default();
    // Where there are few, a quarter.
    let others = soft.saturating_sub(OWN_DESCRIPTORS).max(soft / 2);
    usize::try_from(others / 2).unwrap_or(usize::MAX)
}

fn serve(mut office: Office, news: &Receiver<Vec<Interface>>, bell: &EventFd) {
    let clock = Clock::start();
    loop {
        // The bell first: what is sent after that rings it again.
        let _ = bell.read();
        loop {
            match news.try_recv() {
                Ok(devices) => office.set_devices(devices),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return,
            }
        }
        let due = office.work(clock.now());
        let timeout = due.map(|due| due.since(clock.now()));
        let mut fds = vec![PollFd::new(bell.as_fd(), PollFlags::POLLIN)];
        fds.extend(office.fds().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
        if ppoll(&mut fds, timeout.map(TimeSpec::from_duration), None).is_err() {
            // A signal, or no memory for so many: not to be tried at full speed.
            std::thread::sleep(PAUSE);
        }
    }
}
