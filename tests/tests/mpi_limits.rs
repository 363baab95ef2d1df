//! MPI jobs under the resource limits that a shell, systemd and batch systems can set: a job works,
//! or says what is missing. No rank is ended by a signal, and no job without a word.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use prp_tests::limits::{can_load, is_explained, is_of_memory, limited, limits};
use prp_tests::program;
use prp_tests::topology::{Node, Topology};

prp_tests::main! {
    first: build;
    light:
        limits__of_a_launcher_and_its_ranks,
        limits__of_ranks_of_a_node,
        limits__of_ranks_of_two_nodes;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");

/// The folder with launcher, compiler and library.
static PROGRAMS: LazyLock<PathBuf> =
    LazyLock::new(|| program::build_all(&["prp-mpi-abi", "prp-mpirun"], SIBLING));

/// A program of ranks that exchange messages of all sizes.
static MESSAGES: LazyLock<PathBuf> = LazyLock::new(|| {
    let built = PROGRAMS.join("mpi-limits");
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../prp-mpi-abi/tests/programs/small.c");
    let mut compiler = Command::new(PROGRAMS.join("prp-mpicc"));
    compiler.args(["-pthread", "-o"]).arg(&built).arg(source);
    assert!(compiler.status().expect("prp-mpicc runs").success(), "{compiler:?} failed");
    built
});

fn build() {
    LazyLock::force(&MESSAGES);
}

/// A limit: an option of prlimit(1) with its value.
type Limit = (&'static str, u64);

/// Runs the job that `command` makes under each of `limits`. Some succeed, and some fail.
fn walk(
    node: &Node<'_>,
    program: &Path,
    limits: impl Iterator<Item = Limit>,
    command: impl Fn(Limit) -> Command,
) {
    let program = program.to_str().expect("UTF-8");
    let (mut done, mut failed) = (0, 0);
    for limit in limits.filter(|limit| can_load(node, *limit, program)) {
        let Output { status, stdout, stderr } = command(limit).output().expect("it starts");
        let [stdout, stderr] =
            [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        let what = format!("{limit:?}: {stdout}");
        is_explained(&what, status, &stderr);
        assert!(!stderr.contains("killed by"), "{what}{stderr}");
        assert_eq!(stdout.contains("all well"), status.success(), "{what}{stderr}");
        if status.success() {
            done += 1;
        } else {
            failed += 1;
        }
    }
    assert!(done > 20 && failed > 0, "{done} jobs have succeeded, {failed} failed");
}

/// A limit holds for all processes of a job.
fn limits__of_a_launcher_and_its_ranks() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let launcher = PROGRAMS.join("prp-mpirun");
    walk(&node, &launcher, limits(), |limit| {
        let mut command = limited(&node, limit, launcher.to_str().expect("UTF-8"));
        command.args(["-n", "2"]).arg(&*MESSAGES);
        command
    });
}

/// A job whose ranks alone have a limit, on the nodes that `words` name.
fn walk_ranks(topology: &Topology, limits: impl Iterator<Item = Limit>, words: &[&str]) {
    let node = topology.node(1);
    walk(&node, &MESSAGES, limits, |(name, value)| {
        let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
        command.args(["-n", "2"]).args(words);
        command.args(["setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource"]);
        command.arg("prlimit").arg(format!("--{name}={value}:{value}")).arg(&*MESSAGES);
        command
    });
}

/// Also in small steps of memory, of which some end ranks in the midst of an allocation.
fn limits__of_ranks_of_a_node() {
    let steps = (36..64).map(|n| ("as", n << 18));
    walk_ranks(&Topology::pair(), limits().chain(steps), &[]);
}

/// In larger steps of memory, since a job of two nodes takes longer.
fn limits__of_ranks_of_two_nodes() {
    let topology = Topology::pair();
    let is_taken = |limit: &Limit| !is_of_memory(*limit) || limit.1.is_multiple_of(4 << 20);
    let words = ["--node", "1,2", "--launch", &topology.launch_template()];
    walk_ranks(&topology, limits().filter(is_taken), &words);
}
