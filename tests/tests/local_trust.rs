//! Attacks of an unprivileged process of another user on the processes of its node and their router
//! (docs/trust.md).
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::Command;

use prp_routed::report::Question;
use prp_tests::harness::skip;
use prp_tests::privilege::NOBODY;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::scratch::{ForeignFolder, TempFile};
use prp_tests::server::Server;
use prp_tests::topology::Topology;
use prp_tests::wait::until;

prp_tests::main! {
    heavy:
        squat__no_process_trusts_a_name,
        impersonate__no_process_believes_another_router,
        flood__the_router_serves_others,
        hold__others_have_places,
        descriptors__no_process_waits_for_a_stranger_s,
        ledgers__made_up_ones_keep_no_process_waiting;
    light:
        claims__take_nothing_and_listen_to_no_process,
        privileged__a_program_takes_nothing_from_its_caller;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");
const ATTACKER: &str = env!("CARGO_BIN_EXE_local_attacker");

/// The variable that names the directory of the router's sockets.
const RUN_DIR: &str = "PRP_RUN_DIR";

/// Seconds after which an attacker ends by itself.
const SECONDS: &str = "60";

/// An attacker on node 2 without privileges. It runs as user 65534 if that user exists. In the user
/// namespace of an ordinary user it is the same user as the others, without their capabilities.
struct Attacker {
    process: Server,
    _program: TempFile,
}

impl Attacker {
    /// Starts it, and waits until the attack has begun.
    fn start(topology: &Topology, kind: &str, seconds: &str) -> Self {
        Self::run(topology, topology.node(2).command("setpriv"), [kind, "2", seconds])
    }

    /// As [`Self::start`]; `setpriv` is a command that runs setpriv(1) on node 2.
    fn run(topology: &Topology, mut setpriv: Command, words: [&str; 3]) -> Self {
        // Other users may not read the folder where it is built.
        let program = TempFile::copy(ATTACKER);
        let command = &mut setpriv;
        if !topology.is_rootless() {
            command.args(["--reuid", &NOBODY.to_string(), "--regid", "65534", "--clear-groups"]);
        }
        command.args(["--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs"]);
        command.arg(program.path()).args(words);
        let mut process = Server::start(setpriv);
        assert_eq!(process.line(), "begun");
        Self { process, _program: program }
    }

    /// Waits for its end; returns its counters.
    fn count(mut self) -> usize {
        let line = self.process.line();
        line.parse().unwrap_or_else(|_| panic!("a number, not {line:?}"))
    }
}

/// New processes of root on node 2 work as before: streams, the router's answers, and its resets of
/// a killed process's connections.
fn is_served(topology: &Topology, processes: u64) {
    let node = topology.node(2);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    let mut servers: Vec<_> = (0..2).map(|_| Puppet::start(&node, PUPPET)).collect();
    for (number, server) in servers.iter_mut().enumerate() {
        server.ok(format!("listen l 2:{}", 80 + number));
        client.ok(format!("connect s{number} 2:{}", 80 + number));
        server.ok("accept l s");
        server.ok("bg take take s 1000000");
        let sent = client.ok(format!("send s{number} {number} 1000000"));
        assert_eq!(server.ok("join take"), sent);
    }
    until("both processes are registered", || {
        let status = ask(&node, ASK, &Question::Status);
        (status["processes"].as_u64()? >= processes + 2).then_some(())
    });
    servers[0].kill();
    assert_eq!(client.fails("read s0 1"), "ConnectionReset");
    assert_eq!(client.fails("connect t 2:99"), "ConnectionRefused");
}

fn router(topology: &Topology) -> Router {
    Router::start(&topology.node(2), ROUTED)
}

fn registered(topology: &Topology) -> u64 {
    let status = ask(&topology.node(2), ASK, &Question::Status);
    status["processes"].as_u64().expect("a number")
}

fn squat__no_process_trusts_a_name() {
    let topology = Topology::pair();
    // It starts before all other processes, and runs for as long as they do.
    let attacker = Attacker::start(&topology, "squat", "8");
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    let mut client = Puppet::start(&topology.node(1), PUPPET);
    server.ok("listen l 2:70");
    client.ok("connect s 2:70");
    server.ok("accept l s");
    client.ok("write s hello");
    assert_eq!(server.ok("read s 5"), "hello");
    let _router = router(&topology);
    is_served(&topology, 0);
    assert_eq!(attacker.count(), 0, "no process connects, and nothing is said");
    // Its answers at those names affect no other process.
    client.ok("write s again");
    assert_eq!(server.ok("read s 5"), "again");
}

/// If other users may write to a folder, the path of a socket does not identify the user that
/// listens.
fn impersonate__no_process_believes_another_router() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: a user namespace has one user, who is root there and believed");
    }
    for (user, mode) in [(NOBODY, 0o755), (0, 0o1777)] {
        let folder = ForeignFolder::new(user, mode);
        let in_folder = |program| topology.node(2).command_with(RUN_DIR, folder.path(), program);
        let attacker = Attacker::run(&topology, in_folder("setpriv"), ["impersonate", "2", "3"]);
        let mut server = Puppet::run("a process of root", in_folder(PUPPET));
        let mut client = Puppet::start(&topology.node(1), PUPPET);
        server.ok("listen l 2:80");
        client.ok("connect s 2:80");
        server.ok("accept l s");
        assert_eq!(attacker.count(), 0, "no process stays connected to it");
        client.ok("write s hello");
        assert_eq!(server.ok("read s 5"), "hello");
    }
}

