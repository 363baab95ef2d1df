//! Reads prphosts beside the loop, so that no frame waits for a slow disk or a large file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use nix::sys::eventfd::{EfdFlags, EventFd};
use prp_device::Interface;
use prp_node::hosts::FileVersion;

use crate::control::ClientId;
use crate::settings::Settings;
use crate::table::Table;

/// Who wants prphosts read again, and what for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum ReloadRequest {
    /// To put it in force. There is a client to be answered, or it was a signal or a device.
    Apply(Option<ClientId>),
    /// To tell a client what would change.
    DryRun(ClientId),
    /// To tell a client how the daemon is.
    Status(ClientId),
}

/// What there was in the file.
#[derive(Debug)]
pub(super) struct Reading {
    /// None if the file could not be looked at. Where it was written meanwhile it is the one
    /// before.
    pub(super) version: Option<FileVersion>,
    pub(super) table: io::Result<Table>,
}

/// A reading and the clients that asked for it.
pub(super) type Loaded = (Reading, Vec<ReloadRequest>);

/// The thread that reads, when there is one, and the clients that wait for it.
#[derive(Debug)]
pub(super) struct Loader {
    /// Rings when there is a result.
    eventfd: Arc<EventFd>,
    results: Receiver<Reading>,
    sender: Sender<Reading>,
    reading: Vec<ReloadRequest>,
    /// Wishes that came while it was being read: the file may have changed since, so it is read
    /// again.
    next: Vec<ReloadRequest>,
}

impl Loader {
    pub(super) fn new() -> io::Result<Self> {
        let (sender, results) = channel();
        let eventfd = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Self {
            eventfd: Arc::new(eventfd),
            results,
            sender,
            reading: Vec::new(),
            next: Vec::new(),
        })
    }

    /// Readable when there is a result.
    pub(super) fn eventfd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }

    /// Has it read, now or after the present reading.
    pub(super) fn request_reload(
        &mut self,
        request: ReloadRequest,
        settings: &Settings,
        devices: &[Interface],
    ) {
        self.next.push(request);
        if self.reading.is_empty() {
            self.begin(settings, devices);
        }
    }

    fn begin(&mut self, settings: &Settings, devices: &[Interface]) {
        self.reading = std::mem::take(&mut self.next);
        let (settings, devices) = (settings.clone(), devices.to_vec());
        let (sender, eventfd) = (self.sender.clone(), self.eventfd.clone());
        let read = move || {
            // Both fail only when the daemon is gone.
            let _ = sender.send(Reading::take(&settings, &devices));
            let _ = eventfd.write(1);
        };
        let thread = std::thread::Builder::new().name("prp-routed-load".into()).spawn(read);
        if let Err(e) = thread {
            let message = format!("no thread to read prphosts (RLIMIT_NPROC, pids.max): {e}");
            let table = Err(io::Error::new(e.kind(), message));
            let _ = self.sender.send(Reading { version: None, table });
            let _ = self.eventfd.write(1);
        }
    }

    /// What has been read. After dealing with it, [`Self::read_again`].
    pub(super) fn take(&mut self) -> Option<Loaded> {
        let _ = self.eventfd.read();
        let reading = self.results.try_recv().ok()?;
        Some((reading, std::mem::take(&mut self.reading)))
    }

    /// Reads again for those who have come meanwhile.
    pub(super) fn read_again(&mut self, settings: &Settings, devices: &[Interface]) {
        if self.reading.is_empty() && !self.next.is_empty() {
            self.begin(settings, devices);
        }
    }
}

impl Reading {
    fn take(settings: &Settings, devices: &[Interface]) -> Self {
        let version = FileVersion::of(&settings.hosts).ok();
        Self { version, table: Table::load(settings, devices) }
    }
}
