//! The applications of the papers (`prp-mpi/examples`). Each compares its result with that of its
//! sequential program.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use prp_tests::program;
use prp_tests::topology::Topology;

prp_tests::main! {
    first: build;
    light:
        every__is_its_sequential_program_on_any_number_of_ranks,
        every__is_its_sequential_program_on_a_link_that_loses_frames,
        multigrid__is_its_sequential_program_on_a_link_that_loses_frames,
        heat__rows_differ_from_columns,
        multigrid__too_few_cycles_are_found,
        options__a_wrong_one_is_named;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");
const WIRE: &str = env!("CARGO_BIN_EXE_wire");

/// The applications, each with a size for which it takes about 10 ms.
const APPLICATIONS: [(&str, &str); 8] = [
    ("cg", "64"),
    ("cnn", "32"),
    ("domain_decomposition", "48"),
    ("heat", "128"),
    ("m3", "96"),
    ("multigrid", "32"),
    ("nbody", "128"),
    ("pes", "256"),
];

static PROGRAMS: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-mpi-abi", "prp-mpirun"], SIBLING));

static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = PROGRAMS.join("mpi-applications");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../prp-mpi/examples");
    for (name, _) in APPLICATIONS {
        let mut compiler = Command::new(PROGRAMS.join("prp-mpicc"));
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(folder.join(name));
        compiler.arg(sources.join(name).with_extension("c")).arg("-lm");
        let built = compiler.status().expect("prp-mpicc runs");
        assert!(built.success(), "{compiler:?} failed");
    }
    folder
});

fn build() {
    LazyLock::force(&BUILT);
}

/// Runs an application; returns its exit status and its output.
fn run(launcher: &[&str], name: &str, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "30").args(launcher).arg(BUILT.join(name)).args(words);
    let output = command.output().expect("prp-mpirun runs");
    let [printed, errors] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (output.status.code(), printed + &errors)
}

/// Runs some of the applications; each must report that its result is correct.
fn all_agree(launcher: &[&str], chosen: impl Fn(&str) -> bool) {
    for (name, size) in APPLICATIONS.into_iter().filter(|(name, _)| chosen(name)) {
        let (status, printed) = run(launcher, name, &["--size", size, "--report"]);
        assert_eq!(status, Some(0), "{name} {launcher:?}: {printed}");
        let checks = printed.lines().filter(|line| line.starts_with("check "));
        assert!(checks.clone().count() >= 1, "{name} checked nothing: {printed}");
        for check in checks {
            assert!(check.contains(" ok "), "{name}: {check}");
        }
        assert!(printed.contains("report time_s"), "{name}: {printed}");
    }
}

fn every__is_its_sequential_program_on_any_number_of_ranks() {
    for ranks in ["1", "2", "4"] {
        all_agree(&["-n", ranks], |_| true);
    }
}

fn every__is_its_sequential_program_on_a_link_that_loses_frames() {
    agree_despite_loss(|name| name != "multigrid");
}

/// Its ranks alternate so often that it takes longer than all others together on a loaded machine.
fn multigrid__is_its_sequential_program_on_a_link_that_loses_frames() {
    agree_despite_loss(|name| name == "multigrid");
}

fn agree_despite_loss(chosen: impl Fn(&str) -> bool) {
    let pair = Topology::faulty(WIRE, ["--loss", "1%"]);
    let launch = pair.launch_template();
    all_agree(&["-n", "4", "--node", "1,2", "--launch", &launch], chosen);
}

/// The check can fail: three cycles do not solve a step.
fn multigrid__too_few_cycles_are_found() {
    let (status, printed) = run(&["-n", "2"], "multigrid", &["--size", "32", "--iterations", "3"]);
    assert_eq!(status, Some(1), "{printed}");
    assert!(printed.contains("check form1 WRONG"), "{printed}");
}

/// A rank with fewer rows than columns compares exactly its own rows.
fn heat__rows_differ_from_columns() {
    for rows in ["4", "7", "90"] {
        let words = ["--size", "64", "--rows", rows, "--report"];
        let (status, printed) = run(&["-n", "4"], "heat", &words);
        assert_eq!(status, Some(0), "{printed}");
        assert_eq!(printed.matches(" ok ").count(), 3, "{printed}");
        assert!(printed.contains("report message_bytes 528\n"), "{printed}");
    }
    let (status, printed) = run(&["-n", "4"], "heat", &["--rows", "3"]);
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("at least as many rows as ranks"), "{printed}");
}

fn options__a_wrong_one_is_named() {
    let wrong = [
        ("heat", ["--size", "many"], "'many'"),
        ("heat", ["--colour", "4"], "'--colour'"),
        ("pes", ["--rows", "4"], "'--rows'"),
    ];
    for (name, words, named) in wrong {
        let (status, printed) = run(&["-n", "2"], name, &words);
        assert_eq!(status, Some(2), "{printed}");
        assert!(printed.contains(named), "{printed}");
    }
}
