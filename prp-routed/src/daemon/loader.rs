//! Reads prphosts beside the loop, so that no frame waits for a slow disk or a large file.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use nix::sys::eventfd::{EfdFlags, EventFd};
use prp_device::Interface;

use crate::control::ClientId;
use crate::settings::Settings;
use crate::table::Table;

/// A client or a signal that wants prphosts read again.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct ReloadRequest {
    /// To be answered; none for a signal.
    pub(super) asker: Option<ClientId>,
    /// Only to be told what would change.
    pub(super) dry_run: bool,
}

/// A reading and those who wished for it.
pub(super) type Loaded = (io::Result<Table>, Vec<ReloadRequest>);

/// The thread that reads, when there is one, and the clients that wait for it.
#[derive(Debug)]
pub(super) struct Loader {
    /// Rings when there is a result.
    bell: Arc<EventFd>,
    results: Receiver<io::Result<Table>>,
    sender: Sender<io::Result<Table>>,
    reading: Vec<ReloadRequest>,
    /// Wishes that came while it was being read: the file may have changed since, so it is read
    /// again.
    next: Vec<ReloadRequest>,
}

impl Loader {
    pub(super) fn new() -> io::Result<Self> {
        let (sender, results) = channel();
        let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Self { bell: Arc::new(bell), results, sender, reading: Vec::new(), next: Vec::new() })
    }

    /// Readable when there is a result.
    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Has it read, now or after the present reading.
    pub(super) fn wish(&mut self, wish: ReloadRequest, settings: &Settings, devices: &[Interface]) {
        self.next.push(wish);
        if self.reading.is_empty() {
            self.begin(settings, devices);
        }
    }

    fn begin(&mut self, settings: &Settings, devices: &[Interface]) {
        self.reading = std::mem::take(&mut self.next);
        let (settings, devices) = (settings.clone(), devices.to_vec());
        let (sender, bell) = (self.sender.clone(), self.bell.clone());
        let read = move || {
            // Both fail only when the daemon is gone.
            let _ = sender.send(Table::load(&settings, &devices));
            let _ = bell.write(1);
        };
        let thread = std::thread::Builder::new().name("prp-routed-load".into()).spawn(read);
        if let Err(e) = thread {
            let _ = self.sender.send(Err(e));
            let _ = self.bell.write(1);
        }
    }

    /// What has been read. After dealing with it, [`Self::go_on`].
    pub(super) fn take(&mut self) -> Option<Loaded> {
        let _ = self.bell.read();
        let table = self.results.try_recv().ok()?;
        Some((table, std::mem::take(&mut self.reading)))
    }

    /// Reads again for those who have come meanwhile.
    pub(super) fn go_on(&mut self, settings: &Settings, devices: &[Interface]) {
        if self.reading.is_empty() && !self.next.is_empty() {
            self.begin(settings, devices);
        }
    }
}
