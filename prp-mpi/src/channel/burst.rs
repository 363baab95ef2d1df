//! Bursts: messages that a program begins to send to one rank before it waits for anything.
//!
//! Programs repeat themselves: a rank that exchanges the edges of its part begins the same messages
//! in every step. So a channel expects as many messages as in the last burst, and all but the last
//! one wait, to leave in one segment with it. That is a guess, which delays messages where it is
//! wrong. The channel keeps an account: what a message saves that leaves with another one, less the
//! time for which messages wait. It lets them wait only while the balance is not negative.

use std::time::{Duration, Instant};

/// What a message saves that leaves with another one: about what a segment costs its sender and its
/// receiver (2.2 us for 64 bytes between two network namespaces, `bench --mpi`).
const SAVED: i64 = 2_000;

/// The balance of a new channel: eight bursts of two show that the program is in a loop.
const AT_FIRST: i64 = -8 * SAVED;

/// Largest balance: a program that begins to compute between its messages loses no more than that.
const MAX_BALANCE: i64 = 50 * SAVED;

/// The bursts of a channel.
#[derive(Debug)]
pub(super) struct Bursts {
    /// Messages of the burst that is in progress.
    begun: u32,
    /// Messages of the last burst.
    length: u32,
    /// Nanoseconds that messages may wait without being joined.
    balance: i64,
    /// When the program was left to itself after the last message, if messages are expected.
    left: Option<Instant>,
    /// [`Self::is_overdue`] has seen messages of the burst in progress waiting.
    was_seen: bool,
}

impl Bursts {
    pub(super) const fn new() -> Self {
        Self { begun: 0, length: 0, balance: AT_FIRST, left: None, was_seen: false }
    }

    /// Whether a burst has begun and not ended.
    pub(super) const fn have_begun(&self) -> bool {
        self.begun > 0
    }

    /// A message is begun. Whether it may wait for the next one.
    pub(super) fn begin(&mut self, now: impl FnOnce() -> Instant) -> bool {
        self.begun += 1;
        if self.length < 2 {
            return false;
        }
        let now = now();
        if self.left.is_some() && self.begun <= self.length {
            self.balance += SAVED;
        }
        self.pay(now);
        self.left = self.is_expecting().then_some(now);
        self.may_wait()
    }

    /// The last message of the burst was sent at once: the program did nothing else meanwhile.
    pub(super) fn sent(&mut self, now: impl FnOnce() -> Instant) {
        if self.left.is_some() {
            self.left = Some(now());
        }
    }

    /// A call sends at once, polls or waits: the burst in progress has ended.
    pub(super) fn end(&mut self, now: impl FnOnce() -> Instant) {
        if self.begun == 0 {
            return;
        }
        if self.left.is_some() {
            self.pay(now());
        }
        self.length = self.begun;
        self.begun = 0;
        self.was_seen = false;
    }

    /// Another thread checks. Whether messages wait that it has seen before.
    pub(super) fn is_overdue(&mut self, now: impl FnOnce() -> Instant) -> bool {
        let is_overdue = self.may_wait() && self.was_seen;
        self.was_seen = self.may_wait();
        if is_overdue {
            self.pay(now());
        }
        is_overdue
    }

    /// Whether the burst in progress goes on if it is as long as the last one.
    const fn is_expecting(&self) -> bool {
        0 < self.begun && self.begun < self.length
    }

    const fn may_wait(&self) -> bool {
        self.is_expecting() && self.balance >= 0
    }

    /// Takes the time from the account for which the last message waits, or would wait.
    fn pay(&mut self, now: Instant) {
        let waited = self.left.take().map_or(Duration::ZERO, |left| now.duration_since(left));
        let waited = i64::try_from(waited.as_nanos()).unwrap_or(i64::MAX);
        self.balance = self.balance.saturating_sub(waited).min(MAX_BALANCE);
    }
}

#[cfg(test)]
mod tests;
