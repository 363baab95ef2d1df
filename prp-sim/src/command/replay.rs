//! `prp-sim replay`: one seed, again, with all that there is to see.

use std::io;
use std::path::PathBuf;

use clap::Args;
use prp_sim::recorder::Recorder;
use prp_sim::{grid, scenario};

use super::print_line;

/// Run one seed again: the same happens, to the last frame
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// What decides all
    seed: u64,
    /// Write every frame that a node sends to this capture file, for Wireshark
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Print every frame and everything that applications do, with what became of it
    #[arg(long)]
    trace: bool,
}

pub(crate) fn replay(args: &ReplayArgs) -> Result<bool, String> {
    let mut recorder = Recorder::default();
    if args.trace {
        recorder = recorder.with_text(io::BufWriter::new(io::stdout()));
    }
    if let Some(path) = &args.pcap {
        let opened = recorder.with_pcap(path);
        recorder = opened.map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    print_line(format_args!("seed {}: {}", args.seed, scenario::plan(args.seed)));
    let outcome = grid::run_one(args.seed, recorder);
    let hash = outcome.recorder.hash();
    outcome.recorder.finish().map_err(|e| format!("the record is incomplete: {e}"))?;
    print_line(format_args!("{}       trace {hash:016x}", outcome.tally));
    if let Some(violation) = &outcome.violation {
        print_line(format_args!("broken: {violation}"));
    }
    Ok(outcome.violation.is_none())
}
