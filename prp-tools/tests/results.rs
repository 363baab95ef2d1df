//! The book's page of results is what `prp perf results` makes of the files beside it.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn page__is_made_of_the_files_beside_it() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let entries = fs::read_dir(docs.join("results")).expect("docs/results is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    let output = command.args(["perf", "results"]).args(&files).output().expect("prp runs");
    assert!(output.status.success(), "{output:?}");
    let page = fs::read_to_string(docs.join("results.md")).expect("the page is there");
    let made = String::from_utf8(output.stdout).expect("text");
    assert!(made == page, "make it again: prp perf results docs/results/*.json > docs/results.md");
}
