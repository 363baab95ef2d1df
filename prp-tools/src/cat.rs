//! `prp cat`: standard input and output as the two directions of a connection.

mod copy;
mod input;
mod output;
mod progress;
mod report;
mod session;

use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use prp_sock::{Builder, Classic, Port};

use crate::argument::{port, seconds};
use crate::exit::{Code, Failure, HELP, help, say, say_what_lacks};
use crate::hosts;
use crate::policy::Policy;
use crate::signals::{Signals, die_of};
use crate::sys::standard::Standard;
use copy::Trouble;
use input::Input;
use output::Output;

const USAGE: &str = "prp cat [OPTIONS] NODE PORT\n       prp cat --listen [OPTIONS] PORT";

const EXAMPLES: &str = "\
  prp cat -l 7000 > copy        take a file, on node beta
  prp cat beta 7000 < file      ... and send it, on another node
  prp cat -lk 7000 </dev/null   print what comes, from one connection after another
  ls | prp cat -m beta 7001     one message a line
";

/// Connect standard input and output to another node.
///
/// What is read from standard input is sent, and what comes is written to standard output, both at
/// once. The end of standard input ends the sending direction only: `prp cat` goes on until the
/// other end has ended its direction too and has acknowledged everything. With standard input at a
/// terminal, --listen ends when the other end has.
#[derive(Debug, Args)]
#[command(override_usage = USAGE, allow_missing_positional = true)]
#[command(after_help = HELP, after_long_help = help(EXAMPLES))]
pub(crate) struct CatArgs {
    /// The node to connect to: its number, or a name in prphosts
    #[arg(required_unless_present = "listen", conflicts_with = "listen")]
    node: Option<String>,

    /// The port to connect to, or with --listen the port to listen on (0: any free one)
    #[arg(value_parser = port)]
    port: u16,

    /// Wait for a connection instead of making one
    #[arg(short, long)]
    listen: bool,

    /// With --listen: serve one connection after another, until killed
    #[arg(short, long, requires = "listen", conflicts_with = "node")]
    keep_open: bool,

    /// Send each line of standard input as one message, and print each message as a line
    ///
    /// A line break ends a message and is not part of it. The other end should receive and send
    /// messages too. What it writes as a stream may be cut into lines anywhere.
    #[arg(short, long)]
    message: bool,

    /// Do not wait for the other end: exit when all of standard input has arrived there. What
    /// comes is thrown away
    #[arg(short, long, conflicts_with_all = ["recv_only", "keep_open"])]
    send_only: bool,

    /// Do not read standard input; end the sending direction at once
    #[arg(short, long)]
    recv_only: bool,

    /// What to do about lost segments; without it selective-repeat, or go-back-n with peers that
    /// know no other
    #[arg(long, value_enum, value_name = "POLICY")]
    reliability: Option<Policy>,

    /// Do without the CRC-32 that protects every frame from end to end; either end decides for both
    #[arg(long)]
    no_crc: bool,

    /// Accept peers that know only the header of 1997; with them a loss is detected, not mended
    #[arg(long)]
    classic: bool,

    /// Longest time to wait for an answer when connecting, in seconds
    #[arg(short = 'w', long, value_name = "SECS", default_value = "15", conflicts_with = "listen")]
    #[arg(value_parser = seconds)]
    timeout: Duration,

    /// How long to look for frames before sleeping, in microseconds: 0 sleeps at once [default: 20
    /// as long as that pays]
    #[arg(long, value_name = "MICROS")]
    spin: Option<u64>,

    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,

    /// Print counters when a connection ends: segments, repeats, drops by reason
    #[arg(long)]
    stats: bool,

    /// No progress, no summary
    #[arg(short, long)]
    quiet: bool,
}

/// What is likely where nobody answers.
const UNANSWERED: &str = "; is a server started there? A node refuses only with prp-routed or another program that speaks PRP; \
                          `prp ping NODE` asks whether it is up";

/// What every connection has to do with on this side.
struct Side<'a> {
    args: &'a CatArgs,
    signals: Signals,
    input: Input,
}

