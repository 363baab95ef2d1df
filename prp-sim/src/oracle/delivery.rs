//! What one end believes the other did, the other did.

use prp_proto::key::Mode;
use prp_proto::wire::Reliability;

use super::listening_ends;
use crate::flow_log::FlowRecord;
use crate::plan::{Closing, FlowPlan, Plan};
use crate::session::{EndKind, EndRecord, Role};

/// The other end's.
const fn other(role: Role) -> Role {
    match role {
        Role::Client => Role::Server,
        Role::Server => Role::Client,
    }
}

/// An end that has read the end of the stream has read all of it: some peer wrote exactly that much
/// and ended its direction.
pub(super) fn check_ends(record: &FlowRecord) -> Result<(), String> {
    for end in record.ends.iter().filter(|end| end.eof) {
        let matches = |peer: &EndRecord| peer.wrote == end.read && peer.how != EndKind::Aborted;
        if !record.ends(other(end.role)).any(matches) {
            let peers: Vec<_> = record.ends(other(end.role)).map(|p| (p.wrote, p.how)).collect();
            let role = end.role;
            return Err(format!(
                "{role:?} read {} bytes and the end of the stream; its peers wrote {peers:?}",
                end.read
            ));
        }
    }
    Ok(())
}

/// What an end was told is delivered, some peer's application has read, unless it did not care to:
/// also where the end is gone, or the application accepted late (SPEC PRP-CLOSE-12).
pub(super) fn check_flushed(
    plan: &Plan,
    flow: &FlowPlan,
    record: &FlowRecord,
) -> Result<(), String> {
    for end in record.ends.iter().filter(|end| end.flushed > 0) {
        // A classic peer acknowledges nothing: what was sent counts as delivered (PRP-CLASSIC-3).
        if end.terms.is_none_or(|terms| !terms.extended) {
            continue;
        }
        if end.how == EndKind::Aborted || loses(plan, flow, other(end.role)) {
            continue;
        }
        let has = |peer: &EndRecord| peer.read >= end.flushed;
        let careless = |peer: &EndRecord| peer.how == EndKind::Aborted;
        let left_early = |peer: &EndRecord| !peer.eof && peer.error.is_none();
        let any = |check: &dyn Fn(&EndRecord) -> bool| record.ends(other(end.role)).any(check);
        if !any(&has) && !any(&careless) && !any(&left_early) {
            let peers: Vec<_> = record.ends(other(end.role)).map(|p| (p.read, p.error)).collect();
            let role = end.role;
            return Err(format!("{} bytes of {role:?} were acknowledged; {peers:?}", end.flushed));
        }
    }
    Ok(())
}

/// Whether an end does not read all that comes: it does not care to, its process is restarted, or
/// its listener closes before it accepts.
fn loses(plan: &Plan, flow: &FlowPlan, role: Role) -> bool {
    let (script, node, listens) = match role {
        Role::Client => (&flow.up, flow.client, true),
        Role::Server => (&flow.down, flow.server, !listening_ends(plan, flow)),
    };
    script.closing == Closing::Deaf || !plan.nodes[node].restarts.is_empty() || !listens
}

/// Both ends hold the same terms, and those that follow from what each of them wanted.
pub(super) fn check_terms(plan: &Plan, flow: &FlowPlan, record: &FlowRecord) -> Result<(), String> {
    let Some(listener) = flow.listener.map(|l| &plan.listeners[l]) else { return Ok(()) };
    let established = record.ends(Role::Client).any(|client| client.terms.is_some());
    if record.ends(Role::Server).count() > 1 || !established {
        // One of them was granted to a request of an earlier flow, or of an earlier process.
        return Ok(());
    }
    for end in &record.ends {
        let Some(terms) = end.terms else { continue };
        let (ours, theirs) = (&flow.config, &listener.config);
        if terms.extended {
            let strongest = ours.reliability.strongest_common(theirs.reliability);
            let crosses = flow.client != flow.server;
            // With a key its tag is in the place of the trailer.
            let crc = ours.crc && theirs.crc && crosses && terms.security == Mode::Off;
            if strongest != Some(terms.reliability) || terms.crc != crc {
                return Err(format!("{:?} agreed on {terms:?}", end.role));
            }
        } else if terms.reliability != Reliability::Detect || terms.crc {
            return Err(format!("{:?} agreed with a classic peer on {terms:?}", end.role));
        }
        let differ = |peer: &EndRecord| peer.terms.is_some_and(|t| t != terms);
        if record.ends(other(end.role)).any(differ) {
            return Err(format!("{:?} agreed on {terms:?}, its peer on something else", end.role));
        }
    }
    Ok(())
}

/// Whether both applications did all they meant to.
pub(super) fn is_complete(record: &FlowRecord) -> bool {
    let done = |role| record.ends(role).any(|e| e.wrote_all && e.eof && e.error.is_none());
    done(Role::Client) && done(Role::Server)
}

/// Whether a script leaves its peer no chance to end in peace: it aborts, or goes while the peer
/// may write.
pub(super) fn breaks_off(flow: &FlowPlan, role: Role) -> bool {
    let (script, peer) = match role {
        Role::Client => (&flow.up, &flow.down),
        Role::Server => (&flow.down, &flow.up),
    };
    match script.closing {
        Closing::Abort(_) => true,
        Closing::AtOnce | Closing::Deaf => !peer.items.is_empty(),
        Closing::HalfClose | Closing::AfterPeer => false,
    }
}
