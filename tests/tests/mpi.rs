//! MPI programs in C, built with prp-mpicc and started with prp-mpirun: on this machine, and on two
//! nodes.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use prp_proto::key::{KeyFile, Mode, Secret};
use prp_tests::scratch::TempFile;
use prp_tests::topology::Topology;
use prp_tests::{program, seed};

prp_tests::main! {
    first: build;
    light:
        buffers__are_empty_once_they_are_detached_or_flushed,
        collectives__any_number_of_ranks,
        collectives__by_every_algorithm_that_can_be_set,
        collectives__two_nodes,
        communicators__made_with_one_tag_by_different_ranks,
        communicators__two_groups_neighbors_and_duplicates,
        files__any_number_of_ranks,
        files__together_as_each_rank_alone,
        files__together_on_two_nodes,
        files__two_nodes,
        flood__before_what_is_waited_for,
        flood__waits_in_memory_and_comes_in_order,
        hang__a_circle_is_named,
        hang__a_rank_that_computes_or_is_stopped_lets_the_job_go_on,
        hang__a_rank_that_skips_a_barrier_is_shown_last,
        jobs__errors_have_their_classes,
        jobs__meet_by_a_socket,
        jobs__meet_on_two_nodes,
        jobs__one_whose_other_job_is_killed_ends,
        jobs__one_that_waits_for_another_is_not_ended,
        jobs__ranks_of_one_meet_each_other,
        jobs__two_of_one_machine_meet,
        key__reaches_the_ranks_of_all_nodes,
        messages__any_number_of_ranks,
        messages__two_nodes,
        mismatch__both_ranks_and_both_calls_are_named,
        objects__of_one_rank,
        parameters__that_make_no_sense_are_errors_by_their_class,
        partitioned__any_number_of_ranks,
        partitioned__two_nodes,
        rank__that_dies_ends_the_job_and_is_named,
        rank__that_is_killed_at_any_time_ends_the_job,
        sessions__errors_are_their_own,
        sessions__the_level_of_threads_is_asked_for_and_told,
        sessions__one_after_the_other,
        sessions__one_that_is_left_open_is_named,
        sessions__two_nodes,
        spawn__a_program_that_becomes_no_rank_is_named,
        spawn__any_number_of_ranks,
        spawn__two_nodes,
        start__a_node_that_cannot_be_reached_is_named,
        start__a_descriptor_of_a_launcher_that_is_closed_is_named,
        start__in_a_folder_with_a_long_name,
        start__more_ranks_than_processors,
        stress__on_a_link_that_loses_frames,
        threads__of_a_rank_call_at_the_same_time,
        threads__the_function_of_a_reduction_may_wait_for_one,
        threads__one_that_completes_a_request_wakes_the_one_that_waits_for_it,
        tools__see_settings_and_queues,
        truncation__is_fatal_unless_asked_otherwise,
        windows__any_number_of_ranks,
        windows__are_served_while_the_program_computes,
        windows__two_nodes,
        words__need_not_be_text;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");

/// Time limit from the failure of a job to its end, on a loaded machine.
const BOUND: Duration = Duration::from_secs(20);

/// The folder with launcher, compiler and library.
static PROGRAMS: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-mpi-abi", "prp-mpirun"], SIBLING));

/// The folder of the C sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../prp-mpi-abi/tests/programs")
}

/// The programs in C, built once.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PROGRAMS.join("mpi-programs");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let sources = sources();
    let names = [
        "collectives",
        "communicators",
        "files",
        "files_together",
        "jobs",
        "making",
        "objects",
        "partitioned",
        "point_to_point",
        "refused",
        "sessions",
        "spawn",
        "stress",
        "tools",
        "windows",
        "wrong",
    ];
    for name in names {
        let mut compiler = Command::new(PROGRAMS.join("prp-mpicc"));
        compiler.args(["-pthread", "-Wall", "-Werror", "-o"]).arg(folder.join(name));
        compiler.arg(sources.join(name).with_extension("c"));
        let built = compiler.status().expect("prp-mpicc runs");
        assert!(built.success(), "{compiler:?} failed");
    }
    folder
});

fn build() {
    LazyLock::force(&BUILT);
}

/// The output of a job, and its exit status.
struct Job {
    status: Option<i32>,
    output: String,
    errors: String,
}

/// Runs a job: words of prp-mpirun, the program, its argument.
fn run(words: &[&str], program: &str, argument: &str) -> Job {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "30").args(words);
    finish(command, program, argument)
}

