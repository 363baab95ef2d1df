//! What is done in machines, by name.

mod basics;
mod changes;
mod faults;
mod link;
mod machines;
mod offloads;
mod processors;
mod queues;
mod stacked;
mod system;
mod tags;

use crate::failure::Outcome;
use crate::kernel::Kernel;
use crate::lab::Lab;
use crate::model::Model;

/// The machines that a scene needs.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub(crate) enum Setup {
    /// One machine of two processors; two nodes, joined by two cables.
    Pair,
    /// The same with one cable, and the second node's card of another model.
    Mixed,
    /// As [`Self::Pair`] with one processor.
    OneProcessor,
    /// The same with little memory.
    SmallMemory,
    /// One machine; two nodes, and between them a third one that has a card of either's cable. The
    /// cards of the second cable are of another model.
    Chain,
    /// A machine for each of two nodes; the second one has another kernel and another model.
    TwoMachines,
    /// A machine for each of three nodes, the third one between the others.
    ThreeMachines,
    /// A machine with a Debian of its own, with systemd, and no nodes.
    System,
}

/// Why a scene makes no sense somewhere, if it makes none.
type Exception = fn(&Kernel, &Model) -> Option<&'static str>;

/// Something that is done in machines.
#[derive(Debug)]
pub(crate) struct Scene {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does, in a line.
    pub(crate) summary: &'static str,
    /// What it needs.
    pub(crate) setup: Setup,
    /// Whether it is run by `--short`.
    pub(crate) is_core: bool,
    /// Whether it asks of the card or its driver what other scenes do not: if not, one model is as
    /// good as all.
    pub(crate) depends_on_card: bool,
    /// Where it is left out.
    pub(crate) exception: Exception,
    /// Its steps.
    pub(crate) run: fn(&mut Lab) -> Outcome,
}

impl Scene {
    /// A scene with a pair, everywhere.
    const fn new(name: &'static str, summary: &'static str, run: fn(&mut Lab) -> Outcome) -> Self {
        let exception: Exception = |_, _| None;
        let (setup, is_core, depends_on_card) = (Setup::Pair, false, true);
        Self { name, summary, setup, is_core, depends_on_card, exception, run }
    }

    /// The same scene with other machines.
    const fn with(mut self, setup: Setup) -> Self {
        self.setup = setup;
        self
    }

    /// The same scene, which one model is enough for.
    const fn with_any_card(mut self) -> Self {
        self.depends_on_card = false;
        self
    }

    /// The same scene, run by `--short` too.
    const fn core(mut self) -> Self {
        self.is_core = true;
        self
    }
}

/// All scenes, in the order in which they are run.
pub(crate) fn all() -> Vec<Scene> {
    let files = [
        basics::SCENES,
        tags::SCENES,
        link::SCENES,
        machines::SCENES,
        offloads::SCENES,
        queues::SCENES,
        faults::SCENES,
        stacked::SCENES,
        changes::SCENES,
        processors::SCENES,
        system::SCENES,
    ];
    files.into_iter().flat_map(|scenes| scenes()).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn all__have_names_of_their_own() {
        let scenes = all();
        let names: HashSet<_> = scenes.iter().map(|scene| scene.name).collect();
        assert_eq!(names.len(), scenes.len());
        assert!(scenes.iter().any(|scene| scene.is_core));
    }
}
