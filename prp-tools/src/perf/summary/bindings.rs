//! What `netns-scripts/bench --bindings` has run: programs in C and Python beside `prp perf`, which
//! is Rust, and beside TCP from the same language.
//!
//! A run is called `bindings.NAME.ROUND`. Those of `prp perf` are its own JSON; all others have one
//! number, `figure`.

use serde_json::{Map, Value, json};

use super::bars::Bar;
use super::keys::{gbps, insert};
use super::runs::Runs;
use crate::perf::rounds;

/// What was measured: in the names of runs, and as it is called in JSON.
const MEASURED: [(&str, &str); 10] = [
    ("c_spin", "spin_us.c"),
    ("rust_spin", "spin_us.rust"),
    ("latency_prp", "latency_us.python"),
    ("latency_tcp", "latency_us.python_tcp"),
    ("goodput_prp", "arrays_gbps.python"),
    ("rust_goodput", "arrays_gbps.rust"),
    ("asyncio_prp", "requests_per_s.asyncio"),
    ("asyncio_tcp", "requests_per_s.asyncio_tcp"),
    ("shuffle_prp", "shuffle_s.dask"),
    ("shuffle_tcp", "shuffle_s.dask_tcp"),
];

/// Whether there are any.
pub(super) fn are_in(runs: &Runs) -> bool {
    runs.names().any(|name| name.starts_with("bindings."))
}

/// The figures of all rounds.
fn figures(runs: &Runs, name: &str) -> Vec<f64> {
    let path = match name {
        "rust_spin" => "results.prp.p50_us.median".to_owned(),
        "rust_goodput" => gbps("prp"),
        _ => "figure".to_owned(),
    };
    runs.numbers(&format!("bindings.{name}"), &path)
}

/// The bars.
pub(super) fn bars(runs: &Runs) -> [Bar; 5] {
    let ratio =
        |ours: &str, theirs: &str| rounds::ratio(&figures(runs, ours), &figures(runs, theirs));
    [
        Bar::new(
            "64 bytes, both spinning, C / Rust",
            ratio("c_spin", "rust_spin"),
            '<',
            (1.05, 1.0),
        ),
        Bar::new(
            "Python: 64 bytes, defaults, PRP / TCP",
            ratio("latency_prp", "latency_tcp"),
            '<',
            (0.5, 0.25),
        ),
        Bar::new(
            "arrays of 8 MiB, goodput, Python / Rust",
            ratio("goodput_prp", "rust_goodput"),
            '>',
            (0.9, 1.0),
        ),
        Bar::new(
            "asyncio: requests a second, PRP / TCP",
            ratio("asyncio_prp", "asyncio_tcp"),
            '>',
            (1.2, 2.0),
        ),
        Bar::new(
            "Dask: time of a shuffle of 1 GB, PRP / TCP",
            ratio("shuffle_prp", "shuffle_tcp"),
            '<',
            (1.0, 0.9),
        ),
    ]
}

/// All figures: medians of their rounds.
pub(super) fn keys(runs: &Runs) -> Value {
    let mut keys = Map::new();
    for (name, path) in MEASURED {
        if let Some(value) = rounds::median(&figures(runs, name)) {
            insert(&mut keys, path, json!(value));
        }
    }
    Value::Object(keys)
}

#[cfg(test)]
mod tests {
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
        let found = bars(&runs()).map(|bar| (bar.value, bar.verdict()));
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
