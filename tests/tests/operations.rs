//! Events in operation: a process is stopped, forks, or has no descriptors or memory left; the
//! clock is set; an interface is removed or changed. docs/operations.md states each outcome.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::ffi::OsString;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, Uid};
use prp_tests::harness::skip;
use prp_tests::pattern::Tally;
use prp_tests::privilege::{NOBODY, in_user_namespace};
use prp_tests::puppet::Puppet;
use prp_tests::scratch::TempFile;
use prp_tests::seed;
use prp_tests::stream;
use prp_tests::topology::{Node, Topology};

prp_tests::main! {
    heavy:
        flow__leaves_by_xdp_tx,
        variable__keeps_flows_from_xdp_tx,
        privilege__keeps_flows_from_xdp_tx,
        fork__children_beside_threads_that_connect;
    light:
        stopped__receiver_goes_on,
        stopped__sender_goes_on,
        fork__child_gets_an_error_and_parent_goes_on,
        fork__child_leaves_the_ports_to_others,
        signals__are_for_the_programs_threads,
        rights__given_up_after_the_first_stream,
        rights__root_directory_changed_after_the_first_stream,
        limits__no_descriptor_left,
        limits__connections_in_a_row_need_few_descriptors,
        limits__no_memory_for_devices,
        limits__no_memory_for_buffers,
        limits__no_thread_left,
        limits__no_calls_for_several_packets,
        clock__set_again_and_again,
        interface__removed_and_made_again,
        mtu__lowered_under_a_connection,
        mtu__lowered_too_far_under_a_connection,
        filter__keeps_frames_of_others_from_the_first_process;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const FORKER: &str = env!("CARGO_BIN_EXE_forker");
const SANDBOXED: &str = env!("CARGO_BIN_EXE_sandboxed");
const MIB: u64 = 1 << 20;

/// Starts puppets on both nodes with a stream `s` between them. Returns the client, whose stream
/// has `settings`, and the server.
fn connected(topology: &Topology, settings: &str) -> (Puppet, Puppet) {
    let (client, server, _) = stream::connected(PUPPET, topology, [1, 2], settings);
    (client, server)
}

/// A filter of system calls that is older than sendmmsg(2) and recvmmsg(2), or does not list them.
fn limits__no_calls_for_several_packets() {
    if Command::new("systemd-analyze").arg("--version").output().is_err() {
        skip("systemd-analyze");
    }
    if in_user_namespace() || !Uid::effective().is_root() {
        skip("root: nobody else may give privileges up so");
    }
    let unit = "[Service]\nSystemCallFilter=@system-service @network-io\n\
                SystemCallFilter=~sendmmsg recvmmsg\n";
    let unit = TempFile::new(unit);
    for underlay in ["ethernet", "udp"] {
        let topology = Topology::pair_with(["--underlay", underlay]);
        let [mut client, mut server] = [1, 2].map(|number| {
            let mut command = topology.node(number).command(SANDBOXED);
            command.arg(unit.path()).arg(PUPPET);
            Puppet::run(format!("sandboxed puppet on node {number}"), command)
        });
        stream::connect(&mut client, &mut server, "2:80", "");
        stream::send(&mut client, &mut server, seed::of("no_calls_for_several"), 16 * MIB);
    }
}

fn pid(puppet: &Puppet) -> Pid {
    Pid::from_raw(puppet.pid() as i32)
}

/// Sends from the client to the server while `event` happens to one of them.
fn send_while(seed: u64, topology: &Topology, meanwhile: impl FnOnce(&Puppet, &Puppet)) {
    const BYTES: u64 = 32 * MIB;
    let (mut client, mut server) = connected(topology, "");
    server.ok("bg drain drain s");
    client.ok(format!("bg send send s {seed} {BYTES}"));
    meanwhile(&client, &server);
    client.ok("join send");
    client.ok("shutdown s write");
    assert_eq!(server.ok("join drain"), Tally::expected(seed, BYTES).to_string());
}

/// Longer than many retransmission timeouts, shorter than the 15 seconds after which a silent peer
/// is given up.
const STOPPED: Duration = Duration::from_secs(10);

fn stopped(of: impl FnOnce(&Puppet, &Puppet) -> Pid, name: &str) {
    // Slow enough for the transfer to be still going on, on any machine.
    let topology = Topology::pair_with(["--rate", "200mbit"]);
    send_while(seed::of(name), &topology, |client, server| {
        let pid = of(client, server);
        kill(pid, Signal::SIGSTOP).expect("it lives");
        thread::sleep(STOPPED);
        kill(pid, Signal::SIGCONT).expect("it lives");
    });
}

fn stopped__receiver_goes_on() {
    stopped(|_, server| pid(server), "stopped__receiver_goes_on");
}

fn stopped__sender_goes_on() {
    stopped(|client, _| pid(client), "stopped__sender_goes_on");
}

fn fork__child_gets_an_error_and_parent_goes_on() {
    let topology = Topology::pair();
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    server.send("serve l");
    let printed = topology.node(1).run(FORKER, &["2:80"]);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines, ["child Unsupported Unsupported", "child own", "parent before and after"]);
}

