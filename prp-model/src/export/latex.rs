//! A formula and a table for a paper.

use crate::fit::{Estimate, Fit, Model};

/// The model's formula and its parameters with their intervals, as LaTeX: an equation and a
/// `tabular`.
#[must_use]
pub fn latex(fit: &Fit) -> String {
    let formula = match fit.model {
        Model::Linear => r"T(n, h) = \alpha + \beta n + \gamma h",
        Model::Prp => {
            r"T(N) = \begin{cases} L + N / B_0 & N \le N_{\min} \\ L' + N / B_1 & N \ge N_{\min} \end{cases}"
        }
        Model::Packet => r"t(x) = a \lceil x / p \rceil + m x",
        Model::Hyperbolic => r"T(x) = \frac{a^2}{a + b x} + b x",
        Model::LogP => r"T(k) = L + 2 o + (k - 1) \max(g, o)",
        Model::LogGp => r"T(n, k) = L + 2 o + k (n - 1) G + (k - 1) \max(g, o)",
        Model::Blocks => {
            r"T(x, n) = \frac{a'^2}{a' + b' x} + b' x, \quad a' = 2 a + n a_c, \quad b' = \max(b, n b_c)"
        }
        // Of one pair with two processors.
        Model::Shared => r"T(x) = a' + b' x, \quad a' = 2 o + a_c + w, \quad b' = \max(b, b_c)",
    };
    let has_routers =
        fit.model != Model::Linear && fit.parameters.iter().any(|p| p.name == "gamma");
    let routers = if has_routers { r" + \gamma h" } else { "" };
    let mut lines = vec![
        format!(r"\[ {formula}{routers} \]"),
        r"\begin{tabular}{lll}".to_owned(),
        r"parameter & value & 95\,\% interval \\ \hline".to_owned(),
    ];
    for parameter in &fit.parameters {
        let Estimate { name, value, unit, interval, .. } = parameter;
        let interval = interval.map_or_else(
            || "none".to_owned(),
            |i| match i.high.is_finite() {
                true => format!("${}$ to ${}$", number(i.low), number(i.high)),
                false => format!("${}$ or more", number(i.low)),
            },
        );
        let unit = unit.replace("B", r"\mathrm{B}").replace('s', r"\mathrm{s}");
        lines.push(format!(r"${}$ & ${}\ {unit}$ & {interval} \\", symbol(name), number(*value)));
    }
    for not in &fit.not_identified {
        lines
            .push(format!(r"${}$ & \multicolumn{{2}}{{l}}{{not identified}} \\", symbol(not.name)));
    }
    lines.push(r"\end{tabular}".to_owned());
    lines.join("\n") + "\n"
}

/// A parameter as its paper prints it.
fn symbol(name: &str) -> &str {
    match name {
        "alpha" => r"\alpha",
        "beta" => r"\beta",
        "gamma" => r"\gamma",
        "B0" => "B_0",
        "L1" => "L'",
        "B1" => "B_1",
        "n_min" => r"N_{\min}",
        other => other,
    }
}

/// Four digits and a power of ten.
fn number(value: f64) -> String {
    let text = format!("{value:.3e}");
    match text.split_once('e') {
        Some((digits, "0")) => digits.to_owned(),
        Some((digits, power)) => format!(r"{digits} \times 10^{{{power}}}"),
        None => text,
    }
}
