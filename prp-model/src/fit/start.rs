//! Where a fit begins: what the limits of a curve say of its parameters.

use super::algebra::{Vector, vector};
use super::design::Design;
use super::family::Model;
use super::robust::median;
use super::shared;

/// Parameters near enough to those of the data for a fit to find them.
pub(crate) fn start(model: Model, design: &Design) -> Vector {
    let medians: Vec<f64> =
        design.by_setting().into_iter().map(|mut times| median(&mut times)).collect();
    let ends = |pairs: u32| {
        let of = design.settings.iter().zip(&medians).filter(|(at, _)| at.pairs == pairs);
        let by_size = |l: &(&super::sample::Setting, &f64), r: &(&super::sample::Setting, &f64)| {
            l.0.size.number().total_cmp(&r.0.size.number())
        };
        let (small, large) = (of.clone().min_by(by_size), of.max_by(by_size));
        let fixed = small.map_or(0.0, |(_, time)| *time);
        let byte = large.map_or(0.0, |(at, time)| time / at.size.number().max(1.0));
        (fixed, byte)
    };
    let pairs = design.settings.iter().map(|at| at.pairs);
    let (fewest, most) = (pairs.clone().min().unwrap_or(1), pairs.max().unwrap_or(1));
    let (fixed, byte) = ends(fewest);
    match model {
        Model::Blocks => {
            let (fixed_most, byte_most) = ends(most);
            let (low, high) = (f64::from(fewest), f64::from(most));
            // a' = 2a + n a_c at both ends; b' = n b_c where there are many.
            let slope = ((fixed_most - fixed) / (high - low).max(1.0)).max(0.1 * fixed / low);
            let own = (fixed - low * slope).max(0.1 * fixed) / 2.0;
            vector([own, byte, slope, byte_most / high])
        }
        Model::Shared => shared::start(design, &medians),
        Model::Linear
        | Model::Prp
        | Model::Packet
        | Model::Hyperbolic
        | Model::LogP
        | Model::LogGp => vector([fixed, byte]),
    }
}
