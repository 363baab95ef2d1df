//! The times of the protocol that no application sets, as section 15 of the SPEC lists them. Those
//! that applications set are in [`config`](crate::config).

use core::time::Duration;

use crate::config::Keepalive;

/// Time to the first repeat of an unanswered request. The answer takes microseconds when the
/// server's process runs, a few time slices of 4 ms when it must wait for a processor.
pub(crate) const REQUEST_FIRST: Duration = Duration::from_millis(20);

/// Longest time between two repeats of a request.
pub(crate) const REQUEST_MAX: Duration = Duration::from_secs(1);

/// Time that a server that knows our options has to answer with them, after an answer has come
/// without. Any station that can send a frame in its name can send a CACK without payload, which
/// names no id. The request is repeated three times meanwhile (after 20, 60 and 140 ms).
pub(crate) const EXTENDED_ANSWER: Duration = Duration::from_millis(200);

/// Probing of a client that has not confirmed our CACK yet. A stale or forged request must not hold
/// a connection for long; a client that was stopped for ten seconds right after connecting must
/// keep it.
pub(crate) const UNCONFIRMED: Keepalive =
    Keepalive { idle: Duration::from_secs(1), interval: Duration::from_secs(3), probes: 9 };

/// Time between the first probes of an unconfirmed connection: the last of them goes out 0.4 s
/// before the connection is overdue.
pub(crate) const UNCONFIRMED_EARLY: Duration = Duration::from_millis(300);

/// Time without confirmation after which another request of the node may have a connection's place,
/// if its first probes have had no answer.
pub(crate) const UNCONFIRMED_OVERDUE: Duration = Duration::from_secs(2);

/// Least retransmission timeout.
///
/// A round trip here takes microseconds, a time slice of a busy kernel milliseconds: with both ends
/// on one core the peer may be kept from the processor for several slices (HZ 250: 4 ms each) while
/// nothing is lost. Twenty milliseconds is five of them. Lost tails do not wait for it: the
/// tail-loss probe comes first.
pub(crate) const MIN_RTO: Duration = Duration::from_millis(20);

/// Largest retransmission timeout: a peer that comes back is found within two seconds.
pub(crate) const MAX_RTO: Duration = Duration::from_secs(2);

/// Timeout before any round trip was measured.
pub(crate) const FIRST_RTO: Duration = Duration::from_millis(50);

/// Least tail-loss probe timeout: one frame sent needlessly when the peer lost the processor for a
/// slice is cheap, a window stalled for [`MIN_RTO`] is not. Where one frame in twenty is lost, an
/// acknowledgement of all that is in flight is lost hundreds of times in a second.
pub(crate) const MIN_PROBE: Duration = Duration::from_millis(1);

/// Least reordering window. A bridge, a router with two queues or a second processor can swap
/// frames by a few frame times; twenty full frames at 1 Gbit/s are 240 us, at veth speed 40.
pub(crate) const MIN_REORDERING: Duration = Duration::from_micros(50);

/// Longest an acknowledgement waits for data to ride on. An answer is usually written within
/// microseconds; the peer needs no acknowledgement sooner than its probe timeout of a millisecond.
pub(crate) const ACK_DELAY: Duration = Duration::from_micros(500);

/// Time between two probes of a segment size.
pub(crate) const SIZE_PROBE_PAUSE: Duration = Duration::from_millis(20);

/// Time after which sizes that did not get through are tried again: routes change, and tunnels end.
pub(crate) const SIZE_RETRY: Duration = Duration::from_secs(60);

/// Time that the end that acknowledged the last EOC stays to acknowledge it again. A repeat comes
/// after a tail-loss probe or a timeout of at least 20 ms; three of them, doubling, fit.
pub(crate) const TIME_WAIT: Duration = Duration::from_millis(150);

/// Time that a connection whose application is gone waits for the peer to close its side, once the
/// peer has everything: as long as Linux leaves an orphan in FIN-WAIT-2.
pub(crate) const ORPHAN_WAIT: Duration = Duration::from_secs(60);

/// Time that such a connection waits for a peer that is alive and takes nothing more: about as long
/// as Linux asks an orphan's peer about its closed window (`tcp_orphan_retries`).
pub(crate) const UNDELIVERED_WAIT: Duration = Duration::from_secs(120);

/// Least time between two questions to the peer about frames we do not believe.
pub(crate) const CHALLENGE_PAUSE: Duration = Duration::from_millis(5);

/// Time between two portions of a farewell: a process that gets no processor for 40 ms loses none,
/// and takes in the answers to what its connections repeat meanwhile.
pub(crate) const FAREWELL_PAUSE: Duration = Duration::from_millis(4);

/// Time for which the end of a connection is news to its peer: a peer stays no longer, even one
/// whose process ends.
pub(crate) const FAREWELL_MEMORY: Duration = Duration::from_millis(2500);

/// Time for which a connection must have received nothing before a repeat that comes by another
/// path is taken for a sign that its own is dead: longer than repeats take to come where only
/// frames are lost.
pub(crate) const PATH_SILENCE: Duration = Duration::from_millis(10);

/// Age of a connection's keys at which an end that sends something has them renewed (SPEC
/// PRP-KEY-18).
pub(crate) const KEY_AGE: Duration = Duration::from_secs(120);

/// While a session is not up, probes go no faster than this (RFC 5880, 6.8.3): a neighbour without
/// a router is asked once a second.
pub(crate) const LIVENESS_SLOW: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
