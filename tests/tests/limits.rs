//! The resource limits that a shell and systemd can set, and a log that nobody takes: programs go
//! on working, or say what is missing. None is ended by a signal, and none without a word.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use prp_routed::report::Question;
use prp_tests::limits::{can_start, is_explained, limited, limits};
use prp_tests::program::prp;
use prp_tests::puppet::Puppet;
use prp_tests::router::{Router, ask};
use prp_tests::scratch::TempFile;
use prp_tests::topology::Topology;
use prp_tests::wait;

prp_tests::main! {
    light:
        limits__of_prp_routed,
        limits__of_prp_ping,
        limits__of_prp_stat,
        limits__of_prp_doctor,
        limits__of_prp_cat_that_sends,
        limits__of_prp_cat_that_receives,
        limits__of_prp_perf,
        limits__of_prp_perf_that_serves,
        limits__of_a_program,
        processor_time__used_up,
        log__its_reader_is_gone,
        log__its_reader_is_stopped,
        log__the_disk_is_full,
        log__a_file_at_its_limit,
        log__closed_from_the_start;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ROUTED: &str = env!("CARGO_BIN_EXE_routed");
const ASK: &str = env!("CARGO_BIN_EXE_ask_router");

/// Runs `prp` with `words` and `input` on node 1 under each limit. What it prints has `expected`,
/// or it says why not. Some runs succeed, and some fail.
fn walk(words: &[&str], input: &str, expected: &str) {
    let topology = Topology::pair();
    let _routers: Vec<_> =
        [1, 2].map(|number| Router::start(&topology.node(number), ROUTED)).into();
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    server.send("serve l");
    let (program, input) = (prp(ROUTED), TempFile::new(input));
    let program = program.to_str().expect("UTF-8");
    let node = topology.node(1);
    let (mut done, mut failed) = (0, 0);
    for limit in limits().filter(|limit| can_start(&node, *limit, program)) {
        let mut command = limited(&node, limit, program);
        command.args(words).stdin(File::open(input.path()).expect("our file"));
        let output = command.output().expect("it starts");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        if stdout.contains(expected) && output.status.signal().is_none() {
            done += 1;
        } else {
            is_explained(&format!("{limit:?}: {stdout}"), output.status, &stderr);
            assert!(!output.status.success(), "{limit:?}: {stdout}{stderr}");
            failed += 1;
        }
    }
    assert!(done > 20 && failed > 0, "{done} runs have succeeded, {failed} failed");
}

fn limits__of_prp_ping() {
    walk(&["ping", "-c", "1", "2"], "", "1 received");
}

fn limits__of_prp_stat() {
    walk(&["stat"], "", "State");
}

fn limits__of_prp_doctor() {
    walk(&["doctor"], "", " warning");
}

fn limits__of_prp_cat_that_sends() {
    walk(&["cat", "2", "80"], "there and back", "there and back");
}

/// A `prp perf serve` on a node, killed when dropped.
struct PerfServer {
    child: Child,
    said: BufReader<std::process::ChildStderr>,
}

impl PerfServer {
    /// By `command`, once it listens; or how it has ended, and what it has said.
    fn start(mut command: Command) -> Result<Self, (ExitStatus, String)> {
        command.args(["perf", "serve"]).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut said = BufReader::new(child.stderr.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("text");
        let mut server = Self { child, said };
        if line.starts_with("prp: listening on 2:") { Ok(server) } else { Err(server.end(line)) }
    }

    /// How it ends, and what it has said after `line`.
    fn end(&mut self, mut line: String) -> (ExitStatus, String) {
        self.said.read_to_string(&mut line).expect("text");
        (self.child.wait().expect("a child"), line)
    }
}

impl Drop for PerfServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What measures for a moment.
const MEASURE: [&str; 8] = ["perf", "stream", "2", "-t", "0.02", "--rounds", "1", "-q"];

fn limits__of_prp_perf() {
    let topology = Topology::pair();
    let (node, program) = (topology.node(1), prp(ROUTED));
    let program = program.to_str().expect("UTF-8");
    let _server = PerfServer::start(topology.node(2).command(program)).expect("a server");
    let (mut done, mut failed) = (0, 0);
    for limit in limits().filter(|limit| can_start(&node, *limit, program)) {
        let output = limited(&node, limit, program).args(MEASURE).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        is_explained(&format!("{limit:?}"), output.status, &said);
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed.contains("goodput"), output.status.success(), "{limit:?}: {said}");
        if output.status.success() { done += 1 } else { failed += 1 }
    }
    assert!(done > 20 && failed > 0, "{done} runs have succeeded, {failed} failed");
}

/// Under each limit a server measures, or has said why not.
fn limits__of_prp_perf_that_serves() {
    let topology = Topology::pair();
    let (node, program) = (topology.node(2), prp(ROUTED));
    let program = program.to_str().expect("UTF-8");
    let (mut done, mut failed) = (0, 0);
    for limit in limits().filter(|limit| can_start(&node, *limit, program)) {
        let what = format!("{limit:?}");
        let mut server = match PerfServer::start(limited(&node, limit, program)) {
            Ok(server) => server,
            Err((status, said)) => {
                is_explained(&what, status, &said);
                assert!(!status.success(), "{what}: {said}");
                failed += 1;
                continue;
            }
        };
        let output = topology.node(1).command(program).args(MEASURE).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        is_explained(&what, output.status, &said);
        if output.status.success() {
            done += 1;
            continue;
        }
        failed += 1;
        // Expect: it goes on, or says why not; it may have said it to its client.
        if server.child.try_wait().expect("a child").is_some() {
            let (status, said) = server.end(String::new());
            is_explained(&what, status, &said);
        }
    }
    assert!(done > 20 && failed > 0, "{done} servers have measured, {failed} failed");
}

/// A program that knows nothing of limits, with a router that writes down its connections: the
/// limit of file sizes is the program's own, and no reason to end it.
fn limits__of_a_program() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let _routers = [1, 2].map(|number| Router::start(&topology.node(number), ROUTED));
    let mut server = Puppet::start(&topology.node(2), PUPPET);
    server.ok("listen l 2:80");
    server.send("serve l");
    for size in [0, 100, 100_000] {
        let mut client = Puppet::run("limited", limited(&node, ("fsize", size), PUPPET));
        for _ in 0..20 {
            client.ok("connect s 2:80");
            client.ok("send s 7 1000");
            client.ok("drop s");
        }
    }
}

