//! Plots, as SVG.

mod breakdown;
mod canvas;
mod distribution;
mod goodput;
mod lines;
mod size;

use std::path::Path;

use plotters::prelude::*;
use prp_node::printable_path;

use super::runs::Runs;
use crate::exit::{Code, Failure};

/// Whatever plotters may say.
type PlotResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A plot: the name of its file, and what draws it. Nothing is drawn of runs that are not there.
type Plot = (&'static str, fn(&Runs, &Path) -> PlotResult);

const PLOTS: [Plot; 4] = [
    ("latency-by-size.svg", size::draw),
    ("goodput.svg", goodput::draw),
    ("latency-distribution.svg", distribution::draw),
    ("breakdown.svg", breakdown::draw),
];

/// Draws all of them into `dir`.
pub(super) fn all(runs: &Runs, dir: &Path) -> Result<(), Failure> {
    for (name, draw) in PLOTS {
        let path = dir.join(name);
        draw(runs, &path)
            .map_err(|e| Failure::new(Code::Failed, format!("{}: {e}", printable_path(path))))?;
    }
    Ok(())
}

/// The colour of a transport, the same everywhere.
fn colour(transport: &str) -> RGBColor {
    match transport {
        "prp" => RGBColor(0x1b, 0x6c, 0xa8),
        "tcp" => RGBColor(0xd1, 0x49, 0x5b),
        "tcp_no_offload" => RGBColor(0xed, 0xae, 0x49),
        "tcp_no_segmentation" => RGBColor(0x9c, 0x6b, 0x30),
        _ => RGBColor(0x66, 0x6a, 0x73),
    }
}

/// The name of a transport, for people.
fn title(transport: &str) -> &str {
    match transport {
        "prp" => "PRP",
        "tcp" => "TCP",
        "tcp_no_offload" => "TCP without offloads",
        "tcp_no_segmentation" => "TCP without segmentation offload",
        _ => "raw frames",
    }
}

#[cfg(test)]
mod tests;
