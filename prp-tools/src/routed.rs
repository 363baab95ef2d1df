//! `prp routed`: asks the prp-routed of this machine.

mod table;

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::{Args, Subcommand};
use prp_routed::control::ask;
use prp_routed::report::Question;
use prp_sock::{NodeId, Resolver};

use crate::exit::{Code, Failure};

/// Ask the routing daemon of this machine how it is, or have it read prphosts again.
#[derive(Debug, Args)]
pub(crate) struct RoutedArgs {
    #[command(subcommand)]
    what: What,
    /// Print JSON as the daemon gives it
    #[arg(long, global = true)]
    json: bool,
    /// Ask again and again, every so many seconds
    #[arg(long, global = true, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "1")]
    watch: Option<u64>,
    /// The node whose daemon to ask [default: this machine's by prphosts]
    #[arg(long, global = true, value_name = "NUMBER")]
    node: Option<NodeId>,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Which node, since when, by which prphosts, over which devices
    Status,
    /// The next hops of every node, best first
    Routes,
    /// The nodes it sends to, and whether they may be used
    Neighbours,
    /// What it has moved, and what it dropped and why
    Counters,
    /// All counters as text for Prometheus
    Metrics,
    /// Read prphosts again; nothing changes if it has a mistake
    Reload {
        /// Only tell what would change
        #[arg(long)]
        dry_run: bool,
    },
}

/// Runs `prp routed`.
pub(crate) fn run(args: &RoutedArgs) -> Result<(), Failure> {
    let node = match args.node {
        Some(node) => node,
        None => Resolver::system()
            .and_then(|resolver| resolver.local_node())
            .map_err(|e| Failure::new(Code::Failed, e.to_string()))?,
    };
    let question = match args.what {
        What::Status => Question::Status,
        What::Routes => Question::Routes,
        What::Neighbours => Question::Neighbours,
        What::Counters => Question::Counters,
        What::Metrics => Question::Metrics,
        What::Reload { dry_run } => Question::Reload { dry_run },
    };
    loop {
        let value = ask(node, &question).map_err(|e| Failure::new(Code::Failed, e.to_string()))?;
        let text = if args.json { value.to_string() } else { table::render(&value) };
        let mut out = io::stdout();
        if args.watch.is_some() && out.is_terminal() {
            // Home, and clear what is below.
            let _ = write!(out, "\x1b[H\x1b[J");
        }
        match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other.map_err(|e| Failure::local("standard output", &e))?,
        }
        let Some(seconds) = args.watch else { return Ok(()) };
        std::thread::sleep(Duration::from_secs(seconds));
    }
}
