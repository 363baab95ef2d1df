//! Runs scenes on kernels and models of cards and prints how they ended.

mod machines;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use crate::failure::{Context, Failure, Outcome};
use crate::kernel::Kernel;
use crate::lab::Lab;
use crate::model::{self, Model};
use crate::output;
use crate::report::{Report, Row, Verdict};
use crate::scenes::{self, Scene, Setup};
use crate::system_root::SystemRoot;
use machines::boot;

/// Kernels without an argument.
const KERNELS: [&str; 3] = ["6.1", "6.12", "6.12-rt"];

/// What `--short` takes.
const SHORT_KERNEL: &str = "6.1";
const SHORT_MODEL: &str = "e1000e";

/// Run scenes in virtual machines with Debian's kernels and emulated network cards
#[derive(Debug, Args)]
#[command(override_usage = "check-machines [OPTION]... [KERNEL]...")]
pub(crate) struct CheckArgs {
    /// Debian's version of a kernel (6.1, 6.12, 6.12-rt), a .deb file, or a folder with an unpacked
    /// one [default: 6.1 6.12 6.12-rt]
    #[arg(value_name = "KERNEL")]
    kernels: Vec<String>,
    /// A model of network card; may be given several times [default: all]
    #[arg(long = "nic", value_name = "MODEL", value_parser = Model::find)]
    models: Vec<&'static Model>,
    /// A scene; may be given several times [default: all]
    #[arg(long = "scene", value_name = "NAME", value_parser = scene_name)]
    scenes: Vec<String>,
    /// One boot, between e1000e and virtio-net, and the scenes that matter most: what CI runs
    #[arg(long)]
    short: bool,
    /// Print models and scenes, and run none
    #[arg(long)]
    list: bool,
    /// Minutes after which all ends [default: 6 for each scene with a kernel and a model]
    #[arg(long, value_name = "MINUTES")]
    within: Option<u64>,
    /// Write the table to this file too
    #[arg(long, value_name = "FILE")]
    table: Option<PathBuf>,
    /// Add results to this file, a line of JSON each; the table has all that are in it
    #[arg(long, value_name = "FILE")]
    results: Option<PathBuf>,
    /// Run the script in this file on node 1 before each scene, and print what it prints
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Print each step with its time
    #[arg(short, long)]
    verbose: bool,
    /// Use the processor's support for virtual machines, in place of emulation
    #[arg(long)]
    kvm: bool,
    /// The Debian package for the scene systemd [default: the newest in target/debian]
    #[arg(long, value_name = "FILE")]
    package: Option<PathBuf>,
    /// Where kernels are kept
    #[arg(long, value_name = "FOLDER", hide = true)]
    cache: PathBuf,
    /// Where files of running machines are
    #[arg(long, value_name = "FOLDER", hide = true)]
    scratch: PathBuf,
    /// Where what failed is kept
    #[arg(long, value_name = "FOLDER", hide = true)]
    evidence: PathBuf,
}

/// The exit status where no kernel can be had.
const NO_KERNEL: u8 = 3;

/// What is to be run.
struct Plan<'a> {
    args: &'a CheckArgs,
    kernels: Vec<Kernel>,
    models: Vec<&'static Model>,
    scenes: Vec<Scene>,
    end: Instant,
}

