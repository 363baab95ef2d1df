//! What is not a node: network, time to come, and the records of all.

use prp_proto::time::Instant;

use crate::flow_log::FlowLog;
use crate::network::{Ctx, Network};
use crate::plan::Plan;
use crate::queue::EventQueue;
use crate::recorder::Recorder;
use crate::rng::{Purpose, SimRng};
use crate::tally::Tally;
use crate::topology::PortRef;

/// Something that will happen.
#[derive(Debug)]
pub(crate) enum SimEvent {
    /// A frame reaches a jack.
    Arrive { at: PortRef, frame: Vec<u8> },
    /// A node's process runs.
    Wake { node: usize },
    /// A flow's client asks.
    Start { flow: usize },
    /// A listener opens.
    Listen { listener: usize },
    /// A listener closes.
    Unlisten { listener: usize },
    /// A listener's application accepts.
    Accept { listener: usize },
    /// A node's process is replaced.
    Restart { node: usize, restart: usize },
    /// A node gets other keys.
    Rekey { node: usize },
    /// Check whether everything moves.
    Watch,
}

/// All but the nodes.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) queue: EventQueue<SimEvent>,
    pub(crate) recorder: Recorder,
    pub(crate) tally: Tally,
    pub(crate) flow_log: FlowLog,
    /// When processes run.
    pub(crate) scheduler: SimRng,
    /// Seeds of endpoints.
    pub(crate) seeds: SimRng,
}

impl World {
    pub(crate) fn new(plan: &Plan, recorder: Recorder) -> Self {
        Self {
            network: Network::new(plan),
            queue: EventQueue::default(),
            recorder,
            tally: Tally { runs: 1, ..Tally::default() },
            flow_log: FlowLog::new(plan.flows.len()),
            scheduler: SimRng::new(plan.seed, Purpose::Processes),
            seeds: SimRng::new(plan.seed, Purpose::Endpoints),
        }
    }

    /// Puts a frame on the link at `from`.
    pub(crate) fn send(&mut self, now: Instant, from: PortRef, frame: Vec<u8>) {
        let Self { network, queue, recorder, tally, .. } = self;
        network.send(now, from, frame, &mut Ctx { queue, recorder, tally });
    }

    /// Puts datagrams on the link at `from` that were sent as a GSO batch.
    pub(crate) fn send_gso_batch(&mut self, now: Instant, from: PortRef, gso_batch: Vec<Vec<u8>>) {
        let Self { network, queue, recorder, tally, .. } = self;
        network.send_gso_batch(now, from, gso_batch, &mut Ctx { queue, recorder, tally });
    }

    /// A frame has reached a switch.
    pub(crate) fn switch(&mut self, now: Instant, switch: usize, port: usize, frame: Vec<u8>) {
        let Self { network, queue, recorder, tally, .. } = self;
        network.switch(now, switch, port, frame, &mut Ctx { queue, recorder, tally });
    }
}
