//! Selective repeat: only what is missing is sent again (RFC 8985's RACK, by transmission order;
//! SPEC PRP-LOSS-5).

use core::time::Duration;

use super::{AckNews, LossVerdict, OnGap, Policy, RecoveryState};
use crate::flight::{Flight, before};
use crate::time::Instant;
use crate::timing::MIN_REORDERING;

/// Most times the reordering window is doubled.
pub(super) const MAX_PATIENCE: u32 = 6;

/// Flights with losses and without a false alarm after which patience is over: RFC 8985's sixteen.
pub(super) const CALM: u32 = 16;

/// Later than anything is due.
const NEVER: Instant = Instant::from_nanos(u64::MAX);

/// The receiver keeps segments after a gap and reports them; the sender takes a segment for lost
/// when one that was sent later has arrived and the earlier one has had time to.
#[derive(Debug)]
pub(super) struct SelectiveRepeat;

impl Policy for SelectiveRepeat {
    fn on_gap(&self) -> OnGap {
        OnGap::Keep
    }

    fn retains(&self) -> bool {
        true
    }

    fn on_ack(
        &self,
        state: &mut RecoveryState,
        flight: &mut Flight,
        news: &AckNews,
    ) -> LossVerdict {
        let Some(newest) = flight.newest().filter(|_| flight.has_received()) else {
            return LossVerdict::default();
        };
        let window = reorder_window(state, news);
        // No `Option`: optimised code looks at the time in `None`, which memory checkers take for a
        // mistake.
        let mut earliest = NEVER;
        let lost = flight.mark_lost_if(|segment| {
            if !before(segment.order, newest) {
                return false;
            }
            let due = segment.sent + news.rtt + window;
            if due > news.now {
                earliest = earliest.min(due);
            }
            due <= news.now
        });
        let (lost, first_order) = lost.unwrap_or_default();
        let reorder_deadline = (earliest < NEVER).then_some(earliest);
        LossVerdict { lost, first_order, reorder_deadline }
    }
}

fn reorder_window(state: &RecoveryState, news: &AckNews) -> Duration {
    let quarter = (news.least_rtt / 4).max(MIN_REORDERING);
    (quarter * (1 << state.patience)).min(news.rtt.max(MIN_REORDERING) * 4)
}
