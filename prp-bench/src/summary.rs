//! `prp-bench summary`: the runs of `netns-scripts/bench` as one table and one JSON object.

mod bars;
mod bindings;
mod cluster_key;
mod keys;
mod links;
mod measured;
mod runs;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::bar::Bar;
use crate::{Done, at, print};
use runs::Runs;

/// What options of `bench` have run: what the names of their runs begin with, which is the key of
/// their figures too, and what makes bars and figures of them.
type OfOption = (&'static str, fn(&Runs) -> Vec<Bar>, fn(&Runs) -> Value);
const OPTIONS: [OfOption; 3] = [
    ("bindings", bindings::bars, bindings::keys),
    ("key", cluster_key::bars, cluster_key::keys),
    ("links", links::bars, links::keys),
];

/// Put the runs of netns-scripts/bench together.
///
/// DIR has what `prp perf` wrote with --json, a file for each run; the names of the files say what
/// was run (netns-scripts/bench). What is not there is left out.
#[derive(Debug, Args)]
pub(crate) struct SummaryArgs {
    /// The folder with the runs
    dir: PathBuf,

    /// Write all figures to this file; - is standard output, in place of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// When it was run, for the results page
    #[arg(long, value_name = "DATE")]
    date: Option<String>,

    /// What was run: the commit, for the results page
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
}

/// Runs `prp-bench summary`.
pub(super) fn run(args: &SummaryArgs) -> Done {
    let runs = Runs::read(&args.dir)?;
    if runs.is_empty() {
        return Err(
            at(&args.dir, "no runs here; `netns-scripts/bench --keep DIR` writes them").into()
        );
    }
    let (mut bars, mut all) = (Vec::new(), keys::all(&runs));
    let is_of = |name: &str, key: &str| name.split('.').next() == Some(key);
    if runs.names().any(|name| !OPTIONS.iter().any(|(key, ..)| is_of(name, key))) {
        bars.extend(bars::all(&runs));
    }
    for (key, bars_of, keys_of) in OPTIONS {
        if runs.names().any(|name| is_of(name, key)) {
            bars.extend(bars_of(&runs));
            all[key] = keys_of(&runs);
        }
    }
    all["bars"] = json!(bars);
    for (key, word) in [("date", &args.date), ("commit", &args.commit)] {
        if let (Some(machine), Some(word)) = (all["machine"].as_object_mut(), word) {
            machine.insert(key.into(), json!(word));
        }
    }
    let stolen = runs.stolen();
    let stolen = stolen.map(|part| format!("{:.1} % of the processor time stolen", part * 100.0));
    let lines: Vec<_> = links::table(&runs).into_iter().chain(table(&bars)).chain(stolen).collect();
    publish(args.json.as_deref(), &format!("{all:#}\n"), &format!("{}\n", lines.join("\n")))
}

/// Prints the table, and writes the text of JSON to a file; or prints that, for `-`. What can be
/// had of both is.
fn publish(json: Option<&Path>, text: &str, table: &str) -> Done {
    if json == Some(Path::new("-")) {
        return print(text);
    }
    let printed = print(table);
    if let Some(path) = json {
        fs::write(path, text).map_err(|e| at(path, e))?;
    }
    printed
}

fn table(bars: &[Bar]) -> Vec<String> {
    let width = bars.iter().map(|bar| bar.name.len()).max().unwrap_or(0);
    let head = format!("{:width$}{:>9}  {:<9}{:<9}", "", "figure", "bar", "reach for");
    let rows = bars.iter().map(|bar| {
        let sign = if bar.at_most { "<=" } else { ">=" };
        format!(
            "{:width$}{:>9}  {:<9}{:<9}  {}",
            bar.name,
            bar.figure(),
            format!("{sign} {}", bar.bar),
            format!("{sign} {}", bar.reach),
            bar.verdict()
        )
    });
    std::iter::once(head).chain(rows).collect()
}
