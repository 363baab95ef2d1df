//! `prp routed`: asks the prp-routed of this machine.

mod find;
mod metrics;
mod table;
mod watch;
mod words;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prp_node::RunDir;
use prp_routed::control::ask;
use prp_routed::report::Question;
use prp_sock::NodeId;
use serde_json::Value;

use crate::argument::input_file;
use crate::exit::{Code, Failure, help};
use crate::print::{json, print_line, printable};

/// Ask the routing daemon of this machine how it is, or have it read prphosts again.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp routed status                   which node, since when, by which prphosts
  prp routed neighbours --watch       every second, until Ctrl-C
  prp routed --json counters          for programs
  prp routed reload --dry-run         what would change
"))]
pub(crate) struct RoutedArgs {
    #[command(subcommand)]
    what: RoutedCommand,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    /// Ask again and again, with this number of seconds between [default: 1]
    #[arg(long, global = true, value_name = "SECS", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = watch::DEFAULT, value_parser = watch::interval)]
    watch: Option<Duration>,
    /// The node whose daemon to ask [default: the one that runs here]
    #[arg(long, global = true, value_name = "NUMBER")]
    node: Option<NodeId>,
    /// The prphosts that says which node this is, where several daemons run [default: $PRP_HOSTS,
    /// else /etc/prphosts]
    #[arg(long, global = true, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
}

#[derive(Copy, Clone, Debug, Subcommand)]
enum RoutedCommand {
    /// Which node, since when, by which prphosts, over which devices
    #[command(after_help = help("  prp routed status\n"))]
    Status,
    /// The next hops of every node, best first
    #[command(after_help = help("  prp routed routes\n"))]
    Routes,
    /// The nodes it sends to, and whether they may be used
    #[command(after_help = help("  prp routed neighbours --watch 0.5\n"))]
    Neighbours,
    /// What it has moved, and what it dropped and why
    #[command(after_help = help("  prp routed counters --watch 10\n"))]
    Counters,
    /// All counters as text for Prometheus, or with --json as a list
    #[command(after_help = help("  prp routed metrics > prp.prom\n"))]
    Metrics,
    /// Read prphosts again; nothing changes if it has a mistake
    #[command(after_help = help("  prp routed reload --dry-run\n"))]
    Reload {
        /// Only tell what would change
        #[arg(long)]
        dry_run: bool,
    },
}

/// The words of a command line, with what `--watch` is followed by put to it if that is a number.
/// Clap alone would take any word for its value, a subcommand too.
pub(crate) fn arguments(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words = words.peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let is_watch = word == "--watch" && all.get(1).is_some_and(|word| word == "routed");
        let number = words.next_if(|next| {
            is_watch && next.to_str().is_some_and(|next| next.parse::<f64>().is_ok())
        });
        all.push(match number {
            Some(number) => [word, number].join("=".as_ref()),
            None => word,
        });
    }
    all
}

/// Runs `prp routed`.
pub(crate) fn run(args: &RoutedArgs) -> Result<(), Failure> {
    let Some(interval) = args.watch else { return print_line(answer(args)?) };
    if let RoutedCommand::Reload { .. } = args.what {
        return Err(Failure::new(Code::Usage, "reload reads prphosts once: no --watch here"));
    }
    watch::run(interval, args.json, || answer(args))
}

/// What the daemon says, as text.
fn answer(args: &RoutedArgs) -> Result<String, Failure> {
    let node = find::find_daemon(args.node, args.hosts.as_deref())?;
    let question = match args.what {
        RoutedCommand::Status => Question::Status,
        RoutedCommand::Routes => Question::Routes,
        RoutedCommand::Neighbours => Question::Neighbours,
        RoutedCommand::Counters => Question::Counters,
        RoutedCommand::Metrics => Question::Metrics,
        RoutedCommand::Reload { dry_run } => Question::Reload { dry_run },
    };
    let value = ask(&RunDir::in_force(), node, &question).map_err(|e| failure(&e))?;
    if !args.json {
        return Ok(printable(words::render(value).trim_end()));
    }
    // One line, also where there is one for each time.
    match value {
        Value::String(text) => json(&metrics::parse(&text), false),
        data => json(&data, false),
    }
}

fn failure(error: &io::Error) -> Failure {
    Failure::new(Code::Failed, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> String {
        let words = arguments(line.split(' ').map(OsString::from));
        words.iter().map(|word| word.to_str().expect("ASCII")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arguments__watch_takes_a_number_and_no_other_word() {
        for (line, taken) in [
            ("prp routed status --watch", "prp routed status --watch"),
            ("prp routed status --watch 2", "prp routed status --watch=2"),
            ("prp routed --watch 0.5 status", "prp routed --watch=0.5 status"),
            ("prp routed --watch status", "prp routed --watch status"),
            ("prp routed --watch --json status", "prp routed --watch --json status"),
            ("prp routed status --watch=2 --json", "prp routed status --watch=2 --json"),
            ("prp cat --watch 2", "prp cat --watch 2"),
        ] {
            assert_eq!(words(line), taken);
        }
    }
}
