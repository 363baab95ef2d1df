//! Receives that are released before their message has arrived. A C program uses their buffers as
//! ordinary programs do, on one machine and on a link that loses frames.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use prp_tests::program;
use prp_tests::topology::Topology;

prp_tests::main! {
    first: build;
    light:
        hint__only_a_communicator_with_the_info_key_releases,
        no_mappings__receives_end_as_always,
        not_loaded__is_reported_once_and_receives_end_as_always,
        unknown_thread__receives_end_as_always,
        short__no_receive_is_released,
        off__nothing_is_released,
        overrun__ends_the_job_with_the_words_of_the_error,
        released__programs_do_what_they_do_with_the_buffers,
        released__on_a_link_that_loses_frames,
        released__the_papers_programs_are_their_sequential_ones;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");

/// The cases of the program, with their number of ranks.
const CASES: [(&str, &str); 12] = [
    ("before_header", "2"),
    ("after_header", "2"),
    ("causality", "3"),
    ("system_calls", "2"),
    ("handlers", "2"),
    ("threads", "2"),
    ("next_call", "2"),
    ("untouched", "2"),
    ("stacks", "2"),
    ("masked", "2"),
    ("children", "2"),
    ("reduction", "2"),
];

static PROGRAMS: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-mpi-abi", "prp-mpi-early", "prp-mpirun"], SIBLING));

/// The folder with the built programs, and one for the files of the runs.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PROGRAMS.join("mpi-early-release");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let examples = ["pes", "nbody", "m3"].map(|name| format!("prp-mpi/examples/{name}.c"));
    for source in examples.iter().map(String::as_str).chain(["prp-mpi-abi/tests/programs/early.c"])
    {
        let name = Path::new(source).file_stem().expect("a file");
        let mut compiler = Command::new(PROGRAMS.join("prp-mpicc"));
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(folder.join(name));
        compiler.arg(root.join(source)).args(["-lm", "-lpthread"]);
        let built = compiler.status().expect("prp-mpicc runs");
        assert!(built.success(), "{compiler:?} failed");
    }
    folder
});

/// Maximum number of runs until one of a program's receives is released. On a busy machine a few
/// runs in a hundred have none.
const MOST_RUNS: usize = 20;

fn build() {
    LazyLock::force(&BUILT);
}

/// Runs a job with the variable, the arguments of prp-mpirun, the program and its arguments;
/// returns its status and its output.
fn run(early: &str, launcher: &[&str], words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "30").env("PRP_MPI_EARLY_RELEASE", early);
    command.args(launcher).arg(BUILT.join(words[0])).args(&words[1..]);
    let output = command.output().expect("prp-mpirun runs");
    let [printed, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), printed + &errors)
}

/// Runs a case of `early.c` in a folder of its own.
fn run_case(early: &str, launcher: &[&str], case: &str) -> (Option<i32>, String) {
    in_folder(|folder| run(early, launcher, &["early", case, folder]))
}

