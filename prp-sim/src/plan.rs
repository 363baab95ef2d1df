//! All that is decided before a run begins: network, processes, faults, traffic.

use core::fmt;
use core::time::Duration;

use prp_proto::addr::Port;
use prp_proto::config::ConnConfig;
use prp_proto::time::Instant;

use crate::keys::KeyPlan;
use crate::link::LinkConfig;
use crate::topology::Topology;

/// How packets get from node to node.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Underlay {
    /// In frames of their own.
    Ethernet,
    /// In UDP datagrams, sent in GSO batches of what fits 64 KiB (SPEC PRP-UDP-6). There are no
    /// routers.
    Udp,
}

/// A run, before it runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What its random numbers come from.
    pub seed: u64,
    /// Nodes, switches, cables.
    pub topology: Topology,
    /// How packets get from node to node.
    pub underlay: Underlay,
    /// Both directions of every cable, in the topology's order: from its first end, from its
    /// second.
    pub links: Vec<[LinkConfig; 2]>,
    /// Whether switches learn addresses, rather than knowing them.
    pub learning: bool,
    /// The nodes, by index.
    pub nodes: Vec<NodePlan>,
    /// The cluster key, if there is one.
    pub keys: Option<KeyPlan>,
    /// The listeners, which take requests.
    pub listeners: Vec<ListenPlan>,
    /// The flows, each with the two nodes that talk.
    pub flows: Vec<FlowPlan>,
    /// When all faults have ended and all nodes are back, except where the network is down for
    /// good.
    pub healed: Instant,
}

/// The process on a node, as its scheduler and its devices treat it.
#[derive(Clone, Debug)]
pub struct NodePlan {
    /// Its prphosts.
    pub hosts: String,
    /// Frames its devices hold for it; what comes when this number waits is lost.
    pub ring: usize,
    /// Least and most time from something happening to the process running.
    pub wakes_in: (Duration, Duration),
    /// How often, in a million times, another process has the processor first.
    pub preempted: u32,
    /// For how long at most another process has the processor first.
    pub preempted_for: Duration,
    /// Processor time that a frame takes.
    pub per_frame: Duration,
    /// Its transmit queue makes it wait instead of dropping frames.
    pub backpressure: bool,
    /// When it is stopped: from, until.
    pub absences: Vec<(Instant, Instant)>,
    /// When it is replaced by one that knows nothing, and how long that takes to listen again.
    pub restarts: Vec<(Instant, Duration)>,
}

impl Default for NodePlan {
    /// A quick process on a quiet machine.
    fn default() -> Self {
        Self {
            hosts: String::new(),
            ring: 1024,
            wakes_in: (Duration::from_micros(1), Duration::from_micros(5)),
            preempted: 0,
            preempted_for: Duration::ZERO,
            per_frame: Duration::from_nanos(500),
            backpressure: true,
            absences: Vec::new(),
            restarts: Vec::new(),
        }
    }
}

/// A listener.
#[derive(Copy, Clone, Debug)]
pub struct ListenPlan {
    /// Index of its node.
    pub node: usize,
    /// Its port.
    pub port: Port,
    /// Connections that may wait to be accepted.
    pub backlog: usize,
    /// Settings of what it accepts.
    pub config: ConnConfig,
    /// When it opens.
    pub from: Instant,
    /// When it closes, if before the end of the run.
    pub until: Option<Instant>,
    /// How long its application takes to accept.
    pub accepts_after: Duration,
}

/// A connection that a node will ask for, and what both ends will do with it.
#[derive(Clone, Debug)]
pub struct FlowPlan {
    /// Index of the node that asks.
    pub client: usize,
    /// Index of the node that is asked.
    pub server: usize,
    /// The port that is asked for.
    pub port: Port,
    /// The listener there; none if no process will ever listen.
    pub listener: Option<usize>,
    /// The client's port, if it insists on one.
    pub local: Option<Port>,
    /// When the client asks.
    pub start: Instant,
    /// The client's settings.
    pub config: ConnConfig,
    /// What the client's application does.
    pub up: Script,
    /// What the server's application does.
    pub down: Script,
}

