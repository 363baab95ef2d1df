//! What was measured: the JSON files of a folder, by their names.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use prp_model::rounds;
use serde_json::Value;

use crate::at;

/// Runs by name: that of the file without `.json`.
#[derive(Debug, Default)]
pub(super) struct Runs(BTreeMap<String, Value>);

impl Runs {
    /// Reads a folder.
    ///
    /// # Errors
    /// If it or a file cannot be read, or is no JSON.
    pub(super) fn read(dir: &Path) -> Result<Self, String> {
        let mut runs = BTreeMap::new();
        for file in fs::read_dir(dir).map_err(|e| at(dir, e))? {
            let path = file.map_err(|e| at(dir, e))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let Some(name) = name.and_then(|name| name.strip_suffix(".json")) else { continue };
            let text = fs::read(&path).map_err(|e| at(&path, e))?;
            let run = serde_json::from_slice(&text).map_err(|e| at(&path, e))?;
            runs.insert(name.to_owned(), run);
        }
        Ok(Self(runs))
    }

    /// Of these names and texts.
    #[cfg(test)]
    pub(super) fn of<'a>(runs: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        Self(runs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their names, in order.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What is at `path`, names with dots between them, in the run called `name`.
    pub(super) fn value(&self, name: &str, path: &str) -> Option<&Value> {
        path.split('.').try_fold(self.0.get(name)?, |value, key| value.get(key))
    }

    /// The number at `path` in the run called `name`.
    pub(super) fn number(&self, name: &str, path: &str) -> Option<f64> {
        self.value(name, path)?.as_f64()
    }

    /// The numbers at `path` in the runs called `name.1`, `name.2` and so on.
    pub(super) fn numbers(&self, name: &str, path: &str) -> Vec<f64> {
        (1..).map_while(|n| self.number(&format!("{name}.{n}"), path)).collect()
    }

    /// Their median.
    pub(super) fn median(&self, name: &str, path: &str) -> Option<f64> {
        rounds::median(&self.numbers(name, path))
    }

    /// The part of its processor time that the machine missed: the mean over all runs.
    pub(super) fn stolen(&self) -> Option<f64> {
        let shares: Vec<_> =
            self.0.values().filter_map(|run| run.get("stolen").and_then(Value::as_f64)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    }

    /// What an end says of itself, in any run.
    pub(super) fn machine(&self, end: &str) -> Option<&Value> {
        self.0.values().find_map(|run| run.get(end))
    }
}
