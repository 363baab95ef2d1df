//! `prp perf summary`: the runs of `netns-scripts/bench` as one table, one JSON object and plots.

mod bars;
mod bindings;
mod cluster_key;
mod keys;
mod links;
mod plot;
mod runs;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use prp_node::printable_path;
use serde_json::json;

use super::{report, steal};
use crate::exit::{Code, Failure};
use bars::Bar;
use runs::Runs;

/// What the names of runs begin with that are not of `bench` alone, but of one of its options.
const OTHERS: [&str; 3] = ["links.", "bindings.", "key."];

/// Put the runs of netns-scripts/bench together.
///
/// DIR has what the other subcommands wrote with --json, a file for each run; the names of the
/// files say what was run (docs/performance.md). What is not there is left out.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf summary bench-runs --json -
"))]
pub(crate) struct SummaryArgs {
    /// The folder with the runs
    dir: PathBuf,

    /// Write all figures to this file; - is standard output, in place of the table
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draw plots into this folder, as SVG
    #[arg(long, value_name = "DIR")]
    svg: Option<PathBuf>,

    /// When it was run, for the results page
    #[arg(long, value_name = "DATE")]
    date: Option<String>,

    /// What was run: the commit, for the results page
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
}

/// Runs `prp perf summary`.
pub(super) fn run(args: &SummaryArgs) -> Result<(), Failure> {
    let runs = Runs::read(&args.dir).map_err(|e| Failure::reading(&args.dir, &e))?;
    if runs.is_empty() {
        let text = format!(
            "{}: no runs here; `netns-scripts/bench --keep DIR` writes them",
            printable_path(&args.dir)
        );
        return Err(Failure::new(Code::Failed, text));
    }
    if let Some(dir) = &args.svg {
        fs::create_dir_all(dir).map_err(|e| Failure::writing(dir, &e))?;
        plot::all(&runs, dir)?;
    }
    let (mut bars, mut all) = (Vec::new(), keys::all(&runs));
    let is_of_another = |name: &str| OTHERS.iter().any(|prefix| name.starts_with(prefix));
    if runs.names().any(|name| !is_of_another(name)) {
        bars.extend(bars::all(&runs));
    }
    if bindings::are_in(&runs) {
        bars.extend(bindings::bars(&runs));
        all["bindings"] = bindings::keys(&runs);
    }
    if cluster_key::are_in(&runs) {
        bars.extend(cluster_key::bars(&runs));
        all["key"] = cluster_key::keys(&runs);
    }
    if links::are_in(&runs) {
        bars.extend(links::bars(&runs));
        all["links"] = links::keys(&runs);
    }
    all["bars"] = json!(bars);
    for (key, word) in [("date", &args.date), ("commit", &args.commit)] {
        if let (Some(machine), Some(word)) = (all["machine"].as_object_mut(), word) {
            machine.insert(key.into(), json!(word));
        }
    }
    let warning = runs.stolen().and_then(steal::warning);
    let lines = links::table(&runs).into_iter().chain(table(&bars)).chain(warning);
    let lines: Vec<_> = lines.collect();
    report::publish(args.json.as_deref(), &format!("{all:#}"), &lines)
}

fn table(bars: &[Bar]) -> Vec<String> {
    let width = bars.iter().map(|bar| bar.name.len()).max().unwrap_or(0);
    let head = format!("{:width$}{:>9}  {:<9}{:<9}", "", "figure", "bar", "reach for");
    let rows = bars.iter().map(|bar| {
        let sign = if bar.at_most { "<=" } else { ">=" };
        let value = bar.value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
        format!(
            "{:width$}{value:>9}  {:<9}{:<9}  {}",
            bar.name,
            format!("{sign} {}", bar.bar),
            format!("{sign} {}", bar.reach),
            bar.verdict()
        )
    });
    std::iter::once(head).chain(rows).collect()
}
