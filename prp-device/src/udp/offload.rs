//! To which neighbours datagrams leave in GSO batches: those to which GSO batches are known to get
//! through, by the path that they take now (SPEC PRP-UDP-7). Kernels and network cards have dropped
//! and garbled GSO batches without a word.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use prp_proto::addr::UdpPeer;
use prp_proto::wire::GsoProbe;

/// How long datagrams leave alone after GSO batches were refused, or were lost: a route, or the
/// device behind it, may have changed by then.
const REST: Duration = Duration::from_mins(2);

/// How often GSO batches in use are tested: twice that, with the time that tests take, is less than
/// a second. 16 full datagrams are 0.8 Mbit/s.
const TEST_EVERY: Duration = Duration::from_millis(250);

/// Bytes that GSO batches could carry for each byte of a test, so that a slow link is left to the
/// data: tests take 1.6 % of it at most.
const BYTES_FOR_EACH_TESTED: u64 = 64;

/// Tests that may be saved up: where GSO batches come to be lost, little is sent until a test
/// fails.
const SAVED_TESTS: u64 = 2;

/// How long GSO batches are sent after a test that they passed. One test may be lost in that time.
/// A flow that is too slow to be tested is as quick without GSO batches.
const LASTS: Duration = Duration::from_secs(2);

/// How soon a test is repeated that has said nothing: its datagrams may have met a full queue.
const TEST_AGAIN: Duration = Duration::from_millis(20);

/// How long a report on a GSO batch may come after one on the datagrams that left alone.
const GRACE: Duration = Duration::from_millis(20);

/// After this time without a report the test has said nothing.
const GIVE_UP: Duration = Duration::from_secs(1);

/// Failed tests in a row after which GSO batches are not sent: one may fail by a full queue.
const FAILURES: u32 = 2;

/// What is known of GSO batches to a neighbour.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
enum Trust {
    #[default]
    Unknown,
    Given {
        until: Instant,
    },
    Withdrawn {
        until: Instant,
    },
}

/// A test that goes on.
#[derive(Copy, Clone, Debug)]
struct Test {
    id: u32,
    started: Instant,
    /// Datagrams of the GSO batch, and as many that left alone.
    count: u32,
    came: u16,
    /// When enough of those that left alone had come.
    alone_at: Option<Instant>,
}

impl Test {
    fn batched(&self) -> u32 {
        (self.came & 0xff).count_ones()
    }

    fn alone(&self) -> u32 {
        (self.came >> 8).count_ones()
    }
}

/// A neighbour.
#[derive(Debug, Default)]
struct Path {
    trust: Trust,
    test: Option<Test>,
    test_at: Option<Instant>,
    failures: u32,
    /// Bytes that GSO batches could carry, for which no test has been made.
    untested: u64,
    /// How many of them the largest test takes.
    largest_price: u64,
}

/// What has become of tests.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Outcomes {
    pub(super) failed: u64,
    pub(super) withdrawn: u64,
}

/// The neighbours that GSO batches are for.
#[derive(Debug, Default)]
pub(super) struct Offload {
    paths: HashMap<UdpPeer, Path>,
    next_id: u32,
    outcomes: Outcomes,
    /// Tests are as large a part of what is sent as they like.
    tests_freely: bool,
}

impl Offload {
    /// Whether datagrams to `peer` may leave in GSO batches.
    pub(super) fn is_on(&mut self, peer: UdpPeer, now: Instant) -> bool {
        let path = self.paths.entry(peer).or_default();
        path.judge(now, &mut self.outcomes);
        matches!(path.trust, Trust::Given { .. })
    }

    /// `bytes` bytes left to `peer` in a GSO batch, or could have.
    pub(super) fn note_sent(&mut self, peer: UdpPeer, bytes: usize) {
        self.paths.entry(peer).or_default().untested += bytes as u64;
    }

