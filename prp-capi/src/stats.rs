//! Counters.

use std::io;

use prp_sock::{ConnStats, Mode, Terms};

use crate::stream::Stream;

/// `prp_stats`.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
#[repr(C)]
pub(crate) struct StreamStats {
    segments_sent: u64,
    bytes_sent: u64,
    retransmitted: u64,
    spurious: u64,
    timeouts: u64,
    segments_received: u64,
    bytes_received: u64,
    acks_sent: u64,
    acks_received: u64,
    blocked_by_peer_window: u64,
    blocked_by_congestion: u64,
    blocked_by_pace: u64,
    blocked_by_share: u64,
    blocked_by_short_end: u64,
    segment_reductions: u64,
    dropped: u64,
    security: u64,
    key_id: u64,
}

impl StreamStats {
    /// Those of a connection, whose ends may not have agreed on its terms yet.
    fn new(of: &ConnStats, terms: Option<&Terms>) -> Self {
        Self {
            segments_sent: of.segments_sent,
            bytes_sent: of.bytes_sent,
            retransmitted: of.retransmitted,
            spurious: of.spurious,
            timeouts: of.timeouts,
            segments_received: of.segments_received,
            bytes_received: of.bytes_received,
            acks_sent: of.acks_sent,
            acks_received: of.acks_received,
            blocked_by_peer_window: of.blocked_by_peer_window,
            blocked_by_congestion: of.blocked_by_congestion,
            blocked_by_pace: of.blocked_by_pace,
            blocked_by_share: of.blocked_by_share,
            blocked_by_short_end: of.blocked_by_short_end,
            segment_reductions: of.segment_reductions,
            dropped: of.drops.occurred().map(|(_, n)| n).sum(),
            security: match terms.map(|terms| terms.security) {
                None | Some(Mode::Off) => 0,
                Some(Mode::Sign) => 1,
                Some(Mode::Seal) => 2,
            },
            key_id: terms.and_then(|terms| terms.key).unwrap_or_default().into(),
        }
    }
}

impl Stream {
    /// Its counters.
    pub(crate) fn stats(&self) -> io::Result<StreamStats> {
        Ok(StreamStats::new(&self.stream.stats()?, self.stream.terms().ok().as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new__says_how_the_stream_is_protected() {
        let of = |security, key| {
            let mut terms = Terms::CLASSIC;
            (terms.security, terms.key) = (security, key);
            let stats = StreamStats::new(&ConnStats::default(), Some(&terms));
            (stats.security, stats.key_id)
        };
        assert_eq!(of(Mode::Off, None), (0, 0));
        assert_eq!(of(Mode::Sign, Some(1)), (1, 1));
        assert_eq!(of(Mode::Seal, Some(65535)), (2, 65535));
    }
}
