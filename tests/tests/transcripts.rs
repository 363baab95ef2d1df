//! The transcripts in the book are equal to the output of the programs.
//!
//! `UPDATE=1 netns-scripts/test -p prp-tests --test transcripts` writes the new output to the book.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::path::Path;

use prp_tests::harness::skip;
use prp_tests::transcript;

prp_tests::main! {
    light:
        transcripts__of_getting_started,
        transcripts__of_tools,
        transcripts__of_troubleshooting;
}

const ROUTED: &str = env!("CARGO_BIN_EXE_routed");

/// Runs the transcripts of `page`.
fn check(page: &str) {
    let programs = Path::new(ROUTED).parent().expect("a folder");
    if !programs.join("prp").exists() {
        skip("the prp command (cargo build -p prp-tools)");
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    transcript::check(&docs.join(page), programs, ROUTED);
}

fn transcripts__of_getting_started() {
    check("getting-started.md");
}

fn transcripts__of_tools() {
    check("tools.md");
}

fn transcripts__of_troubleshooting() {
    check("troubleshooting.md");
}
