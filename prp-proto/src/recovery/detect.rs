//! The paper's policy: losses are detected, not recovered (paper section 2.2). Acknowledgements
//! and windows are those of the other policies (SPEC PRP-DETECT-4).

use super::{AckNews, LossVerdict, OnGap, Policy, RecoveryState};
use crate::flight::Flight;

/// The receiver checks the order; the sender forgets what it sent.
#[derive(Debug)]
pub(super) struct Detect;

impl Policy for Detect {
    fn on_gap(&self) -> OnGap {
        OnGap::Fail
    }

    fn retains(&self) -> bool {
        false
    }

    fn on_ack(&self, _: &mut RecoveryState, _: &mut Flight, _: &AckNews) -> LossVerdict {
        LossVerdict::default()
    }
}
