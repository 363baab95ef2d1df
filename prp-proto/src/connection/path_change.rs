//! Another path to the peer, on a suspicion (SPEC PRP-PATH-6).
//!
//! A connection that does not repeat what is lost ends with the first segment that overtakes
//! another, or that leaves by a path that carries nothing. So it changes its path only while
//! nothing is in flight, and asks first whether the new one leads to the peer.

use super::Connection;
use super::sender::later_than;
use crate::state::State;
use crate::wire::AckBlock;

impl Connection {
    /// Whether its path may change now.
    pub(crate) fn may_change_path(&self) -> bool {
        let idle = self.terms.extended && self.send.flight.is_empty();
        self.state == State::ConnWait || self.terms.policy().retains() || idle
    }

    /// Its frames leave by another path from now on: without repeats, segments wait until a probe
    /// by that is answered.
    pub(crate) fn on_path_change(&mut self) {
        // What is agreed on is not known before it is established.
        if self.state == State::ConnWait || !self.terms.policy().retains() {
            self.send.path_probe = Some(self.send.probes);
            self.pending.probe = self.state != State::ConnWait;
        }
    }

    /// The connection is established, perhaps by another path than that of the request that was
    /// granted.
    pub(super) fn ask_if_path_changed(&mut self) {
        if self.terms.policy().retains() || !self.terms.extended {
            self.send.path_probe = None;
        }
        self.pending.probe |= self.send.path_probe.is_some();
    }

    /// Whether the path is known to lead to the peer by what `block` answers, if that was asked.
    pub(super) fn note_path_answer(&mut self, block: &AckBlock) {
        self.send.path_probe.take_if(|first| block.probe.is_some_and(|n| !later_than(*first, n)));
    }
}