/// A child process works whatever its parent's other threads do during the fork, and whatever locks
/// they hold.
fn fork__children_beside_threads_that_connect() {
    let topology = Topology::pair();
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    server.send("serve l");
    let printed = topology.node(1).run(FORKER, &["2:80", "beside", "1000"]);
    assert_eq!(printed, "1000 children\n");
}

/// A child that calls no exec does not succeed its parent: it has neither its ports, nor its role
/// as the node's steward.
fn fork__child_leaves_the_ports_to_others() {
    let topology = Topology::pair();
    let mut command = topology.node(2).command(FORKER);
    command.args(["2:80", "leave"]);
    let mut parent = Puppet::run("forker", command);
    assert_eq!(parent.next_line(), "ok 2:80");
    assert_eq!(parent.wait(), -9);
    let (mut client, mut next) =
        (Puppet::start(&topology.node(1), PUPPET), Puppet::start(&topology.node(2), PUPPET));
    next.ok("listen l 2:80");
    client.ok("connect s 2:80");
    assert_eq!(client.fails("connect t 2:81"), "ConnectionRefused");
}

/// If a program blocks a signal in all of its threads after its first stream, the signal must not
/// end it by a thread of the library.
fn signals__are_for_the_programs_threads() {
    let topology = Topology::pair();
    let (client, _server) = connected(&topology, "");
    let tasks = fs::read_dir(format!("/proc/{}/task", client.pid())).expect("it lives");
    let mut ours = 0;
    for task in tasks.map(|task| task.expect("an entry").path()) {
        let name = fs::read_to_string(task.join("comm")).expect("it lives");
        if !name.starts_with("prp-") {
            continue;
        }
        ours += 1;
        let status = fs::read_to_string(task.join("status")).expect("it lives");
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t"));
        let blocked = u64::from_str_radix(blocked.expect("a mask"), 16).expect("a number");
        for signal in [Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGALRM] {
            assert_ne!(blocked & 1 << (signal as u32 - 1), 0, "{signal} in {name}");
        }
    }
    assert!(ours >= 2, "{ours} threads of ours");
}

/// A daemon uses PRP, and then drops the capability for packet sockets. It must be able to use PRP
/// later, whether a stream was open in the last ten seconds or not.
fn rights__given_up_after_the_first_stream() {
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: to become another user");
    }
    let mut puppet = Puppet::start(&topology.node(1), PUPPET);
    puppet.ok("listen l 1:80");
    puppet.ok("become 65534");
    puppet.ok("drop l");
    // Longer than an engine that is not used is kept (`RETIRE_AFTER`).
    thread::sleep(Duration::from_secs(12));
    puppet.ok("listen l 1:80");
    puppet.ok("connect s 1:80");
}

fn rights__root_directory_changed_after_the_first_stream() {
    let topology = Topology::pair();
    let mut puppet = Puppet::start(&topology.node(1), PUPPET);
    puppet.ok("listen l 1:80");
    // The new root has neither /proc nor the node's prphosts.
    puppet.ok(format!("chroot {}", std::env::temp_dir().display()));
    puppet.ok("connect s 1:80");
    puppet.ok("listen m 1:81");
}

/// A process without free descriptors gets an error. Established connections work on, and new ones
/// can be opened once descriptors are free.
fn limits__no_descriptor_left() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    client.ok("limit files 3");
    let mut refused = 0;
    // One descriptor claims 16 ports, of which the first stream uses one.
    for n in 0..24 {
        if let Err((kind, text)) = client.ask(format!("connect t{n} 2:80 timeout=2000")) {
            assert!(text.contains("Too many open files"), "{kind}: {text}");
            refused += 1;
        }
    }
    assert_eq!(refused, 24 - 15);
    client.ok("write s on");
    assert_eq!(server.ok("read s 9"), "on");
    client.ok("limit files 256");
    client.ok("connect u 2:80");
}