    /// The number of a GSO test to `peer` that is to be made now, by as many datagrams of
    /// `size` bytes of each kind as `count`.
    pub(super) fn start_test(
        &mut self,
        peer: UdpPeer,
        (count, size): (usize, usize),
        now: Instant,
    ) -> Option<u32> {
        let path = self.paths.entry(peer).or_default();
        let price = 2 * (count * size) as u64 * BYTES_FOR_EACH_TESTED;
        let price = if self.tests_freely { 0 } else { price };
        path.largest_price = path.largest_price.max(price);
        path.untested = path.untested.min(SAVED_TESTS * path.largest_price);
        let is_due = path.test.is_none() && path.test_at.is_none_or(|at| at <= now);
        // Where a test has failed the next one decides, and datagrams are lost until then.
        let is_paid = path.untested >= price || path.failures > 0;
        if !is_due || !is_paid || matches!(path.trust, Trust::Withdrawn { .. }) {
            return None;
        }
        path.untested = path.untested.saturating_sub(price);
        self.next_id = self.next_id.wrapping_add(1);
        let (id, count) = (self.next_id, count.min(GsoProbe::MAX_PROBES) as u32);
        path.test = Some(Test { id, started: now, count, came: 0, alone_at: None });
        Some(id)
    }

    /// The test could not be made.
    pub(super) fn put_test_off(&mut self, peer: UdpPeer, now: Instant) {
        let path = self.paths.entry(peer).or_default();
        (path.test, path.test_at) = (None, Some(now + TEST_AGAIN));
    }

    /// `peer` says which datagrams of test `id` have come.
    pub(super) fn note_report(&mut self, peer: UdpPeer, id: u32, came: u16, now: Instant) {
        let Some(path) = self.paths.get_mut(&peer) else { return };
        let Some(test) = path.test.as_mut().filter(|test| test.id == id) else { return };
        test.came |= came;
        if test.alone() + 1 >= test.count {
            test.alone_at.get_or_insert(now);
        }
        path.judge(now, &mut self.outcomes);
    }

    /// The kernel takes no GSO batches to `peer`: none for a while.
    pub(super) fn refuse(&mut self, peer: UdpPeer, now: Instant) {
        self.paths.entry(peer).or_default().withdraw(now);
    }

    /// Tests are made as soon as there are GSO batches, and as often as they are due.
    pub(super) fn test_freely(&mut self) {
        self.tests_freely = true;
    }

    /// Forgets what is known: neighbours have other numbers now.
    pub(super) fn forget_paths(&mut self) {
        self.paths.clear();
    }

    /// What has become of tests.
    pub(super) const fn outcomes(&self) -> Outcomes {
        self.outcomes
    }
}

impl Path {
    fn withdraw(&mut self, now: Instant) {
        (self.trust, self.test) = (Trust::Withdrawn { until: now + REST }, None);
        (self.test_at, self.failures) = (None, 0);
    }

    /// Ends a test and a rest that are over.
    fn judge(&mut self, now: Instant, outcomes: &mut Outcomes) {
        if let Trust::Given { until } | Trust::Withdrawn { until } = self.trust
            && until <= now
        {
            self.trust = Trust::Unknown;
        }
        let Some(test) = self.test else { return };
        let waited = |at: Instant| now.duration_since(at);
        if test.batched() >= test.count && test.alone_at.is_some() {
            (self.trust, self.failures) = (Trust::Given { until: now + LASTS }, 0);
            (self.test, self.test_at) = (None, Some(now + TEST_EVERY));
        } else if let Some(alone_at) = test.alone_at {
            // A slow path has as much time again.
            if waited(alone_at) < GRACE.max(alone_at.duration_since(test.started)) {
                return;
            }
            self.test = None;
            // Single losses say nothing.
            if 2 * test.batched() > test.count {
                self.test_at = Some(now + TEST_AGAIN);
                return;
            }
            self.test_at = Some(now);
            outcomes.failed += 1;
            self.failures += 1;
            if self.failures >= FAILURES {
                outcomes.withdrawn += 1;
                self.withdraw(now);
            }
        } else if waited(test.started) >= GIVE_UP {
            (self.test, self.test_at) = (None, Some(now));
        }
    }
}

#[cfg(test)]
mod tests;
