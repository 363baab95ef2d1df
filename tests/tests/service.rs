//! prp-routed as a service: its user and privileges, its messages to the service manager, and its
//! watchdog.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use nix::sys::ptrace;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use prp_routed::report::Question;
use prp_tests::harness::skip;
use prp_tests::program;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, UnprivilegedRunDir, ask};
use prp_tests::scratch::TempFile;
use prp_tests::stream::{self, send};
use prp_tests::topology::{Node, Topology};
use prp_tests::wait;

prp_tests::main! {
    light:
        user__becomes_it_and_routes_with_one_capability,
        user__may_not_read_prphosts_again,
        user__that_it_cannot_become,
        confinement__without_another_user,
        unit__has_nothing_to_complain_about,
        unit__leaves_the_daemon_what_it_does,
        manager__hears_of_readiness_reloads_and_the_end,
        watchdog__is_silent_when_the_loop_hangs;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");

/// The sample unit, and the page that says how to install it.
const UNIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../etc/prp-routed.service");
const OPERATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operations.md");

/// A user that every system has, and its number.
const NOBODY: (&str, &str) = ("nobody", "65534");

/// The interval of the watchdog. The loop sends its message twice as often.
const WATCHDOG: Duration = Duration::from_millis(200);

/// A chain of three with the users of the machine.
fn chain() -> Topology {
    let topology = Topology::up("chain", ["3"]);
    if topology.is_rootless() {
        skip("root: a user namespace has one user");
    }
    topology
}

/// The daemon on `node` with a different prphosts and these arguments.
fn start(node: &Node<'_>, hosts: &Path, arguments: &[&str]) -> Router {
    let mut command = node.command_with_hosts(hosts, ROUTED);
    command.args(arguments);
    Router::run(command)
}

/// Lines of a process's status in /proc.
fn state(router: &Router) -> String {
    read(format!("/proc/{}/status", router.pid()))
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).expect("it runs")
}

/// The folders of a process's threads in /proc.
fn threads(process: Pid) -> impl Iterator<Item = PathBuf> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    threads.map(|thread| thread.expect("a thread").path())
}

fn field<'a>(state: &'a str, name: &str) -> Vec<&'a str> {
    let line = state.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in {state}")).split_whitespace().collect()
}

/// Expect: only CAP_NET_RAW, no possibility to gain more, and a seccomp filter.
fn is_confined(state: &str) {
    for name in ["CapPrm:", "CapEff:"] {
        assert_eq!(field(state, name), ["0000000000002000"], "{name}");
    }
    for name in ["CapInh:", "CapAmb:"] {
        assert_eq!(field(state, name), ["0000000000000000"], "{name}");
    }
    assert_eq!(field(state, "NoNewPrivs:"), ["1"]);
    assert_eq!(field(state, "Seccomp:"), ["2"]);
}

fn status(node: &Node<'_>) -> serde_json::Value {
    ask(node, ASK, &Question::Status)
}

fn user__becomes_it_and_routes_with_one_capability() {
    let topology = chain();
    let node = topology.node(2);
    let text = node.hosts();
    // At first it opens only one of its devices. It opens the other one after the change of its
    // user.
    let few: String =
        text.lines().filter(|l| !l.contains("eth1")).map(|line| format!("{line}\n")).collect();
    let hosts = TempFile::new(few);
    let router = start(&node, hosts.path(), &["--user", NOBODY.0]);
    let state = state(&router);
    let [id, group] = ["Uid:", "Gid:"].map(|name| field(&state, name));
    assert_eq!((id, group.len()), (vec![NOBODY.1; 4], 4));
    assert!(group.iter().all(|group| *group != "0"), "{group:?}");
    assert_eq!(field(&state, "Groups:"), [""; 0], "{state}");
    is_confined(&state);
    threads(router.pid()).for_each(|thread| is_confined(&read(thread.join("status"))));
    assert_eq!(status(&node)["devices"].as_array().map(Vec::len), Some(1));
    hosts.replace(&text);
    router.signal(Signal::SIGHUP);
    wait::until("the other device", || {
        (status(&node)["devices"].as_array().map(Vec::len) == Some(2)).then_some(())
    });
    let (mut client, mut server, _) = stream::connected(PUPPET, &topology, [1, 3], "");
    send(&mut client, &mut server, 7, 1 << 20);
    // Processes of root trust it: it made its sockets before the change.
    let mut own = Puppet::start(&node, PUPPET);
    own.ok("listen l 2:80");
    wait::until("a process that has registered", || {
        (status(&node)["processes"] != 0).then_some(())
    });
    assert!(router.stop().contains("stopped"));
}