fn finish(mut command: Command, program: &str, argument: &str) -> Job {
    output(command.arg(BUILT.join(program)).arg(argument))
}

fn output(command: &mut Command) -> Job {
    let Output { status, stdout, stderr } = command.output().expect("prp-mpirun runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Job { status: status.code(), output: text(stdout), errors: text(stderr) }
}

/// As [`run`], with a short limit for ranks that wait.
fn run_hung(ranks: &str, argument: &str) -> Job {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "1").args(["-n", ranks]);
    finish(command, "wrong", argument)
}

/// The job succeeded.
fn check(job: &Job, says: &str) {
    assert_eq!(job.status, Some(0), "{}", job.errors);
    assert!(job.output.contains(says), "{}", job.output);
}

/// The job ended with this status, and its output has all of these texts.
fn check_failed(job: &Job, status: i32, says: &[&str]) {
    assert_eq!(job.status, Some(status), "{}", job.errors);
    for words in says {
        assert!(job.errors.contains(words), "no {words:?} in:\n{}", job.errors);
    }
}

fn messages__any_number_of_ranks() {
    for ranks in ["2", "3"] {
        check(&run(&["-n", ranks], "point_to_point", ""), "all well");
    }
}

fn collectives__any_number_of_ranks() {
    for ranks in ["1", "2", "4", "5"] {
        check(&run(&["-n", ranks], "collectives", ""), "all well");
    }
}

/// Runs the collective operations with the algorithms that the environment sets.
fn run_set(ranks: &str, settings: &str) -> Job {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "30").env("PRP_MPI_COLLECTIVES", settings);
    command.args(["-n", ranks]);
    finish(command, "collectives", "")
}

fn collectives__by_every_algorithm_that_can_be_set() {
    let sets = [
        ["bcast=tree", "allreduce=doubling", "allgather=doubling", "alltoall=pairs"],
        ["bcast=spread", "allreduce=ring", "allgather=ring", "alltoall=at_once"],
    ];
    for set in sets {
        let job = run_set("4", &[&set[..], &["report"]].concat().join(","));
        check(&job, "all well");
        for setting in set {
            let (call, algorithm) = setting.split_once('=').expect("a call and an algorithm");
            let call = format!("MPI_{}{}", call[..1].to_uppercase(), &call[1..]);
            assert!(job.errors.contains(&format!("rank 3: {call} by {algorithm}")), "{setting}");
        }
        // If the selected algorithm cannot do an operation, the other one does it.
        check(&run_set("3", &set.join(",")), "all well");
    }
    check_failed(&run_set("1", "bcast=ring"), 1, &["bcast=tree|spread"]);
}

fn communicators__two_groups_neighbors_and_duplicates() {
    for ranks in ["2", "3", "5"] {
        check(&run(&["-n", ranks], "communicators", ""), "all well");
    }
    on_two_nodes("communicators");
}

fn communicators__made_with_one_tag_by_different_ranks() {
    check(&run(&["-n", "3"], "making", ""), "all well");
}

fn objects__of_one_rank() {
    let kinds = [
        "padding",
        "locations",
        "backwards",
        "attributes_of_communicators",
        "attributes_of_types",
        "attributes_of_predefined_types",
        "generalized",
        "elements",
        "dimensions",
        "errors",
        "errors_of_freed",
        "external",
        "freed",
        "nothing",
        "names",
        "strides",
        "results",
        "keys",
    ];
    for kind in kinds {
        check(&run(&["-n", "1"], "objects", kind), "all well");
    }
}

fn parameters__that_make_no_sense_are_errors_by_their_class() {
    check(&run(&["-n", "2"], "refused", ""), "all well");
}

const SESSIONS: [&str; 4] = ["again", "alone", "around", "last_words"];

fn sessions__errors_are_their_own() {
    check(&run(&["-n", "2"], "sessions", "wrong"), "all well");
}

fn sessions__the_level_of_threads_is_asked_for_and_told() {
    check(&run(&["-n", "2"], "sessions", "threads"), "all well");
}

fn sessions__one_after_the_other() {
    for how in SESSIONS {
        check(&run(&["-n", "3"], "sessions", how), "all well");
    }
}

fn sessions__two_nodes() {
    let pair = Topology::pair();
    let launch = pair.launch_template();
    for how in SESSIONS {
        let words = ["-n", "3", "--node", "1,2", "--launch", &launch];
        check(&run(&words, "sessions", how), "all well");
    }
}

