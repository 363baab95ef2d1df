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

/// Returns those that a rank takes again: these, which an agent has blocked, and the one that
/// `limits::guard` blocks.
pub(crate) fn of_ranks() -> SigSet {
    let mut signals = all();
    signals.add(Signal::SIGXFSZ);
    signals
}

/// Those that are not ignored.
pub(crate) fn heeded() -> SigSet {
    not_ignored(&CONTROL)
}
