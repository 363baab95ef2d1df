//! Cables and switches: frames in at one jack, out at others, later.

use core::time::Duration;

use prp_proto::time::Instant;

use crate::link::{Fate, Link, LinkConfig};
use crate::plan::Plan;
use crate::queue::EventQueue;
use crate::recorder::Recorder;
use crate::rng::{Purpose, SimRng};
use crate::switch::{Forward, Switch};
use crate::tally::Tally;
use crate::topology::{PortRef, Topology, VertexIndex, mac};
use crate::world::SimEvent;

/// How long a node's loopback device takes: a system call and a softirq.
const LOOPBACK: Duration = Duration::from_micros(1);

/// Everything between the nodes.
#[derive(Debug)]
pub(crate) struct Network {
    /// By vertex and port, in the order of `vertices`.
    link_ends: Vec<Vec<LinkEnd>>,
    nodes: usize,
    switches: Vec<Switch>,
    rng: SimRng,
}

/// The near end of a link.
#[derive(Debug)]
struct LinkEnd {
    link: Link,
    to: PortRef,
}

impl Network {
    pub(crate) fn new(plan: &Plan) -> Self {
        let topology = &plan.topology;
        let vertices = topology.nodes() + topology.switches();
        let mut link_ends: Vec<Vec<LinkEnd>> = (0..vertices).map(|_| Vec::new()).collect();
        // Ports are numbered in the order of the cables.
        for ((a, b), [there, back]) in topology.cables().iter().zip(&plan.links) {
            for (from, to, config) in [(a, b, there), (b, a, back)] {
                let at = index(topology.nodes(), from.vertex);
                link_ends[at].push(LinkEnd { link: Link::new(config.clone()), to: *to });
            }
        }
        let switches = (0..topology.switches())
            .map(|s| if plan.learning { Switch::learning() } else { fixed_switch(topology, s) })
            .collect();
        let rng = SimRng::new(plan.seed, Purpose::Links);
        Self { link_ends, nodes: topology.nodes(), switches, rng }
    }

    /// The link out of a node's device.
    pub(crate) fn link(&mut self, node: usize, device: usize) -> Option<&mut Link> {
        self.link_ends.get_mut(node)?.get_mut(device).map(|link_end| &mut link_end.link)
    }

    /// What the link out of a node's device is like; none for the loopback device.
    pub(crate) fn config(&self, node: usize, device: usize) -> Option<&LinkConfig> {
        self.link_ends.get(node)?.get(device).map(|link_end| &link_end.link.config)
    }

    /// Puts a frame on the link at `from`. A node's port without a link is its loopback device.
    pub(crate) fn send(&mut self, now: Instant, from: PortRef, frame: Vec<u8>, ctx: &mut Ctx<'_>) {
        let at = index(self.nodes, from.vertex);
        let Some(link_end) = self.link_ends.get_mut(at).and_then(|ports| ports.get_mut(from.port))
        else {
            let seen = ctx.recorder.summarize(&frame);
            ctx.recorder.frame(now, from.vertex, from.vertex, seen, Fate::Sent);
            ctx.queue.push(now + LOOPBACK, SimEvent::Arrive { at: from, frame });
            ctx.tally.in_flight += 1;
            return;
        };
        let seen = ctx.recorder.summarize(&frame);
        let to = link_end.to;
        let fate = link_end.link.transmit(now, frame, &mut self.rng, |when, frame| {
            ctx.tally.in_flight += 1;
            ctx.queue.push(when, SimEvent::Arrive { at: to, frame });
        });
        ctx.tally.fates[fate as usize] += 1;
        ctx.recorder.frame(now, from.vertex, to.vertex, seen, fate);
    }

    /// Puts datagrams on the link at `from` that were sent as a GSO batch.
    pub(crate) fn send_gso_batch(
        &mut self,
        now: Instant,
        from: PortRef,
        gso_batch: Vec<Vec<u8>>,
        ctx: &mut Ctx<'_>,
    ) {
        let at = index(self.nodes, from.vertex);
        let Some(link_end) = self.link_ends.get_mut(at).and_then(|ports| ports.get_mut(from.port))
        else {
            gso_batch.into_iter().for_each(|datagram| self.send(now, from, datagram, ctx));
            return;
        };
        let seen: Vec<_> =
            gso_batch.iter().map(|datagram| ctx.recorder.summarize(datagram)).collect();
        let to = link_end.to;
        let fates =
            link_end.link.transmit_gso_batch(now, gso_batch, &mut self.rng, |when, frame| {
                ctx.tally.in_flight += 1;
                ctx.queue.push(when, SimEvent::Arrive { at: to, frame });
            });
        for (seen, fate) in seen.into_iter().zip(fates) {
            ctx.tally.fates[fate as usize] += 1;
            ctx.recorder.frame(now, from.vertex, to.vertex, seen, fate);
        }
    }

    /// A frame has reached a switch.
    pub(crate) fn switch(
        &mut self,
        now: Instant,
        switch: usize,
        port: usize,
        frame: Vec<u8>,
        ctx: &mut Ctx<'_>,
    ) {
        let vertex = VertexIndex::Switch(switch);
        match self.switches[switch].forward(port, &frame) {
            Forward::Nowhere => {}
            Forward::To(to) => self.send(now, PortRef { vertex, port: to }, frame, ctx),
            Forward::Flood => {
                let ports = self.link_ends[index(self.nodes, vertex)].len();
                for to in (0..ports).filter(|to| *to != port) {
                    self.send(now, PortRef { vertex, port: to }, frame.clone(), ctx);
                }
            }
        }
    }
}

/// What everything that happens has at hand.
pub(crate) struct Ctx<'a> {
    pub(crate) queue: &'a mut EventQueue<SimEvent>,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) tally: &'a mut Tally,
}

fn index(nodes: usize, vertex: VertexIndex) -> usize {
    match vertex {
        VertexIndex::Node(n) => n,
        VertexIndex::Switch(s) => nodes + s,
    }
}

/// A switch that knows all addresses behind its ports.
fn fixed_switch(topology: &Topology, switch: usize) -> Switch {
    let known = topology.cables().iter().filter_map(|(a, b)| match (a.vertex, b.vertex) {
        (VertexIndex::Node(node), VertexIndex::Switch(s)) if s == switch => {
            Some((mac(node, a.port), b.port))
        }
        _ => None,
    });
    Switch::fixed(known)
}
