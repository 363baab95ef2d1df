//! Depth first through every state of a scene.

use std::collections::HashSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use foldhash::fast::FixedState;

use super::scene::Scene;
use super::world::{Action, World};

/// What a search went through.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default)]
pub struct Tally {
    /// Different states.
    pub states: u64,
    /// Actions taken, those that led to a known state included.
    pub actions: u64,
    /// States at rest, from each of which the network healed.
    pub ends: u64,
    /// Actions on the longest path.
    pub depth: usize,
    /// The limit was reached: there are more states.
    pub cut: bool,
}

/// A broken promise and the path to it.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// What is wrong.
    pub what: String,
    /// What happened, one line each.
    pub trace: Vec<String>,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "  {line}")?;
        }
        write!(f, "{}", self.what)
    }
}

/// A search through the states of one scene.
#[derive(Debug)]
pub struct Search {
    scene: Scene,
    limit: u64,
    seen: HashSet<u64, FixedState>,
    path: Vec<Action>,
    tally: Tally,
}

impl Search {
    /// A search of `scene` that stops after `limit` states.
    pub fn new(scene: Scene, limit: u64) -> Self {
        let seen = HashSet::with_hasher(FixedState::with_seed(1));
        Self { scene, limit, seen, path: Vec::new(), tally: Tally::default() }
    }

    /// Goes through all states.
    ///
    /// # Errors
    /// The first broken promise it meets.
    pub fn run(mut self) -> Result<Tally, Counterexample> {
        // A panic in the protocol is a finding like any other, and its path is worth knowing.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let world = World::new(self.scene)?;
            self.enter(&world)
        }));
        match outcome {
            Ok(Ok(())) => Ok(self.tally),
            Ok(Err(what)) => Err(self.found(what)),
            Err(_) => Err(self.found("panic".to_owned())),
        }
    }

    fn enter(&mut self, world: &World) -> Result<(), String> {
        if !self.seen.insert(world.fingerprint()) {
            return Ok(());
        }
        self.tally.states += 1;
        self.tally.depth = self.tally.depth.max(self.path.len());
        if self.tally.states >= self.limit {
            self.tally.cut = true;
        }
        if world.steps().is_empty() {
            self.tally.ends += 1;
            world.clone().heal()?;
        }
        for action in world.actions() {
            if self.tally.cut {
                break;
            }
            self.tally.actions += 1;
            let mut next = world.clone();
            self.path.push(action);
            next.apply(action)?;
            self.enter(&next)?;
            self.path.pop();
        }
        Ok(())
    }

    /// Walks the path again to describe it.
    fn found(&self, what: String) -> Counterexample {
        let mut trace = Vec::new();
        if let Ok(mut world) = World::new(self.scene) {
            for action in &self.path {
                trace.push(world.describe(*action).to_string());
                if !matches!(catch_unwind(AssertUnwindSafe(|| world.apply(*action))), Ok(Ok(()))) {
                    break;
                }
            }
        }
        Counterexample { what, trace }
    }
}
