//! One state of a scene, and what may happen in it.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use foldhash::quality::FixedState;
use std::hash::BuildHasher;

use prp_proto::addr::DeviceId;
use prp_proto::time::Instant;
use prp_proto::wire::{ETHERTYPE, Pretty, ethernet_source};

use super::node::{CLIENT, Node, SERVER};
use super::scene::Scene;

/// One thing that may happen.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Action {
    /// The oldest frame in transit to a node arrives.
    Deliver(usize),
    /// It is lost.
    Lose(usize),
    /// It arrives, and a copy of it will arrive at any later time, or never.
    Double(usize),
    /// It will arrive at any later time, or never.
    KeepBack(usize),
    /// A frame that was kept back arrives.
    DeliverKept(usize),
    /// An application of a node writes.
    Write(usize, usize),
    /// An application of a node says that it writes no more.
    Shut(usize, usize),
    /// The clock moves to the next deadline.
    Pass,
    /// A node's process is replaced by a new one.
    Restart(usize),
    /// The server's application accepts what waits.
    Accept,
}

/// One state.
#[derive(Clone)]
pub struct World {
    scene: Scene,
    pub(super) now: Instant,
    pub(super) nodes: [Node; 2],
    /// Frames in transit to each node.
    pub(super) wires: [VecDeque<Rc<[u8]>>; 2],
    /// Frames that were kept back, and for which node.
    pub(super) kept: Vec<(usize, Rc<[u8]>)>,
    faults: u8,
    early_deadlines: u8,
    restarts: u8,
    deadlines: u8,
    /// Something has gone wrong that the scene allows to.
    pub(super) disturbed: bool,
    /// The nodes, and the tags, of applications that have gone with their process, and were told
    /// that the peer has all they wrote.
    pub(super) delivered: Vec<(usize, u8)>,
}

impl World {
    /// The scene's beginning.
    ///
    /// # Errors
    /// What went wrong before anything could.
    pub fn new(scene: Scene) -> Result<Self, String> {
        let now = Instant::ZERO;
        let nodes = [CLIENT, SERVER].map(|node| Node::start(&scene, node, 0, now));
        let mut world = Self {
            scene,
            now,
            nodes,
            wires: [VecDeque::new(), VecDeque::new()],
            kept: Vec::new(),
            faults: scene.faults,
            early_deadlines: scene.early_deadlines,
            restarts: scene.restarts,
            deadlines: scene.deadlines,
            disturbed: false,
            delivered: Vec::new(),
        };
        world.pump(SERVER)?;
        world.pump(CLIENT)?;
        Ok(world)
    }

    /// The scene it is a state of.
    pub const fn scene(&self) -> &Scene {
        &self.scene
    }

    /// A number that differs, but for one chance in 2^64, from that of any other state.
    pub fn fingerprint(&self) -> u64 {
        let mut state = FixedState::with_seed(0).build_hasher();
        self.now.hash(&mut state);
        for node in &self.nodes {
            node.endpoint.fingerprint(&mut state);
            (node.incarnation, &node.apps).hash(&mut state);
        }
        self.wires.hash(&mut state);
        self.kept.hash(&mut state);
        self.delivered.hash(&mut state);
        (self.faults, self.early_deadlines, self.restarts, self.deadlines, self.disturbed)
            .hash(&mut state);
        state.finish()
    }

    /// Everything that may happen now, in a fixed order.
    pub fn actions(&self) -> Vec<Action> {
        let mut actions = self.steps();
        for to in [SERVER, CLIENT] {
            if self.faults > 0 && !self.wires[to].is_empty() {
                actions.extend([Action::Lose(to), Action::Double(to), Action::KeepBack(to)]);
            }
        }
        for (i, frame) in self.kept.iter().enumerate() {
            if !self.kept[..i].contains(frame) {
                actions.push(Action::DeliverKept(i));
            }
        }
        if self.restarts > 0 {
            actions.extend([Action::Restart(CLIENT), Action::Restart(SERVER)]);
        }
        actions
    }

    /// What happens by itself. Where there is none of it, the scene has come to rest.
    pub(super) fn steps(&self) -> Vec<Action> {
        let mut actions = Vec::new();
        let waiting = |to: usize| !self.wires[to].is_empty();
        actions.extend([SERVER, CLIENT].into_iter().filter(|to| waiting(*to)).map(Action::Deliver));
        for (n, node) in self.nodes.iter().enumerate() {
            for (i, app) in node.apps.iter().enumerate() {
                if app.may_write(&node.endpoint) {
                    actions.push(Action::Write(n, i));
                }
                if app.may_shut() {
                    actions.push(Action::Shut(n, i));
                }
            }
        }
        if self.scene.accepts_late && self.nodes[SERVER].pending() > 0 {
            actions.push(Action::Accept);
        }
        let hurry = waiting(CLIENT) || waiting(SERVER);
        let may_pass = self.deadlines > 0 && (!hurry || self.early_deadlines > 0);
        if may_pass && self.next_deadline().is_some() {
            actions.push(Action::Pass);
        }
        actions
    }

