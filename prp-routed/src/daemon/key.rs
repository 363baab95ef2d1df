//! The cluster's key as the daemon has it: read at its start with the rights that it has then, and
//! followed beside the loop, so that no frame waits for a slow disk.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sys::eventfd::{EfdFlags, EventFd};
use prp_node::{HostsFile, KeyWatch};
use prp_proto::addr::NodeId;
use prp_proto::key::Keyring;
use tracing::{info, warn};

use super::Daemon;

/// From one look at the file to the next, as processes do.
const INTERVAL: Duration = Duration::from_secs(2);

/// Other keys; none if the file is again the one in force, or is gone; or what is wrong with it.
type KeyNews = io::Result<Option<Keyring>>;

/// The key file, and the thread that looks at it.
#[derive(Debug)]
pub(super) struct KeyFollower {
    watch: Option<KeyWatch>,
    /// Rings when there is news.
    eventfd: Arc<EventFd>,
    news: Receiver<KeyNews>,
    sender: Sender<KeyNews>,
    /// Has the thread look at once, by this prphosts from now on; ends it when it is dropped.
    looks: Option<Sender<HostsFile>>,
    /// Why the file is not in force, where it is not.
    pub(super) problem: Option<String>,
}

impl KeyFollower {
    /// Nothing is read yet.
    pub(super) fn new() -> io::Result<Self> {
        let (sender, news) = channel();
        let eventfd = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let (watch, eventfd) = (Some(KeyWatch::in_force()), Arc::new(eventfd));
        Ok(Self { watch, eventfd, news, sender, looks: None, problem: None })
    }

    /// Reads the files of `node` for the first time; the keys, if there are some.
    pub(super) fn read(&mut self, hosts: &HostsFile, node: NodeId) -> Option<Keyring> {
        match self.watch.as_mut()?.keyring(hosts, node) {
            Ok(keys) => keys,
            Err(e) => {
                self.fail(&e);
                // As not seen: it may be made readable.
                self.watch = Some(KeyWatch::in_force());
                None
            }
        }
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// No thread can be had.
    pub(super) fn start(&mut self, mut hosts: HostsFile, node: NodeId) -> io::Result<()> {
        let Some(mut watch) = self.watch.take() else { return Ok(()) };
        let (looks, asked) = channel();
        let (sender, eventfd) = (self.sender.clone(), self.eventfd.clone());
        self.looks = Some(looks);
        let follow = move || {
            let mut failed = None;
            loop {
                match asked.recv_timeout(INTERVAL) {
                    Ok(now) => hosts = now,
                    Err(RecvTimeoutError::Timeout) => (),
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let mut read = None;
                let outcome = watch.follow(&hosts, node, |keys| {
                    read = Some(keys);
                    Ok(())
                });
                let error = outcome.err();
                let words = error.as_ref().map(ToString::to_string);
                let is_other = words != failed;
                let news = match error {
                    Some(e) => is_other.then_some(Err(e)),
                    None => (is_other || read.is_some()).then_some(Ok(read)),
                };
                failed = words;
                if let Some(news) = news {
                    // Both fail only when the daemon is gone.
                    let _ = sender.send(news);
                    let _ = eventfd.write(1);
                }
            }
        };
        let thread = thread::Builder::new().name("prp-routed-key".into()).spawn(follow);
        thread.map(drop).map_err(|e| {
            let limits = "RLIMIT_NPROC, pids.max, RLIMIT_AS";
            let message = format!("no thread to follow the cluster key ({limits}): {e}");
            io::Error::new(e.kind(), message)
        })
    }

    /// Has the thread look at the files now, by this prphosts.
    pub(super) fn look(&self, hosts: &HostsFile) {
        if let Some(looks) = &self.looks {
            let _ = looks.send(hosts.clone());
        }
    }

    /// Readable when there is news.
    pub(super) fn eventfd(&self) -> BorrowedFd<'_> {
        self.eventfd.as_fd()
    }

    fn fail(&mut self, error: &io::Error) {
        let problem = format!("the cluster key is not in force as the file has it: {error}");
        warn!("{problem}");
        self.problem = Some(problem);
    }
}

impl Daemon {
    /// Puts keys in force that have been read since.
    pub(super) fn follow_key(&mut self) {
        let _ = self.key.eventfd.read();
        while let Ok(news) = self.key.news.try_recv() {
            match news {
                Ok(keys) => {
                    self.key.problem = None;
                    if keys.is_some() {
                        self.set_keyring(keys);
                    }
                }
                Err(e) => self.key.fail(&e),
            }
        }
    }

    /// Signs with `keyring` from now on, if there is one.
    pub(super) fn set_keyring(&mut self, keyring: Option<Keyring>) {
        if let Some(keyring) = &keyring {
            info!(key = keyring.used_id(), "what this router says is signed");
        }
        self.router.forwarder.set_keyring(keyring);
    }
}