fn user__may_not_read_prphosts_again() {
    let topology = chain();
    let node = topology.node(2);
    let hosts = TempFile::new(node.hosts());
    let router = start(&node, hosts.path(), &["--user", NOBODY.0]);
    assert!(!router.log().contains("reading it again will fail"), "{}", router.log());
    fs::set_permissions(hosts.path(), fs::Permissions::from_mode(0o600)).expect("our file");
    router.signal(Signal::SIGHUP);
    let text =
        wait::until("the complaint", || status(&node)["last_error"].as_str().map(str::to_owned));
    let name = hosts.path().display().to_string();
    assert!(text.starts_with(&name) && text.contains("as user nobody: let that"), "{text}");
    assert_eq!((&status(&node)["reloads"], &status(&node)["nodes"]), (&0.into(), &3.into()));
    let (mut client, mut server, _) = stream::connected(PUPPET, &topology, [1, 3], "");
    send(&mut client, &mut server, 8, 1 << 20);
    fs::set_permissions(hosts.path(), fs::Permissions::from_mode(0o644)).expect("our file");
    router.signal(Signal::SIGHUP);
    wait::until("the next reading", || (status(&node)["reloads"] == 1).then_some(()));
    assert_eq!(status(&node)["last_error"], serde_json::Value::Null);
    // A daemon fails at start if its new user cannot read the file.
    drop(router);
    fs::set_permissions(hosts.path(), fs::Permissions::from_mode(0o600)).expect("our file");
    let router = start(&node, hosts.path(), &["--user", NOBODY.0]);
    assert!(router.log().contains("reading it again will fail"), "{}", router.log());
}

fn failed(mut command: Command) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command.output().expect("topo runs");
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}

fn user__that_it_cannot_become() {
    let topology = chain();
    let node = topology.node(2);
    let mut command = node.command(ROUTED);
    command.args(["--user", "no-such-user"]);
    let (code, text) = failed(command);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("user = \"no-such-user\": no such user; make it"), "{text}");
    // Another user may not, and the error says what to do. All users may run the copy.
    let program = TempFile::copy(ROUTED);
    let mut command = node.command("setpriv");
    command.args(["--reuid", NOBODY.1, "--clear-groups"]).arg(program.path());
    command.args(["--user", "root"]);
    let (code, text) = failed(command);
    assert_eq!(code, Some(6), "{text}");
    assert!(text.contains("only root may become another user, and this is user 65534"), "{text}");
}

fn confinement__without_another_user() {
    let topology = chain();
    let node = topology.node(2);
    let hosts = TempFile::new(node.hosts());
    let router = start(&node, hosts.path(), &["--metrics", "127.0.0.1:9470"]);
    is_confined(&state(&router));
    assert!(threads(router.pid()).count() > 1, "the exporter has a thread");
    threads(router.pid()).for_each(|thread| is_confined(&read(thread.join("status"))));
    let (mut client, mut server, _) = stream::connected(PUPPET, &topology, [1, 3], "");
    send(&mut client, &mut server, 9, 1 << 20);
}

/// The sample unit's user, capabilities and system calls: any other call would end the daemon.
fn unit__leaves_the_daemon_what_it_does() {
    let topology = chain();
    program::require_unit_call_sets();
    let node = topology.node(2);
    let hosts = TempFile::new(node.hosts());
    let [unit, program] = [UNIT, ROUTED].map(TempFile::copy);
    let sandbox = TempFile::copy(env!("CARGO_BIN_EXE_sandboxed"));
    let mut command = node.command_with_hosts(hosts.path(), "setpriv");
    command.args(["--reuid", NOBODY.1, "--clear-groups", "--no-new-privs"]);
    command.args(["--inh-caps", "+net_raw", "--ambient-caps", "+net_raw"]);
    command.args(["--bounding-set", "-all,+net_raw"]);
    // A folder as RuntimeDirectory= makes it.
    let dir = UnprivilegedRunDir::new(ASK);
    command.args(["env", &dir.variable()]);
    command.arg(sandbox.path()).arg(unit.path()).arg(program.path());
    command.args(["--metrics", "127.0.0.1:9470"]);
    let router = Router::run(command);
    let state = state(&router);
    assert_eq!(field(&state, "Uid:"), [NOBODY.1; 4]);
    is_confined(&state);
    // Expect: it routes, reloads its files, serves a process that registers, and ends by itself.
    let (mut client, mut server, _) = stream::connected(PUPPET, &topology, [1, 3], "");
    send(&mut client, &mut server, 10, 1 << 20);
    hosts.replace(format!("{}9 via 3 far\n", node.hosts()));
    router.signal(Signal::SIGHUP);
    wait::until("the next reading", || {
        (dir.ask(&node, &Question::Status)["reloads"] == 1).then_some(())
    });
    let curl =
        "exec 3<>/dev/tcp/127.0.0.1/9470; printf 'GET /metrics HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3";
    assert!(node.run("bash", &["-c", curl]).contains("prp_routed_reloads_total 1"));
    assert!(router.stop().contains("stopped"));
}

/// A service manager's socket, and a daemon that knows of it.
struct Service {
    socket: UnixDatagram,
    _path: TempFile,
    router: Router,
}

impl Service {
    fn start(topology: &Topology, hosts: &Path) -> Self {
        let path = TempFile::new("");
        fs::remove_file(path.path()).expect("our file");
        let socket = UnixDatagram::bind(path.path()).expect("a free name");
        socket.set_read_timeout(Some(wait::TIMEOUT)).expect("a socket");
        // The variables go to the daemon, past `topo`.
        let mut command = topology.node(2).command_with_hosts(hosts, "env");
        command.arg(format!("NOTIFY_SOCKET={}", path.path().display()));
        command.arg(format!("WATCHDOG_USEC={}", WATCHDOG.as_micros()));
        command.arg(ROUTED).args(["--metrics", "127.0.0.1:9470"]);
        Self { socket, _path: path, router: Router::run(command) }
    }

