use alloc::format;
use std::string::ToString;

use super::*;
use crate::addr::NodeId;
use crate::cluster::Cluster;
use crate::hosts::Hosts;

fn plans() -> Vec<(String, Plan)> {
    let mut all = Vec::new();
    all.extend([2, 3, 5, 17].map(|n| (format!("chain {n}"), Plan::chain(n).unwrap())));
    all.extend([2, 8].map(|n| (format!("star {n}"), Plan::star(n).unwrap())));
    all.extend([3, 4, 7, 17].map(|n| (format!("ring {n}"), Plan::ring(n).unwrap())));
    all.extend([1, 2, 3, 5].map(|d| (format!("hypercube {d}"), Plan::hypercube(d).unwrap())));
    all.extend(
        [(1, 4), (2, 3), (5, 2)].map(|(k, d)| (format!("tree {k} {d}"), Plan::tree(k, d).unwrap())),
    );
    all
}

/// Every plan is a cluster in which every node reaches every other and nothing is dropped.
#[test]
fn hosts__make_clusters_without_a_fault() {
    for (name, plan) in plans() {
        let files = (1..=plan.nodes()).map(|n| {
            let hosts = Hosts::parse(plan.hosts(n).as_bytes()).unwrap_or_else(|e| panic!("{e}"));
            (NodeId::new(n).unwrap(), hosts)
        });
        let faults = Cluster::new(files).faults();
        assert!(faults.is_empty(), "{name}: {:?}", faults.first().map(ToString::to_string));
    }
}

#[test]
fn hosts__of_a_ring_have_the_path_around() {
    let expected = "1 02:00:00:00:00:01 eth0 node1\n\
        2 02:00:00:00:00:02 eth0, 02:00:00:00:04:05 eth1 metric 49 node2\n\
        3 via 2, via 5 metric 17 node3\n\
        4 via 5, via 2 metric 16 node4\n\
        5 02:00:00:00:04:05 eth1, 02:00:00:00:00:02 eth0 metric 48 node5\n";
    assert_eq!(Plan::ring(5).unwrap().hosts(1), expected);
}

#[test]
fn hosts__of_a_hypercube_flip_the_lowest_bit_first() {
    let plan = Plan::hypercube(4).unwrap();
    for node in 1..=16u16 {
        let text = plan.hosts(node);
        let hosts = Hosts::parse(text.as_bytes()).unwrap();
        for other in (1..=16u16).filter(|other| *other != node) {
            let bit = ((node - 1) ^ (other - 1)).trailing_zeros();
            let next = ((node - 1) ^ 1 << bit) + 1;
            let line = hosts.entry(NodeId::new(other).unwrap()).unwrap().to_string();
            let expected =
                if next == other { format!(" eth{bit},") } else { format!("  via {next},") };
            assert!(line.contains(&expected), "{node} to {other}: {line}");
        }
    }
}

#[test]
fn tree__levels_and_numbers() {
    let plan = Plan::tree(2, 2).unwrap();
    assert_eq!(plan.nodes(), 7);
    assert!(plan.hosts(4).contains("\n7 via 2 node7\n"), "{}", plan.hosts(4));
    assert!(plan.hosts(1).contains("\n7 via 3 node7\n"), "{}", plan.hosts(1));
}

#[test]
fn plan__has_the_ports_of_a_switch() {
    let printed = Plan::star(3).unwrap().to_string();
    let links: Vec<_> = printed.lines().filter(|line| line.starts_with("link ")).collect();
    let expected = [
        "link 1 eth0 02:00:00:00:00:01 sw1 p0 02:00:00:01:00:00",
        "link 2 eth0 02:00:00:00:01:02 sw1 p1 02:00:00:01:01:00",
        "link 3 eth0 02:00:00:00:02:03 sw1 p2 02:00:00:01:02:00",
    ];
    assert_eq!(links, expected);
    assert!(printed.contains("\nhosts 3 1 02:00:00:00:00:01 eth0 node1\n"), "{printed}");
}

#[test]
fn sizes__out_of_bounds_are_refused_with_the_bounds() {
    for (error, words) in [
        (Plan::chain(18).unwrap_err(), "chain 18: 2 to 17 nodes"),
        (Plan::ring(2).unwrap_err(), "ring 2: 3 to 17 nodes"),
        (Plan::star(1025).unwrap_err(), "star 1025: 2 to 1024 nodes"),
        (Plan::hypercube(11).unwrap_err(), "hypercube 11: 1 to 10 dimensions"),
        (Plan::tree(0, 1).unwrap_err(), "tree 0: 1 to 15 children"),
        (Plan::tree(15, 8).unwrap_err(), "tree 15 8: "),
    ] {
        assert!(error.to_string().starts_with(words), "{error}");
    }
}
