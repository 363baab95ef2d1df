//! Programs of other crates of this workspace, which cargo does not build for the tests of this
//! one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::harness::skip;

/// The prp command beside `sibling`, any program of this crate; skips the test if it is not built.
pub fn prp(sibling: &str) -> PathBuf {
    let path = PathBuf::from(sibling).with_file_name("prp");
    if !path.exists() {
        skip("the prp command (cargo build -p prp-tools)");
    }
    path
}

/// Skips the test if `systemd-analyze` does not tell what is in the sets of system calls of a unit.
pub fn require_unit_call_sets() {
    let known = Command::new("systemd-analyze").args(["syscall-filter", "@default"]).output();
    if !known.is_ok_and(|output| output.status.success()) {
        skip("systemd-analyze, which knows what is in the sets of a unit");
    }
}

/// Runs `command`: code, standard output, standard error.
///
/// # Panics
/// If it does not start, or prints what is no UTF-8.
pub fn finish(mut command: Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// Builds all programs and libraries of the crates `packages` with the profile of `sibling`;
/// returns their folder.
///
/// # Panics
/// If they do not build.
pub fn build_all(packages: &[&str], sibling: &str) -> PathBuf {
    let words: Vec<_> = packages.iter().flat_map(|package| ["--package", package]).collect();
    run_cargo(&words, sibling)
}

/// Builds the programs of `package` and its examples with the profile of `sibling`; returns the
/// folder of the programs, with the examples in `examples`.
///
/// # Panics
/// If they do not build.
pub fn build_examples(package: &str, sibling: &str) -> PathBuf {
    run_cargo(&["--package", package, "--examples"], sibling)
}

/// Builds what `words` choose, unless netns-scripts/test has built everything.
fn run_cargo(words: &[&str], sibling: &str) -> PathBuf {
    let folder = Path::new(sibling).parent().expect("a program lies in a folder");
    if std::env::var_os("PRP_BUILT").is_some() {
        return folder.to_owned();
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet"]).args(words);
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    let target = folder.parent().expect("a profile's folder lies in another");
    let built =
        cargo.arg("--target-dir").arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status();
    match built {
        Ok(status) => assert!(status.success(), "{cargo:?} failed"),
        // A user that runs a test program without cargo may not have cargo in the path.
        Err(e) => eprintln!("{cargo:?}: {e}: programs are used as they were built before"),
    }
    folder.to_owned()
}
