//! Plants each mutation, runs what should catch it, and tells what did.

use std::fmt::Write;
use std::io;
use std::process::Command;

use super::mutation::{Catcher, Mutation};
use super::tree::Tree;

/// What became of one mutation.
#[derive(Clone, Debug)]
pub struct Report {
    /// Its name.
    pub name: &'static str,
    /// What was changed.
    pub what: &'static str,
    /// The kind of check that ran.
    pub catcher: Catcher,
    /// The tests that failed, or what was found; `None` if it survived.
    pub caught: Option<String>,
}

/// Tests named in a report at most.
const NAMED: usize = 2;

/// Plants `mutation` in `tree` and runs its catcher.
///
/// # Errors
/// If it cannot be planted, or the mutated code does not compile: then it proves nothing.
pub fn run(tree: &Tree, mutation: &Mutation) -> io::Result<Report> {
    let output = tree.with(mutation, || {
        Command::new(env!("CARGO"))
            .args(mutation.catcher.arguments())
            .current_dir(tree.root())
            .env("CARGO_TARGET_DIR", tree.root().join("target"))
            // Debug information doubles the time to build, and this is not debugged.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_CHECKED_DEBUG", "0")
            // Snapshots that differ are failures here, not proposals.
            .env("INSTA_UPDATE", "no")
            .output()
    })??;
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if text.contains("could not compile") {
        return Err(io::Error::other(format!("{} does not compile:\n{text}", mutation.name)));
    }
    let caught = (!output.status.success()).then(|| evidence(&text));
    let Mutation { name, what, catcher, .. } = *mutation;
    Ok(Report { name, what, catcher, caught })
}

/// The names of the tests that failed, or the last line of the explorer.
fn evidence(text: &str) -> String {
    let mut failed: Vec<_> = text
        .lines()
        .filter_map(|line| {
            line.strip_suffix(" --- FAILED").or_else(|| line.strip_suffix(" ... FAILED"))
        })
        .map(|line| line.trim_start_matches("test ").trim())
        .collect();
    failed.sort_unstable();
    failed.dedup();
    if failed.is_empty() {
        let message =
            text.lines().rfind(|line| !line.trim().is_empty() && !line.starts_with("error:"));
        let message = message.unwrap_or("a failure without a word");
        // The outcomes that follow a colon name applications of that one run.
        return message.split(": ").next().unwrap_or(message).to_owned();
    }
    let more = failed.len().saturating_sub(NAMED);
    let mut names =
        failed.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 {
        let _ = write!(names, " and {more} more");
    }
    names
}

/// The reports as a Markdown table.
pub fn table(reports: &[Report]) -> String {
    let mut out = String::from("| mutation | in | caught by |\n| --- | --- | --- |\n");
    for report in reports {
        let caught = report.caught.as_deref().unwrap_or("**nothing**");
        let _ = writeln!(
            out,
            "| {} | {} | {}: {caught} |",
            report.name,
            report.what,
            report.catcher.name()
        );
    }
    out
}