fn sessions__one_that_is_left_open_is_named() {
    let says = "exited without calling MPI_Finalize";
    check_failed(&run(&["-n", "2"], "sessions", "leave"), 1, &[says]);
}

fn start__more_ranks_than_processors() {
    for ranks in ["16", "64"] {
        check(&run(&["-n", ranks], "collectives", ""), "all well");
    }
}

fn flood__waits_in_memory_and_comes_in_order() {
    check(&run(&["-n", "4"], "stress", "flood"), "all well");
    check(&run(&["-n", "3"], "stress", "large"), "all well");
}

fn flood__before_what_is_waited_for() {
    check(&run(&["-n", "2"], "stress", "behind"), "all well");
    let pair = Topology::pair();
    let launch = pair.launch_template();
    check(&run(&["-n", "2", "--node", "1,2", "--launch", &launch], "stress", "behind"), "all well");
}

/// Rank 0 calls nothing after that until rank 1 has what was sent.
fn buffers__are_empty_once_they_are_detached_or_flushed() {
    let file = BUILT.join(format!("buffered.{}", std::process::id()));
    let file = file.to_str().expect("the folder of the project is text");
    let pair = Topology::pair();
    let launch = pair.launch_template();
    for words in [&["-n", "2"][..], &["-n", "2", "--node", "1,2", "--launch", &launch]] {
        let mut job = job(words, "stress", &["buffered", file]);
        check(&output(job.env("PRP_MPI_HANG_SECONDS", "30")), "all well");
    }
}

fn threads__of_a_rank_call_at_the_same_time() {
    check(&run(&["-n", "3"], "stress", "threads"), "all well");
}

fn threads__the_function_of_a_reduction_may_wait_for_one() {
    check(&run(&["-n", "2"], "stress", "reduce"), "all well");
}

/// A thread that sleeps through its message sleeps for up to 100 ms, 300 times.
fn threads__one_that_completes_a_request_wakes_the_one_that_waits_for_it() {
    let pair = Topology::pair();
    let launch = pair.launch_template();
    for words in [&["-n", "2"][..], &["-n", "2", "--node", "1,2", "--launch", &launch]] {
        for how in ["helper", "self"] {
            let begun = Instant::now();
            check(&run(words, "stress", how), "all well");
            assert!(begun.elapsed() < BOUND, "{how} {words:?} took {:?}", begun.elapsed());
        }
    }
}

fn stress__on_a_link_that_loses_frames() {
    let seed = (seed::of("stress__on_a_link_that_loses_frames") % 1_000_000).to_string();
    let pair = Topology::faulty(WIRE, ["--loss", "1%", "--seed", &seed]);
    let launch = pair.launch_template();
    let words = ["-n", "4", "--node", "1,2", "--launch", &launch];
    for (program, argument) in [("stress", "flood"), ("stress", "threads"), ("collectives", "")] {
        check(&run(&words, program, argument), "all well");
    }
}

fn rank__that_is_killed_at_any_time_ends_the_job() {
    let first = seed::of("rank__that_is_killed_at_any_time_ends_the_job") % 1_000_000;
    for seed in first..first + 6 {
        let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
        command.args(["-n", "3"]).arg(BUILT.join("stress")).arg("die");
        let begun = Instant::now();
        let job = output(command.arg(seed.to_string()));
        check_failed(&job, 137, &[&format!("rank {} was killed by SIGKILL", seed % 3)]);
        assert!(begun.elapsed() < BOUND, "seed {seed} took {:?}", begun.elapsed());
    }
}

/// Runs a program on both nodes of a pair.
fn on_two_nodes(program: &str) {
    let pair = Topology::pair();
    let launch = pair.launch_template();
    let words = ["-n", "4", "--node", "1,2", "--launch", &launch];
    check(&run(&words, program, ""), "all well");
}

fn messages__two_nodes() {
    on_two_nodes("point_to_point");
}

fn collectives__two_nodes() {
    on_two_nodes("collectives");
}

