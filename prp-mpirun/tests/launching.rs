//! The launcher as people and scripts use it: input, output, signals, and exit statuses. The ranks
//! are commands that know nothing of MPI.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::pty::{OpenptyResult, openpty};
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use prp_mpi::control::{Frame, Topic};

const PROGRAM: &str = env!("CARGO_BIN_EXE_prp-mpirun");

/// A launcher that has not ended then does not end.
const BOUND: Duration = Duration::from_secs(20);

/// A program as it is started from a terminal. A shell without job control starts what runs in the
/// background with these signals ignored, and programs inherit that: also tests, from CI.
fn from_terminal(program: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,QUIT", program]);
    command
}

/// A launcher under test, killed with its test.
struct Job(Child);

impl Job {
    /// Ranks that run a script, in a process group as a shell gives them.
    fn start(ranks: &str, script: &str) -> Self {
        Self::spawn(from_terminal(PROGRAM).args(["-n", ranks, "sh", "-c", script]))
    }

    fn spawn(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(piped.process_group(0).spawn().expect("prp-mpirun runs"))
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id().cast_signed())
    }

    fn output(&mut self) -> BufReader<ChildStdout> {
        BufReader::new(self.0.stdout.take().expect("output is a pipe"))
    }

    fn errors(&mut self) -> BufReader<ChildStderr> {
        BufReader::new(self.0.stderr.take().expect("errors are a pipe"))
    }

    /// Writes input, and ends it.
    fn write_input(&mut self, text: &str) {
        let mut input = self.0.stdin.take().expect("input is a pipe");
        input.write_all(text.as_bytes()).expect("the launcher reads");
    }

    /// How it ends; nothing if it does not.
    fn status(&mut self) -> Option<i32> {
        let begun = Instant::now();
        while begun.elapsed() < BOUND {
            if let Some(status) = self.0.try_wait().expect("it is our child") {
                return status.code().or_else(|| status.signal().map(|s| -s));
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }

    /// How it ends, and all that it has printed.
    fn end(mut self) -> (Option<i32>, String, String) {
        drop(self.0.stdin.take());
        let output = self.0.stdout.take().map(read_all);
        let errors = self.0.stderr.take().map(read_all);
        let status = self.status();
        drop(self);
        let text = |thread: Option<JoinHandle<String>>| {
            thread.map_or_else(String::new, |t| t.join().expect("a pipe can be read"))
        };
        (status, text(output), text(errors))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn read_all(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn next_line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("a pipe can be read");
    line.trim_end().to_owned()
}

/// Waits until something holds; that it never holds is a failure.
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < BOUND, "never: {what}");
        thread::sleep(Duration::from_millis(2));
    }
}

/// State of a process in one letter; none if there is no such process.
fn state(pid: &str) -> Option<char> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(") ")?.1.chars().next().filter(|s| *s != 'Z')
}

#[test]
fn input__reaches_rank_0_and_ends() {
    for _ in 0..5 {
        let mut job = Job::start("2", "cat; echo over");
        job.write_input("5\n6\n");
        let (status, output, errors) = job.end();
        assert_eq!(status, Some(0), "{errors}");
        let mut lines: Vec<_> = output.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["5", "6", "over", "over"]);
    }
}

#[test]
fn input__longer_than_pipes_arrives_whole() {
    let length = 3_000_000;
    let mut job = Job::start("1", "cksum");
    job.write_input(&"0123456789".repeat(length / 10));
    let (status, output, errors) = job.end();
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(output.split_whitespace().nth(1), Some(length.to_string().as_str()), "{output}");
}

#[test]
fn input__that_rank_0_does_not_read_keeps_nothing_waiting() {
    let mut job = Job::start("1", "echo ready; exec sleep 1000");
    assert_eq!(next_line(&mut job.output()), "ready");
    let mut input = job.0.stdin.take().expect("input is a pipe");
    let pipe = nix::fcntl::fcntl(&input, nix::fcntl::FcntlArg::F_GETPIPE_SZ).expect("its size");
    let pipe = usize::try_from(pipe).expect("a size");
    let written = Arc::new(AtomicUsize::new(0));
    let count = written.clone();
    thread::spawn(move || {
        while input.write_all(&[b'x'; 4096]).is_ok() {
            count.fetch_add(4096, Ordering::Relaxed);
        }
    });
    // More than the launcher's pipe and the rank's hold: the agent waits for the rank.
    wait_for("the launcher reads ahead", || written.load(Ordering::Relaxed) > 2 * pipe);
    kill(job.pid(), Signal::SIGTERM).expect("it runs");
    assert_eq!(job.status(), Some(143));
}

