//! The command line of the daemon.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use prp_sock::NodeId;

use crate::daemon::Daemon;
use crate::settings::Settings;

/// Forwards PRP frames by the static routes of prphosts, and answers for this node.
///
/// SIGHUP reads prphosts again; SIGTERM and SIGINT stop it. `prp routed` tells how it is.
#[derive(Debug, Parser)]
#[command(name = "prp-routed", version)]
struct Arguments {
    /// Settings [default: /etc/prp-routed.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// prphosts [default: as the settings say, else $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// The node this machine is [default: $PRP_NODE, else by its hardware addresses]
    #[arg(long, value_name = "NUMBER")]
    node: Option<NodeId>,
    /// Microseconds to look for frames after the last one, before sleeping
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    spin: Option<u64>,
    /// Serve counters for Prometheus at http://ADDRESS/metrics [default: as the settings say, else not]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<std::net::SocketAddr>,
}

/// Runs the daemon as the command line says; what `main` returns.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    log_to_standard_error();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            for line in e.to_string().lines() {
                // Where nobody listens there is nobody to complain to.
                let _ = writeln!(io::stderr(), "prp-routed: {line}");
            }
            let denied = e.kind() == ErrorKind::PermissionDenied;
            // As the prp command has it.
            if denied { ExitCode::from(6) } else { ExitCode::FAILURE }
        }
    }
}

fn run(arguments: &Arguments) -> io::Result<()> {
    let mut settings = match &arguments.config {
        Some(path) => Settings::load(path)?,
        None => Settings::system()?,
    };
    if let Some(hosts) = &arguments.hosts {
        settings.hosts.clone_from(hosts);
    }
    settings.node = arguments.node.or(settings.node);
    if let Some(spin) = arguments.spin {
        settings.spin = std::time::Duration::from_micros(spin);
    }
    settings.metrics = arguments.metrics.or(settings.metrics);
    let mut daemon = Daemon::start(settings)?;
    daemon.run()
}

/// One line an event, `key=value`; the service manager adds the time.
fn log_to_standard_error() {
    let terminal = io::stderr().is_terminal();
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_target(false);
    let log = log.with_ansi(terminal);
    if terminal { log.init() } else { log.without_time().init() }
}