/// Runs `prp cat`.
pub(crate) fn run(args: &CatArgs) -> Result<(), Failure> {
    if args.node.is_some() && args.port == 0 {
        return Err(Failure::new(Code::Usage, "port 0 is none to connect to: 1 to 65535"));
    }
    args.check_descriptors()?;
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    // A mistake in prphosts must not look like a mistake in an address.
    let path = hosts::path_or_default(args.hosts.as_deref());
    let file = hosts::load(&path)?;
    let builder = args.builder().hosts(path);
    let input = Input::stdin().map_err(|e| Failure::local("standard input", &e))?;
    let output = if args.send_only { Output::nowhere() } else { Output::stdout() };
    let output = output.map_err(|e| Failure::local("standard output", &e))?;
    let mut side = Side { args, signals, input };
    match &args.node {
        Some(node) => {
            let number = hosts::find(&file, node)?;
            let stream = builder.connect((number, Port::new(args.port))).map_err(|e| {
                let what = format_args!("{node}:{}", args.port);
                Failure::connecting(what, &e, file.path(), UNANSWERED)
            })?;
            let peer = format!("{node}:{}", args.port);
            session::run(stream, &mut side, output).or_else(|e| settle(e, &peer))
        }
        None => serve(&builder, file.path(), &mut side, output),
    }
}

fn serve(
    builder: &Builder,
    hosts: &Path,
    side: &mut Side<'_>,
    output: Output,
) -> Result<(), Failure> {
    let args = side.args;
    let port = args.port;
    let failed = |e: io::Error| Failure::network(format_args!("listening on port {port}"), &e);
    let listener = builder.bind(Port::new(port)).map_err(failed)?;
    if !args.quiet {
        say_what_lacks(hosts);
    }
    // Nobody could connect to a free port that nobody knows.
    if args.is_watched() || port == 0 {
        say(format_args!("listening on {}", listener.local_addr().map_err(failed)?));
    }
    loop {
        let (stream, peer) = listener.accept().map_err(failed)?;
        if args.is_watched() {
            say(format_args!("connection from {peer}"));
        }
        if !args.keep_open {
            // A client that comes second is refused, not kept waiting.
            drop(listener);
            return session::run(stream, side, output).or_else(|e| settle(e, &peer.to_string()));
        }
        let again = output.try_clone().map_err(|e| Failure::local("standard output", &e))?;
        match session::run(stream, side, again) {
            Ok(()) => {}
            // The next peer may fare better.
            Err(Trouble::Stream(e)) => Failure::network(peer, &e).print(),
            Err(trouble) => return settle(trouble, &peer.to_string()),
        }
    }
}

/// What broke, as the end of the program.
fn settle(trouble: Trouble, peer: &str) -> Result<(), Failure> {
    match trouble {
        // As filters do: nobody wants the rest.
        Trouble::Output(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        Trouble::Output(e) => Err(Failure::local("standard output", &e)),
        Trouble::Input(e) => Err(Failure::local("standard input", &e)),
        Trouble::Stream(e) => Err(Failure::network(peer, &e)),
        Trouble::Signal(signal) => die_of(signal),
    }
}

impl CatArgs {
    /// Somebody wants to be told what goes on.
    fn is_watched(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }

    /// Whether what is to be read and written is there: else what comes would be lost, and nobody
    /// told.
    fn check_descriptors(&self) -> Result<(), Failure> {
        if !self.recv_only {
            Standard::Input.check().map_err(|e| Failure::local("standard input", &e))?;
        }
        if !self.send_only {
            Standard::Output.check().map_err(|e| Failure::local("standard output", &e))?;
        }
        Ok(())
    }

    fn builder(&self) -> Builder {
        let mut builder = Builder::new().crc(!self.no_crc).connect_timeout(self.timeout);
        if let Some(policy) = self.reliability {
            builder = builder.reliability(policy.into());
        }
        if self.classic {
            builder = builder.classic(Classic::Allow);
        }
        if let Some(micros) = self.spin {
            builder = builder.spin(Duration::from_micros(micros));
        }
        builder
    }
}

#[cfg(test)]
mod tests;