fn limits__of_prp_cat_that_receives() {
    let topology = Topology::pair();
    let mut client = Puppet::start(&topology.node(2), PUPPET);
    let program = prp(ROUTED);
    let program = program.to_str().expect("UTF-8");
    let node = topology.node(1);
    let (mut done, mut failed) = (0, 0);
    for limit in limits().filter(|limit| can_start(&node, *limit, program)) {
        let (output, errors) = (TempFile::new(""), TempFile::new(""));
        let mut command = limited(&node, limit, program);
        command.args(["cat", "-l", "90"]).stdin(Stdio::null());
        command.stdout(File::create(output.path()).expect("our file"));
        // What is said about the limit of a file must not go to one.
        command.stderr(Stdio::piped());
        let mut server = command.spawn().expect("it starts");
        let connected = wait::until("a listener, or its end", || {
            let is_connected = client.ask("connect s 1:90 timeout=500").is_ok();
            let has_ended = server.try_wait().expect("a child").is_some();
            (is_connected || has_ended).then_some(is_connected)
        });
        if connected {
            // Its end may come before.
            let _ = client.ask("send s 7 100000");
            let _ = client.ask("shutdown s write");
        }
        let status = server.wait().expect("a child");
        let mut said = String::new();
        server.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        drop(errors);
        is_explained(&format!("{limit:?}"), status, &said);
        let received = fs::metadata(output.path()).expect("our file").len();
        if status.success() {
            assert_eq!(received, 100_000, "{limit:?}: {said}");
            done += 1;
        } else {
            failed += 1;
        }
        let _ = client.ask("drop s");
    }
    assert!(done > 20 && failed > 0, "{done} runs have succeeded, {failed} failed");
}

fn limits__of_prp_routed() {
    let topology = Topology::pair();
    let node = topology.node(2);
    let mut process = Puppet::start(&node, PUPPET);
    process.ok("listen l 2:80");
    let (mut done, mut failed) = (0, 0);
    for limit in limits().filter(|limit| can_start(&node, *limit, ROUTED)) {
        let mut router = Started::new(limited(&node, limit, ROUTED));
        let what = format!("{limit:?}");
        if !router.routes() {
            let (status, said) = router.end();
            is_explained(&what, status, &said);
            assert!(!status.success(), "{what}: {said}");
            failed += 1;
            continue;
        }
        // It answers, reads prphosts again, and stops in order.
        let status = ask(&node, ASK, &Question::Status);
        assert_eq!(status["node"], 2, "{what}");
        router.signal(Signal::SIGHUP);
        wait::until("the next reading", || {
            let status = ask(&node, ASK, &Question::Status);
            let said = || router.said();
            (status["reloads"] == 1 || said().contains("not put in force: ")).then_some(())
        });
        router.signal(Signal::SIGTERM);
        let (status, said) = router.end();
        assert!(status.success(), "{what}: {status}: {said}");
        done += 1;
    }
    assert!(done > 20 && failed > 0, "{done} daemons have worked, {failed} did not start");
}

/// A prp-routed whose log is read from a file.
struct Started {
    child: Child,
    log: TempFile,
}

