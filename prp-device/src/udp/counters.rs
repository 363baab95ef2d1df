//! What a UDP device counts.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What a UDP device counts.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct UdpCounters {
    /// GSO batches of at least two datagrams that were sent.
    pub gso_batches_sent: u64,
    /// GSO batches of at least two datagrams that came.
    pub gso_batches_received: u64,
    /// GSO batches that the kernel refused, and that were sent again one datagram at a time.
    pub gso_batches_refused: u64,
    /// GSO tests that failed: datagrams that left alone came, and those of a GSO batch did not.
    pub gso_tests_failed: u64,
    /// How often GSO batches to a node were given up for a while because of such tests.
    pub gso_withdrawn: u64,
    /// Datagrams that did not fit the buffer for them.
    pub truncated: u64,
    /// Datagrams from addresses that prphosts does not list.
    pub strangers: u64,
    /// Errors of the network about what was sent: no socket at a port, no route.
    pub network_errors: u64,
    /// Datagrams that came to the node's own port, and by its holder here.
    pub handed_on: u64,
    /// How often a socket was connected to the process that most datagrams come from.
    pub connects: u64,
    /// Datagrams that came to the node's own port here, and had no addressee: they carried no
    /// packet, or one for a process or a router that the node does not have.
    pub unaddressed: u64,
    /// Datagrams without a byte, and what was handed on without the address that belongs in front.
    pub too_short: u64,
    /// Datagrams that came to the node's own port here, and were too long to be handed on.
    pub too_long: u64,
    /// Datagrams that came to the node's own port here, and that the kernel did not hand on.
    pub not_handed_on: u64,
}

/// What the sockets at a node's own ports drop. They may be on other threads than their device.
#[derive(Debug, Default)]
pub struct NodePortDrops {
    pub(super) unaddressed: AtomicU64,
    pub(super) too_short: AtomicU64,
    pub(super) too_long: AtomicU64,
    pub(super) not_handed_on: AtomicU64,
}

impl NodePortDrops {
    /// `counters`, with what was dropped.
    pub(super) fn add_to(&self, counters: UdpCounters) -> UdpCounters {
        let Self { unaddressed, too_short, too_long, not_handed_on } = self;
        UdpCounters {
            unaddressed: unaddressed.load(Relaxed),
            too_short: counters.too_short + too_short.load(Relaxed),
            too_long: too_long.load(Relaxed),
            not_handed_on: not_handed_on.load(Relaxed),
            ..counters
        }
    }
}

impl UdpCounters {
    /// Every counter, with its name and what it says. Leaving one out does not compile.
    const fn all(self) -> [(CounterKind, &'static str, u64); 14] {
        use CounterKind::{Loss, Traffic, Trouble};
        let Self {
            gso_batches_sent,
            gso_batches_received,
            gso_batches_refused,
            gso_tests_failed,
            gso_withdrawn,
            truncated,
            strangers,
            network_errors,
            handed_on,
            connects,
            unaddressed,
            too_short,
            too_long,
            not_handed_on,
        } = self;
        [
            (Traffic, "gso_batches_sent", gso_batches_sent),
            (Traffic, "gso_batches_received", gso_batches_received),
            (Trouble, "gso_batches_refused", gso_batches_refused),
            (Trouble, "gso_tests_failed", gso_tests_failed),
            (Trouble, "gso_withdrawn", gso_withdrawn),
            (Loss, "truncated", truncated),
            (Loss, "strangers", strangers),
            (Trouble, "network_errors", network_errors),
            (Traffic, "handed_on", handed_on),
            (Traffic, "connects", connects),
            (Loss, "unaddressed", unaddressed),
            (Loss, "too_short", too_short),
            (Loss, "too_long", too_long),
            (Loss, "not_handed_on", not_handed_on),
        ]
    }

    /// Every counter by its name.
    pub fn counters(self) -> impl Iterator<Item = (&'static str, u64)> {
        self.all().into_iter().map(|(_, name, count)| (name, count))
    }

    /// Returns those of [`Self::counters`] that are datagrams which came and went no further.
    pub fn losses(self) -> impl Iterator<Item = (&'static str, u64)> {
        let losses = self.all().into_iter().filter(|(kind, ..)| *kind == CounterKind::Loss);
        losses.map(|(_, name, count)| (name, count))
    }

    /// Returns whether the counter `name` grows where all is well, too.
    pub fn is_traffic(name: &str) -> bool {
        let mut all = Self::default().all().into_iter();
        all.any(|(kind, known, _)| known == name && kind == CounterKind::Traffic)
    }
}

/// What it says that a counter has grown.
#[derive(Copy, Clone, Eq, PartialEq)]
enum CounterKind {
    /// There was something to do.
    Traffic,
    /// Something cost time, or what was sent came to nothing.
    Trouble,
    /// What came went no further.
    Loss,
}
