//! `prp`: the PaRma Protocol from the command line. A file for each subcommand.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

mod accepting;
mod argument;
mod cat;
mod doctor;
mod dump;
mod exit;
mod generate;
mod hosts;
mod key;
mod model;
mod perf;
mod ping;
mod policy;
mod print;
mod probe;
mod proxy;
mod routed;
mod run;
mod semaphore;
mod signals;
mod stat;
mod sys;
mod top;
mod trace;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use prp_node::limits::{self, NotingAllocator};

use exit::{Code, Failure};
use print::unwritten;
use sys::standard::Standard;

/// Byte streams between the nodes of a cluster, straight over Ethernet.
#[derive(Debug, Parser)]
#[command(name = "prp", version, after_help = help())]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// The commands by what people want of them, and the exit codes.
fn help() -> String {
    format!("{TASKS}\n{}", exit::HELP)
}

const TASKS: &str = "\
By task:
  what is wrong?               prp doctor [NODE]; prp hosts check
  is a node there?             prp ping NODE; prp trace NODE
  which connections are there? prp stat; prp top, live; prp routed status
  what passes the wire?        prp dump
  how fast is it?              prp perf serve, and prp perf stream NODE; prp model predicts
  send and receive bytes       prp cat; prp proxy for programs of TCP
  programs as they are         prp run PROGRAM
  write prphosts               prp hosts generate, check, resolve
  make the cluster's key       prp key new, list, use, drop
  make packages                prp generate man, completions
";

#[derive(Debug, Subcommand)]
enum Command {
    Cat(cat::CatArgs),
    Doctor(doctor::DoctorArgs),
    Dump(dump::DumpArgs),
    Generate(generate::GenerateArgs),
    Hosts(hosts::HostsArgs),
    Key(key::KeyArgs),
    Model(model::ModelArgs),
    Perf(perf::PerfArgs),
    Ping(ping::PingArgs),
    Proxy(proxy::ProxyArgs),
    Routed(routed::RoutedArgs),
    Run(run::RunArgs),
    Stat(stat::StatArgs),
    Top(top::TopArgs),
    Trace(trace::TraceArgs),
}

/// The name in messages.
const PROGRAM: &str = "prp";

#[global_allocator]
static ALLOCATOR: NotingAllocator = NotingAllocator;

fn main() -> ExitCode {
    if let Err(e) = limits::guard(PROGRAM) {
        let failure = Failure::new(Code::Failed, e.to_string());
        failure.print();
        return failure.into();
    }
    let done = match parse(routed::arguments(env::args_os())) {
        Ok(arguments) => run(&arguments.command),
        // With colours where standard error is a terminal.
        Err(wrong) if wrong.use_stderr() => wrong.exit(),
        Err(asked) => print_help(&asked),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.into()
        }
    }
}

/// The arguments in `words`.
fn parse(words: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let mut command = with_negative_numbers(parser(words.get(1)));
    let mut matches = command.try_get_matches_from_mut(words).map_err(without_tip)?;
    Arguments::from_arg_matches_mut(&mut matches).map_err(|e| e.format(&mut command))
}

/// Returns the parser of all commands, or that of `prp run` alone if this is the `first` word: all
/// others take a third of the pages that are touched until the program starts.
fn parser(first: Option<&OsString>) -> clap::Command {
    const RUN: &str = "run";
    if first.is_none_or(|word| word != RUN) {
        return Arguments::command();
    }
    let run = <run::RunArgs as clap::Args>::augment_args(clap::Command::new(RUN));
    clap::Command::new(PROGRAM).subcommand(run)
}

/// Has options take `-1` for a value, so that it is said what they expect instead.
fn with_negative_numbers(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| {
        let is_option = !arg.is_positional() && arg.get_action().takes_values();
        arg.allow_negative_numbers(is_option)
    });
    command.mut_subcommands(with_negative_numbers)
}

/// Leaves out clap's tip to pass an option that is none as a value: no argument here would be one.
fn without_tip(mut wrong: clap::Error) -> clap::Error {
    if wrong.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::StyledStrs(tips)) = wrong.remove(ContextKind::Suggested)
    {
        let is_kept = |tip: &StyledStr| !tip.to_string().contains("as a value, use");
        let kept: Vec<_> = tips.into_iter().filter(is_kept).collect();
        if !kept.is_empty() {
            wrong.insert(ContextKind::Suggested, ContextValue::StyledStrs(kept));
        }
    }
    wrong
}

/// Prints the help or the version that was asked for.
fn print_help(asked: &clap::Error) -> Result<(), Failure> {
    check_output()?;
    asked.print().map_err(|e| unwritten(&e))
}

/// Whether there is a standard output.
fn check_output() -> Result<(), Failure> {
    Standard::Output.check().map_err(|e| Failure::local("standard output", &e))
}

fn run(command: &Command) -> Result<(), Failure> {
    if !matches!(command, Command::Cat(_) | Command::Run(_)) {
        // All others print something.
        check_output()?;
    }
    match command {
        Command::Cat(args) => cat::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Dump(args) => dump::run(args),
        Command::Generate(args) => generate::run(args, Arguments::command()),
        Command::Hosts(args) => hosts::run(args),
        Command::Key(args) => key::run(args),
        Command::Model(args) => model::run(args),
        Command::Perf(args) => perf::run(args),
        Command::Ping(args) => ping::run(args),
        Command::Proxy(args) => proxy::run(args),
        Command::Routed(args) => routed::run(args),
        Command::Run(args) => run::run(args),
        Command::Stat(args) => stat::run(args),
        Command::Top(args) => top::run(args),
        Command::Trace(args) => trace::run(args),
    }
}

#[cfg(test)]
mod tests;
