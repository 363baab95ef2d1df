//! Fitted models for other programs: SimGrid, LogGOPSim, LaTeX and Python.

mod latex;
mod loggopsim;
mod pieces;
mod python;
mod simgrid;

pub use latex::latex;
pub use loggopsim::loggopsim;
pub use python::python;
pub use simgrid::simgrid;

use crate::fit::{Estimate, Fit};
use crate::unit::with_prefix;

/// A line about a parameter: its value and where the truth is.
fn parameter_text(parameter: &Estimate) -> String {
    let Estimate { name, value, unit, .. } = parameter;
    let value = with_prefix(*value, unit);
    let means = parameter.means.as_ref().map(|means| format!(" ({means})")).unwrap_or_default();
    match parameter.interval {
        Some(i) => format!("{name}{means} = {value}, 95 %: {}", i.text(unit)),
        None => format!("{name}{means} = {value}, no interval"),
    }
}

/// Lines about a fit for the head of a file.
fn head(fit: &Fit) -> Vec<String> {
    let mut lines = vec![format!("{}: {}", fit.model.name(), fit.formula())];
    lines.extend(fit.parameters.iter().map(parameter_text));
    lines.extend(
        fit.not_identified.iter().map(|not| format!("{} is not told: {}", not.name, not.why)),
    );
    let (low, high) = fit.sizes();
    lines.push(format!(
        "{} measurements, {low} to {high} bytes, seed {}, {} resamples",
        fit.points, fit.options.seed, fit.options.resamples
    ));
    lines
}

#[cfg(test)]
mod tests;