#[test]
fn input__that_is_not_there_yet_is_awaited() {
    let (reader, mut writer) = io::pipe().expect("a pipe");
    let flags = nix::fcntl::OFlag::O_NONBLOCK;
    nix::fcntl::fcntl(&reader, nix::fcntl::FcntlArg::F_SETFL(flags)).expect("flags can be set");
    let mut command = Command::new(PROGRAM);
    command.args(["-n", "1", "sh", "-c", "echo ready; cat"]).stdout(Stdio::piped());
    let mut job = Job(command.stdin(reader).spawn().expect("prp-mpirun runs"));
    drop(command);
    let mut output = job.output();
    assert_eq!(next_line(&mut output), "ready");
    writer.write_all(b"5\n").expect("the launcher reads");
    drop(writer);
    assert_eq!(next_line(&mut output), "5");
    assert_eq!(job.status(), Some(0));
}

#[test]
fn input__that_is_closed_is_at_its_end() {
    let mut shell = Command::new("sh");
    shell.args(["-c", "exec \"$0\" -n 1 cat <&-", PROGRAM]);
    let (status, output, errors) = Job::spawn(&mut shell).end();
    assert_eq!((status, output.as_str()), (Some(0), ""), "{errors}");
}

/// A shell with job control on a terminal of its own; the terminal's other side.
fn on_terminal(script: &str) -> (Job, File) {
    let OpenptyResult { master, slave } = openpty(None, None).expect("a terminal");
    let mut shell = Command::new("setsid");
    shell.args(["--wait", "--ctty", "bash", "-c", script, PROGRAM]);
    let copy = || slave.try_clone().expect("a descriptor");
    shell.stdin(copy()).stdout(copy()).stderr(copy());
    (Job(shell.spawn().expect("setsid runs")), master.into())
}

/// Reads until this has come.
fn read_until(from: &mut impl Read, words: &str) -> String {
    let mut text = String::new();
    let mut piece = [0; 256];
    while !text.contains(words) {
        match from.read(&mut piece) {
            Ok(n @ 1..) => text.push_str(&String::from_utf8_lossy(&piece[..n])),
            other => panic!("{other:?} after {text:?}"),
        }
    }
    text
}

#[test]
fn terminal__a_job_in_the_background_is_not_stopped() {
    let script = "set -m; \"$0\" -n 1 echo well & wait $!; echo status $?.";
    let (mut job, mut terminal) = on_terminal(script);
    let text = read_until(&mut terminal, "status ");
    assert!(text.contains("well"), "{text}");
    assert_eq!(job.status(), Some(0));
}

#[test]
fn terminal__input_comes_once_the_job_is_in_the_foreground() {
    // The shell prints the command, too.
    let script = "set -m; \"$0\" -n 1 sh -c 'echo rea\"\"dy; read word; echo got $word' & fg";
    let (mut job, mut terminal) = on_terminal(script);
    read_until(&mut terminal, "ready");
    terminal.write_all(b"five\n").expect("the terminal is there");
    read_until(&mut terminal, "got five");
    assert_eq!(job.status(), Some(0));
}

#[test]
fn terminal__a_prompt_is_shown_before_its_answer() {
    let (mut job, mut terminal) =
        on_terminal("exec \"$0\" -n 2 sh -c 'printf \"[%s]? \" $PRP_MPI_RANK; read n; echo $n'");
    let text = read_until(&mut terminal, "[0]? ");
    terminal.write_all(b"5\n").expect("the terminal is there");
    read_until(&mut terminal, "5\r\n");
    assert_eq!(job.status(), Some(0), "{text}");
}

#[test]
fn signals__ranks_have_none_blocked() {
    // No shell is between: some shells unblock all signals.
    let mut command = Command::new(PROGRAM);
    let job = Job::spawn(command.args(["-n", "1", "grep", "SigBlk", "/proc/self/status"]));
    let (_, output, errors) = job.end();
    assert_eq!(output.trim_start_matches("SigBlk:\t"), "0000000000000000\n", "{errors}");
}

