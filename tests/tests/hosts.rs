//! Mistakes in prphosts and missing privileges: the program gets an error at once that names the
//! cause and its place.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::Path;
use std::process::Command;

use prp_tests::puppet::Puppet;
use prp_tests::scratch::TempFile;
use prp_tests::topology::Topology;

prp_tests::main! {
    light:
        hosts__missing,
        hosts__a_folder,
        hosts__unreadable,
        hosts__empty,
        hosts__garbage,
        hosts__every_mistake_has_its_place,
        hosts__own_address_missing,
        hosts__several_candidates,
        hosts__several_candidates_and_self,
        hosts__unknown_device,
        hosts__node_without_a_line,
        hosts__wrong_address_of_a_peer,
        hosts__by_a_relative_path,
        hosts__changed_while_in_use,
        hosts__spoilt_while_in_use,
        names__of_nodes,
        node__by_environment,
        privilege__without_raw_sockets,
        privilege__nobody;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");

/// A puppet on node 1 with this prphosts.
fn puppet_with(topology: &Topology, hosts: &Path) -> Puppet {
    Puppet::run("puppet", topology.node(1).command_with_hosts(hosts, PUPPET))
}

/// The errors of a process on node 1 with this prphosts when it listens, and when it connects.
fn refusal(hosts: &Path) -> (String, String) {
    let topology = Topology::pair();
    let mut puppet = puppet_with(&topology, hosts);
    let (listening, connecting) =
        (puppet.message("listen l self:80"), puppet.message("connect s 2:80"));
    assert_eq!(listening.0, connecting.0, "{listening:?} {connecting:?}");
    connecting
}

/// As [`refusal`], for this text.
fn refusal_of_text(text: impl AsRef<[u8]>) -> (String, String) {
    let file = TempFile::new(text);
    let (kind, text) = refusal(file.path());
    assert!(text.contains(&*file.path().to_string_lossy()), "which file? {text}");
    (kind, text)
}

#[track_caller]
fn assert_says(message: &(String, String), kind: &str, words: &[&str]) {
    assert_eq!(message.0, kind, "{}", message.1);
    for word in words {
        assert!(message.1.contains(word), "no {word:?} in {:?}", message.1);
    }
}

fn hosts__missing() {
    let path = Path::new("/nowhere/prphosts");
    assert_says(&refusal(path), "NotFound", &["/nowhere/prphosts", "PRP_HOSTS"]);
}

fn hosts__a_folder() {
    assert_says(&refusal(Path::new("/proc")), "IsADirectory", &["/proc"]);
}

fn hosts__unreadable() {
    use std::os::unix::fs::PermissionsExt;
    let topology = Topology::pair();
    let file = TempFile::new(topology.node(1).hosts());
    let locked = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(file.path(), locked).expect("our file");
    // Root may read every file, unless it drops that capability.
    let mut command = topology.node(1).command_with_hosts(file.path(), "setpriv");
    without(&mut command, "-dac_override,-dac_read_search");
    let message = Puppet::run("puppet", command).message("connect s 2:80");
    assert_says(&message, "PermissionDenied", &[&file.path().to_string_lossy()]);
}

/// Starts a puppet by `setpriv`, which drops capabilities.
fn without(setpriv: &mut Command, capabilities: &str) {
    setpriv.arg(format!("--bounding-set={capabilities}"));
    setpriv.arg(format!("--inh-caps={capabilities}")).arg(PUPPET);
}

fn hosts__empty() {
    assert_says(&refusal_of_text(""), "InvalidData", &[]);
}

fn hosts__garbage() {
    let bytes: Vec<u8> = (0..=255).cycle().take(4000).collect();
    assert_says(&refusal_of_text(bytes), "InvalidData", &["expected"]);
}

fn hosts__every_mistake_has_its_place() {
    let text = "1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:0g eth0 beta\n\n0 via 2 gamma\n";
    let message = refusal_of_text(text);
    assert_says(&message, "InvalidData", &[":2:3:", ":4:1:", "expected", "02:00:00:00:00:0g"]);
}

fn hosts__own_address_missing() {
    let text = "1 02:00:00:00:99:01 eth0 alpha\n2 02:00:00:00:00:02 eth0 beta\n";
    assert_says(&refusal_of_text(text), "InvalidData", &[]);
}

/// Both lines have the hardware address of this node.
const TWO_SELVES: &str = "1 02:00:00:00:00:01 eth0 alpha\n7 02:00:00:00:00:01 eth0 gamma\n\
                          2 02:00:00:00:00:02 eth0 beta\n";

fn hosts__several_candidates() {
    assert_says(&refusal_of_text(TWO_SELVES), "InvalidData", &["1", "7"]);
}

fn hosts__several_candidates_and_self() {
    let topology = Topology::pair();
    let file = TempFile::new(format!("self 1\n{TWO_SELVES}"));
    let mut puppet = puppet_with(&topology, file.path());
    assert_eq!(puppet.ok("listen l self:80"), "1:80");
}

fn hosts__unknown_device() {
    let topology = Topology::pair();
    let text = "1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:02 eth7 beta\n";
    let file = TempFile::new(text);
    let mut puppet = puppet_with(&topology, file.path());
    // Operations without the device work.
    puppet.ok("listen l 1:80");
    assert_says(&puppet.message("connect s 2:80"), "HostUnreachable", &["2"]);
    assert_says(&puppet.message("connect s 1:81 device=eth9"), "NotFound", &["eth9"]);
}

fn hosts__node_without_a_line() {
    let topology = Topology::pair();
    let mut puppet = Puppet::start(&topology.node(1), PUPPET);
    assert_says(&puppet.message("connect s 9:80"), "HostUnreachable", &["9"]);
    assert_says(&puppet.message("connect s delta:80"), "NotFound", &["delta", "prphosts"]);
    assert_says(&puppet.message("listen l 2:80"), "AddrNotAvailable", &["2:80", "node 1"]);
    assert_says(&puppet.message("connect s 2"), "InvalidInput", &["node:port"]);
    assert_says(&puppet.message("connect s 2:99999"), "InvalidInput", &["port"]);
}

/// Wrong hardware addresses: frames have no answer, and connect times out.
fn hosts__wrong_address_of_a_peer() {
    let topology = Topology::pair();
    let text = "1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:99:02 eth0 beta\n";
    let file = TempFile::new(text);
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    let mut client = puppet_with(&topology, file.path());
    assert_eq!(client.fails("connect s 2:80 timeout=300"), "TimedOut");
}

fn hosts__changed_while_in_use() {
    let topology = Topology::pair();
    let good = topology.node(1).hosts();
    let file = TempFile::new(good.replace("node2", "beta"));
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    let mut client = puppet_with(&topology, file.path());
    client.ok("connect s beta:80");
    file.replace(&good);
    client.ok("connect t node2:80");
    assert_eq!(client.fails("connect u beta:80"), "NotFound");
    // Expect: the stream that was established before goes on.
    server.ok("accept l s");
    client.ok("write s on");
    assert_eq!(server.ok("read s 9"), "on");
}

/// A mistake does not affect programs that already run.
/// A relative path means the file that it meant at first, after the process has gone elsewhere, and
/// where another file has the path there.
fn hosts__by_a_relative_path() {
    let topology = Topology::pair();
    let [here, elsewhere] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let file = here.path().join("hosts");
    let write = |names: &str| {
        std::fs::write(&file, topology.node(1).hosts().replace("node2", names)).expect("room");
    };
    write("first");
    std::fs::write(elsewhere.path().join("hosts"), "1 nonsense\n").expect("room");
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    let mut command = topology.node(1).command_with_hosts(Path::new("hosts"), PUPPET);
    command.current_dir(here.path());
    let mut client = Puppet::run("puppet", command);
    client.ok("connect s first:80");
    client.ok(format!("chdir {}", elsewhere.path().display()));
    write("second");
    client.ok("connect t second:80");
}

fn hosts__spoilt_while_in_use() {
    let topology = Topology::pair();
    let file = TempFile::new(topology.node(1).hosts());
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    let mut client = puppet_with(&topology, file.path());
    client.ok("connect s node2:80");
    file.replace("what is this\n");
    client.ok("connect t node2:80");
    // Expect: a process that starts now gets an error.
    let mut late = puppet_with(&topology, file.path());
    assert_eq!(late.fails("connect s node2:80"), "InvalidData");
}

fn names__of_nodes() {
    let topology = Topology::pair();
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l localhost:80");
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    client.ok("connect s node2:80");
    let from = server.ok("accept l s");
    assert!(from.starts_with("1:"), "{from}");
}

fn node__by_environment() {
    let topology = Topology::pair();
    let file = TempFile::new(TWO_SELVES);
    let mut command = topology.node(1).command_with_hosts(file.path(), "env");
    command.args(["PRP_NODE=7", PUPPET]);
    assert_eq!(Puppet::run("puppet", command).ok("listen l self:80"), "7:80");
    for (value, kind) in [("8", "InvalidData"), ("seven", "InvalidInput"), ("0", "InvalidInput")] {
        let mut command = topology.node(1).command_with_hosts(file.path(), "env");
        command.arg(format!("PRP_NODE={value}")).arg(PUPPET);
        let message = Puppet::run("puppet", command).message("listen l self:80");
        assert_says(&message, kind, &[value]);
    }
}

fn privilege__without_raw_sockets() {
    let topology = Topology::pair();
    let mut command = topology.node(1).command("setpriv");
    without(&mut command, "-net_raw");
    let mut puppet = Puppet::run("puppet", command);
    for call in ["listen l 1:80", "connect s 2:80"] {
        assert_says(&puppet.message(call), "PermissionDenied", &["CAP_NET_RAW", "setcap"]);
    }
}

/// An ordinary user, outside any user namespace.
fn privilege__nobody() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        prp_tests::harness::skip("root, to become nobody");
    }
    // A path at which the user `nobody` may run it.
    let program = TempFile::copy(PUPPET);
    let mut command = topology.node(1).command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program.path());
    let mut puppet = Puppet::run("puppet", command);
    assert_says(&puppet.message("connect s 2:80"), "PermissionDenied", &["CAP_NET_RAW"]);
}