/// Ranks of both nodes have the key file that the launcher was told of, and speak under its key.
fn key__reaches_the_ranks_of_all_nodes() {
    let keys = KeyFile::new(Mode::Seal, 1, Secret::new([7; 32]));
    let file = TempFile::new(keys.reveal().as_bytes());
    let only_ours = Permissions::from_mode(0o600);
    std::fs::set_permissions(file.path(), only_ours).expect("it is ours");
    let pair = Topology::pair();
    // As by ssh, which passes no variables on.
    let launch = pair.launch_template().replace("{command}", "env -u PRP_KEY {command}");
    let job = |key: &Path| {
        let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
        command.env("PRP_KEY", key).args(["-n", "4", "--node", "1,2", "--launch", &launch]);
        output(command.arg(BUILT.join("point_to_point")))
    };
    check(&job(file.path()), "all well");
    let gone = file.path().with_extension("gone");
    let job = job(&gone);
    assert!(job.errors.contains(&*gone.to_string_lossy()), "{}", job.errors);
    assert!(job.errors.contains("prp key new"), "{}", job.errors);
}

/// A command that runs a program: words of prp-mpirun, the program, its arguments.
fn job(words: &[&str], program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "1").args(words).arg(BUILT.join(program)).args(arguments);
    command
}

/// Runs two jobs that meet by a name, and `program` with these first arguments.
fn meet(name: &str, words: [&[&str]; 2], first: [&str; 2]) -> [Job; 2] {
    let name = format!("{name} {}", std::process::id());
    let [mut one, mut two] = [0, 1].map(|i| job(words[i], "jobs", &[first[i], &name]));
    std::thread::scope(|scope| {
        let one = scope.spawn(|| output(&mut one));
        let two = output(&mut two);
        [one.join().expect("the job was run"), two]
    })
}

fn jobs__two_of_one_machine_meet() {
    for ranks in [["1", "1"], ["3", "2"]] {
        let words = ranks.map(|ranks| ["-n", ranks]);
        let words = [&words[0][..], &words[1][..]];
        for job in meet("machine", words, ["accept", "connect"]) {
            check(&job, "all well");
        }
    }
}

fn jobs__meet_on_two_nodes() {
    let pair = Topology::pair();
    let launch = pair.launch_template();
    let both = ["-n", "2", "--node", "1,2", "--launch", &launch];
    let second = ["-n", "2", "--node", "2", "--launch", &launch];
    for job in meet("nodes", [&both, &second], ["connect", "accept"]) {
        check(&job, "all well");
    }
}

fn jobs__ranks_of_one_meet_each_other() {
    for ranks in ["2", "5"] {
        check(&run(&["-n", ranks], "jobs", "within"), "all well");
    }
    let pair = Topology::pair();
    let launch = pair.launch_template();
    let words = ["-n", "4", "--node", "1,2", "--launch", &launch];
    check(&run(&words, "jobs", "within"), "all well");
}

fn jobs__errors_have_their_classes() {
    check(&run(&["-n", "1"], "jobs", "errors"), "all well");
}

fn jobs__meet_by_a_socket() {
    let mut command = Command::new(BUILT.join("jobs"));
    command.arg("join").env("LD_LIBRARY_PATH", PROGRAMS.join("prp-mpi/lib"));
    check(&output(&mut command), "all well");
}

/// The first job waits for what the second one does not send.
fn jobs__one_whose_other_job_is_killed_ends() {
    let begun = Instant::now();
    let one: &[&str] = &["-n", "1"];
    let [waits, leaves] = meet("killed", [one, one], ["wait", "leave"]);
    check_failed(&leaves, 137, &["was killed by SIGKILL"]);
    check_failed(&waits, 1, &["rank 0 of another job has ended without leaving"]);
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
}

/// A job that accepts may do so for as long as it likes, whatever the limit of ranks that wait for
/// each other.
fn jobs__one_that_waits_for_another_is_not_ended() {
    let ended = output(&mut job(&["-n", "2", "--timeout", "6"], "jobs", &["accept", "nobody"]));
    check_failed(&ended, 124, &["the job has not ended within 6 s", "the job goes on"]);
}

fn spawn__any_number_of_ranks() {
    for ranks in ["1", "3"] {
        check(&run(&["-n", ranks], "spawn", ""), "all well");
    }
}

fn spawn__two_nodes() {
    on_two_nodes("spawn");
}

fn spawn__a_program_that_becomes_no_rank_is_named() {
    let job = run(&["-n", "2"], "spawn", "forsaken");
    check_failed(&job, 1, &["rank 2 exited without calling MPI_Init, and was spawned"]);
}