#[test]
fn signals__of_a_terminal_end_the_job_in_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "trap 'echo interrupted' INT; trap 'echo asked; exit 3' TERM; echo ready
        while :; do sleep 0.01; done";
    let mut launcher = from_terminal(PROGRAM);
    launcher.args(["-n", "2", "sh", "-c", script]).env("TMPDIR", folder.path());
    let mut job = Job::spawn(&mut launcher);
    let mut output = job.output();
    assert_eq!([next_line(&mut output), next_line(&mut output)], ["ready", "ready"]);
    killpg(job.pid(), Signal::SIGINT).expect("it runs");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert_eq!(rest, "asked\nasked\n");
    assert_eq!(job.status(), Some(130));
    let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn signals__quit_of_a_terminal_calls_the_roll() {
    let mut job = Job::start("1", "echo ready; read word; echo $word");
    assert_eq!(next_line(&mut job.output()), "ready");
    killpg(job.pid(), Signal::SIGQUIT).expect("it runs");
    assert_eq!(next_line(&mut job.errors()), "prp-mpirun: where the ranks are:");
    job.write_input("well\n");
    assert_eq!(job.status(), Some(0));
}

#[test]
fn signals__that_are_ignored_do_not_end_the_job() {
    let mut shell = from_terminal("sh");
    let script = "trap '' HUP INT; exec \"$0\" -n 1 sh -c 'echo ready; read word'";
    let mut job = Job::spawn(shell.args(["-c", script, PROGRAM]));
    assert_eq!(next_line(&mut job.output()), "ready");
    killpg(job.pid(), Signal::SIGHUP).expect("it runs");
    killpg(job.pid(), Signal::SIGINT).expect("it runs");
    // The launcher takes signals in their order: one that it answers comes after those.
    killpg(job.pid(), Signal::SIGQUIT).expect("it runs");
    assert_eq!(next_line(&mut job.errors()), "prp-mpirun: where the ranks are:");
    job.write_input("well\n");
    assert_eq!(job.status(), Some(0));
}

#[test]
fn signals__stop_of_a_terminal_stops_the_ranks_until_it_continues() {
    let mut job = Job::start("1", "echo $$; read word");
    let rank = next_line(&mut job.output());
    killpg(job.pid(), Signal::SIGTSTP).expect("it runs");
    let stopped = waitpid(job.pid(), Some(WaitPidFlag::WUNTRACED)).expect("it is our child");
    assert!(matches!(stopped, WaitStatus::Stopped(..)), "{stopped:?}");
    wait_for("the rank stops", || state(&rank) == Some('T'));
    killpg(job.pid(), Signal::SIGCONT).expect("it is there");
    job.write_input("well\n");
    assert_eq!(job.status(), Some(0));
}

#[test]
fn output__that_is_not_read_keeps_no_signal_waiting() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("echo $$ >{}/pid; exec yes", folder.path().display());
    let mut job = Job::start("1", &script);
    let written = |pid: &str| {
        let counts = fs::read_to_string(format!("/proc/{}/io", pid.trim())).unwrap_or_default();
        let count = counts.lines().find_map(|l| l.strip_prefix("wchar: "));
        count.map_or(0, |n| n.parse::<usize>().expect("a number"))
    };
    let pid = folder.path().join("pid");
    wait_for("the rank writes more than a pipe holds", || {
        fs::read_to_string(&pid).is_ok_and(|pid| written(&pid) > 256 << 10)
    });
    kill(job.pid(), Signal::SIGTERM).expect("it runs");
    assert_eq!(job.status(), Some(143));
}

#[test]
fn output__of_a_rank_that_has_ended_comes_whole() {
    let (status, output, errors) = Job::start("2", "seq 1 100000").end();
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(output.lines().count(), 200_000);
}

#[test]
fn output__of_many_bytes_without_a_newline_is_not_kept() {
    let mut job = Job::start("1", "head -c 200000 /dev/zero; read word");
    let mut bytes = [1; 128 << 10];
    job.output().read_exact(&mut bytes).expect("the launcher passes it on");
    assert!(bytes.iter().all(|b| *b == 0));
    job.write_input("well\n");
    assert_eq!(job.status(), Some(0));
}

