//! MPI programs in Rust: with the interface of prp-mpi, and with the declarations of the C
//! functions that prp-mpicc prints.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use prp_tests::harness::skip;
use prp_tests::program;
use prp_tests::topology::Topology;

prp_tests::main! {
    first: build;
    light:
        bindings__a_program_without_libclang_runs,
        both_directions__are_done_where_blocking_streams_wait_for_ever,
        both_directions__posted_receives_are_not_copied_twice,
        interface__every_call_on_any_number_of_ranks,
        interface__two_nodes;
}

const SIBLING: &str = env!("CARGO_BIN_EXE_routed");

/// Bytes of a message of the example, and the bytes that may arrive together with its header in one
/// read.
const MESSAGE: u64 = 64_000_000;
const STAGED: u64 = 2 * (64 << 10);

/// The folder with the launcher, the compiler and the examples.
static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(|| {
    program::build_all(&["prp-mpi-abi", "prp-mpirun"], SIBLING);
    program::build_examples("prp-mpi", SIBLING)
});

fn build() {
    LazyLock::force(&PROGRAMS);
}

fn run(words: &[&str], program: &Path, argument: Option<&str>) -> String {
    let mut command = Command::new(PROGRAMS.join("prp-mpirun"));
    command.env("PRP_MPI_HANG_SECONDS", "30").args(words).arg(program).args(argument);
    let Output { status, stdout, stderr } = command.output().expect("prp-mpirun runs");
    let errors = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{program:?} with {words:?}: {errors}");
    String::from_utf8_lossy(&stdout).into_owned()
}

fn example(name: &str) -> PathBuf {
    PROGRAMS.join("examples").join(name)
}

fn interface__every_call_on_any_number_of_ranks() {
    for ranks in ["1", "2", "3", "5"] {
        let printed = run(&["-n", ranks], &example("rust_api"), None);
        assert!(printed.contains("all well"), "{printed}");
    }
}

/// Runs on both nodes of a pair.
fn on_two_nodes(ranks: &str, program: &Path, argument: Option<&str>) -> String {
    let pair = Topology::pair();
    let launch = pair.launch_template();
    run(&["-n", ranks, "--node", "1,2", "--launch", &launch], program, argument)
}

fn interface__two_nodes() {
    let printed = on_two_nodes("4", &example("rust_api"), None);
    assert!(printed.contains("all well"), "{printed}");
}

fn both_directions__are_done_where_blocking_streams_wait_for_ever() {
    let plain = on_two_nodes("2", &example("both_directions"), Some("plain"));
    assert_eq!(plain.matches("both write, and nobody reads").count(), 2, "{plain}");
    let overlapped = on_two_nodes("2", &example("both_directions"), None);
    assert_eq!(overlapped.matches(" staged").count(), 2, "{overlapped}");
}

/// The number in front of a word in a rank's line.
fn count(line: &str, word: &str) -> u64 {
    let before = line.split(word).next().and_then(|words| words.split_whitespace().last());
    before.and_then(|number| number.parse().ok()).expect("a number")
}

fn both_directions__posted_receives_are_not_copied_twice() {
    let printed = run(&["-n", "2"], &example("both_directions"), None);
    for line in printed.lines() {
        let (straight, staged) = (count(line, " bytes straight"), count(line, " staged"));
        assert_eq!(straight + staged, MESSAGE, "{line}");
        assert!(staged <= STAGED && count(line, " held") == 0, "{line}");
    }
    assert_eq!(printed.lines().count(), 2, "{printed}");
}

const PROGRAM: &str = r#"
include!("mpi.rs");

fn main() {
    let (mut rank, mut size, mut sum) = (0, 0, 0_i32);
    unsafe {
        assert_eq!(MPI_Init(std::ptr::null_mut(), std::ptr::null_mut()), MPI_SUCCESS);
        MPI_Comm_rank(MPI_COMM_WORLD, &raw mut rank);
        MPI_Comm_size(MPI_COMM_WORLD, &raw mut size);
        let (from, to) = ((&raw mut rank).cast(), (&raw mut sum).cast());
        MPI_Allreduce(from, to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        let mut status: MPI_Status = std::mem::zeroed();
        let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
        PMPI_Sendrecv(from, 1, MPI_INT, right, 3, to, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &raw mut status);
        assert_eq!((sum, status.MPI_SOURCE, status.MPI_TAG), (left, left, 3));
        MPI_Finalize();
    }
    println!("rank {rank} of {size}");
}
"#;

/// The compiler, if this user can run it.
fn rustc() -> OsString {
    let name = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = Command::new(&name).arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        skip(format!("rustc: this user cannot run {}", name.display()));
    }
    name
}

fn bindings__a_program_without_libclang_runs() {
    let rustc = rustc();
    let folder = PROGRAMS.join("mpi-bindings");
    std::fs::create_dir_all(&folder).expect("the target folder can be written");
    let printed = Command::new(PROGRAMS.join("prp-mpicc")).arg("--rust").output();
    let declarations = printed.expect("prp-mpicc runs").stdout;
    std::fs::write(folder.join("mpi.rs"), declarations).expect("the folder can be written");
    std::fs::write(folder.join("ring.rs"), PROGRAM).expect("the folder can be written");
    let mut compiler = Command::new(rustc);
    compiler.args(["--edition", "2024", "-D", "warnings", "-l", "mpi_abi", "-L"]);
    compiler.arg(PROGRAMS.as_path()).arg("-o").arg(folder.join("ring")).arg(folder.join("ring.rs"));
    assert!(compiler.status().is_ok_and(|s| s.success()), "{compiler:?} failed");
    let printed = run(&["-n", "3"], &folder.join("ring"), None);
    for rank in 0..3 {
        assert!(printed.contains(&format!("rank {rank} of 3")), "{printed}");
    }
}
