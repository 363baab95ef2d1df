//! Manual pages and completions, as the programs that use them take them. What is not installed is
//! not asked, and said.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

fn generate(what: &str, folder: &Path) -> Vec<PathBuf> {
    let done = Command::new(env!("CARGO_BIN_EXE_prp"))
        .args(["generate", what])
        .arg(folder)
        .output()
        .expect("the program can be run");
    assert!(done.status.success(), "{done:?}");
    let files = fs::read_dir(folder).expect("it was made");
    let mut files: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
    files.sort();
    files
}

/// Runs a program that reads `file`; what it says is a complaint.
fn complaints(program: &str, arguments: &[&str], file: &Path) -> String {
    match Command::new(program).args(arguments).arg(file).output() {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stderr).into_owned(),
        Ok(done) => format!("{program}: {}: {done:?}", file.display()),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            println!("SKIP {}: no {program}", file.display());
            String::new()
        }
        Err(e) => panic!("{program}: {e}"),
    }
}

#[test]
fn man__pages_are_taken_without_warnings() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pages = generate("man", &folder.path().join("new"));
    let names: Vec<_> =
        pages.iter().filter_map(|page| page.file_name()?.to_str().map(str::to_owned)).collect();
    for name in [
        "prp.1",
        "prp-cat.1",
        "prp-perf-sweep.1",
        "prp-routed.8",
        "prp-routed-check.8",
        "prphosts.5",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} is not among {names:?}");
    }
    for page in &pages {
        assert_eq!(complaints("groff", &["-man", "-z", "-ww", "-Kutf8", "-Tutf8"], page), "");
        let text = fs::read_to_string(page).expect("text");
        for section in ["ENVIRONMENT", "FILES", "SEE ALSO"] {
            assert!(text.contains(&format!(".SH {section}")), "{section}: {}", page.display());
        }
        let is_program = page.extension().is_some_and(|section| section != "5");
        assert_eq!(text.contains(".SH SYNOPSIS"), is_program, "{}", page.display());
    }
}

#[test]
fn completions__are_read_by_their_shells() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let files = generate("completions", folder.path());
    assert_eq!(files.len(), 6, "{files:?}");
    for file in &files {
        let name = file.file_name().and_then(|name| name.to_str()).expect("a name in ASCII");
        let (shell, arguments) = match name {
            _ if name.starts_with('_') => ("zsh", ["-n"]),
            _ if name.ends_with(".fish") => ("fish", ["--no-execute"]),
            _ => ("bash", ["-n"]),
        };
        assert_eq!(complaints(shell, &arguments, file), "");
        let text = fs::read_to_string(file).expect("text");
        assert!(text.contains("prp"), "{name}");
    }
}

#[test]
fn generate__a_folder_that_cannot_be_made_is_named() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let done = Command::new(env!("CARGO_BIN_EXE_prp"))
        .args(["generate", "man"])
        .arg(file.path().join("below"))
        .output()
        .expect("the program can be run");
    assert_eq!(done.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert!(stderr.contains("below") && stderr.lines().count() == 1, "{stderr}");
}

#[test]
fn generate__a_folder_is_no_stream() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    let done = command.args(["generate", "completions", "-"]).current_dir(folder.path()).output();
    assert_eq!(done.expect("it runs").status.code(), Some(2));
    assert!(!folder.path().join("-").exists());
}