#[test]
fn output__that_nothing_reads_changes_no_status() {
    let mut command = Command::new(PROGRAM);
    command.args(["-n", "1", "sh", "-c", "echo lost; exit 3"]).stdin(Stdio::null());
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    command.stdout(writer.try_clone().expect("a descriptor")).stderr(writer);
    assert_eq!(command.status().expect("prp-mpirun runs").code(), Some(3));
}

#[test]
fn output__of_a_child_that_outlives_its_rank_keeps_nothing_waiting() {
    let job = Job::start("1", "sleep 1000 & echo $!; exec true");
    let (status, output, errors) = job.end();
    let child = output.trim().parse().expect("a number");
    kill(Pid::from_raw(child), Signal::SIGKILL).expect("the launcher leaves it alone");
    assert_eq!(status, Some(0), "{errors}");
}

#[test]
fn label__precedes_each_line_of_its_own() {
    let script = "printf 'one\\ntwo'";
    let mut command = Command::new(PROGRAM);
    let job = Job::spawn(command.args(["-n", "2", "--label", "sh", "-c", script]));
    let (status, output, errors) = job.end();
    assert_eq!(status, Some(0), "{errors}");
    let mut lines: Vec<_> = output.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["[0] one", "[0] two", "[1] one", "[1] two"]);
}

#[test]
fn status__is_that_of_the_rank() {
    let cases = [
        ("exit 3", 3),
        ("exec >&- 2>&-; exit 4", 4),
        ("kill -9 $$", 137),
        ("kill -40 $$", 168),
        ("exec /no/such/program", 127),
    ];
    for (script, expected) in cases {
        let (status, _, errors) = Job::start("1", script).end();
        assert_eq!(status, Some(expected), "{script}: {errors}");
    }
}

#[test]
fn words__need_not_be_text() {
    let word = OsStr::from_bytes(b"\xff w'\\");
    let mut command = Command::new(PROGRAM);
    let script = "printf '%s:%s:%s' \"$PRP_MPI_NOTE\" \"$1\" \"$2\" | od -An -c";
    command.args(["-n", "1", "sh", "-c", script, "sh", ""]).arg(word);
    command.env("OTHER", word).env("PRP_MPI_NOTE", word);
    let (status, output, errors) = Job::spawn(&mut command).end();
    assert_eq!(status, Some(0), "{errors}");
    let words: Vec<_> = output.split_whitespace().collect();
    assert_eq!(words.join(" "), r"377 w ' \ : : 377 w ' \");
}

#[test]
fn folder__need_not_be_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join(OsStr::from_bytes(b"\xff"));
    fs::create_dir(&folder).expect("a folder");
    let mut command = Command::new(PROGRAM);
    command.args(["-n", "1", "--node", "a", "--launch", "env -C / {command}"]);
    let job = Job::spawn(command.args(["sh", "-c", "echo >made"]).current_dir(&folder));
    let (status, _, errors) = job.end();
    assert_eq!(status, Some(0), "{errors}");
    assert!(folder.join("made").exists());
}

/// An agent with a rank, which has said its process and waits.
fn agent() -> (Job, BufReader<ChildStdout>, String) {
    let mut agent = Job::spawn(Command::new(PROGRAM).arg("--agent"));
    let mut output = agent.output();
    let order = "0\x000\0a:0\0/\x000\x001\0\0\x003\0sh\0-c\0echo $$; exec sleep 1000";
    let input = agent.0.stdin.as_mut().expect("input is a pipe");
    Frame::new(Topic::Start, 0, order).write(input).expect("the agent reads");
    loop {
        let frame = Frame::read(&mut output).expect("frames").expect("a rank that writes");
        if frame.topic == Topic::Output {
            return (agent, output, frame.text().trim().to_owned());
        }
    }
}

#[test]
fn agent__whose_launcher_dies_within_a_frame_leaves_no_ranks() {
    let (mut agent, _output, rank) = agent();
    let mut input = agent.0.stdin.take().expect("input is a pipe");
    input.write_all(&[Topic::Signal as u8, 0, 0, 0, 0, 9, 0, 0, 0, 1]).expect("the agent reads");
    drop(input);
    assert!(agent.status().is_some());
    wait_for("the rank ends", || state(&rank).is_none());
}

#[test]
fn agent__that_is_killed_leaves_no_ranks() {
    let (mut agent, _output, rank) = agent();
    agent.0.kill().expect("it runs");
    wait_for("the rank ends", || state(&rank).is_none());
}

