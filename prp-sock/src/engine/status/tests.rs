use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use prp_node::status::{Page, pages};

use super::*;
use crate::engine::enlist;
use crate::testing::{Pair, TEST_TIMEOUT};

/// What both engines of `pair` answer to a request.
fn ask(pair: &Pair) -> Vec<Page> {
    let nodes = [&pair.alpha, &pair.beta].map(|node| node.engine().local_node().number());
    let mut both = [&pair.alpha, &pair.beta].map(|node| Status::new(node.engine()));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let asker = scope.spawn(|| {
            let (found, _) = pages(TEST_TIMEOUT).expect("/proc");
            is_over.store(true, Ordering::Relaxed);
            found
        });
        while !is_over.load(Ordering::Relaxed) {
            for (status, node) in both.iter_mut().zip([&pair.alpha, &pair.beta]) {
                status.check(node.engine());
            }
            thread::yield_now();
        }
        let mut found = asker.join().expect("no panic");
        found.retain(|page| page.pid == std::process::id() && nodes.contains(&page.node));
        found.sort_by_key(|page| nodes.iter().position(|node| *node == page.node));
        found
    })
}

#[test]
fn check__both_ends_of_a_connection_are_shown() {
    let pair = Pair::new();
    let (mut one, two) = pair.streams();
    one.write_all(&[7; 100]).expect("it stands");
    one.wait_delivered().expect("it stands");
    let found = ask(&pair);
    assert_eq!(found.len(), 2, "{found:?}");
    let connection = |page: &Page| {
        let found = page.records.iter().find(|record| record.kind == "connection");
        found.unwrap_or_else(|| panic!("{page:?}")).clone()
    };
    let (sender, receiver) = (connection(&found[0]), connection(&found[1]));
    assert_eq!((sender.text("state"), receiver.text("state")), (Some("ESTAB"), Some("ESTAB")));
    assert_eq!(sender.text("peer"), receiver.text("local"));
    assert_eq!((sender.text("role"), receiver.text("role")), (Some("connected"), Some("accepted")));
    assert_eq!(
        (sender.number("send_queue"), receiver.number("receive_queue")),
        (Some(0), Some(100))
    );
    assert_eq!(sender.number("bytes_sent"), Some(100));
    assert!(sender.number("rtt_ns").is_some_and(|rtt| rtt > 0), "{sender:?}");
    assert!(sender.number("rto_ns") >= sender.number("rtt_ns"), "{sender:?}");
    let process = &found[0].records[0];
    assert!(process.text("namespace").is_some_and(|n| n.starts_with("net:[")), "{process:?}");
    drop((one, two));
}

/// However many ask: once in an interval.
#[test]
fn check__is_not_written_more_often_than_it_may_be() {
    let pair = Pair::new();
    let engine = pair.alpha.engine();
    let mut status = Status::new(engine);
    status.is_asked = true;
    assert_eq!(status.check(engine), None);
    status.is_asked = true;
    status.next = engine.now() + Duration::from_secs(60);
    assert_eq!(status.check(engine), Some(status.next));
    assert!(status.is_asked);
}

/// What a program serves of itself.
#[test]
fn openmetrics__has_the_engines_of_this_process() {
    let pair = Pair::new();
    let engine = pair.alpha.engine();
    let node = engine.local_node();
    enlist(engine, &format!("prp-testing/{node}"));
    let (_ours, _theirs) = pair.streams();
    let text = openmetrics();
    let labels = format!("{{node=\"{node}\",pid=\"{}\",", std::process::id());
    let sample =
        text.lines().find(|line| line.starts_with(&format!("prp_connected_total{labels}")));
    assert!(sample.is_some_and(|line| line.ends_with(" 1")), "{text}");
    assert!(text.contains(&format!("prp_connections{labels}")) && text.ends_with("\n# EOF\n"));
}
