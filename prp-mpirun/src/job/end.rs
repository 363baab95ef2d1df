//! How a job that has failed is ended.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

/// Ranks that have called `MPI_Abort` write out what they have printed meanwhile.
const ASK: Duration = Duration::from_millis(100);

/// What has not ended then is killed.
const KILL: Duration = Duration::from_millis(600);

/// Agents that say nothing then are given up.
const GIVE_UP: Duration = Duration::from_millis(1500);

/// The end of a job, once it has begun.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    since: Option<Instant>,
    status: u8,
    sent: Option<Signal>,
}

impl Ending {
    /// Begins the end. `false` if it has begun already.
    pub(crate) fn begin(&mut self, status: u8) -> bool {
        if self.since.is_some() {
            return false;
        }
        self.since = Some(Instant::now());
        self.note(status);
        true
    }

    /// Whether it has begun.
    pub(crate) const fn has_begun(&self) -> bool {
        self.since.is_some()
    }

    /// A rank has failed, of which the others need not end.
    pub(crate) const fn note(&mut self, status: u8) {
        if self.status == 0 {
            self.status = status;
        }
    }

    /// The signal that ranks are to be sent now.
    pub(crate) fn due(&mut self) -> Option<Signal> {
        let spent = self.since?.elapsed();
        let due = match spent {
            _ if spent >= KILL => Signal::SIGKILL,
            _ if spent >= ASK => Signal::SIGTERM,
            _ => return None,
        };
        (self.sent.replace(due) != Some(due)).then_some(due)
    }

    /// Whether agents have had their time.
    pub(crate) fn is_over(&self) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= GIVE_UP)
    }

    /// Exit status of the job.
    pub(crate) const fn status(&self) -> u8 {
        self.status
    }
}
