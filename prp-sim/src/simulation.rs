//! A run: what happens, one thing after another, and the rules that hold all the while.

use core::fmt;
use core::time::Duration;

use prp_proto::time::Instant;

use crate::link::Fate;
use crate::node::Node;
use crate::oracle;
use crate::plan::Plan;
use crate::recorder::Recorder;
use crate::tally::Tally;
use crate::topology::VertexIndex;
use crate::world::{SimEvent, World};

/// Things that may happen in a run. The largest plans need 10 % of them; frames that answer each
/// other for ever need more.
const MOST_HAPPENINGS: u64 = 20_000_000;

/// How often to check whether everything moves.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// Longest time from the last application's end to the end of the last timer: a closed stream waits
/// 120 s for a peer that takes nothing, then 60 s for it to close (SPEC PRP-CLOSE-8); a peer that
/// vanished is noticed after 90 s.
const QUIET_WITHIN: Duration = Duration::from_secs(200);

/// Something that should never happen, and did.
#[derive(Clone, Eq, PartialEq, Debug)]
pub struct Violation {
    /// When.
    pub at: Instant,
    /// What.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {:?}: {}", self.at, self.what)
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Counts.
    pub tally: Tally,
    /// The rule that was broken, if one was.
    pub violation: Option<Violation>,
    /// What was kept of it.
    pub recorder: Recorder,
}

/// Runs `plan` to its end, or until a rule is broken.
pub fn run(plan: &Plan, recorder: Recorder) -> Outcome {
    let mut simulation = Simulation::new(plan, recorder);
    let result = simulation.go();
    let Simulation { mut world, now, nodes, .. } = simulation;
    nodes.iter().for_each(|node| world.tally.add_endpoint(node.endpoint.stats()));
    world.tally.nanos = now.as_nanos();
    let result = result.and_then(|()| oracle::judge(plan, &world.flow_log, &mut world.tally));
    let violation = result.err().map(|what| Violation { at: now, what });
    Outcome { tally: world.tally, violation, recorder: world.recorder }
}

/// Bytes that servers' applications had read at each of `times`, which ascend, by flow.
///
/// # Errors
/// The rule that was broken, if one was.
pub fn progress(plan: &Plan, times: &[Instant]) -> Result<(Vec<Vec<u64>>, Tally), Violation> {
    let mut simulation = Simulation::new(plan, Recorder::default());
    let mut samples = Vec::new();
    for at in times {
        let gone = simulation.go_until(*at);
        gone.map_err(|what| Violation { at: simulation.now, what })?;
        let mut read = vec![0; plan.flows.len()];
        simulation.nodes.iter().for_each(|node| node.add_read(&mut read));
        samples.push(read);
    }
    Ok((samples, simulation.world.tally))
}

struct Simulation<'a> {
    plan: &'a Plan,
    now: Instant,
    nodes: Vec<Node>,
    world: World,
    /// When the last application ended.
    over: Option<Instant>,
    /// When the last connection ended and listeners closed: frames sent, and frames in flight or
    /// owed less those doubled until then.
    silence: Option<(u64, i64)>,
}

impl<'a> Simulation<'a> {
    fn new(plan: &'a Plan, recorder: Recorder) -> Self {
        let mut world = World::new(plan, recorder);
        let nodes = (0..plan.topology.nodes()).map(|i| Node::new(i, plan, &mut world)).collect();
        for (listener, l) in plan.listeners.iter().enumerate() {
            world.queue.push(l.from, SimEvent::Listen { listener });
            if let Some(until) = l.until {
                world.queue.push(until, SimEvent::Unlisten { listener });
            }
        }
        for (flow, f) in plan.flows.iter().enumerate() {
            world.queue.push(f.start, SimEvent::Start { flow });
        }
        for (node, n) in plan.nodes.iter().enumerate() {
            for (restart, (at, _)) in n.restarts.iter().enumerate() {
                world.queue.push(*at, SimEvent::Restart { node, restart });
            }
        }
        let changes = plan.keys.iter().flat_map(|keys| keys.changes.iter().enumerate());
        for (node, at) in changes.flat_map(|(node, times)| times.map(|at| (node, at))) {
            world.queue.push(at, SimEvent::Rekey { node });
        }
        world.queue.push(Instant::ZERO + WATCH_EVERY, SimEvent::Watch);
        Self { plan, now: Instant::ZERO, nodes, world, over: None, silence: None }
    }

