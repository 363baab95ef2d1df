//! Speed-up and gain by the number of processors.

use prp_model::hiding::{Overhead, Scaling};
use serde_json::json;

use super::{GainArgs, blind_spots, output};
use crate::exit::Failure;
use crate::model::plot;

/// How far to search if the user does not say.
const DEFAULT_MAX_SCALE: u32 = 1000;

/// Points of a plot.
const POINTS: u32 = 400;

/// Tells the best numbers of processors.
pub(super) fn run(args: &GainArgs, lambda: f64) -> Result<(), Failure> {
    let overhead = args.overhead_each.map_or(Overhead::Fixed(args.overhead), Overhead::Each);
    let program =
        Scaling { lambda, messages: args.messages.into(), fraction: args.fraction, overhead };
    let most = args.processors.unwrap_or(DEFAULT_MAX_SCALE);
    if let Some(path) = &args.svg {
        let step = most.div_ceil(POINTS).max(1);
        let points = |of: &dyn Fn(u32) -> f64| {
            (1..=most).step_by(step as usize).map(|p| (f64::from(p), of(p))).collect::<Vec<_>>()
        };
        let lines = [
            ("without hiding", points(&|p| program.at(p).speedup(f64::from(p)))),
            ("with hiding", points(&|p| program.at(p).speedup_hiding(f64::from(p)))),
        ];
        plot::gains(path, &lines, &points(&|p| program.at(p).gain()))?;
    }
    let all = [
        ("speedup", "largest speed-up", program.best(most)),
        ("speedup_hiding", "... with hiding", program.best_hiding(most)),
        ("gain", "largest gain", program.best_gain(most)),
    ];
    let mut lines = vec![format!("up to {most} processors, lambda {lambda}")];
    let row = |(_, name, (p, value)): &(&str, &str, (u32, f64))| {
        format!("{name:<24}{value:>12.4} at {p} processors")
    };
    lines.extend(all.iter().map(row));
    lines.push(blind_spots::line(&blind_spots::of_gain()));
    let mut json = json!({"lambda": lambda, "up_to": most, "does_not_see": blind_spots::of_gain()});
    for (key, _, (p, value)) in all {
        json[format!("best_{key}")] = json!({"processors": p, "value": value});
    }
    output::publish(args.json, &json, &lines)
}
