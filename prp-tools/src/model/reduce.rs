//! `prp model reduce`: the equivalent block of each message of a graph.

use std::path::{Path, PathBuf};

use clap::Args;
use prp_model::graph::{Block, Graph, Reduced, Reduction};
use prp_model::unit::with_prefix;
use serde_json::{Map, Value, json};

use super::{blind_spots, output};
use crate::argument::{input_file, named_file};
use crate::exit::Failure;

/// Reduce a communication graph to one block for each message.
///
/// By the rules of the hyperbolic model: T(x) = a^2/(a + b x) + b x with the a and b told here. The
/// graph is TOML; docs/models.md has its schema and the papers' graphs.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp model reduce broadcast.toml    one block for each message
"))]
pub(crate) struct ReduceArgs {
    /// The graph
    #[arg(value_name = "GRAPH.toml", value_parser = input_file())]
    graph: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Draw the graph into this file
    #[arg(long, value_name = "FILE", value_parser = named_file())]
    svg: Option<PathBuf>,

    /// Draw who sends and receives when, with small messages, into this file
    #[arg(long, value_name = "FILE", value_parser = named_file())]
    timeline: Option<PathBuf>,
}

/// Reads a graph.
pub(super) fn load(path: &Path) -> Result<Graph, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::reading(path, &e))?;
    Graph::parse(&text).map_err(|e| output::wrong(path, e))
}

/// Runs `prp model reduce`.
pub(super) fn run(args: &ReduceArgs) -> Result<(), Failure> {
    let graph = load(&args.graph)?;
    let reduction = graph.reduce();
    if let Some(path) = &args.svg {
        output::write(path, &graph.svg())?;
    }
    if let Some(path) = &args.timeline {
        let Some(order) = &reduction.order else {
            let what = "its messages have no order: no timeline; see `ordered` in docs/models.md";
            return Err(output::wrong(&args.graph, what));
        };
        output::write(path, &order.timeline.svg())?;
    }
    output::publish(args.json, &to_json(&reduction), &table(&reduction))
}

/// Everything that a reduction tells.
pub(super) fn to_json(reduction: &Reduction) -> Value {
    let message = |message: &Reduced| {
        let mut json = block(message.total);
        json["size"] = json!(message.size);
        json["step"] = json!(message.step);
        json["sending"] = block(message.sending);
        json["receiving_least"] = block(message.receiving.0);
        json["receiving_most"] = block(message.receiving.1);
        (message.name.clone(), json)
    };
    let mut whole = block(reduction.whole);
    if let Some(order) = &reduction.order {
        whole["a_of"] = json!(order.small.as_ref().map(ToString::to_string));
        whole["b_of"] = json!(order.large.as_ref().map(ToString::to_string));
    }
    json!({
        "messages": reduction.messages.iter().map(message).collect::<Map<_, _>>(),
        "whole": whole,
        "units": {"a": "s", "b": "s/B"},
        "does_not_see": blind_spots::of_graph(),
    })
}

fn block(block: Block) -> Value {
    json!({"a": block.fixed.number(), "b": block.byte.number()})
}

fn table(reduction: &Reduction) -> Vec<String> {
    let text = |block: Block| {
        let (a, b) = (block.fixed.number(), block.byte.number());
        format!("{:>12}{:>14}", with_prefix(a, "s"), with_prefix(b, "s/B"))
    };
    let head = format!("{:<14}{:>5}{:>12}{:>14}", "message", "step", "a", "b");
    let row = |message: &Reduced| {
        let step = message.step.map_or_else(|| "-".to_owned(), |step| step.to_string());
        format!("{:<14}{step:>5}{}", message.name, text(message.total))
    };
    let mut lines = vec![head];
    lines.extend(reduction.messages.iter().map(row));
    lines.push(format!("{:<14}{:>5}{}", "all", "", text(reduction.whole)));
    if let Some(order) = &reduction.order {
        lines.extend(order.small.as_ref().map(|small| format!("a = {small}")));
        lines.extend(order.large.as_ref().map(|large| format!("b = {large}")));
    }
    lines.push(blind_spots::line(&blind_spots::of_graph()));
    lines
}