    /// The next message.
    fn next(&self) -> Option<String> {
        let mut buffer = [0; 512];
        match self.socket.recv(&mut buffer) {
            Ok(n) => Some(String::from_utf8_lossy(&buffer[..n]).into_owned()),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            Err(e) => panic!("{e}"),
        }
    }

    /// The next message that is not for the watchdog.
    fn word(&self) -> String {
        loop {
            let text = self.next().expect("the daemon says something");
            if text != "WATCHDOG=1\n" {
                return text;
            }
        }
    }

    fn beats(&self) {
        while self.next().expect("the loop turns") != "WATCHDOG=1\n" {}
    }
}

fn manager__hears_of_readiness_reloads_and_the_end() {
    let topology = Topology::up("chain", ["3"]);
    let hosts = TempFile::new(topology.node(2).hosts());
    let service = Service::start(&topology, hosts.path());
    assert_eq!(service.word(), "READY=1\nSTATUS=node 2 of 3, by eth0 eth1\n");
    service.beats();
    let reloads = || {
        service.router.signal(Signal::SIGHUP);
        let text = service.word();
        let time = text.strip_prefix("RELOADING=1\nMONOTONIC_USEC=").expect("both lines");
        time.trim_end().parse::<u64>().expect("a number of microseconds");
        service.word()
    };
    assert_eq!(reloads(), "READY=1\nSTATUS=node 2 of 3, by eth0 eth1\n");
    hosts.replace("2 nonsense\n");
    let text = reloads();
    assert!(text.starts_with("READY=1\nSTATUS=node 2 of 3, by eth0 eth1; prphosts not"), "{text}");
    let Service { socket, _path, router } = service;
    router.stop();
    let mut last = String::new();
    socket.set_nonblocking(true).expect("a socket");
    let mut buffer = [0; 512];
    while let Ok(n) = socket.recv(&mut buffer) {
        last = String::from_utf8_lossy(&buffer[..n]).into_owned();
    }
    assert_eq!(last, "STOPPING=1\nSTATUS=stopping\n");
}

/// Only the thread of the loop is stopped. The others run on, and do not send its messages.
fn watchdog__is_silent_when_the_loop_hangs() {
    let topology = chain();
    let hosts = TempFile::new(topology.node(2).hosts());
    let service = Service::start(&topology, hosts.path());
    (0..3).for_each(|_| service.beats());
    let main = service.router.pid();
    ptrace::seize(main, ptrace::Options::empty()).expect("root may");
    ptrace::interrupt(main).expect("it is seized");
    let stopped = waitpid(main, Some(WaitPidFlag::__WALL)).expect("it is seized");
    assert!(
        matches!(stopped, WaitStatus::PtraceEvent(..) | WaitStatus::Stopped(..)),
        "{stopped:?}"
    );
    let mut states = threads(main).map(|thread| {
        let stat = read(thread.join("stat"));
        stat.rsplit(") ").next().and_then(|rest| rest.chars().next()).expect("a state")
    });
    assert!(states.any(|state| state != 't' && state != 'T'), "another thread is not stopped");
    // Messages that it had sent before.
    service.socket.set_nonblocking(true).expect("a socket");
    while service.next().is_some() {}
    service.socket.set_nonblocking(false).expect("a socket");
    service.socket.set_read_timeout(Some(WATCHDOG * 5)).expect("a socket");
    assert_eq!(service.next(), None, "somebody says that the loop turns");
    service.socket.set_read_timeout(Some(wait::TIMEOUT)).expect("a socket");
    ptrace::detach(main, None::<Signal>).expect("it is seized");
    service.beats();
}

/// After an installation as documented, the program is at the path in the unit.
fn unit__has_nothing_to_complain_about() {
    let [unit, page] = [UNIT, OPERATIONS].map(|path| fs::read_to_string(path).expect("text"));
    let installed = "\nExecStart=/usr/local/bin/prp-routed\n";
    assert!(unit.contains(installed), "{unit}");
    assert!(page.contains("cargo install --path prp-routed --root /usr/local"), "{page}");
    // At boot the daemon may fail until its device is there: systemd tries for ever.
    assert!(
        unit.contains("\nStartLimitIntervalSec=0\n") && unit.contains("\nRestart=on-failure\n")
    );
    let folder = std::env::temp_dir().join(format!("prp-unit-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("room");
    let path = folder.join("prp-routed.service");
    let program = format!("\nExecStart={ROUTED}\n");
    fs::write(&path, unit.replace(installed, &program)).expect("room");
    let output = Command::new("systemd-analyze").arg("verify").arg(&path).output();
    fs::remove_dir_all(&folder).expect("it is ours");
    let Ok(output) = output else { skip("systemd-analyze, which knows what units have") };
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !text.contains("prp-routed"), "{text}");
}
