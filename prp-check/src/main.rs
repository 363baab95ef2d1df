//! `prp-check`: the exhaustive check and the mutations, from the command line.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};

use prp_check::explore::{Scene, Search};
use prp_check::mutants::{self, Tree};

/// Checks of prp-proto from outside.
#[derive(Parser)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Go through every interleaving of small scenes.
    Explore {
        /// More segments, more faults: hours instead of a minute.
        #[arg(long)]
        deep: bool,
        /// Only scenes whose name contains this.
        #[arg(long, default_value = "")]
        scene: String,
        /// Stop a scene after this many states.
        #[arg(long, default_value_t = u64::MAX)]
        limit: u64,
    },
    /// Plant small mistakes, one at a time, in a copy of the sources, and see that each is caught.
    Mutants {
        /// Only mutations whose name, or part of the core, contains this.
        #[arg(long, default_value = "")]
        name: String,
    },
}

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Explore { deep, scene, limit } => explore(deep, &scene, limit),
        Command::Mutants { name } => mutants(&name).unwrap_or_else(|error| {
            eprintln!("mutants: {error}");
            ExitCode::FAILURE
        }),
    }
}

fn explore(deep: bool, name: &str, limit: u64) -> ExitCode {
    let scenes = if deep { Scene::deep() } else { Scene::SMOKE.to_vec() };
    let mut all = 0;
    println!(
        "{:26} {:>10} {:>10} {:>8} {:>5} {:>7}",
        "scene", "states", "actions", "ends", "depth", "seconds"
    );
    for scene in scenes.into_iter().filter(|scene| scene.name.contains(name)) {
        let start = Instant::now();
        match Search::new(scene, limit).run() {
            Ok(tally) => {
                let seconds = start.elapsed().as_secs_f64();
                let cut = if tally.cut { " (cut)" } else { "" };
                let (states, actions, ends, depth) =
                    (tally.states, tally.actions, tally.ends, tally.depth);
                println!(
                    "{:26} {states:10} {actions:10} {ends:8} {depth:5} {seconds:7.1}{cut}",
                    scene.name
                );
                all += states;
            }
            Err(found) => {
                println!("{}: {scene:?}\n{found}", scene.name);
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{all} states, every promise kept");
    ExitCode::SUCCESS
}

fn mutants(name: &str) -> io::Result<ExitCode> {
    let tree = Tree::copy(Path::new("."), Path::new("target/mutants"))?;
    let mut reports = Vec::new();
    let chosen = |m: &&mutants::Mutation| m.name.contains(name) || m.what.contains(name);
    for mutation in mutants::all().filter(chosen) {
        let report = mutants::run(&tree, mutation)?;
        eprintln!("{}: {}", report.name, report.caught.as_deref().unwrap_or("SURVIVED"));
        reports.push(report);
    }
    print!("{}", mutants::table(&reports));
    let survived = reports.iter().filter(|report| report.caught.is_none()).count();
    eprintln!("{} mutations, {survived} survived", reports.len());
    Ok(if survived == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