impl Started {
    fn new(mut command: Command) -> Self {
        let log = TempFile::new("");
        // A pipe, since a file has a limit of its own.
        let mut tee = Command::new("cat");
        tee.stdin(Stdio::piped()).stdout(File::create(log.path()).expect("our file"));
        let mut tee = tee.spawn().expect("cat");
        command.stderr(tee.stdin.take().expect("a pipe"));
        let child = command.spawn().expect("it starts");
        // It ends with the program that writes.
        drop(command);
        thread::spawn(move || tee.wait());
        Self { child, log }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.log.path()).expect("our file")
    }

    /// Waits until it routes, or has ended; whether it routes.
    fn routes(&mut self) -> bool {
        wait::until("a router that routes, or has ended", || {
            if self.said().contains("routing") {
                return Some(true);
            }
            self.child.try_wait().expect("a child").map(|_| false)
        })
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).expect("it runs");
    }

    /// Waits for its end.
    fn end(mut self) -> (ExitStatus, String) {
        let status = self.child.wait().expect("a child");
        let said = wait::until("its last words", || Some(self.said()).filter(|it| !it.is_empty()));
        (status, said)
    }
}

/// It says so in time, and stops in order.
fn processor_time__used_up() {
    let topology = Topology::pair();
    let node = topology.node(2);
    let mut command = limited(&node, ("cpu", 2), ROUTED);
    command.args(["--spin", "1000000"]);
    let mut router = Started::new(command);
    assert!(router.routes(), "{}", router.said());
    assert!(router.said().contains("RLIMIT_CPU ends this daemon after 2 s"), "{}", router.said());
    // It polls for a second after a frame, and not at all where others compute: there it has to
    // have something to do all the time.
    wait::until("the end of its time", || {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_millis(100) {
            if router.child.try_wait().expect("a child").is_some() {
                return Some(());
            }
            router.signal(Signal::SIGHUP);
            thread::sleep(Duration::from_millis(1));
        }
        None
    });
    let (status, said) = router.end();
    assert_eq!(status.code(), Some(1), "{status}: {said}");
    assert!(said.contains("RLIMIT_CPU: 1 s of processor time are used"), "{said}");
}

/// Expect: router 2 goes on, whatever became of its log.
fn goes_on(topology: &Topology, router: &Child) {
    let (node, pid) = (topology.node(2), Pid::from_raw(router.id().cast_signed()));
    wait::until("a router", || {
        let mut command = node.command(ASK);
        let question = serde_json::to_string(&Question::Status).expect("JSON");
        command.args(["2", &question]).stderr(Stdio::null()).stdout(Stdio::null());
        command.status().is_ok_and(|status| status.success()).then_some(())
    });
    // It has more to say than any pipe or file of these tests takes.
    for reading in 1..=400 {
        kill(pid, Signal::SIGHUP).expect("it runs");
        if reading % 100 == 0 {
            let before = ask(&node, ASK, &Question::Status)["reloads"].as_u64();
            kill(pid, Signal::SIGHUP).expect("it runs");
            wait::until("the next reading", || {
                (ask(&node, ASK, &Question::Status)["reloads"].as_u64() > before).then_some(())
            });
        }
    }
}

/// Runs router 2 with this standard error until it has shown that it goes on.
fn with_log(log: Stdio, meanwhile: impl FnOnce()) {
    let topology = Topology::pair();
    let mut router = topology.node(2).command(ROUTED).stderr(log).spawn().expect("it starts");
    meanwhile();
    goes_on(&topology, &router);
    kill(Pid::from_raw(router.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    assert!(router.wait().expect("a child").success());
}

fn log__its_reader_is_gone() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    with_log(writer.into(), || drop(reader));
}

fn log__its_reader_is_stopped() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    // The least there is: a page.
    nix::fcntl::fcntl(&writer, nix::fcntl::FcntlArg::F_SETPIPE_SZ(4096)).expect("a smaller pipe");
    with_log(writer.into(), || ());
    drop(reader);
}

fn log__the_disk_is_full() {
    with_log(File::options().write(true).open("/dev/full").expect("a device").into(), || ());
}

fn log__a_file_at_its_limit() {
    let topology = Topology::pair();
    let log = TempFile::new("");
    let mut command = limited(&topology.node(2), ("fsize", 200), ROUTED);
    let mut router =
        command.stderr(File::create(log.path()).expect("our file")).spawn().expect("it starts");
    goes_on(&topology, &router);
    assert_eq!(fs::metadata(log.path()).expect("our file").len(), 200);
    kill(Pid::from_raw(router.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    assert!(router.wait().expect("a child").success());
}

fn log__closed_from_the_start() {
    let topology = Topology::pair();
    let mut command = topology.node(2).command("sh");
    command.args(["-c", "exec \"$0\" 2>&- >&- <&-", ROUTED]);
    let mut router = command.spawn().expect("it starts");
    goes_on(&topology, &router);
    kill(Pid::from_raw(router.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    assert!(router.wait().expect("a child").success());
}
