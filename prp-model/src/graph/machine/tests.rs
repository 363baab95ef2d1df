use super::*;
use crate::graph::{NOTHING, Parts, PatternKind};
use crate::unit::Bytes;

fn block(a: f64, b: f64) -> Block {
    Block { fixed: Seconds::new(a), byte: SecondsPerByte::new(b) }
}

const A: f64 = 5.0;
const B: f64 = 0.5;

/// Workstations and a network that takes `wire` for a message.
fn parts(wire: f64) -> Parts {
    Parts { workstation: block(A, B), network: block(wire, 0.25), delay: NOTHING }
}

fn on(kind: PatternKind, processes: u32, wire: f64, machine: &Machine) -> Shared {
    let graph = parts(wire).graph(kind, processes, true);
    graph.on(machine, &graph.reduce())
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() <= 1e-9 * left.abs().max(right.abs())
}

fn seconds(number: f64) -> Seconds {
    Seconds::new(number)
}

const KINDS: [PatternKind; 5] = [
    PatternKind::TreeBroadcast,
    PatternKind::FlatBroadcast,
    PatternKind::Reduction,
    PatternKind::Neighbours(2),
    PatternKind::Pairs,
];

#[test]
fn on__two_processes_of_one_processor_take_the_serial_sum() {
    let shared = on(PatternKind::Pairs, 2, 3.0, &Machine::new(1));
    assert!(near(shared.whole.fixed.number(), 2.0 * A + 3.0), "{shared:?}");
    // Rule 1 of dependent blocks.
    assert!(near(shared.whole.byte.number(), 2.0 * B), "{shared:?}");
    // It works on one of them at a time.
    let time = shared.time(Bytes::new(8.0)).number();
    assert!(near(time, 2.0 * A + 3.0 + 8.0 * 2.0 * B), "{time}");
    assert_eq!(shared.small.expect("plain paths").to_string(), "2 a_W + a_C + a_L + w");
}

#[test]
fn on__a_processor_for_each_process_is_what_the_rules_say() {
    let never_sleeps =
        Machine { spin: seconds(1e9), wake: seconds(7.0), switch: seconds(2.0), ..Machine::new(4) };
    let two_nodes = Machine { processes: Some(2), processors: 2, ..never_sleeps };
    for kind in KINDS {
        let graph = parts(20.0).graph(kind, 4, true);
        let rules = graph.reduce();
        for machine in [Machine::new(4), Machine::new(9), never_sleeps, two_nodes] {
            let shared = graph.on(&machine, &rules);
            assert_eq!(shared.whole, rules.whole, "{kind:?} {machine:?}");
            let size = Bytes::new(30.0);
            assert_eq!(shared.time(size), rules.whole.time(size), "{kind:?} {machine:?}");
        }
        // On fewer it takes longer, for small messages and for large ones.
        let graph = parts(0.0).graph(kind, 4, true);
        let rules = graph.reduce();
        let shared = graph.on(&Machine::new(1), &rules).whole;
        assert!(shared.fixed > rules.whole.fixed && shared.byte > rules.whole.byte, "{kind:?}");
    }
}

#[test]
fn on__a_wake_up_is_added_where_a_process_has_slept() {
    let machine =
        |spin, wake| Machine { spin: seconds(spin), wake: seconds(wake), ..Machine::new(2) };
    // The receiver waits for A + 3.
    let sleeps = on(PatternKind::Pairs, 2, 3.0, &machine(A + 2.5, 7.0));
    assert!(near(sleeps.whole.fixed.number(), 2.0 * A + 3.0 + 7.0), "{sleeps:?}");
    assert_eq!((sleeps.wakes, sleeps.switches), (1, 0));
    assert_eq!(sleeps.small.expect("plain paths").count("w"), 1);
    let polls = on(PatternKind::Pairs, 2, 3.0, &machine(A + 3.5, 7.0));
    assert!(near(polls.whole.fixed.number(), 2.0 * A + 3.0), "{polls:?}");
    assert_eq!(polls.wakes, 0);
    // Down the tree of four each process sleeps once: 0 to 1, 1 to 3.
    let tree =
        on(PatternKind::TreeBroadcast, 4, 0.0, &Machine { processors: 4, ..machine(0.0, 7.0) });
    assert!(near(tree.whole.fixed.number(), 4.0 * A + 2.0 * 7.0), "{tree:?}");
}

