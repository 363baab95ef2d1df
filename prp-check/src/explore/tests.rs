use prp_proto::seq::SeqWidth;
use prp_proto::wire::{ETHERTYPE, Frame};

use super::node::{CLIENT, SERVER};
use super::*;

#[test]
fn wrap__first_numbers_are_the_last_ones() {
    for scene in Scene::SMOKE.into_iter().filter(|scene| scene.wrap) {
        let mut world = World::new(scene).unwrap();
        let width = scene.width();
        for to in [SERVER, CLIENT] {
            let frame = world.wires[to].front().cloned().unwrap();
            let first = Frame::parse(&frame, ETHERTYPE).unwrap().head.transport.first_seq(width);
            // If this fails, an endpoint draws in another order than `seed::first_number` says.
            assert!(first.bits() >= width.mask() - 1, "{} {first:?}", scene.name);
            world.apply(Action::Deliver(to)).unwrap();
        }
    }
    assert_ne!(SeqWidth::Bits16.mask(), SeqWidth::Bits20.mask());
}

#[test]
fn smoke__a_part_of_every_scene() {
    for scene in Scene::SMOKE {
        let tally = Search::new(scene, 3000)
            .run()
            .unwrap_or_else(|found| panic!("{}\n{found}", scene.name));
        assert!(tally.states > 100, "{} {tally:?}", scene.name);
    }
}
