//! `prp model predict`: how long messages take, by a graph or by a fit.

use std::path::Path;

use clap::Args;
use prp_model::fit::{Fit, Model, Played, Setting};
use prp_model::graph::{Block, PatternKind, Reduced, Shared};
use prp_model::unit::{Bytes, with_prefix};
use serde_json::{Map, Value, json};

use super::fitting::{Resampling, fitted, named_model, ranked, setting};
use super::input::MeasurementArgs;
use super::{blind_spots, compare, output, reduce};
use crate::argument::{any, number};
use crate::exit::{Code, Failure};

/// Predict how long messages take.
///
/// By a graph, GRAPH.toml, or with --model by a fit of measurements: give those in place of the
/// graph.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model predict broadcast.toml --size 1024             by a graph
  prp model predict broadcast.toml --size 64 --processors 2    on one node with two
  prp model predict sweep.json --model linear --size 64    by a fit
"))]
pub(crate) struct PredictArgs {
    #[command(flatten)]
    input: MeasurementArgs,

    /// Bytes in a message; may be given several times
    #[arg(short, long = "size", value_name = "BYTES", required = true, value_parser = any::<u64>)]
    sizes: Vec<u64>,

    /// Routers on the path, for a fit
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = any::<u32>)]
    over: u32,

    /// The pattern, for a fit of the model shared; without it one pair [possible: tree-broadcast,
    /// flat-broadcast, reduction, neighbours, pairs]
    #[arg(long, value_name = "PATTERN", requires = "processes", value_parser = pattern)]
    pattern: Option<PatternKind>,

    /// Processes of the pattern
    #[arg(long, value_name = "N", requires = "pattern", value_parser = number::<u32>(2..=4096))]
    processes: Option<u32>,

    /// The model, for a fit; without it the one with the least AIC
    #[arg(long, value_parser = named_model(), value_name = "MODEL")]
    model: Option<Model>,

    #[command(flatten)]
    resampling: Resampling,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn pattern(name: &str) -> Result<PatternKind, &'static str> {
    compare::kind(name)
        .ok_or("expected tree-broadcast, flat-broadcast, reduction, neighbours or pairs")
}

/// Runs `prp model predict`.
pub(super) fn run(args: &PredictArgs) -> Result<(), Failure> {
    match args.input.graph() {
        Some(path) => by_graph(args, &path),
        None => by_fit(args),
    }
}

fn by_graph(args: &PredictArgs, path: &Path) -> Result<(), Failure> {
    let graph = reduce::load(path)?;
    let reduction = graph.reduce();
    let shared = args.input.processors.map(|n| graph.on(&graph.machine(n), &reduction));
    let mut lines = vec![format!(
        "{:>10}  {:<14}{:>12}{:>12}{:>12}{:>12}",
        "bytes", "message", "total", "sending", "receiving", "at most"
    )];
    let mut answers = Vec::new();
    for size in &args.sizes {
        let bytes = Bytes::new(*size as f64);
        let time = |block: Block, size: f64| block.time(Bytes::new(bytes.number() * size)).number();
        let mut messages = Map::new();
        for message in &reduction.messages {
            let Reduced { name, size: factor, total, sending, receiving, .. } = message;
            let [total, sending, least, most] =
                [*total, *sending, receiving.0, receiving.1].map(|block| time(block, *factor));
            lines.push(format!(
                "{size:>10}  {name:<14}{:>12}{:>12}{:>12}{:>12}",
                with_prefix(total, "s"),
                with_prefix(sending, "s"),
                with_prefix(least, "s"),
                with_prefix(most, "s")
            ));
            let value = json!({
                "seconds": total, "sending": sending,
                "receiving_least": least, "receiving_most": most,
            });
            messages.insert(name.clone(), value);
        }
        let rules = time(reduction.whole, 1.0);
        let all = shared.as_ref().map_or(rules, |shared| shared.time(bytes).number());
        lines.push(format!("{size:>10}  {:<14}{:>12}", "all", with_prefix(all, "s")));
        answers.push(json!({"bytes": size, "seconds": all, "messages": messages}));
    }
    let mut json = json!({"predictions": answers, "does_not_see": blind_spots::of_graph()});
    if let Some(Shared { small, wakes, switches, .. }) = &shared {
        let made_of = small.as_ref().map(ToString::to_string);
        lines.push(format!("{wakes} wake-ups, {switches} changes of a processor"));
        lines.extend(made_of.as_ref().map(|made_of| format!("a = {made_of}")));
        json["shared"] = json!({"wakes": wakes, "switches": switches, "a_of": made_of});
    }
    lines.push(blind_spots::line(&blind_spots::of_graph()));
    output::publish(args.json, &json, &lines)
}

fn by_fit(args: &PredictArgs) -> Result<(), Failure> {
    let samples = args.input.samples()?;
    let fit = match args.model {
        Some(model) => fitted(model, &samples, args.resampling)?,
        None => ranked(&samples, args.resampling)?.swap_remove(0),
    };
    let (low, high) = fit.sizes();
    let mut lines = vec![format!("by {}: {}", fit.model.name(), fit.formula())];
    let mut answers = Vec::new();
    for size in &args.sizes {
        let (line, answer) = one(args, &fit, *size)?;
        lines.push(line);
        answers.push(answer);
        if !(low..=high).contains(&(*size as f64)) {
            lines.push(format!("{:>12} is outside of what was measured, {low} to {high}", ""));
        }
    }
    lines.push(blind_spots::line(&blind_spots::spots(fit.model)));
    let json = json!({
        "model": fit.model.name(), "predictions": answers, "seed": fit.options.seed,
        "measured_bytes": [low, high], "does_not_see": blind_spots::spots(fit.model),
    });
    output::publish(args.json, &json, &lines)
}

/// The pattern that is asked for.
fn played(args: &PredictArgs, fit: &Fit) -> Result<Option<Played>, Failure> {
    let Some((kind, processes)) = args.pattern.zip(args.processes) else { return Ok(None) };
    let wrong = |text: String| Err(Failure::new(Code::Usage, text));
    if fit.model != Model::Shared {
        return wrong(format!("--pattern: {} is for one message; shared is not", fit.model.name()));
    }
    let Some(processors) = args.input.processors else {
        return wrong(
            "--pattern: how many processors there are is not said: --processors N".into(),
        );
    };
    if !kind.suits(processes) {
        return wrong(format!("--processes {processes}: there is no such pattern among those"));
    }
    Ok(Some(Played { kind, processes, processors }))
}

fn one(args: &PredictArgs, fit: &Fit, size: u64) -> Result<(String, Value), Failure> {
    let at = Setting { played: played(args, fit)?, ..setting(fit, size, args.over)? };
    let (time, interval) = fit.predict(&at);
    let range = interval.map_or_else(String::new, |i| format!("   95 %: {}", i.text("s")));
    let line = format!("{size:>12} bytes{:>14}{range}", time.to_string());
    let json = json!({
        "bytes": size, "seconds": time.number(),
        "low": interval.map(|i| i.low), "high": interval.map(|i| i.high),
    });
    Ok((line, json))
}