    /// Lets `action` happen.
    ///
    /// # Errors
    /// What is wrong with the state it led to.
    pub fn apply(&mut self, action: Action) -> Result<(), String> {
        match action {
            Action::Deliver(to) => self.deliver(to)?,
            Action::Lose(to) => {
                self.fault();
                self.wires[to].pop_front();
                // The driver may have run out of frames by that.
                self.pump(to)?;
            }
            Action::Double(to) => {
                self.fault();
                self.keep(to);
                self.deliver(to)?;
            }
            Action::KeepBack(to) => {
                self.fault();
                self.keep(to);
                self.wires[to].pop_front();
                self.pump(to)?;
            }
            Action::DeliverKept(index) => {
                let (to, frame) = self.kept.remove(index);
                self.arrive(to, &frame)?;
            }
            Action::Write(n, i) => {
                let (now, Scene { segments, length, .. }) = (self.now, self.scene);
                let node = &mut self.nodes[n];
                node.apps[i].write(Rc::make_mut(&mut node.endpoint), now, segments[n], length);
                self.pump(n)?;
            }
            Action::Shut(n, i) => {
                let now = self.now;
                let node = &mut self.nodes[n];
                node.apps[i].shut(Rc::make_mut(&mut node.endpoint), now);
                self.pump(n)?;
            }
            Action::Pass => {
                if self.wires.iter().any(|wire| !wire.is_empty()) {
                    self.early_deadlines = self.early_deadlines.saturating_sub(1);
                    self.disturbed = true;
                }
                self.deadlines = self.deadlines.saturating_sub(1);
                self.pass()?;
            }
            Action::Restart(n) => {
                self.restarts -= 1;
                self.disturbed = true;
                let Node { apps, endpoint, incarnation, .. } = &self.nodes[n];
                let delivered = apps.iter().filter(|app| app.is_delivered(endpoint));
                self.delivered.extend(delivered.map(|app| (n, app.tag)));
                let incarnation = incarnation + 1;
                self.nodes[n] = Node::start(&self.scene, n, incarnation, self.now);
                self.pump(n)?;
            }
            Action::Accept => {
                self.nodes[SERVER].accept(SERVER, self.now);
                self.pump(SERVER)?;
            }
        }
        self.check_pairs()
    }

    fn fault(&mut self) {
        self.faults -= 1;
        self.disturbed = true;
    }

    fn keep(&mut self, to: usize) {
        if let Some(frame) = self.wires[to].front().cloned() {
            self.kept.push((to, frame));
            self.kept.sort_unstable();
        }
    }

    pub(super) fn deliver(&mut self, to: usize) -> Result<(), String> {
        let Some(frame) = self.wires[to].pop_front() else { return Ok(()) };
        self.arrive(to, &frame)
    }

    fn arrive(&mut self, to: usize, frame: &[u8]) -> Result<(), String> {
        let now = self.now;
        self.nodes[to].endpoint().handle_packet(
            now,
            DeviceId(0),
            ethernet_source(frame),
            frame,
            None,
        );
        self.pump(to)
    }

    /// The next deadline of either node.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.nodes.iter().filter_map(|node| node.endpoint.next_deadline()).min()
    }

    pub(super) fn pass(&mut self) -> Result<(), String> {
        let Some(at) = self.next_deadline() else { return Ok(()) };
        self.now = self.now.max(at);
        for n in [CLIENT, SERVER] {
            if self.nodes[n].endpoint.next_deadline().is_some_and(|at| at <= self.now) {
                let now = self.now;
                self.nodes[n].endpoint().handle_timeout(now);
                self.pump(n)?;
            }
        }
        match self.next_deadline() {
            Some(at) if at <= self.now => Err(format!("a deadline of {at:?} was not met")),
            _ => Ok(()),
        }
    }

    fn pump(&mut self, n: usize) -> Result<(), String> {
        let idle = self.wires[n].is_empty();
        let frames = self.nodes[n].pump(&self.scene, n, self.now, idle)?;
        self.wires[1 - n].extend(frames);
        Ok(())
    }

    /// Two applications that received from each other received from no other.
    fn check_pairs(&self) -> Result<(), String> {
        for client in &self.nodes[CLIENT].apps {
            for server in &self.nodes[SERVER].apps {
                let received = client.received.is_some_and(|(tag, _)| tag == server.tag);
                let by = server.received.map(|(tag, _)| tag);
                if received && by.is_some_and(|tag| tag != client.tag) {
                    return Err(format!(
                        "{:x} has {:x} as its peer, which has another peer",
                        client.tag, server.tag
                    ));
                }
            }
        }
        Ok(())
    }

    /// What `action` is about, for a trace.
    pub fn describe(&self, action: Action) -> impl fmt::Display {
        let frame = match action {
            Action::Deliver(to) | Action::Lose(to) | Action::Double(to) | Action::KeepBack(to) => {
                self.wires[to].front()
            }
            Action::DeliverKept(index) => self.kept.get(index).map(|(_, frame)| frame),
            _ => None,
        };
        let frame = frame.map(|bytes| Pretty::new(bytes, ETHERTYPE).to_string());
        format!("{:?} {action:?} {}", self.now, frame.unwrap_or_default())
    }
}
