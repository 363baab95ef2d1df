//! What the applications of all nodes did and saw, by flow.

use std::collections::BTreeMap;

use prp_proto::addr::PrpAddr;
use prp_proto::error::ConnectError;
use prp_proto::time::Instant;

use crate::session::{EndRecord, Role};

/// One flow's history.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowRecord {
    /// When the client asked.
    pub(crate) started: Option<Instant>,
    /// Why it could not even ask.
    pub(crate) failed: Option<ConnectError>,
    /// Applications at work at either end.
    pub(crate) live: usize,
    /// Those that are through.
    pub(crate) ends: Vec<EndRecord>,
    /// When something last moved at either end, or when an application that rests will go on.
    pub(crate) moved: Instant,
}

impl FlowRecord {
    /// Whether neither end has anything left to do.
    pub(crate) const fn is_over(&self) -> bool {
        self.started.is_some() && self.live == 0
    }

    /// Those at one end who are through. A server may have several: requests that were late or that
    /// the client has given up make connections too, for a while.
    pub(crate) fn ends(&self, role: Role) -> impl Iterator<Item = &EndRecord> + '_ {
        self.ends.iter().filter(move |end| end.role == role)
    }
}

/// All flows' histories.
#[derive(Debug)]
pub(crate) struct FlowLog {
    flows: Vec<FlowRecord>,
    /// The flows with these ends, the client's first, each with the id that the client chose: the
    /// latest is the last.
    by_ends: BTreeMap<(PrpAddr, PrpAddr), Vec<(u32, usize)>>,
}

impl FlowLog {
    pub(crate) fn new(flows: usize) -> Self {
        Self { flows: vec![FlowRecord::default(); flows], by_ends: BTreeMap::new() }
    }

    pub(crate) fn flows(&self) -> &[FlowRecord] {
        &self.flows
    }

    /// The client of `flow` has asked, by a connection id of its choice.
    pub(crate) fn asked(&mut self, now: Instant, flow: usize, ends: (PrpAddr, PrpAddr), id: u32) {
        self.by_ends.entry(ends).or_default().push((id, flow));
        self.opened(now, flow);
    }

    /// The client of `flow` could not ask.
    pub(crate) fn failed(&mut self, now: Instant, flow: usize, why: ConnectError) {
        self.flows[flow].started = Some(now);
        self.flows[flow].failed = Some(why);
    }

    /// An application has begun its part in `flow`.
    pub(crate) fn opened(&mut self, now: Instant, flow: usize) {
        let record = &mut self.flows[flow];
        record.started.get_or_insert(now);
        record.live += 1;
        record.moved = record.moved.max(now);
    }

    /// The flow of these ends that was asked for by the client's `id`, or the last one if the
    /// client is classic and has none.
    pub(crate) fn find(&self, client: PrpAddr, server: PrpAddr, id: u32) -> Option<usize> {
        let flows = self.by_ends.get(&(client, server))?;
        let found = flows.iter().find(|(theirs, _)| *theirs == id).or_else(|| flows.last());
        found.map(|(_, flow)| *flow)
    }

    /// Something moved in `flow`, or will.
    pub(crate) fn moved(&mut self, flow: usize, at: Instant) {
        let record = &mut self.flows[flow];
        record.moved = record.moved.max(at);
    }

    /// An application has ended its part.
    pub(crate) fn ended(&mut self, end: EndRecord) {
        let record = &mut self.flows[end.flow];
        record.live -= 1;
        record.ends.push(end);
    }

    /// Whether no end of any flow has anything left to do.
    pub(crate) fn is_over(&self) -> bool {
        self.flows.iter().all(FlowRecord::is_over)
    }
}
