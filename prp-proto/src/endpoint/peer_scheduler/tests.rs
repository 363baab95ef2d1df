use super::*;

fn scheduler() -> PeerScheduler {
    PeerScheduler::new(foldhash::fast::FixedState::with_seed(1))
}

fn node(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn conn(index: u32) -> ConnHandle {
    ConnHandle { index, generation: 0 }
}

/// Has connection `index` wait in line, with `unsent` bytes to send.
fn enqueue(scheduler: &mut PeerScheduler, index: u32, to: u16, unsent: u64) -> SendSlot {
    let mut send_slot = scheduler.enter(node(to));
    let short = send_slot.enqueue(unsent);
    scheduler.enqueue(conn(index), &send_slot, short);
    send_slot
}

/// Takes the next connection out of line.
fn serve(scheduler: &mut PeerScheduler) -> Option<u32> {
    let (queue, conn) = scheduler.next()?;
    scheduler.dequeue(queue);
    scheduler.requeue(queue);
    Some(conn.index)
}

#[test]
fn next__brief_ones_pass_bulky_ones_but_for_every_second_time() {
    let mut scheduler = scheduler();
    for index in 0..6 {
        let unsent = if index < 3 { 1 << 20 } else { 100 };
        enqueue(&mut scheduler, index, 1, unsent);
    }
    let order: Vec<_> = core::iter::from_fn(|| serve(&mut scheduler)).collect();
    assert_eq!(order, [3, 0, 4, 1, 5, 2]);
    assert!(!scheduler.is_any_active());
}

#[test]
fn next__nodes_alternate() {
    let mut scheduler = scheduler();
    for index in 0..4 {
        enqueue(&mut scheduler, index, 1 + index as u16 / 2, 1 << 20);
    }
    let order: Vec<_> = core::iter::from_fn(|| serve(&mut scheduler)).collect();
    assert_eq!(order, [0, 2, 1, 3]);
}

#[test]
fn room__is_what_others_to_the_same_node_leave() {
    let mut scheduler = scheduler();
    let mut one = scheduler.enter(node(1));
    let elsewhere = scheduler.enter(node(2));
    let other = enqueue(&mut scheduler, 1, 1, 1 << 20);
    scheduler.count(&one, SHARE);
    one.in_flight = SHARE;
    assert!(
        scheduler.has_room(&one, Device::WINDOW),
        "one alone has its own windows to mind, and no others"
    );
    assert!(!scheduler.has_room(&other, Device::WINDOW));
    assert!(scheduler.has_room(&elsewhere, Device::WINDOW));
    // Expect: a waiting connection is checked once, and again when something has arrived.
    assert_eq!(scheduler.next().map(|(_, conn)| conn), Some(conn(1)));
    assert_eq!(scheduler.next(), None);
    scheduler.count(&one, SHARE - 1);
    assert_eq!(scheduler.next().map(|(_, conn)| conn), Some(conn(1)));
    assert!(scheduler.has_room(&other, Device::WINDOW));
}

#[test]
fn share__follows_the_window_of_the_peer() {
    let share_of = |windows| share(windows * Device::WINDOW / 4);
    assert_eq!([0, 1, 4].map(share_of), [SHARE; 3], "as one connection has by default");
    assert_eq!(share_of(6), 2 * Device::WINDOW);
    assert_eq!([8, 1000].map(share_of), [2 * Device::MAX_WINDOW; 2]);
}

#[test]
fn leave__the_last_one_leaves_nothing() {
    let mut scheduler = scheduler();
    for round in 0..1000 {
        let mut send_slot = enqueue(&mut scheduler, 0, 1 + round, 1 << 20);
        scheduler.count(&send_slot, 1000);
        send_slot.in_flight = 1000;
        scheduler.leave(&send_slot);
        assert!(scheduler.next().is_none(), "nobody is there any more");
    }
    assert_eq!((scheduler.queues.len(), scheduler.by_node.len()), (1, 0));
    let send_slot = scheduler.enter(node(1));
    assert!(scheduler.has_room(&send_slot, Device::WINDOW) && scheduler.queues[0].in_flight == 0);
}
