//! `prp cat`: standard input and output as the two directions of a connection.

mod copy;
mod exec;
mod idle;
mod input;
mod output;
mod progress;
mod report;
mod scan;
mod session;

use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use prp_sock::{Builder, Classic, Port, PrpStream};

use crate::argument::{PortRange, any, input_file, peer_port, ports, seconds};
use crate::exit::{Code, Failure, HELP, help, report_missing};
use crate::hosts;
use crate::policy::Policy;
use crate::print::notice;
use crate::signals::{Signals, die_of};
use crate::sys::standard::Standard;
use copy::CopyError;
use input::Input;
use output::Output;

const USAGE: &str = "prp cat [OPTIONS] NODE PORT\n       prp cat --listen [OPTIONS] PORT\n       \
                     prp cat --scan [OPTIONS] NODE PORT[-PORT]";

const EXAMPLES: &str = "\
  prp cat -l 7000 > copy        take a file, on node beta
  prp cat beta 7000 < file      ... and send it, on another node
  prp cat -lk 7000 </dev/null   print what comes, from one connection after another
  ls | prp cat -m beta 7001     one message a line
  prp cat -lk 7002 -e 'wc -c'   a program for each connection, many at a time
  prp cat -zv beta 7000-7010    which ports are served there?
  prp cat -w 5 beta 7000        5 s without an answer, or without a byte, end it
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
    #[arg(value_parser = ports)]
    port: PortRange,

    /// Wait for a connection instead of making one
    #[arg(short, long)]
    listen: bool,

    /// With --listen: serve one connection after another, until killed
    #[arg(short, long, requires = "listen", conflicts_with = "node")]
    keep_open: bool,

    /// Run COMMAND in /bin/sh with the connection as its standard input and output
    ///
    /// The connection ends when the command has closed its output and all of that has arrived. With
    /// --keep-open many connections are served at a time. The environment variable PRP_PEER has the
    /// address of the other end. Any host that can reach the node can run the command.
    #[arg(short, long, value_name = "COMMAND", conflicts_with_all = ["send_only", "recv_only"])]
    exec: Option<String>,

    /// Connect from this port of this node [default: a free one]
    #[arg(short = 'p', long, value_name = "PORT", value_parser = peer_port)]
    #[arg(conflicts_with_all = ["listen", "scan"])]
    source_port: Option<u16>,

    /// Connect to each port, and say with --verbose whether a program listens; nothing is sent.
    /// Ends well if one does
    #[arg(short = 'z', long)]
    #[arg(conflicts_with_all = ["listen", "exec", "message", "send_only", "recv_only", "stats"])]
    scan: bool,

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

    /// Accept peers that know only the header of 1997; with them a loss is detected, not repaired
    #[arg(long)]
    classic: bool,

    /// Longest time to wait for an answer when connecting [default: 15], and for a byte of either
    /// direction after that [default: no limit], in seconds
    ///
    /// A connection on which nothing moves for this time ends, well if all that was sent has
    /// arrived. With --listen it bounds no wait for connections.
    #[arg(short = 'w', long, value_name = "SECS", value_parser = seconds)]
    timeout: Option<Duration>,

    /// How long to poll for frames before sleeping, in microseconds: 0 sleeps at once [default: 20
    /// as long as that pays]
    #[arg(long, value_name = "MICROS", value_parser = any::<u64>)]
    spin: Option<u64>,

    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,

    /// Print counters when a connection ends: segments, repeats, drops by reason
    #[arg(long)]
    stats: bool,

    /// No progress, no summary
    #[arg(short, long)]
    quiet: bool,

    /// Say which peers connect and what a scan finds, also where standard error is no terminal
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,
}

/// The wait for an answer when connecting, unless the user names another: a node that is there
/// answers within a second, and a router that starts anew is back within ten.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// What is likely where no program answers.
const UNANSWERED: &str = "; is a server started there? A node refuses only with prp-routed or another program that speaks PRP; \
                          `prp ping NODE` asks whether it is up";

/// What every connection has to do with on this side.
struct Side<'a> {
    args: &'a CatArgs,
    signals: Signals,
    input: Input,
    /// The connection ends when the input has, whatever the peer does.
    ends_with_input: bool,
}

/// Runs `prp cat`.
pub(crate) fn run(args: &CatArgs) -> Result<(), Failure> {
    let PortRange { first: port, last } = args.port;
    if args.node.is_some() && port == 0 {
        return Err(Failure::new(Code::Usage, "port 0 is none to connect to: 1 to 65535"));
    }
    if !args.scan && port != last {
        return Err(Failure::new(Code::Usage, "several ports: only with --scan (-z)"));
    }
    args.check_descriptors()?;
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    // A mistake in prphosts must not pass for a mistake in an address.
    let path = hosts::path_or_default(args.hosts.as_deref());
    let file = hosts::load(&path)?;
    let builder = args.builder().hosts(path);
    let Some(node) = &args.node else {
        return serve(&builder, file.path(), args, signals);
    };
    let number = hosts::find(&file, node)?;
    if args.scan {
        return scan::run(args, &builder, number, file.path());
    }
    let stream = builder.connect((number, Port::new(port))).map_err(|e| {
        Failure::connecting(format_args!("{node}:{port}"), &e, file.path(), UNANSWERED)
    })?;
    if args.verbose {
        notice(format_args!("connected to {node}:{port}"));
    }
    converse(stream, args, signals, &format!("{node}:{port}"))
}

