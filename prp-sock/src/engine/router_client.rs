//! This process at its node's router: prp-routed resets our connections should we be killed, and
//! tells which neighbours are not to be used. Without a router nothing of this happens, and nothing
//! is missing.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use prp_node::fork::CloseOnFork;
use prp_node::registry::{Registration, RouterUpdate};
use prp_node::{DownHops, Ledger, RunDir, Service};
use prp_proto::time::Instant;

use super::Engine;
use super::core::Core;
use super::wait::earliest;

/// How soon after the end of a router its successor is sought, doubling up to the second one: a
/// failed attempt costs microseconds, and a process that is idle does nothing else.
const RETRY_INTERVAL: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A router that has stayed for this long did not send this process away.
const STAYED: Duration = Duration::from_secs(1);

/// How long what a router has said is believed after its end: its successor says it anew.
const BELIEVED_FOR: Duration = Duration::from_secs(10);

/// How long to wait for a place in the router's queue: it accepts within milliseconds, and this
/// thread watches links too.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(200);

/// Our side of it.
#[derive(Debug)]
pub(super) struct RouterClient {
    dir: RunDir,
    link: Option<CloseOnFork<Registration>>,
    /// Next hops that are not to be used.
    pub(super) down: DownHops,
    /// Since when there has been a router, or none.
    since: Instant,
    retry_at: Instant,
    pause: Duration,
    /// When to forget what the last one said.
    forget_at: Option<Instant>,
}

impl RouterClient {
    /// None yet. The router is that of the calling thread's network namespace.
    pub(super) fn new() -> Self {
        Self {
            dir: RunDir::in_force(),
            link: None,
            down: DownHops::default(),
            since: Instant::ZERO,
            retry_at: Instant::ZERO,
            pause: RETRY_INTERVAL.0,
            forget_at: None,
        }
    }

    /// What to poll for news.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.link.as_ref().map(AsFd::as_fd)
    }

    /// Whether this process is registered.
    pub(super) const fn is_registered(&self) -> bool {
        self.link.is_some()
    }

    /// Does what there is to do; when to be called again without news.
    pub(super) fn poll(&mut self, engine: &Engine) -> Option<Instant> {
        let now = engine.now();
        if let Some(link) = &mut self.link {
            match link.receive() {
                Ok(news) => self.take(engine, news),
                Err(_) => self.disconnect(engine, now),
            }
        }
        if self.link.is_none() && self.retry_at <= now {
            self.connect(engine, now);
        }
        if self.forget_at.take_if(|at| *at <= now).is_some() {
            self.down = DownHops::default();
        }
        earliest(self.forget_at, self.link.is_none().then_some(self.retry_at))
    }

    fn take(&mut self, engine: &Engine, news: RouterUpdate) {
        if let Some(ledger) = news.ledger {
            engine.lock().keep_ledger(Some(ledger));
        }
        if let Some(down) = news.down {
            (self.forget_at, self.down) = (None, down);
        }
    }

    /// Connects to a router if there is one. It says the rest.
    fn connect(&mut self, engine: &Engine, now: Instant) {
        self.since = now;
        match self.dir.connect(engine.local_node(), Service::Registry, CONNECT_TIMEOUT) {
            Ok(link) => self.link = Some(CloseOnFork::new(Registration::new(link))),
            Err(_) => self.postpone(now),
        }
    }

    /// The router is gone.
    fn disconnect(&mut self, engine: &Engine, now: Instant) {
        engine.lock().keep_ledger(None);
        self.link = None;
        self.forget_at = Some(now + BELIEVED_FOR);
        if now.since(self.since) >= STAYED {
            self.pause = RETRY_INTERVAL.0;
        }
        self.postpone(now);
    }

    fn postpone(&mut self, now: Instant) {
        self.retry_at = now + self.pause;
        self.pause = (self.pause * 2).min(RETRY_INTERVAL.1);
    }
}

impl Core {
    /// From now on writes down which connections are established, or no more.
    fn keep_ledger(&mut self, ledger: Option<Ledger>) {
        self.endpoint.track_connections(ledger.is_some());
        self.node.ledger = ledger;
        self.note_connections();
    }

    /// Brings the ledger, if there is one, up to date.
    pub(super) fn note_connections(&mut self) {
        let Some(ledger) = &self.node.ledger else { return };
        while let Some(change) = self.endpoint.poll_connection_change() {
            ledger.note(change);
        }
    }
}

#[cfg(test)]
mod tests;