#[test]
fn agent__signals_the_children_of_a_rank_too() {
    let mut job = Job::start("1", "sleep 1000 & echo $!; wait");
    let child = next_line(&mut job.output());
    assert!(Path::new("/proc").join(&child).exists());
    kill(job.pid(), Signal::SIGTERM).expect("it runs");
    assert_eq!(job.status(), Some(143));
    wait_for("the child ends", || state(&child).is_none());
}

/// A program under limits of a shell's `ulimit`.
fn limited(limit: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh", PROGRAM]);
    command
}

#[test]
fn descriptors__an_agent_has_all_that_the_user_can_have_and_ranks_what_the_user_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = limited("-Sn 64");
    // No rank ends before the last one is started.
    let script = "ulimit -Sn; ulimit -Hn; [ $PRP_MPI_RANK != 23 ] || echo >\"$0/last\"; \
                  until [ -e \"$0/last\" ]; do sleep 0.01; done";
    let job = Job::spawn(command.args(["-n", "24", "sh", "-c", script]).arg(folder.path()));
    let (status, output, errors) = job.end();
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(output.lines().filter(|line| *line == "64").count(), 24, "{output}");
    assert_eq!(output.lines().count(), 48, "{output}");
}

#[test]
fn descriptors__too_few_are_named_with_the_limit_before_any_rank_is_started() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |ranks: &str| {
        let mut command = limited("-n 40");
        command.args(["-n", ranks, "sh", "-c", "echo >\"$0/$PRP_MPI_RANK\""]).arg(folder.path());
        Job::spawn(&mut command).end()
    };
    let (status, _, errors) = run("24");
    assert_eq!(status, Some(1), "{errors}");
    assert!(errors.contains("the limit is 40"), "{errors}");
    assert!(errors.contains("prlimit --pid $$ --nofile="), "{errors}");
    let started = || fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(started(), 0, "{errors}");
    // As many as it says can be started.
    let mut words = errors.split("enough for ").nth(1).expect("a number").split(' ');
    let ranks = words.next().expect("a number");
    let (status, _, errors) = run(ranks);
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(started().to_string(), ranks);
}

#[test]
fn descriptors__ranks_have_enough_for_each_other() {
    let mut command = limited("-Sn 40");
    let job = Job::spawn(command.args(["-n", "24", "sh", "-c", "ulimit -Sn"]));
    let (status, output, errors) = job.end();
    assert_eq!(status, Some(0), "{errors}");
    assert_eq!(output.lines().filter(|line| *line == "56").count(), 24, "{output}");
}

#[test]
fn timeout__ends_the_job_and_says_so() {
    let mut command = from_terminal(PROGRAM);
    command.args(["--timeout", "0.2", "-n", "2", "sleep", "1000"]);
    let (status, _, errors) = Job::spawn(&mut command).end();
    assert_eq!(status, Some(124), "{errors}");
    assert!(errors.contains("has not ended within 0.2 s"), "{errors}");
}

#[test]
fn env__ranks_have_the_variable() {
    let mut command = from_terminal(PROGRAM);
    command.env("FROM_HERE", "a b").env_remove("NOWHERE");
    command.args(["-x", "FROM_HERE", "-genv", "STATED", "x=y", "-x", "NOWHERE", "sh", "-c"]);
    let script = "echo \"$FROM_HERE $STATED ${NOWHERE-none}\"";
    let (status, output, errors) = Job::spawn(command.arg(script)).end();
    assert_eq!((status, &*output), (Some(0), "a b x=y none\n"), "{errors}");
}

/// Too little memory for a thread: neither the launcher nor an agent panics, and both lines come or
/// it is said why not.
#[test]
fn memory__too_little_for_a_thread_is_said() {
    let (mut done, mut failed) = (0, 0);
    for mebibytes in (8..64).step_by(2) {
        let mut command = limited(&format!("-v {}", mebibytes << 10));
        let job = Job::spawn(command.args(["-n", "2", "echo", "here"]));
        let (status, output, errors) = job.end();
        assert!(!errors.contains("panicked"), "{mebibytes} MiB: {errors}");
        if status == Some(0) {
            assert_eq!(output, "here\nhere\n", "{mebibytes} MiB: {errors}");
            done += 1;
        } else {
            assert!(!errors.is_empty(), "{mebibytes} MiB: {status:?}");
            failed += 1;
        }
    }
    assert!(done > 0 && failed > 0, "{done} jobs have succeeded, {failed} failed");
}