/// Does something with a folder that is there meanwhile.
fn in_folder<T>(does: impl FnOnce(&str) -> T) -> T {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("prp-early-{}-{number}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder for the run");
    let text = folder.to_str().expect("a path in UTF-8");
    let outcome = does(text);
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

/// The number of receives that the ranks have released before, and during, the arrival of their
/// messages.
fn released(printed: &str) -> u64 {
    let lines = printed.lines().filter(|l| l.contains("receives released before their message"));
    let numbers = lines.flat_map(|line| line.split(' ').skip(2));
    numbers.filter_map(|word| word.parse::<u64>().ok()).sum()
}

fn released__programs_do_what_they_do_with_the_buffers() {
    for (case, ranks) in CASES {
        let (status, printed) = run_case("report", &["-n", ranks], case);
        assert_eq!(status, Some(0), "{case}: {printed}");
        assert!(printed.contains("all well"), "{case}: {printed}");
        assert!(released(&printed) > 0, "{case}: {printed}");
    }
}

fn released__on_a_link_that_loses_frames() {
    let pair = Topology::faulty(WIRE, ["--loss", "1%"]);
    let launch = pair.launch_template();
    for (case, ranks) in CASES {
        let launcher = ["-n", ranks, "--node", "1,2", "--launch", &launch];
        let (status, printed) = run_case("report", &launcher, case);
        assert_eq!(status, Some(0), "{case}: {printed}");
        assert!(released(&printed) > 0, "{case}: {printed}");
    }
}

/// Also for buffers that begin and end within pages.
fn released__the_papers_programs_are_their_sequential_ones() {
    let pair = Topology::faulty(WIRE, ["--loss", "1%"]);
    let launch = pair.launch_template();
    for (name, size) in [("pes", "4096"), ("pes", "4100"), ("nbody", "4096"), ("m3", "250")] {
        let launcher = ["-n", "4", "--node", "1,2", "--launch", &launch];
        let words = [name, "--size", size, "--iterations", "2", "--seed", "7"];
        // The scheduler decides whether any of the few messages of a run arrives after its receive
        // was posted.
        let is_released = (0..MOST_RUNS).any(|_| {
            let (status, printed) = run("report", &launcher, &words);
            assert_eq!(status, Some(0), "{name}: {printed}");
            assert!(
                printed.contains("ok difference") && !printed.contains("WRONG"),
                "{name}: {printed}"
            );
            released(&printed) > 0
        });
        assert!(is_released, "{name} {size}: {MOST_RUNS} runs released no receive");
    }
}

fn overrun__ends_the_job_with_the_words_of_the_error() {
    let (status, printed) = run_case("1", &["-n", "2"], "overrun");
    assert_eq!(status, Some(1), "{printed}");
    let words = "rank 0 ended the job: the message from rank 1 with tag 5 is longer than the buffer \
                 of 65536 bytes of a receive that was released early";
    assert!(printed.contains(words), "{printed}");
}

fn no_mappings__receives_end_as_always() {
    let (status, printed) = run_case("report", &["-n", "2"], "no_mappings");
    assert_eq!((status, released(&printed)), (Some(0), 0), "{printed}");
    assert!(printed.contains("all well"), "{printed}");
}

fn unknown_thread__receives_end_as_always() {
    let (status, printed) = run_case("report", &["-n", "2"], "unknown_thread");
    assert_eq!((status, released(&printed)), (Some(0), 0), "{printed}");
    assert!(printed.contains("all well"), "{printed}");
}

/// The first receive of the program returns before its message is sent only if it is released.
fn hint__only_a_communicator_with_the_info_key_releases() {
    let (status, printed) = run_case("info", &["-n", "2"], "hint");
    assert_eq!(status, Some(0), "{printed}");
    assert!(printed.contains("all well"), "{printed}");
}

/// `env -u` starts the program without what the launcher preloads.
fn not_loaded__is_reported_once_and_receives_end_as_always() {
    let size = ["--size", "4096", "--iterations", "2"];
    let program = BUILT.join("pes");
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_EARLY_RELEASE", "report").args(["-n", "2", "env", "-u", "LD_PRELOAD"]);
    let output = command.arg(program).args(size).output().expect("prp-mpirun runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), released(&errors)), (Some(0), 0), "{errors}");
    assert_eq!(errors.matches("libprp_mpi_early.so is not preloaded").count(), 1, "{errors}");
}

/// Messages of 16 KiB are too short to be released.
fn short__no_receive_is_released() {
    for _ in 0..3 {
        let words = ["pes", "--size", "2048", "--iterations", "2"];
        let (status, printed) = run("report", &["-n", "2"], &words);
        assert_eq!((status, released(&printed)), (Some(0), 0), "{printed}");
    }
}

fn off__nothing_is_released() {
    let (status, printed) = run("0", &["-n", "4"], &["pes", "--size", "4096", "--iterations", "2"]);
    assert_eq!(status, Some(0), "{printed}");
    assert!(!printed.contains("released"), "{printed}");
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.args(["-n", "1", "sh", "-c", "echo \"[$LD_PRELOAD]\""]).env_remove("LD_PRELOAD");
    for (early, expected) in [("0", "[]\n"), ("1", "[libprp_mpi_early.so]\n")] {
        let output = command.env("PRP_MPI_EARLY_RELEASE", early).output().expect("it runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{early}");
    }
}
