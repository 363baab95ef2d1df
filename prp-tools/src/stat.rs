//! `prp stat`: the connections of this node, over all its processes. Columns and filters are those
//! of ss.

mod filter;
mod snapshot;
mod summary;
mod table;

use std::time::Duration;
use std::{io, thread};

use clap::{ArgAction, Args};

use prp_node::{counted, status};

use crate::argument::seconds;
use crate::exit::{Failure, help};
use crate::print::{notice, print_json, print_line};
pub(crate) use filter::ConnectionFilter;
#[cfg(test)]
pub(crate) use snapshot::Device;
pub(crate) use snapshot::{Connection, Process, Snapshot};

/// Show the connections of this node, of all its processes.
///
/// Root sees all processes. Others see their own, but for programs with file capabilities, which
/// the kernel keeps from the user who started them.
///
/// FILTER is as of ss: `state NAME`, `sport PORT`, `dport PORT`, `src NODE[:PORT]`,
/// `dst NODE[:PORT]`, with `and` or nothing between them. Ports may be compared: `dport ge 1024`.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp stat                              connections that are established or end
  prp stat -l                           listeners; `-tlnp` is the same
  prp stat -a state estab dport 7000    those to port 7000
  prp stat -i dst beta                  more of each connection to node beta
  prp stat -w 1                         again every second
  prp stat --openmetrics >prp.prom      for Prometheus
"))]
pub(crate) struct StatArgs {
    /// Which connections, in the words of ss
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Listening ports only
    #[arg(short, long)]
    listening: bool,
    /// Listening ports too, and connections in TIME-WAIT
    #[arg(short, long, conflicts_with = "listening")]
    all: bool,
    /// A second line for each connection: window, segments, device, losses
    #[arg(short, long)]
    info: bool,
    /// Names of nodes, from prphosts
    #[arg(short, long)]
    resolve: bool,
    /// Streams, with numbers and processes: nothing else is shown anyway. As in `ss -tnp`
    #[arg(short = 't', short_aliases = ['n', 'p'], action = ArgAction::Count)]
    as_ss: u8,
    /// No line of headings
    #[arg(short = 'H', long)]
    no_header: bool,
    /// Counts by state and by process, and losses by reason
    #[arg(short, long, conflicts_with_all = ["info", "listening", "openmetrics"])]
    summary: bool,
    /// Again with this number of seconds between, until Ctrl-C
    #[arg(short, long, value_name = "SECS", value_parser = seconds)]
    watch: Option<Duration>,
    /// All of it as JSON; with --watch an object a line
    #[arg(long, conflicts_with_all = ["summary", "openmetrics"])]
    json: bool,
    /// The counters of all processes in the text format of OpenMetrics
    #[arg(long, conflicts_with_all = ["watch", "filter", "all", "listening"])]
    openmetrics: bool,
}

/// How long a process may take to answer: one that is busy answers within milliseconds, one that is
/// stopped never.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

/// Runs `prp stat`.
pub(crate) fn run(args: &StatArgs) -> Result<(), Failure> {
    let no_proc = |e: io::Error| Failure::local("/proc", &e);
    if args.openmetrics {
        let (pages, _) = snapshot::pages(ANSWER_TIMEOUT).map_err(no_proc)?;
        return print_line(status::openmetrics(&pages).trim_end());
    }
    // Sums are of listeners as well, unless a filter says otherwise.
    let filter = ConnectionFilter::parse(&args.filter, args.all || args.summary, args.listening)?;
    loop {
        let mut snapshot = Snapshot::take(ANSWER_TIMEOUT).map_err(no_proc)?;
        snapshot.retain(&filter);
        print(args, &snapshot)?;
        for process in snapshot.processes.iter().filter(|process| process.is_stale) {
            notice(format_args!("{}", process.silence()));
        }
        let Some(pause) = args.watch else {
            if snapshot.processes.is_empty() && snapshot.hidden > 0 {
                let hidden = snapshot.hidden;
                notice(format_args!(
                    "{} hidden from this user: `sudo prp stat` shows them",
                    counted(hidden, "process")
                ));
            }
            return Ok(());
        };
        thread::sleep(pause);
    }
}

fn print(args: &StatArgs, snapshot: &Snapshot) -> Result<(), Failure> {
    if args.json {
        return print_json(snapshot, args.watch.is_none());
    }
    let lines = if args.summary {
        summary::lines(snapshot)
    } else {
        table::lines(snapshot, !args.no_header, args.info, args.resolve)
    };
    if lines.is_empty() { Ok(()) } else { print_line(lines.join("\n")) }
}

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::table::tests::snapshot;
}