fn flood__the_router_serves_others() {
    let topology = Topology::pair();
    let _router = router(&topology);
    let _attackers: Vec<_> = (0..2).map(|_| Attacker::start(&topology, "flood", SECONDS)).collect();
    is_served(&topology, 0);
}

fn hold__others_have_places() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: a user namespace has one user, whose places these are");
    }
    let _router = router(&topology);
    let _attacker = Attacker::start(&topology, "hold", SECONDS);
    until("it has no more places than a user may have", || {
        (registered(&topology) == 256).then_some(())
    });
    is_served(&topology, 256);
}

fn descriptors__no_process_waits_for_a_stranger_s() {
    let topology = Topology::pair();
    let _router = router(&topology);
    let attacker = Attacker::start(&topology, "descriptors", "3");
    is_served(&topology, 0);
    let taken = attacker.count();
    // Before Linux 6.16 the kernel accepts them. Then the test only checks that frames are not
    // delayed.
    if taken == 0 {
        is_served(&topology, 0);
    }
}

fn ledgers__made_up_ones_keep_no_process_waiting() {
    let topology = Topology::pair();
    let _router = router(&topology);
    let _attacker = Attacker::start(&topology, "ledgers", SECONDS);
    is_served(&topology, 0);
}

/// A process only binds the names of its ports, one of them the steward's, and listens at none.
fn claims__take_nothing_and_listen_to_no_process() {
    let topology = Topology::pair();
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    let attacker = Attacker::start(&topology, "claims", "1");
    assert_eq!(attacker.count(), 0, "the kernel keeps nothing for the owner of a port");
    // A listener has the flag __SO_ACCEPTCON.
    let sockets = topology.node(2).run("cat", &["/proc/net/unix"]);
    let of_prp = |line: &&str| line.contains("prp");
    assert_ne!(sockets.lines().filter(of_prp).count(), 0, "{sockets}");
    let listening = |line: &str| line.split_whitespace().nth(3) == Some("00010000");
    assert!(!sockets.lines().filter(of_prp).any(listening), "{sockets}");
}

/// The caller cannot choose the node, EtherType and hardware address with which such a program
/// sends.
fn privileged__a_program_takes_nothing_from_its_caller() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: a user namespace has one user");
    }
    let program = TempFile::copy(PUPPET);
    let node = topology.node(2);
    let path = program.path().display().to_string();
    if Command::new("setcap").arg("-V").output().is_err() {
        skip("setcap is missing: apt-get install libcap2-bin");
    }
    node.run("setcap", &["cap_net_raw+ep", &path]);
    let mut command = node.command_with_hosts("/nowhere/prphosts".as_ref(), "setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(path);
    let mut puppet = Puppet::run("a privileged puppet of nobody", command);
    // In both cases the error names the machine's own prphosts.
    match puppet.ask("listen l 2:80") {
        Ok(_) => {}
        Err((_, text)) => assert!(text.contains("/etc/prphosts"), "{text}"),
    }
}
