//! Errors need a cause: an application is told of one only if something happened that explains it.

use core::time::Duration;

use prp_proto::error::ConnError;
use prp_proto::wire::Reliability;

use super::delivery::breaks_off;
use super::{listening_ends, nodes_stay};
use crate::flow_log::FlowRecord;
use crate::plan::{FlowPlan, Plan};
use crate::session::{EndRecord, How, Role};
use crate::tally::Tally;

/// Least silence that a peer with the default settings may take for death: the timeout of a request
/// is 15 s, repeats come every second, and two of them may be lost or find a full backlog.
const LEAST_TIMEOUT: Duration = Duration::from_secs(12);

/// Looks for the cause of every error of a flow.
pub(super) fn check_errors(
    plan: &Plan,
    flow: &FlowPlan,
    record: &FlowRecord,
    tally: &Tally,
) -> Result<(), String> {
    for end in &record.ends {
        let Some(error) = end.error else { continue };
        let has_cause = match error {
            ConnError::Refused => refusal(plan, flow),
            ConnError::Reset | ConnError::PeerClosed => {
                broken_off(plan, flow, record, end)
                    || gives_up(plan, flow, record, end, tally)
                    || outlived(record, end, tally)
            }
            ConnError::Gap { .. } | ConnError::PeerGap => gap(plan, flow, end, tally),
            ConnError::TimedOut { .. } | ConnError::TooLarge { .. } => {
                gives_up(plan, flow, record, end, tally) || forsaken(plan, flow, record, end, tally)
            }
            ConnError::NoCommonPolicy => no_common_policy(plan, flow),
            ConnError::ClassicPeer
            | ConnError::NoRoute(_)
            | ConnError::NoOnwardRoute { .. }
            | ConnError::Aborted => false,
        };
        if !has_cause {
            return Err(format!("{:?} was told {error:?} for no reason", end.role));
        }
    }
    Ok(())
}

/// Nobody listened, at some time.
fn refusal(plan: &Plan, flow: &FlowPlan) -> bool {
    let Some(listener) = flow.listener.map(|l| &plan.listeners[l]) else { return true };
    listener.until.is_some()
        || listener.from >= flow.start
        || !plan.nodes[flow.server].restarts.is_empty()
}

/// Somebody broke off, or forgot.
fn broken_off(plan: &Plan, flow: &FlowPlan, record: &FlowRecord, end: &EndRecord) -> bool {
    let closes = listening_ends(plan, flow);
    // Its own farewell was lost, and then it no longer knew the connection.
    let gave_up = |peer: &EndRecord| {
        use ConnError::{Gap, PeerGap, TimedOut, TooLarge};
        let error = peer.error.filter(|_| peer.role != end.role);
        matches!(error, Some(TimedOut { .. } | TooLarge { .. } | Gap { .. } | PeerGap))
    };
    breaks_off(flow, Role::Client)
        || breaks_off(flow, Role::Server)
        || closes
        || !nodes_stay(plan, flow)
        || record.ends.iter().any(gave_up)
}

/// An end may give up, though perhaps no application is left, or none has come yet, to be told.
fn gives_up(
    plan: &Plan,
    flow: &FlowPlan,
    record: &FlowRecord,
    end: &EndRecord,
    tally: &Tally,
) -> bool {
    silence(plan, flow)
        || impatient(plan, flow, tally)
        || is_ghost(record, end)
        || gap(plan, flow, end, tally)
}

/// The peer had all it wanted and was gone before it could say so again: TIME-WAIT of 150 ms
/// (SPEC PRP-CLOSE-5) was not enough for the harm done.
fn outlived(record: &FlowRecord, end: &EndRecord, tally: &Tally) -> bool {
    let content = |peer: &EndRecord| {
        peer.role != end.role && peer.how == How::Released && peer.eof && peer.read == end.wrote
    };
    tally.harmed() > 0 && record.ends.iter().any(content)
}

/// It is not what the client asked for, but what became of a late or repeated request: one of
/// several, or one that the client had given up before it was granted.
fn is_ghost(record: &FlowRecord, end: &EndRecord) -> bool {
    let several = record.ends(Role::Server).count() > 1;
    let unwanted = record.ends(Role::Client).all(|client| client.terms.is_none());
    end.role == Role::Server && (several || unwanted)
}

/// A frame was lost and the agreed policy does nothing about that.
fn gap(plan: &Plan, flow: &FlowPlan, end: &EndRecord, tally: &Tally) -> bool {
    let detect = match end.terms {
        Some(terms) => terms.reliability == Reliability::Detect,
        // It was over before the application had a look at the terms.
        None => {
            let theirs = flow.listener.map(|l| plan.listeners[l].config.reliability);
            let common = theirs.and_then(|t| flow.config.reliability.strongest_common(t));
            common == Some(Reliability::Detect)
        }
    };
    detect && tally.harmed() > 0
}

/// Nodes and links were away for long, together or one after another, or for ever.
fn silence(plan: &Plan, flow: &FlowPlan) -> bool {
    // Routers between the two may be away too.
    let absences = plan.nodes.iter().flat_map(|node| &node.absences);
    let outages = plan.links.iter().flatten().flat_map(|link| &link.outages);
    let spans = absences.chain(outages).map(|(from, until)| until.since(*from));
    !nodes_stay(plan, flow) || spans.fold(Duration::ZERO, Duration::saturating_add) >= LEAST_TIMEOUT
}

/// The peer broke off, or its listener closed, its reset was lost, and it has since given up its
/// port: nobody answers for that any more but to requests (SPEC PRP-RST-2).
fn forsaken(
    plan: &Plan,
    flow: &FlowPlan,
    record: &FlowRecord,
    end: &EndRecord,
    tally: &Tally,
) -> bool {
    let closes = listening_ends(plan, flow);
    let broke_off = |peer: &EndRecord| {
        peer.role != end.role && (peer.error.is_some() || breaks_off(flow, peer.role))
    };
    tally.harmed() > 0 && (closes || record.ends.iter().any(broke_off))
}

/// The application asked for timeouts that harm can outlast.
fn impatient(plan: &Plan, flow: &FlowPlan, tally: &Tally) -> bool {
    let short = |config: &prp_proto::config::ConnConfig| {
        let keepalive = config
            .keepalive
            .is_some_and(|k| k.idle + k.interval * u32::from(k.probes) < Duration::from_secs(30));
        keepalive || config.user_timeout.is_some_and(|t| t < Duration::from_secs(60))
    };
    let listens = flow.listener.is_some_and(|l| short(&plan.listeners[l].config));
    let stops = plan.nodes.iter().any(|n| !n.absences.is_empty());
    (short(&flow.config) || listens) && (tally.harmed() > 0 || stops)
}

fn no_common_policy(plan: &Plan, flow: &FlowPlan) -> bool {
    let Some(listener) = flow.listener.map(|l| &plan.listeners[l]) else { return false };
    let ours = flow.config.reliability;
    ours.strongest_common(listener.config.reliability).is_none()
}
