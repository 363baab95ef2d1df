//! A fitted curve as straight pieces, which is what other programs know.

use crate::fit::{Fit, Model, Setting};
use crate::unit::Bytes;

/// A straight piece of a curve.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Piece {
    /// Messages larger than this, and no larger than where the next one begins; the first one has
    /// those of no bytes too.
    pub(super) above: f64,
    /// In seconds.
    pub(super) intercept: f64,
    /// In seconds a byte.
    pub(super) slope: f64,
}

/// Packets up to which each step is a piece of its own; of more a step is a sixteenth or less.
const STEPS: u32 = 16;

/// Pieces of a hyperbola: from a 16th of where both limits meet to 64 times that, each 2^(1/2)
/// times the one before. Chords so short are no further off than a hundredth.
const FIRST: f64 = 1.0 / 16.0;
const LAST: f64 = 64.0;
const RATIO: f64 = std::f64::consts::SQRT_2;

/// The pieces of a fit; at least one.
pub(super) fn pieces(fit: &Fit) -> Vec<Piece> {
    let value =
        |name: &str| fit.parameters.iter().find(|p| p.name == name).map_or(0.0, |p| p.value);
    let line = |intercept, slope| Piece { above: 0.0, intercept, slope };
    match fit.model {
        Model::Linear => vec![line(value("alpha"), value("beta"))],
        Model::LogP => vec![line(value("L") + 2.0 * value("o"), 0.0)],
        Model::LogGp => vec![line(value("L") + 2.0 * value("o"), value("G"))],
        Model::Prp => two_pieces(fit),
        Model::Packet => packets(value("a"), value("m"), value("p")),
        Model::Hyperbolic => chords(fit, value("a") / value("b")),
        // One pair alone.
        Model::Blocks => {
            let fixed = 2.0 * value("a") + value("a_c");
            chords(fit, fixed / value("b").max(value("b_c")))
        }
        // The same, with two processors.
        Model::Shared => {
            let (start, far) = (time(fit, 0.0), fit.sizes().1.max(1.0));
            vec![line(start, (time(fit, far) - start) / far)]
        }
    }
}

/// The time of a message of a size between neighbours.
fn time(fit: &Fit, size: f64) -> f64 {
    fit.predict(&Setting::one_way(Bytes::new(size))).0.number()
}

/// By the curve itself, which is there where its break is not told, too.
fn two_pieces(fit: &Fit) -> Vec<Piece> {
    let far = fit.sizes().1.max(2.0);
    let n_min = fit.parameters.iter().find(|p| p.name == "n_min").map(|p| p.value);
    let chord = |from: f64, to: f64| {
        let slope = (time(fit, to) - time(fit, from)) / (to - from);
        Piece { above: from, intercept: time(fit, from) - slope * from, slope }
    };
    match n_min {
        Some(n_min) if n_min > 0.0 && n_min < far => vec![chord(0.0, n_min), chord(n_min, far)],
        _ => vec![chord(0.0, far)],
    }
}

fn packets(fixed: f64, byte: f64, packet: f64) -> Vec<Piece> {
    if packet <= 0.0 {
        return vec![Piece { above: 0.0, intercept: fixed, slope: byte }];
    }
    let step = |n: u32| {
        let above = f64::from(n) * packet;
        Piece { above, intercept: f64::from(n + 1) * fixed, slope: byte }
    };
    // Beyond, through the middle of the steps.
    let slope = byte + fixed / packet;
    let rest = Piece { above: f64::from(STEPS) * packet, intercept: fixed / 2.0, slope };
    (0..STEPS).map(step).chain([rest]).collect()
}

fn chords(fit: &Fit, meet: f64) -> Vec<Piece> {
    let mut sizes = vec![0.0];
    let mut at = FIRST;
    while at <= LAST {
        sizes.push(at * meet);
        at *= RATIO;
    }
    let chord = |pair: &[f64]| {
        let (from, to) = (pair[0], pair[1]);
        let slope = (time(fit, to) - time(fit, from)) / (to - from);
        Piece { above: from, intercept: time(fit, from) - slope * from, slope }
    };
    let mut pieces: Vec<Piece> = sizes.windows(2).map(chord).collect();
    let far = *sizes.last().unwrap_or(&0.0);
    let slope = time(fit, 2.0 * far) / (2.0 * far);
    pieces.push(Piece { above: far, intercept: time(fit, far) - slope * far, slope });
    pieces
}