#[test]
fn on__a_processor_changes_from_process_to_process() {
    // Each pair one after the other: a message has come when its receiver would wait for it.
    let machine = Machine { switch: seconds(2.0), ..Machine::new(1) };
    let shared = on(PatternKind::Pairs, 4, 0.0, &machine);
    assert!(near(shared.whole.fixed.number(), 4.0 * A + 3.0 * 2.0), "{shared:?}");
    assert_eq!((shared.wakes, shared.switches), (0, 3));
    assert_eq!(shared.small.expect("plain paths").to_string(), "4 a_W + 3 c");
}

/// Process 1 waits from A on, and its message comes while process 2 sends.
#[test]
fn on__a_wake_up_overlaps_with_the_work_of_others() {
    let machine = |wake| Machine { wake: seconds(wake), ..Machine::new(1) };
    let short = on(PatternKind::Pairs, 4, 2.0, &machine(2.5));
    assert!(near(short.whole.fixed.number(), 4.0 * A), "{short:?}");
    assert_eq!(short.wakes, 2);
    // Process 3 has its message at 2 A + 2.
    let long = on(PatternKind::Pairs, 4, 2.0, &machine(50.0));
    assert!(near(long.whole.fixed.number(), 2.0 * A + 2.0 + 50.0 + A), "{long:?}");
}

#[test]
fn on__the_network_overlaps_with_work_and_takes_one_message_at_a_time() {
    let shared = on(PatternKind::Pairs, 4, 100.0, &Machine::new(1));
    assert!(near(shared.whole.fixed.number(), A + 2.0 * 100.0 + A), "{shared:?}");
    assert_eq!(shared.small.expect("plain paths").to_string(), "2 a_W + 2 a_C + a_L + w");
}

/// Process 1 polls for its answer and process 2 for what it is asked: only then has process 3 a
/// processor.
#[test]
fn on__a_process_that_polls_holds_its_processor() {
    let text = r#"
        [[block]]
        name = "W"
        a = 5
        b = 0
        copies = 4
        [[block]]
        name = "D"
        a = 30
        b = 0
        copies = 3
        [[message]]
        name = "ask"
        from = "1"
        to = "2"
        via = ["W0", "D0", "W1"]
        [[message]]
        name = "answer"
        from = "2"
        to = "1"
        via = ["W1", "D1", "W0"]
        after = ["ask"]
        [[message]]
        name = "other"
        from = "3"
        to = "4"
        via = ["W2", "D2", "W3"]
    "#;
    let graph = Graph::parse(text).unwrap_or_else(|error| panic!("{error}"));
    let begins = |spin: f64| {
        let machine = Machine { spin: seconds(spin), ..Machine::new(1) };
        let shared = graph.on(&machine, &graph.reduce());
        let bar = shared.timeline.bars.iter().find(|bar| bar.process == "3").cloned();
        bar.expect("process 3 sends").from
    };
    assert!(near(begins(0.0), 5.0), "{}", begins(0.0));
    assert!(near(begins(8.0), 5.0 + 2.0 * 8.0), "{}", begins(8.0));
}

/// Each step of the tree of four: one message, and then two; both processors work at each end.
#[test]
fn on__large_messages_divide_the_processors() {
    let tree = on(PatternKind::TreeBroadcast, 4, 0.0, &Machine::new(2));
    assert!(near(tree.whole.byte.number(), B + 4.0 * B / 2.0), "{tree:?}");
    // Where the network is slower it is what a step takes.
    let slow = Parts { network: block(0.0, 9.0), ..parts(0.0) };
    let graph = slow.graph(PatternKind::TreeBroadcast, 4, true);
    let shared = graph.on(&Machine::new(2), &graph.reduce());
    assert!(near(shared.whole.byte.number(), 9.0 + 18.0), "{shared:?}");
}