/// Runs the scenes that were asked for; returns the exit status.
///
/// # Errors
/// The table cannot be written.
pub(crate) fn run(args: &CheckArgs) -> Outcome<ExitCode> {
    if args.list {
        list();
        return Ok(ExitCode::SUCCESS);
    }
    let plan = match Plan::new(args) {
        Ok(plan) => plan,
        Err(reason) => {
            output::reason(reason);
            return Ok(ExitCode::from(NO_KERNEL));
        }
    };
    output::line(format_args!(
        "{} scenes, {} minutes at most",
        plan.count(),
        plan.end.saturating_duration_since(Instant::now()).as_secs().div_ceil(60)
    ));
    let (begin, mut report) = (Instant::now(), Report::default());
    for kernel in &plan.kernels {
        for model in &plan.models {
            plan.run_scenes(kernel, model, &mut report);
        }
    }
    let mut table = args.results.as_ref().map(|file| Report::read(file)).transpose()?;
    let table = table.get_or_insert_with(|| report.clone());
    let all = scenes::all();
    let any_card = all.iter().filter(|scene| !scene.depends_on_card).map(|scene| scene.name);
    table.join_cards(&any_card.collect::<Vec<_>>());
    table.sort(&all.iter().map(|scene| scene.name).collect::<Vec<_>>());
    output::text(format_args!("\n{table}"));
    if let Some(file) = &args.table {
        fs::write(file, table.to_string()).context(file.display())?;
    }
    let failed = report.count(|verdict| matches!(verdict, Verdict::Failed(_)));
    let passed = report.count(|verdict| *verdict == Verdict::Passed);
    let seconds = begin.elapsed().as_secs();
    output::line(format_args!("{passed} passed, {failed} failed, in {seconds} s"));
    if failed > 0 {
        let folder = args.evidence.display();
        output::line(format_args!("consoles, captures and counters of what failed: {folder}"));
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn list() {
    let names: Vec<_> = model::ALL.iter().map(|model| model.name).collect();
    output::line(format_args!("models: {}\nscenes:", names.join(", ")));
    for scene in scenes::all() {
        let core = if scene.is_core { "*" } else { " " };
        let card = if scene.depends_on_card { " " } else { "1" };
        output::line(format_args!("{core}{card} {:18} {}", scene.name, scene.summary));
    }
    output::line("* is run by --short, 1 with the first model only, since others change nothing");
}

impl<'a> Plan<'a> {
    /// What `args` ask for, if the kernels can be had.
    fn new(args: &'a CheckArgs) -> Outcome<Self> {
        let default_kernels = if args.short { &[SHORT_KERNEL][..] } else { &KERNELS };
        let kernels = match &args.kernels[..] {
            [] => default_kernels.iter().map(|&word| word.to_owned()).collect(),
            named => named.to_vec(),
        };
        let models = match &args.models[..] {
            [] if args.short => vec![Model::find(SHORT_MODEL)?],
            [] => model::ALL.iter().collect(),
            named => named.to_vec(),
        };
        let scenes = chosen_scenes(args);
        let find = |word: &String| Kernel::find(word, &args.cache);
        let kernels = kernels.iter().map(find).collect::<Outcome<Vec<_>>>()?;
        if scenes.iter().any(|scene| scene.setup == Setup::System) {
            // Making it takes minutes, once. Where the scene is left out, it says what is missing.
            let _ = SystemRoot::find(&args.cache, args.package.as_deref());
        }
        let mut plan = Self { args, kernels, models, scenes, end: Instant::now() };
        let minutes = args.within.unwrap_or_else(|| (plan.count() * 6) as u64);
        plan.end += Duration::from_secs(60 * minutes);
        Ok(plan)
    }

    /// How many times a scene is run.
    fn count(&self) -> usize {
        let with_models = self.models.iter().map(|model| self.scenes_with(model).count());
        self.kernels.len() * with_models.sum::<usize>()
    }

    /// The scenes that are run with `model`: with the first one all, and with others those that
    /// depend on the card.
    fn scenes_with(&self, model: &'static Model) -> impl Iterator<Item = &Scene> {
        let is_first = self.models.first() == Some(&model);
        self.scenes.iter().filter(move |scene| is_first || scene.depends_on_card)
    }

    /// The kernel of the other machines where there are several: the next one.
    fn partner(&self, kernel: &Kernel) -> &Kernel {
        let at = self.kernels.iter().position(|known| known.release == kernel.release);
        &self.kernels[(at.unwrap_or(0) + 1) % self.kernels.len()]
    }

    /// Runs all scenes with one kernel and one model, and boots machines for them as needed.
    fn run_scenes(&self, kernel: &Kernel, model: &'static Model, report: &mut Report) {
        let mut booted: Option<(Setup, Lab)> = None;
        for scene in self.scenes_with(model) {
            let begin = Instant::now();
            let verdict = self.run_scene(kernel, model, scene, &mut booted);
            let (label, seconds) = (&kernel.label, begin.elapsed().as_secs());
            let line = match &verdict {
                Verdict::Passed => {
                    format!("ok       {label:8} {:12} {} ({seconds} s)", model.name, scene.name)
                }
                Verdict::LeftOut(reason) => {
                    format!("left out {label:8} {:12} {}: {reason}", model.name, scene.name)
                }
                Verdict::Failed(reason) => {
                    format!("FAILED   {label:8} {:12} {}: {reason}", model.name, scene.name)
                }
            };
            output::line(line);
            let (kernel, model) = (label.clone(), model.name.to_owned());
            let row = Row { scene: scene.name.to_owned(), kernel, model, verdict };
            let kept = self.args.results.as_ref().map_or(Ok(()), |file| row.append(file));
            kept.unwrap_or_else(output::reason);
            report.add(row);
        }
    }

    /// Boots machines and says how long that took; those that do not come up, once more. While a
    /// kernel boots it changes its own code, and QEMU runs the code of before on another processor
    /// now and then, which ends the kernel (`int3`). Nothing of PRP runs there yet.
    fn boot(&self, kernel: &Kernel, model: &'static Model, setup: Setup) -> Outcome<Lab> {
        let begin = Instant::now();
        let kernels = [kernel, self.partner(kernel)];
        let boot = || boot(kernels, model, setup, &self.args.scratch, self.end, self.args);
        let label = &kernel.label;
        let lab = boot().or_else(|reason| {
            output::line(format_args!("again    {label:8} {:12} {setup:?}: {reason}", model.name));
            boot()
        })?;
        let seconds = begin.elapsed().as_secs();
        output::line(format_args!("booted   {label:8} {:12} {setup:?} ({seconds} s)", model.name));
        Ok(lab)
    }

    /// Runs a scene in machines that another scene has left in order, or in new ones.
    fn run_scene(
        &self,
        kernel: &Kernel,
        model: &'static Model,
        scene: &Scene,
        booted: &mut Option<(Setup, Lab)>,
    ) -> Verdict {
        if let Some(reason) = (scene.exception)(kernel, model) {
            return Verdict::LeftOut(reason.to_owned());
        }
        if let Some(reason) = self.has_no_system(scene) {
            return Verdict::LeftOut(reason);
        }
        if Instant::now() > self.end {
            return Verdict::Failed("not run: the time is over (--within)".to_owned());
        }
        let name = format!("{}-{}-{}", kernel.label.replace('/', "_"), model.name, scene.name);
        let captures = self.args.scratch.join("captures");
        // Machines that are of no use any more end before others begin.
        let kept = booted.take().filter(|(setup, _)| *setup == scene.setup);
        let mut lab = match kept {
            Some((_, lab)) => lab,
            None => match self.boot(kernel, model, scene.setup) {
                Ok(lab) => lab,
                Err(reason) => {
                    self.keep(&name, None);
                    return Verdict::Failed(reason.to_string());
                }
            },
        };
        let outcome = self.play(&mut lab, scene, &captures);
        match outcome {
            Ok(()) => {
                *booted = Some((scene.setup, lab));
                Verdict::Passed
            }
            // The machines are not used again: nobody knows what state they are in.
            Err(reason) => {
                self.keep(&name, Some(&mut lab));
                Verdict::Failed(reason.to_string())
            }
        }
    }

    /// Why a scene with a system of its own is left out, if it is: what it needs may not be there
    /// where nobody has asked for it by name.
    fn has_no_system(&self, scene: &Scene) -> Option<String> {
        if scene.setup != Setup::System {
            return None;
        }
        let found = SystemRoot::find(&self.args.cache, self.args.package.as_deref());
        found.err().filter(|_| self.args.scenes.is_empty()).map(|reason| reason.to_string())
    }

    /// Runs a scene from nodes that are made for it to their removal.
    fn play(&self, lab: &mut Lab, scene: &Scene, captures: &Path) -> Outcome {
        let _ = fs::remove_dir_all(captures);
        lab.set_up()?;
        lab.begin_capture(captures)?;
        if let Some(file) = &self.args.script {
            let script = fs::read_to_string(file).context(file.display())?;
            output::text(lab.on(1, &script)?);
        }
        let outcome = (scene.run)(lab);
        // What the kernel says counts more than what came of it.
        if let Some(line) = lab.complaint() {
            return Err(Failure::new(format!("the kernel: {line}")));
        }
        outcome?;
        lab.end_capture()?;
        lab.take_down()
    }

    /// Saves what is known of a scene that failed.
    fn keep(&self, name: &str, lab: Option<&mut Lab>) {
        let folder = self.args.evidence.join(name);
        if let Err(e) = fs::create_dir_all(&folder) {
            output::reason(format_args!("{}: {e}", folder.display()));
            return;
        }
        match lab {
            Some(lab) => lab.save_state(&folder),
            None => copy_files(&self.args.scratch.join("machine0"), &folder, "log"),
        }
        copy_files(&self.args.scratch.join("captures"), &folder, "pcap");
    }
}

fn copy_files(from: &Path, to: &Path, suffix: &str) {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|end| end == suffix) {
            let _ = fs::copy(&path, to.join(entry.file_name()));
        }
    }
}

/// The name of a scene, as it is given.
fn scene_name(name: &str) -> Outcome<String> {
    let names: Vec<_> = scenes::all().iter().map(|scene| scene.name).collect();
    if names.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(Failure::new(format!("no scene {name}: choose among {}", names.join(", "))))
}

fn chosen_scenes(args: &CheckArgs) -> Vec<Scene> {
    let mut all = scenes::all();
    let is_chosen = |scene: &Scene| match &args.scenes[..] {
        [] => scene.is_core || !args.short,
        named => named.iter().any(|name| name == scene.name),
    };
    all.retain(is_chosen);
    // One boot for both models.
    for scene in all.iter_mut().filter(|scene| args.short && scene.is_core) {
        scene.setup = Setup::Mixed;
    }
    // Scenes with the same machines share them.
    all.sort_by_key(|scene| scene.setup);
    all
}
