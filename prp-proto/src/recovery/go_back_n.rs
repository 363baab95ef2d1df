//! Go-back-N: a gap rewinds the sender to it (SPEC PRP-LOSS-4).

use super::{AckNews, LossVerdict, OnGap, Policy, RecoveryState};
use crate::flight::Flight;

/// The receiver keeps no segment after a gap; the sender repeats everything from it on.
#[derive(Debug)]
pub(super) struct GoBackN;

impl Policy for GoBackN {
    fn on_gap(&self) -> OnGap {
        OnGap::Discard
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
        if !news.gap || flight.is_empty() {
            return LossVerdict::default();
        }
        let base = flight.base();
        // Every segment still in transit behind the lost one reports the same gap. Going back again
        // is right only when the repeat had the time to arrive: a round trip and a half.
        if let Some((seq, when)) = state.rewound
            && seq == base
            && news.now < when + news.rtt + news.rtt / 2
        {
            return LossVerdict::default();
        }
        let Some(first_order) = flight.get(base).map(|s| s.order) else {
            return LossVerdict::default();
        };
        state.rewound = Some((base, news.now));
        let lost = flight.next().since(base).cast_unsigned();
        flight.mark_all_lost();
        LossVerdict { lost, first_order, reorder_deadline: None }
    }
}
