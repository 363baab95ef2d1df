//! Which machine for a program.

use std::str::FromStr;

use prp_model::hiding::{Granularity, Machine, Program};
use serde_json::{Value, json};

use super::numbers::{Range, not_negative, positive};
use super::{GainArgs, blind_spots, output};
use crate::exit::Failure;

/// A machine with its name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NamedMachine {
    name: String,
    machine: Machine,
}

impl FromStr for NamedMachine {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "expected NAME=HARDWARE,OVERHEAD, say H1=5,0.2";
        let (name, numbers) = text.split_once('=').ok_or(FORM)?;
        let (hardware, overhead) = numbers.split_once(',').ok_or(FORM)?;
        let hardware = positive(hardware).ok().and_then(Granularity::new).ok_or(FORM)?;
        let overhead = not_negative(overhead).map_err(|_| FORM)?;
        Ok(Self { name: name.to_owned(), machine: Machine { hardware, overhead } })
    }
}

/// Tells the gain on each machine, the best one, and those that are no loss.
pub(super) fn run(args: &GainArgs, program: Program, software: Range) -> Result<(), Failure> {
    let rows: Vec<(&str, f64, f64)> = args
        .machines
        .iter()
        .map(|NamedMachine { name, machine }| {
            let least = program.least_gain(*machine, software.from, software.to);
            let gain = |granularity| program.on(*machine, granularity).gain();
            // Of a range, the best there is in it: its largest value, or the larger of both ends.
            let best = program
                .best_software(*machine)
                .filter(|best| software.from <= *best && *best <= software.to);
            let ends = gain(software.from).max(gain(software.to));
            (name.as_str(), least, best.map_or(ends, gain))
        })
        .collect();
    let best = rows.iter().max_by(|l, r| l.1.total_cmp(&r.1)).map(|row| row.0);
    let mut lines = vec![format!("{:<16}{:>12}{:>12}", "machine", "least gain", "largest")];
    lines.extend(rows.iter().map(|(name, least, largest)| {
        let loss = if *least < 1.0 { "  a loss somewhere" } else { "" };
        format!("{name:<16}{least:>12.4}{largest:>12.4}{loss}")
    }));
    lines.extend(best.map(|name| format!("the largest least gain: {name}")));
    lines.push(blind_spots::line(&blind_spots::of_gain()));
    let machine = |(name, least, largest): &(&str, f64, f64)| json!({"name": name, "least_gain": least, "largest_gain": largest, "is_loss": *least < 1.0});
    let json = json!({
        "machines": rows.iter().map(machine).collect::<Vec<Value>>(),
        "best": best,
        "without_loss": rows.iter().filter(|row| row.1 >= 1.0).map(|row| row.0).collect::<Vec<_>>(),
        "does_not_see": blind_spots::of_gain(),
    });
    output::publish(args.json, &json, &lines)
}