/// A client with one open stream at a time needs few descriptors, although each closed stream keeps
/// its port in TIME-WAIT.
fn limits__connections_in_a_row_need_few_descriptors() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    server.send("serve l");
    client.ok("limit files 50");
    for _ in 0..500 {
        client.ok("connect t 2:80");
        client.ok("drop t");
    }
}

/// A puppet on node 1 whose memory is limited later. All its threads share one malloc arena.
/// Otherwise it would depend on timing whether a thread has its own arena of 64 MiB of addresses
/// before the limit.
fn frugal(topology: &Topology) -> Puppet {
    let mut command = topology.node(1).command("env");
    command.arg("MALLOC_ARENA_MAX=1").arg(PUPPET);
    Puppet::run("puppet with one arena on node 1", command)
}

/// A process without memory for the rings of its devices works without them, or gets an error from
/// `connect`. It is not aborted. Once there is memory, all works.
fn limits__no_memory_for_devices() {
    let topology = Topology::pair();
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    server.send("serve l");
    let (mut refused, mut done) = (0, 0);
    // Limits in KiB, from the need of the program alone to its need with all mappings, in steps
    // smaller than any mapping.
    for limit in (3 * 1024..=12 * 1024).step_by(64) {
        let mut client = frugal(&topology);
        client.ok(format!("limit memory {limit}"));
        match client.ask("connect s 2:80") {
            Err((kind, text)) => {
                assert_eq!(kind, "OutOfMemory", "{limit} KiB: {text}");
                refused += 1;
            }
            Ok(_) => {
                client.ok("write s on");
                assert_eq!(client.ok("read s 9"), "on", "{limit} KiB");
                done += 1;
            }
        }
        client.ok("limit memory 4000000");
        client.ok("connect t 2:80");
        client.ok("write t again");
        assert_eq!(client.ok("read t 9"), "again", "{limit} KiB");
    }
    assert!(refused > 0 && done > 0, "{refused} were refused, {done} had enough");
}

/// Without memory for the data `write` fails and accepts nothing. The stream and others work on.
fn limits__no_memory_for_buffers() {
    let topology = Topology::pair();
    let (mut client, mut server) = (frugal(&topology), Puppet::start(&topology.node(2), PUPPET));
    stream::connect(&mut client, &mut server, "2:80", "");
    // All buffers of 512 KiB together are 16 MiB, and soon full.
    const STREAMS: u32 = 32;
    const TIMEOUT: Duration = Duration::from_secs(60);
    client.ok("limit memory 12288");
    for n in 0..STREAMS {
        client.ok(format!("connect t{n} 2:80"));
        client.ok(format!("set t{n} nonblocking 1"));
    }
    let (begun, mut full) = (Instant::now(), None);
    // The other end does not read. Its buffer takes the first bytes, and the rest stay in the
    // buffer of this end.
    while full.is_none() {
        assert!(begun.elapsed() < TIMEOUT, "12 MiB are not enough for all buffers");
        for n in 0..STREAMS {
            let (kind, text) =
                client.ask(format!("send t{n} {n} 100000000")).expect_err("too much");
            assert!(kind == "WouldBlock" || kind == "OutOfMemory", "{kind}: {text}");
            // The puppet itself may also lack memory for the pattern.
            if kind == "OutOfMemory" && !text.contains("allocation") {
                full = Some(n);
            }
        }
    }
    client.ok("write s on");
    assert_eq!(server.ok("read s 9"), "on");
    client.ok("limit memory 4000000");
    client.ok(format!("write t{} more", full.expect("one is full")));
}

