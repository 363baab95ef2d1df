//! What a checker needs that takes one endpoint along several paths: to tell states apart, and to
//! know what each waits for.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::Endpoint;
use crate::time::Instant;

impl Endpoint {
    /// Puts everything that decides what happens next into `state`. Settings and counters do not
    /// decide it; neither does the order of the timer queue, nor which of the few connections here
    /// has stayed longest, nor, as long as the process does not leave, what it would send then.
    pub fn fingerprint<H: Hasher>(&self, state: &mut H) {
        self.table.fingerprint(state);
        self.listeners.hash(state);
        self.ports.hash(state);
        self.refusals.hash(state);
        self.echoes.hash(state);
        self.rng.get_word_pos().hash(state);
        (&self.transmit_queue, &self.stalled).hash(state);
        self.scheduler.hash(state);
        self.event_queue.hash(state);
        (&self.sent, &self.owing, self.reports_unowned, self.answers_echoes).hash(state);
        let mut proven: Vec<_> = self.proven.iter().collect();
        proven.sort_unstable();
        proven.hash(state);
        self.unconfirmed.fingerprint(state);
    }

    /// The earliest deadline of any connection. [`Self::poll_timeout`] may name an earlier time, at
    /// which nothing is due.
    pub fn next_deadline(&self) -> Option<Instant> {
        let deadlines = self.table.handles().into_iter().filter_map(|h| self.table.get(h));
        deadlines.filter_map(|conn| conn.timers.earliest()).min()
    }
}
