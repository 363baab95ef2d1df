//! This process at its node's router: prp-routed resets our connections should we be killed, and tells which
//! neighbours are not to be used. Without a router nothing of this happens, and nothing is missing.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use crate::register::{self, DownHops, Ledger};
use crate::sys::fork::CloseOnFork;
use crate::sys::rights;

/// How soon after the end of a router its successor is looked for, doubling up to the second one: a failed
/// look costs microseconds, and a process that is idle does nothing else.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A router that has stayed for so long did not send us away.
const STAYED: Duration = Duration::from_secs(1);

/// How long what a router has said is believed after its end: its successor says it anew.
const BELIEVED_FOR: Duration = Duration::from_secs(10);

/// Our side of it.
#[derive(Debug)]
pub(super) struct Registration {
    link: Option<CloseOnFork<UnixStream>>,
    bytes: Vec<u8>,
    /// Next hops that are not to be used.
    pub(super) said: DownHops,
    /// Since when there has been a router, or none.
    since: Instant,
    look_at: Instant,
    pause: Duration,
    /// When to forget what the last one said.
    forget_at: Option<Instant>,
}

impl Registration {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            link: None,
            bytes: Vec::new(),
            said: DownHops::default(),
            since: Instant::ZERO,
            look_at: Instant::ZERO,
            pause: LOOK_AGAIN.0,
            forget_at: None,
        }
    }

    /// What to poll for news.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.link.as_ref().map(AsFd::as_fd)
    }

    /// Does what there is to do; when to be called again by itself.
    pub(super) fn look(&mut self, engine: &Engine) -> Option<Instant> {
        let now = engine.now();
        if self.link.is_some() {
            match self.hear() {
                Ok(None) => return None,
                Ok(Some(down)) => {
                    (self.forget_at, self.said) = (None, down);
                    return None;
                }
                Err(_) => self.lose(engine, now),
            }
        }
        if self.look_at <= now {
            self.seek(engine, now);
        }
        if self.forget_at.take_if(|at| *at <= now).is_some() {
            self.said = DownHops::default();
        }
        if self.link.is_some() {
            return self.forget_at;
        }
        Some(self.forget_at.map_or(self.look_at, |at| at.min(self.look_at)))
    }

    /// Looks for a router, and registers if there is one.
    fn seek(&mut self, engine: &Engine, now: Instant) {
        let node = engine.local_node();
        let found = register::name(node).and_then(|name| UnixStream::connect_addr(&name));
        let registered = found.and_then(|link| {
            link.set_nonblocking(true)?;
            if !register::is_router(&link) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            let ledger = Ledger::new()?;
            register::send_ledger(&link, &ledger)?;
            engine.lock().keep_ledger(Some(ledger));
            Ok(CloseOnFork::new(link))
        });
        self.since = now;
        match registered {
            Ok(link) => self.link = Some(link),
            Err(_) => self.put_off(now),
        }
    }

    /// The router is gone.
    fn lose(&mut self, engine: &Engine, now: Instant) {
        engine.lock().keep_ledger(None);
        (self.link, self.bytes) = (None, Vec::new());
        self.forget_at = Some(now + BELIEVED_FOR);
        if now.since(self.since) >= STAYED {
            self.pause = LOOK_AGAIN.0;
        }
        self.put_off(now);
    }

    fn put_off(&mut self, now: Instant) {
        self.look_at = now + self.pause;
        self.pause = (self.pause * 2).min(LOOK_AGAIN.1);
    }

    /// The last of what the router has said since.
    fn hear(&mut self) -> io::Result<Option<DownHops>> {
        let Some(link) = &self.link else { return Ok(None) };
        let (mut buffer, mut heard) = ([0; 1024], None);
        loop {
            match rights::receive(link.as_fd(), &mut buffer) {
                Ok((0, _)) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok((n, _)) => self.bytes.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(heard),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            while let Some(down) = DownHops::take(&mut self.bytes)? {
                heard = Some(down);
            }
        }
    }
}

impl Core {
    /// From now on writes down which connections stand, or no more.
    fn keep_ledger(&mut self, ledger: Option<Ledger>) {
        self.endpoint.keep_roster(ledger.is_some());
        self.ledger = ledger;
        self.note_roster();
    }

    /// Brings the ledger, if there is one, up to date.
    pub(super) fn note_roster(&mut self) {
        let Some(ledger) = &self.ledger else { return };
        while let Some(change) = self.endpoint.poll_roster() {
            ledger.note(change);
        }
    }
}
