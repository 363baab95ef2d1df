use super::*;

fn lanes() -> Lanes {
    Lanes::new(foldhash::fast::FixedState::with_seed(1))
}

fn node(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn conn(index: u32) -> ConnHandle {
    ConnHandle { index, generation: 0 }
}

/// Has connection `index` line up, with so much to say.
fn line_up(lanes: &mut Lanes, index: u32, to: u16, unsent: u64) -> Turn {
    let mut turn = lanes.enter(node(to));
    let brief = turn.line_up(unsent);
    lanes.line_up(conn(index), &turn, brief);
    turn
}

/// Takes the next connection out of line.
fn serve(lanes: &mut Lanes) -> Option<u32> {
    let (lane, conn) = lanes.next()?;
    lanes.step_back(lane);
    lanes.go_on(lane);
    Some(conn.index)
}

#[test]
fn next__brief_ones_pass_bulky_ones_but_for_every_second_turn() {
    let mut lanes = lanes();
    for index in 0..6 {
        let unsent = if index < 3 { 1 << 20 } else { 100 };
        line_up(&mut lanes, index, 1, unsent);
    }
    let order: Vec<_> = core::iter::from_fn(|| serve(&mut lanes)).collect();
    assert_eq!(order, [3, 0, 4, 1, 5, 2]);
    assert!(!lanes.is_any_listed());
}

#[test]
fn next__nodes_take_turns() {
    let mut lanes = lanes();
    for index in 0..4 {
        line_up(&mut lanes, index, 1 + index as u16 / 2, 1 << 20);
    }
    let order: Vec<_> = core::iter::from_fn(|| serve(&mut lanes)).collect();
    assert_eq!(order, [0, 2, 1, 3]);
}

#[test]
fn room__is_what_others_to_the_same_node_leave() {
    let mut lanes = lanes();
    let mut one = lanes.enter(node(1));
    let elsewhere = lanes.enter(node(2));
    let other = line_up(&mut lanes, 1, 1, 1 << 20);
    lanes.count(&one, SHARE);
    one.in_flight = SHARE;
    assert!(lanes.has_room(&one), "one alone has its own windows to mind, and no others");
    assert!(!lanes.has_room(&other));
    assert!(lanes.has_room(&elsewhere));
    // Expect: who waits is looked at once, and again as soon as something has arrived.
    assert_eq!(lanes.next().map(|(_, conn)| conn), Some(conn(1)));
    assert_eq!(lanes.next(), None);
    lanes.count(&one, SHARE - 1);
    assert_eq!(lanes.next().map(|(_, conn)| conn), Some(conn(1)));
    assert!(lanes.has_room(&other));
}

#[test]
fn leave__the_last_one_leaves_nothing() {
    let mut lanes = lanes();
    for round in 0..1000 {
        let mut turn = line_up(&mut lanes, 0, 1 + round, 1 << 20);
        lanes.count(&turn, 1000);
        turn.in_flight = 1000;
        lanes.leave(&turn);
        assert!(lanes.next().is_none(), "nobody is there any more");
    }
    assert_eq!((lanes.lanes.len(), lanes.by_node.len()), (1, 0));
    let turn = lanes.enter(node(1));
    assert!(lanes.has_room(&turn) && lanes.lanes[0].in_flight == 0);
}
