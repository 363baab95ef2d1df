//! The command line of the daemon.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};
use prp_node::limits;
use prp_proto::addr::NodeId;

use crate::check;
use crate::daemon::Daemon;
use crate::kernel::KernelForwarding;
use crate::log::LogWriter;
use crate::settings::{Settings, parse_address};

/// The name in messages.
const PROGRAM: &str = "prp-routed";

const EXIT_CODES: &str = "\
Exit codes:
  0  stopped by a signal; check: nothing is wrong
  1  failed: a mistake in settings or prphosts, another daemon runs, ...; check: something is wrong
  2  wrong usage
  6  not permitted: packet sockets need CAP_NET_RAW";

/// What follows the options in `--help`, as the prp command has it.
fn help(examples: &str) -> String {
    format!("Examples:\n  {}\n\n{EXIT_CODES}", examples.trim())
}

/// Forwards PRP frames by the static routes of prphosts, and answers for this node.
///
/// SIGHUP reads prphosts again; SIGTERM and SIGINT stop it. `prp routed` tells how it is.
#[derive(Debug, Parser)]
#[command(name = "prp-routed", version, args_conflicts_with_subcommands = true)]
#[command(after_help = help("\
  prp-routed check                      settings and prphosts, before anything is started
  prp-routed --user prp-routed          as root, and then as that user
  prp routed status                     how it is
"))]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    daemon: DaemonArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what is wrong with settings and prphosts, and route nothing
    ///
    /// Ends with 0 if nothing is wrong, else with 1.
    #[command(after_help = help("\
  prp-routed check
  prp-routed check --config new.toml --hosts new
  prp-routed check --all hosts          the files of all nodes
"))]
    Check(CheckArgs),
}

/// What daemon and check go by.
#[derive(Debug, Args)]
struct ConfigSources {
    /// Settings [default: /etc/prp-routed.toml, if there is one]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// prphosts [default: as the settings say, else $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// The node this machine is [default: as the settings say, else $PRP_NODE, else by its hardware
    /// addresses]
    #[arg(long, value_name = "NUMBER")]
    node: Option<NodeId>,
}

impl ConfigSources {
    /// What the command line says counts more than `settings`.
    fn apply(&self, settings: &mut Settings) {
        if let Some(hosts) = &self.hosts {
            settings.hosts.clone_from(hosts);
        }
        settings.node = self.node.or(settings.node);
    }
}

#[derive(Debug, Args)]
struct CheckArgs {
    #[command(flatten)]
    sources: ConfigSources,
    /// In place of this node's prphosts check those of all nodes, prphosts.NODE or NODE/prphosts in
    /// this folder: loops, missing next hops, nodes that are not reached, other routes back than
    /// there
    #[arg(long, value_name = "DIR", conflicts_with_all = ["hosts", "node"])]
    all: Option<PathBuf>,
    /// Print what there is to say as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct DaemonArgs {
    #[command(flatten)]
    sources: ConfigSources,
    /// Microseconds to poll for frames after the last one, before sleeping
    #[arg(long, value_name = "MICROSECONDS", allow_negative_numbers = true, value_parser = microseconds)]
    spin: Option<u64>,
    /// Whether the kernel forwards what it can by itself [default: as the settings say, else auto]
    #[arg(long, value_name = "WHEN")]
    kernel_forwarding: Option<KernelForwarding>,
    /// Serve counters for Prometheus at http://ADDRESS/metrics [default: as the settings say, else
    /// not]
    #[arg(long, value_name = "ADDRESS", value_parser = parse_address)]
    metrics: Option<std::net::SocketAddr>,
    /// Become this user once sockets are open, with CAP_NET_RAW alone; only root can [default: as
    /// the settings say, else stay the user that started it]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
}

/// What the daemon's command line takes, for manual pages and completions.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Runs the daemon as the command line says; what `main` returns.
pub fn main() -> ExitCode {
    // A limit that this fails at is one of all that follows.
    if let Err(e) = limits::guard(PROGRAM) {
        return fail(&e);
    }
    let arguments = Arguments::parse();
    if let Some(Command::Check(what)) = &arguments.command {
        return check(what);
    }
    log_to_standard_error();
    match run(&arguments.daemon) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => fail(&e),
    }
}

/// Says why the program ends.
fn fail(error: &io::Error) -> ExitCode {
    let lines = error.to_string();
    let lines: String = lines.lines().map(|line| format!("{PROGRAM}: {line}\n")).collect();
    // It reports no error.
    let _ = LogWriter(io::stderr()).write_all(lines.as_bytes());
    let denied = error.kind() == ErrorKind::PermissionDenied;
    // As the prp command has it.
    if denied { ExitCode::from(6) } else { ExitCode::FAILURE }
}

fn run(arguments: &DaemonArgs) -> io::Result<()> {
    let mut settings = match &arguments.sources.config {
        Some(path) => Settings::load(path)?,
        None => Settings::system()?,
    };
    arguments.sources.apply(&mut settings);
    if let Some(spin) = arguments.spin {
        settings.spin = std::time::Duration::from_micros(spin);
    }
    if let Some(wanted) = arguments.kernel_forwarding {
        settings.kernel_forwarding = wanted;
    }
    settings.metrics = arguments.metrics.or(settings.metrics);
    settings.user = arguments.user.clone().or(settings.user);
    let mut daemon = Daemon::start(settings)?;
    daemon.run()
}

/// Checks what there is to check; nothing is opened but files.
fn check(what: &CheckArgs) -> ExitCode {
    let (mut report, settings) = check::settings(what.sources.config.as_deref());
    if let Some(folder) = &what.all {
        report = report.and(check::cluster(folder));
    } else if let Some(mut settings) = settings {
        what.sources.apply(&mut settings);
        report = report.and(check::daemon(&settings));
    }
    let printed = report.print("prp-routed", what.json).is_ok();
    if printed && report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// One line an event, `key=value`; the service manager adds the time.
fn log_to_standard_error() {
    let terminal = io::stderr().is_terminal();
    let writer = || LogWriter(io::stderr());
    let log = tracing_subscriber::fmt().with_writer(writer).with_target(false);
    let log = log.with_ansi(terminal);
    if terminal { log.init() } else { log.without_time().init() }
}

fn microseconds(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok().filter(|number| *number <= 1_000_000);
    number.ok_or("expected a whole number from 0 to 1000000")
}
