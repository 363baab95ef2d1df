//! Nodes in VLANs of a device, without a VLAN device of the kernel (SPEC PRP-HOSTS-17).
#![allow(non_snake_case, reason = "tests are named function__case")]

use prp_routed::report::Question;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream::{connect, exchange};
use prp_tests::topology::{Node, Topology};

prp_tests::main! {
    light:
        vlan__carries_streams_and_is_apart,
        vlan__a_router_joins_two_of_one_device;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");
const MIB: u64 = 1 << 20;

/// A process on a machine, which is the node that `hosts` says.
fn process(machine: &Node<'_>, hosts: &TempFile) -> Puppet {
    Puppet::run("puppet", machine.command_with_hosts(hosts.path(), PUPPET))
}

fn vlan__carries_streams_and_is_apart() {
    let topology = Topology::pair_with(["--underlay", "ethernet"]);
    let machines = [topology.node(1), topology.node(2)];
    let [one, two] = machines.each_ref().map(|machine| machine.field("mac"));
    let hosts = |tag: &str| TempFile::new(format!("1 {one} eth0 {tag}\n2 {two} eth0 {tag}\n"));
    let files = ["vlan=7 priority=5", "vlan=8", ""].map(hosts);
    let seed = seed::of("vlan__carries_streams_and_is_apart");
    for (file, others) in [(&files[0], [1, 2]), (&files[2], [0, 1])] {
        let (mut client, mut server) = (process(&machines[0], file), process(&machines[1], file));
        connect(&mut client, &mut server, "2:80", "");
        exchange(&mut client, &mut server, seed, 2 * MIB, |_| ());
        for other in others {
            let mut stranger = process(&machines[0], &files[other]);
            assert_eq!(stranger.fails("connect s 2:80 timeout=300"), "TimedOut", "{other}");
        }
    }
}

/// The second machine is two nodes, in a VLAN each. They reach each other by the first one, which
/// is in both, and by nothing else.
fn vlan__a_router_joins_two_of_one_device() {
    let topology = Topology::pair_with(["--underlay", "ethernet"]);
    let machines = [topology.node(1), topology.node(2)];
    let [one, two] = machines.each_ref().map(|machine| machine.field("mac"));
    let trunk = TempFile::new(format!(
        "self 1\n1 {one} eth0 vlan=7, {one} eth0 vlan=8\n2 {two} eth0 vlan=7\n3 {two} eth0 vlan=8\n"
    ));
    let ends = [(2, 7, 3), (3, 8, 2)].map(|(own, vlan, other)| {
        TempFile::new(format!(
            "self {own}\n1 {one} eth0 vlan={vlan}\n{own} {two} eth0 vlan={vlan}\n{other} via 1\n"
        ))
    });
    let _router = Router::run(machines[0].command_with_hosts(trunk.path(), ROUTED));
    let [mut client, mut server] = ends.each_ref().map(|hosts| process(&machines[1], hosts));
    connect(&mut client, &mut server, "3:80", "");
    let seed = seed::of("vlan__a_router_joins_two_of_one_device");
    exchange(&mut client, &mut server, seed, 2 * MIB, |_| ());
    let counters = ask(&machines[0], ASK, &Question::Counters);
    let forwarded = counters["forwarded_frames"].as_u64().expect("a number");
    assert!(forwarded > 4 * MIB / 1500, "{counters}");
    // Of a VLAN that the router's prphosts does not name: counted by both of its sockets.
    let elsewhere = TempFile::new(format!("self 4\n1 {one} eth0 vlan=9\n4 {two} eth0 vlan=9\n"));
    let mut stranger = process(&machines[1], &elsewhere);
    assert_eq!(stranger.fails("connect s 1:80 timeout=300"), "TimedOut");
    let status = ask(&machines[0], ASK, &Question::Status);
    for device in ["eth0:vlan7", "eth0:vlan8"] {
        let mut found = status["devices"].as_array().expect("a list").iter();
        let found = found.find(|it| it["device"] == device).expect("it is there");
        assert!(found["other_vlan"].as_u64().is_some_and(|n| n > 0), "{found}");
    }
}
