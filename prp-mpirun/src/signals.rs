//! Signals by which a terminal and people control a job. The launcher takes them; its agents, which
//! a terminal sends them to as well, have them blocked; ranks are in process groups of their own.

use nix::sys::signal::{SigSet, Signal};
use prp_node::signals::not_ignored;

/// Those that people and terminals send.
const CONTROL: [Signal; 5] =
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTSTP];

/// All of them.
pub(crate) fn all() -> SigSet {
    CONTROL.into_iter().collect()
}

/// Those that are not ignored.
pub(crate) fn heeded() -> SigSet {
    not_ignored(&CONTROL)
}