/// If no thread can be made, `bind` and `connect` fail. The error is not `WouldBlock`, after which
/// programs would wait. They work once threads can be made.
fn limits__no_thread_left() {
    let topology = Topology::pair();
    // Other users may not read the folder where it is built.
    let program = TempFile::copy(PUPPET);
    let mut command = topology.node(1).command("setpriv");
    if !topology.is_rootless() {
        command.args(["--reuid", &NOBODY.to_string(), "--regid", "65534", "--clear-groups"]);
    }
    // The kernel does not limit the processes of a privileged user.
    command.args(["--bounding-set", "-all,+net_raw", "--inh-caps", "-all,+net_raw"]);
    command.args(["--ambient-caps", "-all,+net_raw"]).arg(program.path());
    let mut puppet = Puppet::run("puppet without threads on node 1", command);
    puppet.ok("limit processes 1");
    for call in ["listen l 1:80", "connect s 2:80"] {
        let (kind, text) = puppet.ask(call).expect_err("no thread");
        assert_eq!(kind, "OutOfMemory", "{call}: {text}");
        assert!(text.contains("RLIMIT_NPROC") && text.contains("os error 11"), "{call}: {text}");
    }
    puppet.ok("limit processes 1000000");
    puppet.ok("listen l 1:80");
    puppet.ok("connect s 1:80");
}

/// At every reading by both processes the real-time clock jumps, by turns a day back and an hour
/// forward. It must affect neither deadlines nor data: PRP reads only the monotonic clock, which
/// cannot be set.
fn clock__set_again_and_again() {
    let library = TempFile::new("");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/jumping_clock.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O", "-o"]).arg(library.path()).arg(source);
    assert!(compiler.status().expect("there is a C compiler").success(), "{source}");
    let topology = Topology::pair();
    let preloaded = |node: u8, program: &str| {
        let mut command = topology.node(node).command("env");
        let mut setting = OsString::from("LD_PRELOAD=");
        setting.push(library.path());
        command.arg(setting).arg(program);
        command
    };
    // Expect: the preloaded clock works.
    let printed = preloaded(1, "date").arg("+%s").output().expect("there is date").stdout;
    let shown: i64 = String::from_utf8_lossy(&printed).trim().parse().expect("seconds");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64;
    assert!((shown - now).abs() > 1800, "date says {shown}, it is {now}");

    let [mut client, mut server] =
        [1, 2].map(|n| Puppet::run(format!("puppet on node {n}"), preloaded(n, PUPPET)));
    stream::connect(&mut client, &mut server, "2:80", " user_timeout=2000");
    stream::exchange(&mut client, &mut server, seed::of("clock"), 32 * MIB, |_| ());
    client.ok("drop s");
    server.ok("drop s");
    // Deadlines expire at their time on the monotonic clock.
    client.ok("connect t 2:80 user_timeout=2000");
    client.ok("set t read_timeout 1000");
    let begun = Instant::now();
    assert_eq!(client.fails("read t 1"), "WouldBlock");
    server.kill();
    client.ok("write t hello?");
    client.ok("set t read_timeout 60000");
    assert_eq!(client.fails("read t 1"), "TimedOut");
    assert!(begun.elapsed() >= Duration::from_secs(3), "{:?}", begun.elapsed());
}

/// As after a reload of the NIC driver: a new device with the same name and hardware address.
fn interface__removed_and_made_again() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    client.ok("write s before");
    assert_eq!(server.ok("read s 9"), "before");
    let macs = [1, 2].map(|n| topology.node(n).field("mac"));
    let (one, two) = (topology.node(1), topology.node(2));
    one.run("ip", &["link", "del", "eth0"]);
    // Written while there is no device: the data are kept, and sent later.
    client.ok("write s within");
    let (name, there) = (["link", "add", "eth0", "address", &macs[0]], server.pid().to_string());
    let peer = ["type", "veth", "peer", "name", "far", "address", &macs[1]];
    one.run("ip", &[&name[..], &peer[..]].concat());
    one.run("ip", &["link", "set", "far", "netns", &there, "name", "eth0"]);
    for node in [one, two] {
        node.run("ip", &["link", "set", "eth0", "up"]);
    }
    assert_eq!(server.ok("read s 9"), "within");
    // Both the sender and the listener use the new device.
    client.ok("connect t 2:80");
    server.ok("write s back");
    assert_eq!(client.ok("read s 9"), "back");
}

/// The device refuses full segments, which are counted. Smaller ones replace them.
fn mtu__lowered_under_a_connection() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, "");
    server.ok("bg take take s 5000000");
    client.ok("send s 1 5000000");
    assert_eq!(server.ok("join take"), Tally::expected(1, 5_000_000).to_string());
    for node in [1, 2] {
        topology.node(node).run("ip", &["link", "set", "eth0", "mtu", "1300"]);
    }
    server.ok("bg drain drain s");
    client.ok("send s 2 5000000");
    let counted: u64 = client.ok("too_big s").parse().expect("a number");
    assert!(counted > 0);
    client.ok("shutdown s write");
    assert_eq!(server.ok("join drain"), Tally::expected(2, 5_000_000).to_string());
}

