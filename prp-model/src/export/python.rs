//! A function for a notebook.

use super::head;
use crate::fit::{Fit, Model};

/// A Python function `seconds` that is the fitted model, with nothing to import beside `math`.
/// Parameters that are not told are left out of it.
#[must_use]
pub fn python(fit: &Fit) -> String {
    let value = |name: &str| fit.parameters.iter().find(|p| p.name == name).map(|p| p.value);
    let known = |name: &str| value(name).unwrap_or(0.0);
    let (arguments, body) = match fit.model {
        Model::Linear => {
            let [alpha, beta, gamma] = ["alpha", "beta", "gamma"].map(known);
            ("size, hops=0", format!("return {alpha:e} + {beta:e} * size + {gamma:e} * hops"))
        }
        Model::Prp => {
            let [a, processor, network, n_min, ..] = fit.curve_parameters();
            let body =
                format!("return {a:e} + {processor:e} * size + {network:e} * max(size, {n_min:e})");
            ("size", body)
        }
        Model::Packet => {
            let [a, m] = ["a", "m"].map(known);
            let packets = value("p")
                .map_or_else(|| "1".into(), |p| format!("max(1, math.ceil(size / {p:e}))"));
            ("size", format!("return {a:e} * {packets} + {m:e} * size"))
        }
        Model::Hyperbolic => {
            let [a, b] = ["a", "b"].map(known);
            ("size", format!("return {a:e} ** 2 / ({a:e} + {b:e} * size) + {b:e} * size"))
        }
        Model::LogP => {
            let (ends, gap) = (known("L") + 2.0 * known("o"), known("g").max(known("o")));
            ("messages=1", format!("return {ends:e} + (messages - 1) * {gap:e}"))
        }
        Model::LogGp => {
            let (ends, gap) = (known("L") + 2.0 * known("o"), known("g").max(known("o")));
            let byte = known("G");
            let bytes = format!("messages * max(size - 1, 0) * {byte:e}");
            let body = format!("return {ends:e} + {bytes} + (messages - 1) * {gap:e}");
            ("size, messages=1", body)
        }
        Model::Blocks => {
            let [a, a_c, b_c] = ["a", "a_c", "b_c"].map(known);
            let b = value("b").unwrap_or(b_c);
            let fixed = format!("a = 2 * {a:e} + pairs * {a_c:e}");
            let byte = format!("b = max({b:e}, pairs * {b_c:e})");
            let whole = "return a ** 2 / (a + b * size) + b * size";
            ("size, pairs=1", format!("{fixed}\n    {byte}\n    {whole}"))
        }
        // Of one pair with two processors.
        Model::Shared => {
            let [o, b, a_c, b_c, _, w, ..] = fit.curve_parameters();
            let limits = format!("a, b = 2 * {o:e} + {a_c:e} + {w:e}, max({b:e}, {b_c:e})");
            ("size", format!("{limits}\n    return a + b * size"))
        }
    };
    // Linear has its routers in its own formula.
    let (arguments, body) = match value("gamma") {
        Some(gamma) if fit.model != Model::Linear => {
            (format!("{arguments}, hops=0"), format!("{body} + {gamma:e} * hops"))
        }
        _ => (arguments.to_owned(), body),
    };
    let about = head(fit).join("\n    ");
    let import = if body.contains("math.") { "import math\n\n\n" } else { "" };
    format!(
        "{import}def seconds({arguments}):\n    \"\"\"Seconds that a message of `size` bytes takes one way.\n\n    {about}\n    \"\"\"\n    {body}\n"
    )
}
