//! What to do about lost segments, as an argument.

use clap::ValueEnum;
use prp_sock::Reliability;

/// [`Reliability`] as an argument.
#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Policy {
    /// The paper's: a loss ends the connection with an error
    Detect,
    /// Send everything again from the loss on
    GoBackN,
    /// Send again what was lost
    SelectiveRepeat,
}

impl From<Policy> for Reliability {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Detect => Self::Detect,
            Policy::GoBackN => Self::GoBackN,
            Policy::SelectiveRepeat => Self::SelectiveRepeat,
        }
    }
}