/// The next frame about something.
fn next_frame(frames: &Receiver<Frame>, topic: Topic) -> Frame {
    loop {
        let frame = frames.recv_timeout(BOUND).expect("a frame of the agent");
        if frame.topic == topic {
            return frame;
        }
    }
}

/// A rank, as it connects to its agent.
fn connect(folder: &str, rank: usize) -> UnixStream {
    let mut stream = UnixStream::connect(Path::new(folder).join("agent")).expect("an agent");
    Frame::new(Topic::Hello, rank, []).write(&mut stream).expect("the agent is there");
    stream
}

#[test]
fn agent__without_descriptors_says_so_and_goes_on_when_there_are_some() {
    const LIMIT: usize = 24;
    let mut agent = Job::spawn(limited(&format!("-n {LIMIT}")).arg("--agent"));
    let mut output = agent.output();
    let input = agent.0.stdin.as_mut().expect("input is a pipe");
    let order = "0\x000\0a:0\0/\x000\x001\0\0\x003\0sh\0-c\0echo $PRP_MPI_FOLDER; exec sleep 1000";
    Frame::new(Topic::Start, 0, order).write(input).expect("the agent reads");
    let (sender, frames) = channel();
    thread::spawn(move || {
        while let Ok(Some(frame)) = Frame::read(&mut output) {
            let _ = sender.send(frame);
        }
    });
    let folder = next_frame(&frames, Topic::Output).text().trim().to_owned();
    let ranks: Vec<_> = (1..=LIMIT).map(|rank| connect(&folder, rank)).collect();
    let reported = next_frame(&frames, Topic::Failed).text();
    assert!(reported.contains(&format!("the limit is {LIMIT}")), "{reported}");
    drop(ranks);
    let last = connect(&folder, 99);
    while next_frame(&frames, Topic::Hello).rank != 99 {}
    drop(last);
}

/// What a shell prints on standard error, and its exit status.
fn shell(script: &str) -> (Option<i32>, String) {
    let output = Command::new("sh").args(["-c", script]).env("MPIRUN", PROGRAM).output();
    let output = output.expect("sh runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn output__that_is_lost_is_told() {
    for (to, error) in [("/dev/full", "ENOSPC"), ("&-", "EBADF")] {
        let (status, errors) = shell(&format!("$MPIRUN -n 2 seq 1000 >{to}"));
        assert_eq!(status, Some(1), "{to}: {errors}");
        assert!(errors.contains("standard output") && errors.contains(error), "{to}: {errors}");
        let (status, errors) = shell(&format!("$MPIRUN -n 2 true >{to}"));
        assert_eq!((status, &*errors), (Some(0), ""), "{to}: nothing is printed");
    }
    // A reader that wants no more is no error.
    let (status, errors) = shell("{ $MPIRUN -n 2 seq 1000; echo $? >&2; } | head -n 1");
    assert_eq!((status, &*errors), (Some(0), "0\n"));
}

#[test]
fn no_stdin__leaves_the_input_to_others() {
    let script =
        "printf '1\\n2\\n' | while read line; do $MPIRUN $OPTION -n 1 cat; echo $line >&2; done";
    assert_eq!(shell(&format!("OPTION=--no-stdin; {script}")), (Some(0), "1\n2\n".to_owned()));
    assert_eq!(shell(&format!("OPTION=; {script}")), (Some(0), "1\n".to_owned()));
}

#[test]
fn words__of_other_launchers() {
    let (status, errors) = shell("test \"$($MPIRUN -np 2 echo rank | wc -l)\" = 2");
    assert_eq!(status, Some(0), "{errors}");
    for (words, says) in [
        ("-n 1 echo a : -n 1 echo b", "':'"),
        ("-unknown echo a", "no option '-unknown'"),
        ("-bind-to core echo a", "-bind-to core: no rank is bound"),
        ("-n 99999999999 echo a", "65536"),
        ("-n 0 echo a", "one rank"),
    ] {
        let (status, errors) = shell(&format!("$MPIRUN {words}"));
        assert!(status == Some(1) && errors.contains(says), "{words}: {errors}");
    }
}