/// What an application does with its end of a connection.
#[derive(Clone, Debug)]
pub struct Script {
    /// What it writes, one after another.
    pub items: Vec<Item>,
    /// How it writes.
    pub writing: Writing,
    /// How it reads.
    pub reading: Reading,
    /// How it ends.
    pub closing: Closing,
}

impl Script {
    /// Bytes it will have written when it is through.
    pub fn bytes(&self) -> u64 {
        self.items.iter().map(|item| u64::from(item.len)).sum()
    }
}

/// A message, or a part of a stream.
#[derive(Copy, Clone, Debug)]
pub struct Item {
    /// Its bytes.
    pub len: u32,
    /// Bytes the application must have read before it writes this.
    pub gate: u64,
}

/// How an application writes.
#[derive(Copy, Clone, Debug)]
pub struct Writing {
    /// Items are messages.
    pub messages: bool,
    /// Most bytes in one call.
    pub piece: usize,
    /// Says that more follows while it does; otherwise each piece of an item is sent as if nothing
    /// were to follow.
    pub more: bool,
    /// Waits until everything is acknowledged before it goes on to close.
    pub flush: bool,
}

/// How an application reads.
#[derive(Copy, Clone, Debug)]
pub struct Reading {
    /// By which call.
    pub how: ReadCall,
    /// Most bytes in one call.
    pub piece: usize,
    /// After how many bytes it pauses, and for how long.
    pub rest: Option<(u64, Duration)>,
}

/// The call an application reads by.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum ReadCall {
    /// `read`.
    Stream,
    /// `read_message`.
    Message,
    /// `peek`, then `read`.
    Peek,
    /// `read`, with its buffer lent to the endpoint while it waits.
    Lend,
}

/// How an application ends a connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Closing {
    /// Ends its direction when all is written, reads to the end of the other, lets go.
    HalfClose,
    /// Reads to the end of the other direction, then lets go.
    AfterPeer,
    /// Lets go as soon as all is written.
    AtOnce,
    /// Reads nothing at all, ends its direction when all is written, lets go.
    Deaf,
    /// Aborts after this number of bytes, read and written together.
    Abort(u64),
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.topology.shape())?;
        if let Some([wire, _]) = self.links.first() {
            if self.underlay == Underlay::Udp {
                write!(f, ", UDP, {:?}", wire.gso_batches)?;
            }
            let (mbit, impairment) = (wire.bits_per_second / 1_000_000, wire.impairment);
            write!(f, ", {mbit} Mbit/s, {:?}, MTU {}, {:?}", wire.delay, wire.mtu, wire.queue)?;
            if !impairment.is_none() {
                write!(
                    f,
                    "; in a million lost {} (bursts of {}), twice {}, late {} by {:?}, flipped {}",
                    impairment.loss,
                    impairment.burst,
                    impairment.duplicate,
                    impairment.reorder,
                    impairment.late_by,
                    impairment.corrupt
                )?;
            }
        }
        if let Some(keys) = &self.keys {
            let of_nodes = if keys.with_nodes { " with keys of nodes" } else { "" };
            write!(f, "; key, {}{of_nodes}", keys.mode)?;
        }
        let outages: usize = self.links.iter().flatten().map(|wire| wire.outages.len()).sum();
        let count = |of: fn(&NodePlan) -> usize| self.nodes.iter().map(of).sum::<usize>();
        let (absences, restarts) = (count(|n| n.absences.len()), count(|n| n.restarts.len()));
        write!(f, "; {outages} outages, {absences} stops, {restarts} restarts")?;
        for (from, mtu) in self.links.iter().flatten().filter_map(|wire| wire.shrinks) {
            write!(f, "; MTU {mtu} from {from:?}")?;
        }
        let (flows, listeners) = (self.flows.len(), self.listeners.len());
        write!(f, "; {flows} flows, {listeners} listeners, healed at {:?}", self.healed)
    }
}