    fn go(&mut self) -> Result<(), String> {
        while let Some((at, what)) = self.world.queue.pop() {
            if self.world.tally.happenings > MOST_HAPPENINGS {
                return Err("it never ends: too much happens".into());
            }
            self.take(at, what)?;
        }
        self.check_silence()?;
        self.nodes.iter().try_for_each(Node::check_empty)
    }

    /// What happens until `end`.
    fn go_until(&mut self, end: Instant) -> Result<(), String> {
        while let Some((at, what)) = self.world.queue.pop_before(end) {
            self.take(at, what)?;
        }
        self.now = end;
        Ok(())
    }

    fn take(&mut self, at: Instant, what: SimEvent) -> Result<(), String> {
        self.now = at;
        self.world.tally.happenings += 1;
        self.happen(what)?;
        self.check_completion()
    }

    fn happen(&mut self, what: SimEvent) -> Result<(), String> {
        let (now, plan, world) = (self.now, self.plan, &mut self.world);
        match what {
            SimEvent::Arrive { at, frame } => match at.vertex {
                VertexIndex::Node(node) => {
                    self.nodes[node].receive(now, at.port, frame, world);
                    Ok(())
                }
                VertexIndex::Switch(switch) => {
                    world.tally.in_flight -= 1;
                    world.switch(now, switch, at.port, frame);
                    Ok(())
                }
            },
            SimEvent::Wake { node } => self.nodes[node].wake(now, plan, world),
            SimEvent::Start { flow } => {
                let node = &mut self.nodes[plan.flows[flow].client];
                match node.not_before(now) {
                    // Its process is stopped.
                    later if later > now => {
                        world.queue.push(later, SimEvent::Start { flow });
                        Ok(())
                    }
                    _ => node.start(now, flow, plan, world),
                }
            }
            // Everything is over.
            SimEvent::Listen { .. } if self.silence.is_some() => Ok(()),
            SimEvent::Listen { listener } => {
                self.nodes[plan.listeners[listener].node].listen(now, listener, plan, world)
            }
            SimEvent::Unlisten { listener } => {
                self.nodes[plan.listeners[listener].node].unlisten(now, listener, world);
                Ok(())
            }
            SimEvent::Accept { listener } => {
                self.nodes[plan.listeners[listener].node].accept(now, listener, world)
            }
            SimEvent::Restart { node, restart } => {
                self.nodes[node].restart(now, restart, plan, world);
                Ok(())
            }
            SimEvent::Rekey { node } => {
                self.nodes[node].rekey(now, plan);
                Ok(())
            }
            SimEvent::Watch => {
                if self.silence.is_none() {
                    world.queue.push(now + WATCH_EVERY, SimEvent::Watch);
                    oracle::watch(now, plan, &world.flow_log, &world.tally)?;
                }
                Ok(())
            }
        }
    }

    /// Checks whether applications are through, then whether connections are: then listeners close,
    /// and the network should fall silent.
    fn check_completion(&mut self) -> Result<(), String> {
        if self.silence.is_some() || !self.world.flow_log.is_over() {
            // A late request may have brought a connection back.
            self.over = self.over.filter(|_| self.silence.is_some());
            return Ok(());
        }
        let over = *self.over.get_or_insert(self.now);
        if self.now > over + QUIET_WITHIN {
            return Err(format!("not quiet {QUIET_WITHIN:?} after all was over"));
        }
        if self.nodes.iter().all(|node| node.endpoint.connections() == 0) {
            for (listener, l) in self.plan.listeners.iter().enumerate() {
                self.nodes[l.node].unlisten(self.now, listener, &mut self.world);
            }
            let tally = &self.world.tally;
            // What is doubled from now on is in flight too.
            let doubled = tally.fate(Fate::Duplicated) as i64;
            let owed: usize = self.nodes.iter().map(|node| node.endpoint.refusals_owed()).sum();
            let to_come = tally.in_flight as i64 + owed as i64;
            self.silence = Some((tally.frames, to_come - doubled));
        }
        Ok(())
    }

    /// Without connections nodes send nothing but answers, and no answer is answered.
    fn check_silence(&self) -> Result<(), String> {
        let Some((frames, in_flight)) = self.silence else {
            return Err("connections are left when nothing more will happen".into());
        };
        let since = self.world.tally.frames - frames;
        let in_flight = in_flight + self.world.tally.fate(Fate::Duplicated) as i64;
        if since as i64 > in_flight {
            return Err(format!(
                "{since} frames after the last connection, {in_flight} in flight or owed"
            ));
        }
        Ok(())
    }
}
