//! `prp model gain`: what it gains to hide communication behind calculation.

mod machines;
mod numbers;
mod scale;

use std::path::PathBuf;

use clap::Args;
use prp_model::hiding::{Fraction, Machine, Program};
use serde_json::json;

use super::{blind_spots, output};
use crate::argument::{named_file, number};
use crate::exit::{Code, Failure};
use machines::NamedMachine;
use numbers::{MessageCount, Range};

/// The two processors of the papers' examples.
const TWO: u32 = 2;

/// Compute what hiding communication latency gains.
///
/// Software granularity: instructions of a task for each byte it communicates. Hardware
/// granularity: instructions in the time of a byte. With --machine, which of several is best for
/// the program; with --lambda, how speed-up and gain go with the number of processors.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model gain --software 5 --hardware 5 --overhead 0.2
"))]
pub(crate) struct GainArgs {
    /// Software granularity, gamma_s; FROM..TO with --machine
    #[arg(long, value_name = "G", required_unless_present = "lambda")]
    software: Option<Range>,

    /// Hardware granularity, gamma_h
    #[arg(long, value_name = "G", required_unless_present_any = ["machines", "lambda"])]
    hardware: Option<Range>,

    /// What hiding costs, Omega, as a part of the calculation
    #[arg(long, value_name = "PART", default_value_t = 0.0, value_parser = numbers::not_negative)]
    overhead: f64,

    /// The part of the calculation that communication can go on behind, f
    #[arg(long, value_name = "PART", default_value = "1", value_parser = numbers::fraction)]
    fraction: Fraction,

    /// Processors [default: 2; with --lambda: up to 1000]
    #[arg(long, value_name = "P")]
    #[arg(value_parser = number::<u32>(1..=100_000_000))]
    processors: Option<u32>,

    /// Messages one after another, q: a number, or with --lambda also p or sqrt(p)
    #[arg(long, value_name = "Q", default_value = "1")]
    messages: MessageCount,

    /// A machine, as NAME=HARDWARE,OVERHEAD; may be given several times
    #[arg(long = "machine", value_name = "MACHINE", conflicts_with_all = ["hardware", "lambda"])]
    machines: Vec<NamedMachine>,

    /// All instructions by all bytes of a task, by the hardware's granularity: find the best number
    /// of processors, up to --processors
    #[arg(long, value_name = "L", value_parser = numbers::positive)]
    #[arg(conflicts_with_all = ["software", "hardware"])]
    lambda: Option<f64>,

    /// With --lambda: the overhead grows with the processors, and this is that of one
    #[arg(long, value_name = "PART", requires = "lambda", conflicts_with = "overhead")]
    #[arg(value_parser = numbers::not_negative)]
    overhead_each: Option<f64>,

    /// With --lambda: draw speed-ups and gain into this file
    #[arg(long, value_name = "FILE", requires = "lambda", value_parser = named_file())]
    svg: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `prp model gain`.
pub(super) fn run(args: &GainArgs) -> Result<(), Failure> {
    if let Some(lambda) = args.lambda {
        return scale::run(args, lambda);
    }
    let MessageCount::Fixed(messages) = args.messages else {
        let text = "messages that grow with the processors need --lambda";
        return Err(Failure::new(Code::Usage, text));
    };
    let program = Program { fraction: args.fraction, messages };
    // Clap asks for it without --lambda.
    let Some(software) = args.software else { return Ok(()) };
    if !args.machines.is_empty() {
        return machines::run(args, program, software);
    }
    let Some(hardware) = args.hardware else { return Ok(()) };
    let (software, hardware) = (software.single("--software")?, hardware.single("--hardware")?);
    let machine = Machine { hardware, overhead: args.overhead };
    let overlap = program.on(machine, software);
    let processors = args.processors.unwrap_or(TWO);
    let p = f64::from(processors);
    let (speedup, hiding) = (overlap.speedup(p), overlap.speedup_hiding(p));
    let best_software = program.best_software(machine).map(|g| g.number());
    let best_hardware = program.best_hardware(software, args.overhead).map(|g| g.number());
    let mut lines = vec![
        format!("communication by calculation {:.4}", overlap.ratio),
        format!("{:<34}{speedup:>10.4}", format!("speed-up of {processors}")),
        format!("{:<34}{hiding:>10.4}", "... with hiding"),
        format!("{:<34}{:>10.4}", "gain", overlap.gain()),
        format!("{:<34}{:>10.4}", "largest gain there can be", overlap.largest_gain()),
    ];
    lines.extend(best_software.map(|g| format!("{:<34}{g:>10.4}", "... at software granularity")));
    lines.extend(
        best_hardware.map(|g| format!("{:<34}{g:>10.4}", "... or at hardware granularity")),
    );
    lines.push(blind_spots::line(&blind_spots::of_gain()));
    let json = json!({
        "speedup": speedup, "speedup_hiding": hiding, "gain": overlap.gain(),
        "processors": processors, "ratio": overlap.ratio,
        "largest_gain": overlap.largest_gain(),
        "best_software": best_software, "best_hardware": best_hardware,
        "does_not_see": blind_spots::of_gain(),
    });
    output::publish(args.json, &json, &lines)
}
