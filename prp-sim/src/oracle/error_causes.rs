//! Errors need a cause: an application is told of one only if something happened that explains it.

use core::time::Duration;

use prp_proto::error::ConnError;
use prp_proto::wire::Reliability;

use super::delivery::breaks_off;
use super::{listening_ends, nodes_stay};
use crate::flow_log::FlowRecord;
use crate::plan::{FlowPlan, Plan};
use crate::session::{EndKind, EndRecord, Role};
use crate::tally::Tally;

/// Least silence that a peer with the default settings may take for death: the timeout of a request
/// is 15 s, repeats come every second, and two of them may be lost or find a full backlog.
const LEAST_TIMEOUT: Duration = Duration::from_secs(12);

/// Searches for the cause of every error of a flow.
pub(super) fn check_errors(
    plan: &Plan,
    flow: &FlowPlan,
    record: &FlowRecord,
    tally: &Tally,
) -> Result<(), String> {
    for end in &record.ends {
        let Some(error) = end.error else { continue };
        if !(Case { plan, flow, record, end, tally }).explains(error) {
            return Err(format!("{:?} was told {error:?} for no reason", end.role));
        }
    }
    Ok(())
}

/// An end of a flow whose application was told of an error.
struct Case<'a> {
    plan: &'a Plan,
    flow: &'a FlowPlan,
    record: &'a FlowRecord,
    end: &'a EndRecord,
    tally: &'a Tally,
}

impl Case<'_> {
    /// Whether something happened that explains `error`.
    fn explains(&self, error: ConnError) -> bool {
        match error {
            ConnError::Refused => self.refusal(),
            ConnError::Reset | ConnError::PeerClosed => {
                self.broken_off() || self.gives_up() || self.outlived()
            }
            ConnError::Gap { .. } | ConnError::PeerGap => self.gap(),
            ConnError::TimedOut { .. } | ConnError::TooLarge { .. } => {
                self.gives_up() || self.peer_port_closed()
            }
            ConnError::NoCommonPolicy => self.no_common_policy(),
            // The others have no cause that a scenario has.
            _ => false,
        }
    }

    /// No process listened, at some time.
    fn refusal(&self) -> bool {
        let Some(listener) = self.flow.listener.map(|l| &self.plan.listeners[l]) else {
            return true;
        };
        listener.until.is_some()
            || listener.from >= self.flow.start
            || !self.plan.nodes[self.flow.server].restarts.is_empty()
    }

    /// One end broke off, or forgot.
    fn broken_off(&self) -> bool {
        let closes = listening_ends(self.plan, self.flow);
        // Its own farewell was lost, and then it no longer knew the connection.
        let gave_up = |peer: &EndRecord| {
            use ConnError::{Gap, PeerGap, TimedOut, TooLarge};
            let error = peer.error.filter(|_| peer.role != self.end.role);
            matches!(error, Some(TimedOut { .. } | TooLarge { .. } | Gap { .. } | PeerGap))
        };
        breaks_off(self.flow, Role::Client)
            || breaks_off(self.flow, Role::Server)
            || closes
            || !nodes_stay(self.plan, self.flow)
            || self.record.ends.iter().any(gave_up)
    }

    /// An end may give up, though perhaps no application is left, or none has come yet, to be told.
    fn gives_up(&self) -> bool {
        self.silence() || self.impatient() || self.is_ghost() || self.gap() || self.accepts_late()
    }

    /// The listener's application let its backlog fill for long, or a client that had closed wait
    /// for its end (SPEC PRP-CLOSE-8).
    fn accepts_late(&self) -> bool {
        self.flow.listener.is_some_and(|l| self.plan.listeners[l].accepts_after >= LEAST_TIMEOUT)
    }

    /// The peer had all it wanted and was gone before it could say so again: TIME-WAIT of 150 ms
    /// (SPEC PRP-CLOSE-5) was not enough for the faults.
    fn outlived(&self) -> bool {
        let content = |peer: &EndRecord| {
            peer.role != self.end.role
                && peer.how == EndKind::Released
                && peer.eof
                && peer.read == self.end.wrote
        };
        self.tally.impaired() > 0 && self.record.ends.iter().any(content)
    }

    /// It is not what the client asked for, but what became of a late or repeated request: one of
    /// several, or one that the client had given up before it was granted.
    fn is_ghost(&self) -> bool {
        let several = self.record.ends(Role::Server).count() > 1;
        let unwanted = self.record.ends(Role::Client).all(|client| client.terms.is_none());
        self.end.role == Role::Server && (several || unwanted)
    }

    /// A frame was lost and the agreed policy does nothing about that.
    fn gap(&self) -> bool {
        let detect = match self.end.terms {
            Some(terms) => terms.reliability == Reliability::Detect,
            // It was over before the application read the terms.
            None => {
                let theirs = self.flow.listener.map(|l| self.plan.listeners[l].config.reliability);
                let common = theirs.and_then(|t| self.flow.config.reliability.strongest_common(t));
                common == Some(Reliability::Detect)
            }
        };
        detect && self.tally.impaired() > 0
    }

    /// Nodes and links were away for long, together or one after another, or for ever.
    fn silence(&self) -> bool {
        // Routers between the two may be away too.
        let absences = self.plan.nodes.iter().flat_map(|node| &node.absences);
        let outages = self.plan.links.iter().flatten().flat_map(|link| &link.outages);
        let spans = absences.chain(outages).map(|(from, until)| until.since(*from));
        !nodes_stay(self.plan, self.flow)
            || spans.fold(Duration::ZERO, Duration::saturating_add) >= LEAST_TIMEOUT
    }

    /// The peer broke off, or its listener closed, its reset was lost, and it has since given up
    /// its port: no process answers for that any more but to requests (SPEC PRP-RST-2).
    fn peer_port_closed(&self) -> bool {
        let closes = listening_ends(self.plan, self.flow);
        let broke_off = |peer: &EndRecord| {
            peer.role != self.end.role && (peer.error.is_some() || breaks_off(self.flow, peer.role))
        };
        self.tally.impaired() > 0 && (closes || self.record.ends.iter().any(broke_off))
    }

    /// The application asked for timeouts that faults can outlast.
    fn impatient(&self) -> bool {
        let short = |config: &prp_proto::config::ConnConfig| {
            let keepalive = config.keepalive.is_some_and(|k| {
                k.idle + k.interval * u32::from(k.probes) < Duration::from_secs(30)
            });
            keepalive || config.user_timeout.is_some_and(|t| t < Duration::from_secs(60))
        };
        let listens = self.flow.listener.is_some_and(|l| short(&self.plan.listeners[l].config));
        let stops = self.plan.nodes.iter().any(|n| !n.absences.is_empty());
        (short(&self.flow.config) || listens) && (self.tally.impaired() > 0 || stops)
    }

    fn no_common_policy(&self) -> bool {
        let Some(listener) = self.flow.listener.map(|l| &self.plan.listeners[l]) else {
            return false;
        };
        let ours = self.flow.config.reliability;
        ours.strongest_common(listener.config.reliability).is_none()
    }
}