/// Below the size that every path is assumed to carry, no large segment passes: the connection
/// stalls, and ends by its user timeout. A new connection adapts.
fn mtu__lowered_too_far_under_a_connection() {
    let topology = Topology::pair();
    let (mut client, mut server) = connected(&topology, " user_timeout=2000");
    client.ok("write s before");
    assert_eq!(server.ok("read s 9"), "before");
    for node in [1, 2] {
        topology.node(node).run("ip", &["link", "set", "eth0", "mtu", "1000"]);
    }
    // Small segments still pass.
    client.ok("write s small");
    assert_eq!(server.ok("read s 9"), "small");
    client.ok("bg send send s 1 5000000");
    assert_eq!(client.fails("join send"), "TimedOut");
    let counted: u64 = client.ok("too_big s").parse().expect("a number");
    assert!(counted > 0);
    // New processes know the MTU.
    let mut later = Puppet::start(&topology.node(1), PUPPET);
    let mut echo = Puppet::start(&topology.node(2), PUPPET);
    echo.ok("listen l 2:90");
    later.ok("connect s 2:90");
    echo.ok("accept l s");
    echo.ok("bg drain drain s");
    let sent = later.ok("send s 2 3000000");
    later.ok("shutdown s write");
    assert_eq!(echo.ok("join drain"), sent);
}

/// The number of flow rounds until a client that `made` starts on node 1 sends frames by AF_XDP;
/// `None` if it does not within `most` rounds.
fn rounds_to_xdp_tx(most: u64, made: impl FnOnce(&Node<'_>) -> Command) -> Option<u64> {
    const BYTES: u64 = 64 * MIB;
    let topology = Topology::pair();
    if topology.is_rootless() {
        skip("root: in a user namespace nobody may know what is at a device's egress");
    }
    let mut client = Puppet::run("client", made(&topology.node(1)));
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    stream::connect(&mut client, &mut server, "2:80", "");
    (1..=most).find(|seed| {
        server.ok(format!("bg take take s {BYTES}"));
        client.ok(format!("send s {seed} {BYTES}"));
        assert_eq!(server.ok("join take"), Tally::expected(*seed, BYTES).to_string());
        client.ok("xdp_tx s") != "0"
    })
}

/// The number of rounds that an unrestricted process needs.
fn rounds_needed() -> u64 {
    let rounds = rounds_to_xdp_tx(50, |node| node.command(PUPPET));
    rounds.expect("a flow leaves by AF_XDP")
}

fn flow__leaves_by_xdp_tx() {
    rounds_needed();
}

fn variable__keeps_flows_from_xdp_tx() {
    for name in ["PRP_FAST_PATHS", "PRP_DIRECT"] {
        let rounds = rounds_to_xdp_tx(rounds_needed() + 2, |node| {
            let mut command = node.command(PUPPET);
            command.env(name, "off");
            command
        });
        assert_eq!(rounds, None, "{name}");
    }
}

fn privilege__keeps_flows_from_xdp_tx() {
    let rounds = rounds_to_xdp_tx(rounds_needed() + 2, |node| {
        let mut command = node.command("setpriv");
        command.args(["--bounding-set=-net_admin", "--inh-caps=-net_admin"]);
        command.arg(PUPPET);
        command
    });
    assert_eq!(rounds, None);
}

/// The first process of a node has no filter in the kernel until frames for another process arrive.
fn filter__keeps_frames_of_others_from_the_first_process() {
    // More than twice as many frames as a ring holds.
    const BYTES: u64 = 2 * MIB;
    let topology = Topology::pair();
    let (mut client, mut first) = connected(&topology, "");
    let mut second = Puppet::start(&topology.node(2), PUPPET);
    second.ok("listen l 2:200");
    client.ok("connect t 2:200");
    second.ok("accept l t");
    second.ok(format!("bg take take t {BYTES}"));
    client.ok(format!("send t 1 {BYTES}"));
    assert_eq!(second.ok("join take"), Tally::expected(1, BYTES).to_string());
    let seen: u64 = first.ok("drops s not_our_port").parse().expect("a number");
    // With a filter the process would not receive the request.
    assert!((16..BYTES / 1484 / 2).contains(&seen), "{seen} frames");
    // It still receives its own frames.
    client.ok("write s own");
    assert_eq!(first.ok("read s 9"), "own");
}