/// Serves one connection, with the standard streams or with a command.
fn converse(
    stream: PrpStream,
    args: &CatArgs,
    signals: Signals,
    peer: &str,
) -> Result<(), Failure> {
    if let Some(command) = &args.exec {
        return exec::run(stream, args, signals, command).map_err(|e| e.failure(peer));
    }
    let mut side = Side::of_standard_input(args, signals)?;
    session::run(stream, &mut side, args.output()?).or_else(|e| settle(e, peer))
}

fn serve(builder: &Builder, hosts: &Path, args: &CatArgs, signals: Signals) -> Result<(), Failure> {
    let port = args.port.first;
    let failed = |e: io::Error| Failure::network(format_args!("listening on port {port}"), &e);
    let listener = builder.bind(Port::new(port)).map_err(failed)?;
    if !args.quiet {
        report_missing(hosts);
    }
    // A free port whose number is not known is of no use to clients.
    if args.is_watched() || port == 0 {
        notice(format_args!("listening on {}", listener.local_addr().map_err(failed)?));
    }
    let accept = || -> Result<_, Failure> {
        let (stream, peer) = listener.accept().map_err(failed)?;
        if args.is_watched() {
            notice(format_args!("connection from {peer}"));
        }
        Ok((stream, peer.to_string()))
    };
    match &args.exec {
        Some(command) if args.keep_open => exec::serve(args, &signals, command, accept),
        _ if args.keep_open => serve_sequentially(args, signals, accept),
        _ => {
            let (stream, peer) = accept()?;
            // A client that comes second is refused, not kept waiting.
            drop(listener);
            converse(stream, args, signals, &peer)
        }
    }
}

/// Serves one connection after another with the standard streams.
fn serve_sequentially(
    args: &CatArgs,
    signals: Signals,
    accept: impl Fn() -> Result<(PrpStream, String), Failure>,
) -> Result<(), Failure> {
    let mut side = Side::of_standard_input(args, signals)?;
    let output = args.output()?;
    loop {
        let (stream, peer) = accept()?;
        let again = output.try_clone().map_err(|e| Failure::local("standard output", &e))?;
        match session::run(stream, &mut side, again) {
            Ok(()) => {}
            // The next peer may fare better.
            Err(CopyError::Stream(e)) => Failure::network(peer, &e).print(),
            Err(error) => return settle(error, &peer),
        }
    }
}

/// What broke, as the end of the program.
fn settle(error: CopyError, peer: &str) -> Result<(), Failure> {
    match error {
        // As filters do: the rest is not wanted.
        CopyError::Output(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        CopyError::Output(e) => Err(Failure::local("standard output", &e)),
        CopyError::Input(e) => Err(Failure::local("standard input", &e)),
        CopyError::Stream(e) => Err(Failure::network(peer, &e)),
        CopyError::Idle(limit) => Err(idle(peer, limit)),
        CopyError::Signal(signal) => die_of(signal),
    }
}

/// Nothing has moved for the time of --timeout, and the peer lacks some of what was sent.
fn idle(peer: &str, limit: Duration) -> Failure {
    let seconds = limit.as_secs_f64();
    let text = format!("{peer}: idle for {seconds} s, and not all that was sent has arrived");
    Failure::new(Code::TimedOut, text)
}

impl<'a> Side<'a> {
    /// With the standard input.
    fn of_standard_input(args: &'a CatArgs, signals: Signals) -> Result<Self, Failure> {
        let input = Input::stdin().map_err(|e| Failure::local("standard input", &e))?;
        Ok(Self { args, signals, input, ends_with_input: args.send_only })
    }
}

impl CatArgs {
    /// The user wants to be told what goes on.
    fn is_watched(&self) -> bool {
        self.verbose || !self.quiet && io::stderr().is_terminal()
    }

    /// Where what comes goes to, of the standard streams.
    fn output(&self) -> Result<Output, Failure> {
        let output = if self.send_only { Output::nowhere() } else { Output::stdout() };
        output.map_err(|e| Failure::local("standard output", &e))
    }

    /// Whether what is to be read and written is there: else what comes would be lost without a
    /// word.
    fn check_descriptors(&self) -> Result<(), Failure> {
        if self.scan || self.exec.is_some() {
            return Ok(());
        }
        if !self.recv_only {
            Standard::Input.check().map_err(|e| Failure::local("standard input", &e))?;
        }
        if !self.send_only {
            Standard::Output.check().map_err(|e| Failure::local("standard output", &e))?;
        }
        Ok(())
    }

    fn builder(&self) -> Builder {
        let mut builder = Builder::new()
            .crc(!self.no_crc)
            .connect_timeout(self.timeout.unwrap_or(CONNECT_TIMEOUT));
        if let Some(policy) = self.reliability {
            builder = builder.reliability(policy.into());
        }
        if let Some(port) = self.source_port {
            builder = builder.local_port(Port::new(port));
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
