//! What `netns-scripts/bench --bindings` has run: programs in C and Python beside `prp perf`, which
//! is Rust, and beside TCP from the same language.
//!
//! Runs of `prp perf` are its own JSON; all others have one number, `figure`.

use serde_json::Value;

use super::measured::Measured;
use super::runs::Runs;
use crate::bar::Bar;

const MEASURED: Measured = Measured {
    prefix: "bindings",
    figures: &[
        ("c_spin", "figure", "spin_us.c"),
        ("rust_spin", "results.prp.p50_us.median", "spin_us.rust"),
        ("latency_prp", "figure", "latency_us.python"),
        ("latency_tcp", "figure", "latency_us.python_tcp"),
        ("goodput_prp", "figure", "arrays_gbps.python"),
        ("rust_goodput", "results.prp.gbps.median", "arrays_gbps.rust"),
        ("asyncio_prp", "figure", "requests_per_s.asyncio"),
        ("asyncio_tcp", "figure", "requests_per_s.asyncio_tcp"),
        ("shuffle_prp", "figure", "shuffle_s.dask"),
        ("shuffle_tcp", "figure", "shuffle_s.dask_tcp"),
    ],
};

/// The bars.
pub(super) fn bars(runs: &Runs) -> Vec<Bar> {
    let bar = |name, ours, theirs, sign, limits| {
        Bar::new(name, MEASURED.ratio(runs, ours, theirs), sign, limits)
    };
    vec![
        bar("64 bytes, both spinning, C / Rust", "spin_us.c", "spin_us.rust", '<', (1.05, 1.0)),
        bar(
            "Python: 64 bytes, defaults, PRP / TCP",
            "latency_us.python",
            "latency_us.python_tcp",
            '<',
            (0.5, 0.25),
        ),
        bar(
            "arrays of 8 MiB, goodput, Python / Rust",
            "arrays_gbps.python",
            "arrays_gbps.rust",
            '>',
            (0.9, 1.0),
        ),
        bar(
            "asyncio: requests a second, PRP / TCP",
            "requests_per_s.asyncio",
            "requests_per_s.asyncio_tcp",
            '>',
            (1.2, 2.0),
        ),
        bar(
            "Dask: time of a shuffle of 1 GB, PRP / TCP",
            "shuffle_s.dask",
            "shuffle_s.dask_tcp",
            '<',
            (1.0, 0.9),
        ),
    ]
}

/// All figures.
pub(super) fn keys(runs: &Runs) -> Value {
    MEASURED.keys(runs)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn runs() -> Runs {
        let figure = |value: f64| json!({ "figure": value });
        let perf = |us: f64| json!({"results": {"prp": {"p50_us": {"median": us}}}});
        Runs::of([
            ("bindings.c_spin.1", figure(1.0)),
            ("bindings.c_spin.2", figure(3.0)),
            ("bindings.c_spin.3", figure(3.75)),
            ("bindings.rust_spin.1", perf(1.0)),
            ("bindings.rust_spin.2", perf(2.0)),
            ("bindings.rust_spin.3", perf(3.0)),
            ("bindings.goodput_prp.1", figure(8.0)),
            ("bindings.rust_goodput.1", json!({"results": {"prp": {"gbps": {"median": 10.0}}}})),
        ])
    }

    #[test]
    fn bars__are_ratios_of_neighbouring_rounds() {
        let found: Vec<_> = bars(&runs()).iter().map(|bar| (bar.value, bar.verdict())).collect();
        assert_eq!(found[0], (Some(1.25), "MISSED"));
        assert_eq!(found[2], (Some(0.8), "MISSED"));
        assert_eq!(found[4], (None, "not measured"));
    }

    #[test]
    fn keys__are_medians_of_what_was_measured() {
        let expected = json!({
            "spin_us": {"c": 3.0, "rust": 2.0},
            "arrays_gbps": {"python": 8.0, "rust": 10.0},
        });
        assert_eq!(keys(&runs()), expected);
    }
}
