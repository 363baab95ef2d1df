//! The machines that scenes need.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::check::CheckArgs;
use crate::failure::{Context, Outcome};
use crate::kernel::Kernel;
use crate::lab::{Card, Lab, NodePlace, address, nic_id};
use crate::machine::{Cable, Hardware, Machine, Nic};
use crate::model::Model;
use crate::scenes::Setup;
use crate::system_root::SystemRoot;

/// Boots machines for scenes with this setup, their files below `scratch`. The first has the first
/// kernel and `model`, others have the second kernel and another model.
///
/// # Errors
/// A machine does not boot.
pub(super) fn boot(
    kernels: [&Kernel; 2],
    model: &'static Model,
    setup: Setup,
    scratch: &Path,
    end: Instant,
    args: &CheckArgs,
) -> Outcome<Lab> {
    let places = places(setup, model);
    let system = (setup == Setup::System)
        .then(|| SystemRoot::find(&args.cache, args.package.as_deref()))
        .transpose()?;
    let (root, package) = system.map(|system| (system.folder, system.package)).unzip();
    let count = 1 + places.iter().map(|place| place.machine).max().unwrap_or(0);
    let (processors, memory) = match setup {
        Setup::OneProcessor => (1, 1024),
        Setup::SmallMemory => (2, 320),
        _ => (2, 1024),
    };
    let mut machines = Vec::new();
    for number in 0..count {
        let folder = scratch.join(format!("machine{number}"));
        // Of a machine before it.
        if folder.exists() {
            fs::remove_dir_all(&folder).context(folder.display())?;
        }
        let own = places.iter().filter(|place| place.machine == number);
        let nics = own.flat_map(|place| nics(place, &places, scratch)).collect();
        let root = root.clone();
        let hardware = Hardware { processors, memory, nics, kvm: args.kvm, root };
        machines.push(Machine::launch(kernels[number.min(1)], &hardware, &folder, end)?);
    }
    machines.iter_mut().try_for_each(Machine::wait_until_booted)?;
    let mut lab = Lab::new(machines, places, args.verbose).with_package(package);
    lab.load_modules()?;
    Ok(lab)
}

/// The nodes of a setup with their machines and cards.
fn places(setup: Setup, model: &'static Model) -> Vec<NodePlace> {
    let other = model.partner();
    let place = |node, machine, cards: &[(usize, &'static Model)]| {
        let cards = cards.iter().map(|(cable, model)| Card { cable: *cable, model }).collect();
        NodePlace { node, machine, cards }
    };
    match setup {
        Setup::Pair | Setup::OneProcessor | Setup::SmallMemory => {
            let both = [(0, model), (1, model)];
            vec![place(1, 0, &both), place(2, 0, &both)]
        }
        Setup::Mixed => vec![place(1, 0, &[(0, model)]), place(2, 0, &[(0, other)])],
        Setup::Chain => vec![
            place(1, 0, &[(0, model)]),
            place(2, 0, &[(1, other)]),
            place(3, 0, &[(0, model), (1, other)]),
        ],
        Setup::TwoMachines => vec![place(1, 0, &[(0, model)]), place(2, 1, &[(0, other)])],
        Setup::System => Vec::new(),
        Setup::ThreeMachines => vec![
            place(1, 0, &[(0, model)]),
            place(2, 1, &[(1, other)]),
            place(3, 2, &[(0, other), (1, other)]),
        ],
    }
}

/// The cards of a node: on hubs where both ends of a cable are in the same machine.
fn nics(place: &NodePlace, all: &[NodePlace], scratch: &Path) -> Vec<Nic> {
    let nic = |card: &Card| {
        let peer = all.iter().find(|peer| {
            peer.node != place.node && peer.cards.iter().any(|end| end.cable == card.cable)
        });
        let socket = |node| scratch.join(format!("{}.socket", nic_id(node, card.cable)));
        let cable = match peer {
            Some(peer) if peer.machine != place.machine => {
                Cable::Machine(socket(place.node), socket(peer.node))
            }
            _ if card.model.queues > 1 => Cable::Bridge(card.cable),
            _ => Cable::Hub(card.cable),
        };
        let (id, address) = (nic_id(place.node, card.cable), address(place.node, card.cable));
        Nic { id, model: card.model, address, cable }
    };
    place.cards.iter().map(nic).collect()
}
