//! What `prp-bench` makes of files.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs it; returns whether it succeeded, and all that it printed.
fn run(subcommand: &str, files: &[PathBuf]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp-bench"));
    let output = command.arg(subcommand).args(files).output().expect("it runs");
    let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
    (output.status.success(), text)
}

#[test]
fn results__are_the_page_of_the_files_beside_it() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let entries = fs::read_dir(docs.join("results")).expect("docs/results is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let (succeeded, made) = run("results", &files);
    assert!(succeeded, "{made}");
    let page = fs::read_to_string(docs.join("results.md")).expect("the page is there");
    let command = "cargo run -p prp-bench -- results docs/results/*.json > docs/results.md";
    assert!(made == page, "make it again: {command}");
}

#[test]
fn timer__is_a_figure_in_json() {
    let (succeeded, made) = run("timer", &[]);
    assert!(succeeded, "{made}");
    let figures: serde_json::Value = serde_json::from_str(&made).expect("JSON");
    assert!(figures["timer_us"].as_f64().is_some_and(|us| us > 0.0), "{made}");
}

#[test]
fn summary__of_no_runs_and_of_what_is_no_run() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let summary = || run("summary", &[dir.path().to_owned()]);
    let (succeeded, text) = summary();
    assert!(!succeeded && text.contains("no runs here; "), "{text}");
    fs::write(dir.path().join("connect.json"), "{\"ratios\": {\"tcp\": 1.5}}").expect("room");
    let (succeeded, text) = summary();
    assert!(succeeded && text.contains("1.500") && text.contains("not measured"), "{text}");
    fs::write(dir.path().join("broken.json"), "{").expect("room");
    let (succeeded, text) = summary();
    assert!(!succeeded && text.contains("broken.json"), "{text}");
}
