use alloc::string::{String, ToString};

use super::*;

fn cluster(files: &[(u16, &str)]) -> Cluster {
    Cluster::new(files.iter().map(|(node, text)| {
        let hosts = Hosts::parse(text.as_bytes()).unwrap_or_else(|e| panic!("{e}"));
        (NodeId::new(*node).unwrap(), hosts)
    }))
}

fn descriptions(cluster: &Cluster) -> Vec<String> {
    cluster.faults().iter().map(ToString::to_string).collect()
}

const ONE: &str = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n3 via 2\n";
const TWO: &str = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n3 02:00:00:00:00:03 eth1\n";
const THREE: &str = "1 via 2\n2 02:00:00:00:01:02 eth0\n3 02:00:00:00:00:03 eth0\n";

#[test]
fn faults__of_a_chain_that_is_right_are_none() {
    let cluster = cluster(&[(1, ONE), (2, TWO), (3, THREE)]);
    assert_eq!(descriptions(&cluster), [""; 0]);
    assert_eq!(cluster.asymmetries(), []);
}

#[test]
fn faults__missing_lines_and_missing_return_paths() {
    let short = "2 02:00:00:00:01:02 eth0\n3 02:00:00:00:00:03 eth0\n";
    assert_eq!(
        descriptions(&cluster(&[(1, ONE), (2, TWO), (3, short)])),
        [
            "from 1 to 3: node 3 drops what comes by node 2: none of its routes to 1 leads there",
            "from 3 to 1: node 3 has no line for 1",
        ]
    );
}

#[test]
fn faults__circles_of_two_and_of_three() {
    let one = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n9 via 2\n";
    let two = "1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n9 via 1\n";
    let nine = "1 via 2\n2 02:00:00:00:00:02 eth0\n9 02:00:00:00:00:09 eth0\n";
    let circle = cluster(&[(1, one), (2, two), (9, nine)]);
    let faults = circle.faults();
    assert!(
        faults.iter().any(|f| matches!(f.what, FaultKind::Dropped { .. } | FaultKind::Loop { .. })),
        "{faults:?}"
    );
    // In a circle of three a node that checks sources accepts them, if all list all routes.
    let file = |own: u16, next: u16, other: u16| {
        alloc::format!(
            "{own} 02:00:00:00:00:0{own} eth0\n{next} 02:00:00:00:00:0{next} eth0, \
             02:00:00:00:00:0{other} eth0 metric 1\n{other} 02:00:00:00:00:0{other} eth0, \
             02:00:00:00:00:0{next} eth0 metric 1\n9 via {next}\n"
        )
    };
    let files = [file(1, 2, 3), file(2, 3, 1), file(3, 1, 2)];
    let three = cluster(&[(1, &files[0]), (2, &files[1]), (3, &files[2]), (9, nine)]);
    let loops = three.faults();
    let loops = loops.iter().filter(|f| f.to.number() == 9 && f.from.number() < 9);
    assert!(loops.clone().count() == 3);
    for fault in loops {
        assert!(
            matches!(fault.what, FaultKind::Loop { .. } | FaultKind::Dropped { .. }),
            "{fault}"
        );
    }
}

#[test]
fn asymmetric__paths_that_differ_there_and_back() {
    let files: Vec<_> =
        (1..=4u16).map(|n| (n, crate::plan::Plan::hypercube(2).unwrap().hosts(n))).collect();
    let files: Vec<_> = files.iter().map(|(n, text)| (*n, text.as_str())).collect();
    let paths = cluster(&files).asymmetries();
    let numbers = |path: &[NodeId]| path.iter().map(|node| node.number()).collect::<Vec<_>>();
    let paths: Vec<_> = paths.iter().map(|a| (numbers(&a.there), numbers(&a.back))).collect();
    // Expect: e-cube order goes round the other corner on the path back.
    let expected = [([1, 2, 4], [4, 3, 1]), ([2, 1, 3], [3, 4, 2])];
    assert_eq!(paths, expected.map(|(there, back)| (there.to_vec(), back.to_vec())));
}

/// Lines and fixes, as tools print them.
fn located_fixes(cluster: &Cluster) -> Vec<String> {
    let line = |fault: &Fault| fault.line.map_or_else(|| "-".into(), |line| line.to_string());
    let describe = |fault: &Fault| alloc::format!("{}:{} {}", fault.at, line(fault), fault.fix());
    cluster.faults().iter().map(describe).collect()
}

#[test]
fn faults__name_the_line_and_the_fix() {
    let short = "2 02:00:00:00:01:02 eth0\n3 02:00:00:00:00:03 eth0\n";
    let fixes = located_fixes(&cluster(&[(1, ONE), (2, TWO), (3, short)]));
    assert_eq!(fixes, ["3:- add a line, `1 via 2`", "3:- add a line, `1 via NODE`"]);
    // Node 3 knows the route to 1, and it is another one than that by which 1's frames come.
    let three = "1 02:00:00:00:00:09 eth1\n2 02:00:00:00:01:02 eth0\n3 02:00:00:00:00:03 eth0\n";
    let fixes = located_fixes(&cluster(&[(1, ONE), (2, TWO), (3, three)]));
    assert!(
        fixes.contains(&"3:1 list the route back among its next hops: `, via 2 metric 100`".into())
    );
}