fn hang__a_rank_that_skips_a_barrier_is_shown_last() {
    let job = run_hung("8", "skip");
    let all = ["ranks 0-5,7: MPI_Barrier on MPI_COMM_WORLD", "ranks 6: MPI_Finalize"];
    check_failed(&job, 124, &all);
    assert!(job.errors.find(all[0]) < job.errors.find(all[1]), "{}", job.errors);
}

/// Runs a job of which rank 1 does something, with a short limit for the others, which wait. Once
/// the launcher says that the job goes on, `then` is told the file that rank 1 knows.
fn run_on(what: &str, says: &str, then: impl FnOnce(&Path)) {
    let file = BUILT.join(format!("{what}.{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    let mut launcher = Command::new(PROGRAMS.join("prp-mpirun"));
    launcher.env("PRP_MPI_HANG_SECONDS", "1").args(["-n", "3"]).arg(BUILT.join("wrong"));
    launcher.arg(what).arg(&file).stderr(Stdio::piped());
    let mut job = launcher.spawn().expect("prp-mpirun runs");
    let mut errors = BufReader::new(job.stderr.take().expect("it is piped")).lines();
    let mut all = Vec::new();
    for line in errors.by_ref().map_while(Result::ok) {
        let is_last = line.contains("do not wait for others: the job goes on");
        all.push(line);
        if is_last {
            break;
        }
    }
    then(&file);
    all.extend(errors.map_while(Result::ok));
    let status = job.wait().expect("it ends");
    let all = all.join("\n");
    assert!(status.success() && all.contains(says), "{status}:\n{all}");
    let _ = std::fs::remove_file(&file);
}

fn hang__a_rank_that_computes_or_is_stopped_lets_the_job_go_on() {
    run_on("compute", "ranks 1: not in an MPI call that waits", |file| {
        std::fs::write(file, "").expect("the target folder can be written");
    });
    run_on("stop", "ranks 1: is stopped", |file| {
        let pid = std::fs::read_to_string(file).expect("rank 1 has written it");
        let done = Command::new("kill").args(["-CONT", &pid]).status();
        assert!(done.is_ok_and(|status| status.success()), "kill -CONT {pid}");
    });
}

fn hang__a_circle_is_named() {
    let circle = "deadlock: rank 0 waits for rank 1 waits for rank 2 waits for rank 0";
    check_failed(&run_hung("3", "circle"), 124, &[circle, "MPI_Recv", "from 1 tag 7, 4 bytes"]);
}

fn mismatch__both_ranks_and_both_calls_are_named() {
    let calls = ["rank 1 calls MPI_Bcast(1 x MPI_INT, root 0)", "rank 0 calls MPI_Barrier()"];
    check_failed(&run(&["-n", "2"], "wrong", "mismatch"), 1, &calls);
    let counts =
        ["MPI_Allreduce(8 x MPI_DOUBLE, MPI_SUM)", "MPI_Allreduce(4 x MPI_DOUBLE, MPI_SUM)"];
    check_failed(&run(&["-n", "4"], "wrong", "counts"), 1, &counts);
    check_failed(&run(&["-n", "3"], "wrong", "roots"), 1, &["root 0", "root 1"]);
}

fn rank__that_dies_ends_the_job_and_is_named() {
    let cases = [
        ("kill", 137, "rank 1 was killed by SIGKILL"),
        ("exit", 7, "rank 1 exited with status 7"),
        ("leave", 1, "rank 1 exited without calling MPI_Finalize"),
        ("late", 1, "MPI_Barrier: called after MPI_Finalize"),
        ("abort", 9, "rank 1 ended the job: MPI_Abort with status 9"),
        ("spawn", 1, "MPI_Comm_spawn: not started: none: No such file or directory"),
    ];
    for (what, status, says) in cases {
        let begun = Instant::now();
        check_failed(&run(&["-n", "4"], "wrong", what), status, &[says]);
        assert!(begun.elapsed() < BOUND, "{what} took {:?}", begun.elapsed());
    }
}

fn truncation__is_fatal_unless_asked_otherwise() {
    let says = "the message from rank 0 with tag 0 is longer than the buffer of 4 bytes";
    check_failed(&run(&["-n", "2"], "wrong", "truncate"), 1, &["MPI_Recv", says]);
}

fn windows__any_number_of_ranks() {
    for ranks in ["1", "2", "4", "7"] {
        check(&run(&["-n", ranks], "windows", ""), "all well");
    }
}

fn windows__two_nodes() {
    on_two_nodes("windows");
}

/// The other rank calls nothing until the first one has written to its window.
fn windows__are_served_while_the_program_computes() {
    check(&run(&["-n", "2"], "windows", "compute"), "all well");
    let pair = Topology::pair();
    let launch = pair.launch_template();
    let words = ["-n", "2", "--node", "1,2", "--launch", &launch];
    check(&run(&words, "windows", "compute"), "all well");
}

fn partitioned__any_number_of_ranks() {
    for ranks in ["1", "2", "4"] {
        check(&run(&["-n", ranks], "partitioned", ""), "all well");
    }
}

fn partitioned__two_nodes() {
    on_two_nodes("partitioned");
}

fn tools__see_settings_and_queues() {
    check(&run(&["-n", "2"], "tools", ""), "all well");
}

/// A folder for files that all ranks see, empty.
fn folder_of_files(name: &str) -> String {
    let folder = BUILT.join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the folder of an earlier run can be removed");
    }
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    folder.into_os_string().into_string().expect("the folder of the project is text")
}

fn files__any_number_of_ranks() {
    for ranks in ["1", "2", "4"] {
        check(&run(&["-n", ranks], "files", &folder_of_files("files-here")), "all well");
    }
}

fn files__two_nodes() {
    let pair = Topology::pair();
    let launch = pair.launch_template();
    let words = ["-n", "4", "--node", "1,2", "--launch", &launch];
    check(&run(&words, "files", &folder_of_files("files-nodes")), "all well");
}

/// Runs files_together, whose second argument is a seed.
fn check_together(words: &[&str], name: &str, seed: u64) {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "30").args(words).arg(BUILT.join("files_together"));
    check(&output(command.arg(folder_of_files(name)).arg(seed.to_string())), "all well");
}

