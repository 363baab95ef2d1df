//! `prp-check`: the exhaustive check and the mutations, from the command line.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]

use std::io::Write;
use std::num::NonZero;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};
use std::{io, iter, thread};

use clap::{Parser, Subcommand};

use prp_check::explore::{Counterexample, Scene, Search, Tally};
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
    Explore(ExploreArgs),
    /// Plant small mistakes, one at a time, in a copy of the sources, and see that each is caught.
    Mutants {
        /// Only mutations whose name, or part of the core, contains this.
        #[arg(long, default_value = "")]
        name: String,
    },
}

#[derive(clap::Args)]
struct ExploreArgs {
    /// More segments, more faults: hours instead of a minute.
    #[arg(long)]
    deep: bool,
    /// Only scenes whose name contains this.
    #[arg(long, default_value = "")]
    scene: String,
    /// Stop a scene after this many states.
    #[arg(long, default_value_t = u64::MAX)]
    limit: u64,
    /// Scenes searched at the same time; as many as there are processors if not given, one of the
    /// deep ones.
    #[arg(long)]
    threads: Option<NonZero<usize>>,
}

impl ExploreArgs {
    /// A deep scene alone may need all of the memory.
    fn threads(&self) -> usize {
        let all = || if self.deep { None } else { thread::available_parallelism().ok() };
        self.threads.or_else(all).map_or(1, NonZero::get)
    }
}

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Explore(args) => explore(&args),
        Command::Mutants { name } => mutants(&name).unwrap_or_else(|error| {
            let _ = writeln!(io::stderr(), "mutants: {error}");
            ExitCode::FAILURE
        }),
    }
}

fn explore(args: &ExploreArgs) -> ExitCode {
    let mut scenes = if args.deep { Scene::deep() } else { Scene::SMOKE.to_vec() };
    let names: Vec<_> = scenes.iter().map(|scene| scene.name).collect();
    scenes.retain(|scene| scene.name.contains(&args.scene));
    if scenes.is_empty() {
        return none_of("scene", &args.scene, &names);
    }
    let mut all = 0;
    let _ = writeln!(
        io::stdout(),
        "{:26} {:>10} {:>10} {:>8} {:>5} {:>7}",
        "scene",
        "states",
        "actions",
        "ends",
        "depth",
        "seconds"
    );
    for (scene, time, result) in run_all(scenes, args.limit, args.threads()) {
        match result {
            Ok(tally) => {
                let seconds = time.as_secs_f64();
                let cut = if tally.cut { " (cut)" } else { "" };
                let (states, actions, ends, depth) =
                    (tally.states, tally.actions, tally.ends, tally.depth);
                let _ = writeln!(
                    io::stdout(),
                    "{:26} {states:10} {actions:10} {ends:8} {depth:5} {seconds:7.1}{cut}",
                    scene.name
                );
                all += states;
            }
            Err(found) => {
                let _ = writeln!(io::stdout(), "{}: {scene:?}\n{found}", scene.name);
                return ExitCode::FAILURE;
            }
        }
    }
    let _ = writeln!(io::stdout(), "{all} states, every promise kept");
    ExitCode::SUCCESS
}

/// Nothing was chosen, and nothing is not what keeps every promise.
fn none_of(what: &str, chosen: &str, names: &[&str]) -> ExitCode {
    let _ = writeln!(
        io::stderr(),
        "prp-check: no {what} has \"{chosen}\" in its name; there are: {}",
        names.join(", ")
    );
    ExitCode::from(2)
}

/// What came of a scene, and how long that took.
type Searched = (Scene, Duration, Result<Tally, Counterexample>);

/// Goes through `scenes` on `threads` threads, as far as there is a scene for each; each is given
/// out when it has ended.
///
/// # Panics
/// If a thread does: a scene that was not searched to its end kept no promise.
fn run_all(scenes: Vec<Scene>, limit: u64, threads: usize) -> impl Iterator<Item = Searched> {
    let (done, results) = mpsc::channel();
    let threads = threads.min(scenes.len());
    let waiting = Arc::new(Mutex::new(scenes.into_iter()));
    let work = || {
        let (done, waiting) = (done.clone(), Arc::clone(&waiting));
        move || {
            // Taken by itself, since the lock must not be held while a scene is searched.
            let next = || waiting.lock().ok()?.next();
            while let Some(scene) = next() {
                let start = Instant::now();
                let result = Search::new(scene, limit).run();
                // Standard output does not matter once a promise was broken.
                if done.send((scene, start.elapsed(), result)).is_err() {
                    return;
                }
            }
        }
    };
    let mut workers: Vec<_> = (0..threads).map(|_| thread::spawn(work())).collect();
    drop(done);
    iter::from_fn(move || {
        results.recv().ok().or_else(|| {
            for worker in workers.drain(..) {
                worker.join().expect("no search panics");
            }
            None
        })
    })
}

fn mutants(name: &str) -> io::Result<ExitCode> {
    let is_chosen = |m: &&mutants::Mutation| m.name.contains(name) || m.what.contains(name);
    let chosen: Vec<_> = mutants::all().filter(is_chosen).collect();
    if chosen.is_empty() {
        let names: Vec<_> = mutants::all().map(|mutation| mutation.name).collect();
        return Ok(none_of("mutation", name, &names));
    }
    let tree = Tree::copy(Path::new("."), Path::new("target/mutants"))?;
    let mut reports = Vec::new();
    for mutation in chosen {
        let report = mutants::run(&tree, mutation)?;
        let _ = writeln!(
            io::stderr(),
            "{}: {}",
            report.name,
            report.caught.as_deref().unwrap_or("SURVIVED")
        );
        reports.push(report);
    }
    let _ = io::stdout().write_all(mutants::table(&reports).as_bytes());
    let survived = reports.iter().filter(|report| report.caught.is_none()).count();
    let _ = writeln!(io::stderr(), "{} mutations, {survived} survived", reports.len());
    Ok(if survived == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
