//! Figures that programs in turns have measured, each in a run of its own.

use prp_model::rounds;
use serde_json::{Map, Value, json};

use super::keys::insert;
use super::runs::Runs;

/// What an option of `bench` measures in rounds. A run is called `PREFIX.NAME.ROUND`.
pub(super) struct Measured {
    pub(super) prefix: &'static str,
    /// A figure's name in those of its runs, where it is in them, and its key in JSON.
    pub(super) figures: &'static [(&'static str, &'static str, &'static str)],
}

impl Measured {
    /// The figure of all rounds, by its key.
    fn rounds(&self, runs: &Runs, key: &str) -> Vec<f64> {
        let figure = self.figures.iter().find(|(_, _, name)| *name == key);
        figure.map_or_else(Vec::new, |(run, path, _)| {
            runs.numbers(&format!("{}.{run}", self.prefix), path)
        })
    }

    /// The median of the ratios of neighbouring rounds.
    pub(super) fn ratio(&self, runs: &Runs, ours: &str, theirs: &str) -> Option<f64> {
        rounds::ratio(&self.rounds(runs, ours), &self.rounds(runs, theirs))
    }

    /// The median of the differences of neighbouring rounds.
    pub(super) fn difference(&self, runs: &Runs, ours: &str, theirs: &str) -> Option<f64> {
        rounds::difference(&self.rounds(runs, ours), &self.rounds(runs, theirs))
    }

    /// All figures: medians of their rounds.
    pub(super) fn keys(&self, runs: &Runs) -> Value {
        let mut keys = Map::new();
        for (_, _, key) in self.figures {
            if let Some(value) = rounds::median(&self.rounds(runs, key)) {
                insert(&mut keys, key, json!(value));
            }
        }
        Value::Object(keys)
    }
}