fn files__together_as_each_rank_alone() {
    let seed = seed::of("files__together_as_each_rank_alone");
    for (turn, ranks) in ["1", "2", "4", "5"].into_iter().enumerate() {
        check_together(&["-n", ranks], "files-together", seed + turn as u64);
    }
}

fn files__together_on_two_nodes() {
    let seed = seed::of("files__together_on_two_nodes");
    let pair = Topology::pair();
    let launch = pair.launch_template();
    let words = ["-n", "4", "--node", "1,2", "--launch", &launch];
    check_together(&words, "files-together-nodes", seed);
}

fn start__a_node_that_cannot_be_reached_is_named() {
    let words = ["-n", "2", "--node", "7", "--launch", "false {node} {command}"];
    check_failed(&run(&words, "wrong", ""), 1, &["node 7 was not reached"]);
}

fn words__need_not_be_text() {
    let folder = BUILT.join(OsStr::from_bytes(b"\xff"));
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    let program = folder.join("point_to_point");
    let mut compiler = Command::new(PROGRAMS.join("prp-mpicc"));
    compiler.args(["-pthread", "-o"]).arg(&program).arg(sources().join("point_to_point.c"));
    assert!(compiler.status().is_ok_and(|status| status.success()), "{compiler:?} failed");
    let mut launcher = Command::new(PROGRAMS.join("prp-mpirun"));
    launcher.args(["-n", "2"]).arg(&program).env("TMPDIR", &folder);
    check(&output(&mut launcher), "all well");
    // A single process, with the environment variables of another launcher.
    let mut alone = Command::new(&program);
    check_failed(&output(alone.env("PMIX_RANK", "0")), 1, &["prp-mpirun -n N"]);
    check_failed(&output(alone.env("SLURM_STEP_NUM_TASKS", "2")), 1, &["srun --mpi=pmi2"]);
}

fn start__a_descriptor_of_a_launcher_that_is_closed_is_named() {
    let mut alone = Command::new(BUILT.join("point_to_point"));
    alone.env("PMI_FD", "999").env("PMI_RANK", "0").env("PMI_SIZE", "1");
    check_failed(&output(&mut alone), 1, &["PMI_FD=999", "unset PMI_FD"]);
}

fn start__in_a_folder_with_a_long_name() {
    let folder = BUILT.join("x".repeat(120));
    std::fs::create_dir_all(&folder).expect("the folder can be written");
    let mut launcher = Command::new(PROGRAMS.join("prp-mpirun"));
    launcher.args(["-n", "3"]).arg(BUILT.join("point_to_point")).env("TMPDIR", &folder);
    check(&output(&mut launcher), "all well");
}
