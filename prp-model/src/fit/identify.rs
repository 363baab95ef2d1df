//! Which parameters the measurements determine: those whose column is no sum of the others.

use super::algebra::{Mask, Vector, WIDTH};
use super::design::Design;
use super::family::{HOPS, Model};

/// What is left of a column without the others, as a part of it, where it has nothing of its own:
/// more than rounding, and far less than a measurement could tell.
const NOTHING: f64 = 1e-7;

/// Which parameters measurements determine.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Identified {
    /// As many as the measurements can tell apart: with the others at 0 they make every curve that
    /// all of them could make at the settings measured.
    pub(crate) fitted: Mask,
    /// Those whose values are the same whichever others are left out.
    pub(crate) determined: Mask,
}

/// All parameters that a model has for these measurements: a router's delay among them where
/// messages passed different numbers of routers.
pub(crate) fn mask(model: Model, design: &Design) -> Mask {
    let mut mask = model.mask();
    // Patterns have no routers.
    let has_routers = !matches!(model, Model::Linear | Model::Shared);
    mask[HOPS] = has_routers && design.hops_differ;
    mask
}

/// The parameters that a fit searches for, and those whose values it determines.
///
/// A start-up time takes up what cannot be separated from it: alpha has the routers that every
/// message passed, L the overheads of both ends. Of other columns that depend on each other none is
/// determined.
pub(crate) fn identified(model: Model, design: &Design, columns: &[Vector]) -> Identified {
    let mut mask = mask(model, design);
    let takes_up: &[usize] = match model {
        Model::Linear => &[2],
        Model::LogP | Model::LogGp => &[1, 2],
        Model::Prp | Model::Packet | Model::Hyperbolic | Model::Blocks | Model::Shared => &[],
    };
    for at in takes_up {
        let mut others = mask;
        others[*at] = false;
        mask[*at] = own_part(columns, *at, &others) > NOTHING;
    }
    if model == Model::Linear && !design.has_hops {
        mask[2] = false;
    }
    let mut fitted = mask;
    for at in (0..WIDTH).filter(|at| mask[*at] && !model.is_shape(*at)) {
        let before = std::array::from_fn(|other| other < at && fitted[other]);
        fitted[at] = own_part(columns, at, &before) > NOTHING;
    }
    let determined = mask;
    for at in (0..WIDTH).filter(|at| determined[*at] && !model.is_shape(*at)) {
        let mut others: Mask =
            std::array::from_fn(|other| determined[other] && !model.is_shape(other));
        others[at] = false;
        mask[at] = own_part(columns, at, &others) > NOTHING;
    }
    Identified { fitted, determined: mask }
}

/// The length of a column without what the others say, as a part of its length.
fn own_part(columns: &[Vector], at: usize, others: &Mask) -> f64 {
    let take = |at: usize| columns.iter().map(|row| row[at]).collect::<Vec<f64>>();
    let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let remove = |mut v: Vec<f64>, basis: &[Vec<f64>]| {
        // Twice, for what rounding leaves.
        for unit in basis.iter().chain(basis) {
            let along: f64 = v.iter().zip(unit).map(|(x, u)| x * u).sum();
            v.iter_mut().zip(unit).for_each(|(x, u)| *x -= along * u);
        }
        v
    };
    for other in (0..WIDTH).filter(|other| others[*other]) {
        let column = take(other);
        let length = norm(&column);
        let rest = remove(column, &basis);
        let left = norm(&rest);
        if left > NOTHING * length {
            basis.push(rest.into_iter().map(|x| x / left).collect());
        }
    }
    let column = take(at);
    let length = norm(&column);
    if length == 0.0 { 0.0 } else { norm(&remove(column, &basis)) / length }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::algebra::{first, vector};

    #[test]
    fn own_part__of_columns_that_depend_and_that_do_not() {
        let columns = [[1.0, 2.0, 5.0], [1.0, 2.0, 1.0], [1.0, 2.0, 3.0]].map(vector);
        assert!(own_part(&columns, 1, &[true, false, true, false, false, false, false]) < NOTHING);
        assert!(own_part(&columns, 2, &first(2)) > 0.3);
        assert_eq!(own_part(&columns, 3, &first(1)), 0.0);
        assert!((own_part(&columns, 0, &first(0)) - 1.0).abs() < 1e-12);
    }
}