#[test]
fn faults__next_hops_that_are_not_there() {
    // Node 3 is behind 2, of which there is no file; and 4 tells 1 of no node.
    let one = alloc::format!("{ONE}4 02:00:00:00:00:04 eth0\n");
    let four = "4 02:00:00:00:00:04 eth0\n";
    let cluster = cluster(&[(1, &one), (4, four)]);
    assert_eq!(cluster.nodes().len(), 4);
    assert_eq!(
        descriptions(&cluster),
        [
            "from 1 to 3: node 1 sends to node 2, whose prphosts is not there",
            "from 1 to 4: node 4 drops what comes by node 1: none of its routes to 1 leads there",
            "from 4 to 1: node 4 has no line for 1",
            "from 4 to 2: node 4 has no line for 2",
            "from 4 to 3: node 4 has no line for 3",
        ]
    );
    assert_eq!(
        located_fixes(&cluster)[..2],
        [
            "1:3 put node 2's file beside the others, or name another next hop",
            "4:- add a line, `1 ADDRESS DEVICE`",
        ]
    );
}

#[test]
fn faults__a_neighbour_that_is_said_to_be_behind_another() {
    let four = "1 via 3\n2 via 3\n3 02:00:00:00:03:03 eth0\n4 02:00:00:00:00:04 eth0\n";
    let three = alloc::format!("{THREE}4 via 2\n");
    let cluster = cluster(&[(3, &three), (4, four)]);
    let fixes = located_fixes(&cluster);
    let fix = "3:4 name the link to it in its line: `4 ADDRESS DEVICE`".to_string();
    assert!(fixes.contains(&fix), "{fixes:?}");
}

#[test]
fn faults__hardware_addresses_of_others() {
    let swapped = ONE.replace("00:02 eth0", "00:03 eth0");
    let cluster = cluster(&[(1, &swapped), (2, TWO), (3, THREE)]);
    let (faults, fixes) = (descriptions(&cluster), located_fixes(&cluster));
    assert_eq!(
        faults[0],
        "from 1 to 2: node 1 sends to node 2 at a hardware address that is node 3's own"
    );
    assert_eq!(fixes[0], "1:2 take the hardware address of the line for 2 from node 2");
    // Two nodes with one address, on segments of their own, are no mistake.
    let same = THREE.replace("00:03 eth0", "00:01 eth0");
    let two = TWO.replace("00:03 eth1", "00:01 eth1");
    assert_eq!(descriptions(&self::cluster(&[(1, ONE), (2, &two), (3, &same)])), [""; 0]);
}

#[test]
fn faults__nodes_of_another_ethertype_and_without_a_line_of_their_own() {
    let other = alloc::format!("ethertype 0x88b6\n{TWO}");
    let fixes = located_fixes(&cluster(&[(1, ONE), (2, &other)]));
    assert_eq!(fixes[0], "1:2 give node 2 and node 1 the same `ethertype`", "{fixes:?}");
    let one = "2 02:00:00:00:00:02 eth0\n";
    let faults = descriptions(&cluster(&[(1, one)]));
    assert_eq!(faults, ["from 1 to 1: node 1 has no line for 1"]);
}

#[test]
fn faults__a_chain_that_is_too_long() {
    // Plans know the limit themselves, so this one is by hand: 18 nodes, 16 routers between the
    // ends.
    let last = 18;
    let mac = |node: u16, side: u16| alloc::format!("02:00:00:00:{side:02x}:{node:02x}");
    let file = |own: u16| {
        let line = |node: u16| {
            let hop = match node {
                _ if node == own => alloc::format!("{} eth0", mac(node, 0)),
                _ if node + 1 == own => alloc::format!("{} eth0", mac(node, 1)),
                _ if node == own + 1 => alloc::format!("{} eth1", mac(node, 0)),
                _ => alloc::format!("via {}", if node < own { own - 1 } else { own + 1 }),
            };
            alloc::format!("{node} {hop}\n")
        };
        (1..=last).map(line).collect::<String>()
    };
    let files: Vec<_> = (1..=last).map(|own| (own, file(own))).collect();
    let files: Vec<_> = files.iter().map(|(own, text)| (*own, text.as_str())).collect();
    let faults = cluster(&files).faults();
    let ends: Vec<_> = faults.iter().map(|f| (f.from.number(), f.to.number(), f.what)).collect();
    assert_eq!(ends, [(1, last, FaultKind::TooFar), (last, 1, FaultKind::TooFar)]);
}

#[test]
fn faults__a_node_that_sends_back_is_a_loop_and_no_missing_return_path() {
    let three = "1 via 2\n2 02:00:00:00:01:02 eth0\n3 02:00:00:00:00:03 eth0\n9 via 2\n";
    let (one, two) = (alloc::format!("{ONE}9 via 2\n"), alloc::format!("{TWO}9 via 3\n"));
    let faults = cluster(&[(1, &one), (2, &two), (3, three)]).faults();
    let found: Vec<_> =
        faults.iter().map(|f| (f.from.number(), f.at.number(), f.line, f.what)).collect();
    let node = |number| NodeId::new(number).unwrap();
    let back = |number| FaultKind::Loop { back: node(number) };
    // Each is told of where frames are for the second time.
    assert_eq!(
        found,
        [(1, 3, Some(4), back(2)), (2, 3, Some(4), back(2)), (3, 2, Some(4), back(3))]
    );
}
