//! The parts of a message's time.

use prp_model::fit::{Fit, Model, Setting};

/// A part of a time.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(super) struct Term {
    pub(super) name: &'static str,
    pub(super) seconds: f64,
    pub(super) kind: TermKind,
}

/// What a part grows with.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum TermKind {
    /// The number of messages.
    Message,
    /// The number of packets.
    Packet,
    /// The number of bytes.
    Byte,
    /// Bytes that are sent to fill a frame.
    Padding,
    /// The number of routers.
    Hop,
}

/// The parts of the time at a setting; all of them together are what the fit predicts.
pub(super) fn of(fit: &Fit, at: &Setting) -> Vec<Term> {
    let value =
        |name: &str| fit.parameters.iter().find(|p| p.name == name).map_or(0.0, |p| p.value);
    let term = |name, seconds, kind| Term { name, seconds, kind };
    // Linear has its routers among its own parameters.
    let routers = if fit.model == Model::Linear { 0.0 } else { value("gamma") * at.hops.number() };
    let (x, total) = (at.size.number(), fit.predict(at).0.number() - routers);
    let mut terms = match fit.model {
        Model::Linear => vec![
            term("start of a message (alpha)", value("alpha"), TermKind::Message),
            term("its bytes (beta n)", value("beta") * x, TermKind::Byte),
            term("routers (gamma h)", value("gamma") * at.hops.number(), TermKind::Hop),
        ],
        Model::Prp => two_piece(fit, x, total),
        Model::Packet => {
            let bytes = value("m") * x;
            vec![
                term("its packets (a ceil(x/p))", total - bytes, TermKind::Packet),
                term("its bytes (m x)", bytes, TermKind::Byte),
            ]
        }
        Model::Hyperbolic => {
            let bytes = value("b") * x;
            vec![
                term("start of a message (a^2/(a + b x))", total - bytes, TermKind::Message),
                term("its bytes (b x)", bytes, TermKind::Byte),
            ]
        }
        Model::LogP => vec![term("latency and both ends (L + 2 o)", total, TermKind::Message)],
        Model::LogGp => {
            let bytes = value("G") * (x - 1.0).max(0.0);
            vec![
                term("latency and both ends (L + 2 o)", total - bytes, TermKind::Message),
                term("its bytes ((n - 1) G)", bytes, TermKind::Byte),
            ]
        }
        Model::Blocks | Model::Shared => {
            let bytes = value("b").max(value("b_c")) * x;
            vec![
                term("start of a message", total - bytes, TermKind::Message),
                term("its bytes", bytes, TermKind::Byte),
            ]
        }
    };
    terms.push(term("routers (gamma h)", routers, TermKind::Hop));
    terms.into_iter().filter(|term| term.seconds > 0.0).collect()
}

/// Of PRP's two pieces: what is sent to fill the smallest frame is a part of its own.
fn two_piece(fit: &Fit, x: f64, total: f64) -> Vec<Term> {
    let value = |name: &str| fit.parameters.iter().find(|p| p.name == name).map(|p| p.value);
    let start = value("L1").unwrap_or(0.0);
    let term = |name, seconds, kind| Term { name, seconds, kind };
    let Some((small, large)) = value("B0").zip(value("B1")) else {
        return vec![
            term("start of a message (L')", start, TermKind::Message),
            term("its bytes (N/B1)", total - start, TermKind::Byte),
        ];
    };
    let (processor, network) = (x / small, x / large - x / small);
    vec![
        term("start of a message (a)", start, TermKind::Message),
        term(
            "what fills the smallest frame",
            total - start - processor - network,
            TermKind::Padding,
        ),
        term("its bytes at the processors (N/B_CPU)", processor, TermKind::Byte),
        term("its bytes in the network (N/B_N)", network, TermKind::Byte),
    ]
}

#[cfg(test)]
mod tests {
    use prp_model::fit::{Options, Sample, fit};
    use prp_model::unit::{Bytes, Seconds};

    use super::*;

    /// Whatever the model, its terms are its prediction.
    #[test]
    fn of__all_terms_are_the_prediction() {
        let law = |n: f64| 40e-6 + 50e-9 * n + 90e-9 * n.max(100.0);
        let sizes = (0..60).map(|n| f64::from(n * 25));
        let sample = |n: f64| {
            let scatter = 1.0 + 1e-3 * f64::from((n as u32 * 7) % 5);
            Sample::one_way(Bytes::new(n), Seconds::new(law(n) * scatter))
        };
        let samples: Vec<Sample> = sizes.map(sample).collect();
        for model in Model::ALL {
            let options = Options { seed: 1, resamples: 39 };
            let fit = fit(model, &samples, options).expect("enough measurements");
            for n in [0.0, 40.0, 1000.0] {
                let at = Setting::one_way(Bytes::new(n));
                let (terms, total) = (of(&fit, &at), fit.predict(&at).0.number());
                let sum: f64 = terms.iter().map(|term| term.seconds).sum();
                assert!((sum / total - 1.0).abs() < 0.01, "{model:?} at {n}: {terms:?} {total}");
            }
        }
    }
}
