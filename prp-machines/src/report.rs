//! How scenes ended, as a table.

use std::fmt::{self, Display};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::mem;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::failure::{Context, Outcome};
use crate::model;

/// How a scene ended.
#[derive(Clone, Debug, Deserialize, Serialize, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// All was as it should be.
    Passed,
    /// Something was not.
    Failed(String),
    /// It was not run, since it has no meaning there.
    LeftOut(String),
}

/// A scene with a kernel and a model, and how it ended.
#[derive(Clone, Debug, Deserialize, Serialize, Eq, PartialEq)]
pub(crate) struct Row {
    /// The scene.
    pub(crate) scene: String,
    /// The kernel, or those of both machines.
    pub(crate) kernel: String,
    /// The model of network card.
    pub(crate) model: String,
    /// How it ended.
    pub(crate) verdict: Verdict,
}

/// All rows, in the order in which they were run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report(Vec<Row>);

impl Row {
    /// Adds it to the file of results at `path`, as a line of JSON.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn append(&self, path: &Path) -> Outcome {
        let line = serde_json::to_string(self)? + "\n";
        let file = OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).context(path.display())
    }

    fn is_of(&self, other: &Self) -> bool {
        (&self.scene, &self.kernel, &self.model) == (&other.scene, &other.kernel, &other.model)
    }
}

impl Report {
    /// The rows in the file of results at `path`; none where there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or has something else.
    pub(crate) fn read(path: &Path) -> Outcome<Self> {
        let text = match fs::read_to_string(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => String::new(),
            read => read.context(path.display())?,
        };
        let mut report = Self::default();
        for line in text.lines() {
            report.add(serde_json::from_str(line).context(path.display())?);
        }
        Ok(report)
    }

    /// Adds a row, in place of an older one of the same scene, kernel and model.
    pub(crate) fn add(&mut self, row: Row) {
        self.0.retain(|known| !known.is_of(&row));
        self.0.push(row);
    }

    /// Puts the rows in the order of `scenes`.
    pub(crate) fn sort(&mut self, scenes: &[&str]) {
        self.0.sort_by_key(|row| scenes.iter().position(|scene| *scene == row.scene));
    }

    /// Has a table of their own for `scenes`, which any card is good enough for, with a column for
    /// each kernel. A failure with one card counts more than that others passed.
    pub(crate) fn join_cards(&mut self, scenes: &[&str]) {
        let mut rows = mem::take(&mut self.0);
        rows.sort_by_key(|row| match row.verdict {
            Verdict::LeftOut(_) => 0,
            Verdict::Passed => 1,
            Verdict::Failed(_) => 2,
        });
        for mut row in rows {
            if scenes.contains(&row.scene.as_str()) {
                row.model = mem::replace(&mut row.kernel, "any card".to_owned());
            }
            self.add(row);
        }
    }

    /// How many scenes ended as `is_wanted` says.
    pub(crate) fn count(&self, is_wanted: impl Fn(&Verdict) -> bool) -> usize {
        self.0.iter().filter(|row| is_wanted(&row.verdict)).count()
    }

    fn distinct<'a>(&'a self, part: impl Fn(&'a Row) -> &'a str) -> Vec<&'a str> {
        let mut all = Vec::new();
        for row in &self.0 {
            if !all.contains(&part(row)) {
                all.push(part(row));
            }
        }
        all
    }

    fn cell(&self, kernel: &str, model: &str, scene: &str, notes: &mut Notes) -> String {
        let is_wanted =
            |row: &&Row| row.kernel == kernel && row.model == model && row.scene == scene;
        match self.0.iter().find(is_wanted).map(|row| &row.verdict) {
            Some(Verdict::Passed) => "ok".to_owned(),
            Some(Verdict::Failed(reason)) => format!("FAILED{}", notes.number(reason)),
            Some(Verdict::LeftOut(reason)) => format!("-{}", notes.number(reason)),
            None => String::new(),
        }
    }
}

/// The reasons below a table, each once.
#[derive(Debug, Default)]
struct Notes(Vec<String>);

impl Notes {
    fn number(&mut self, reason: &str) -> String {
        let reason = reason.lines().next().unwrap_or_default();
        let at = self.0.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.0.push(reason.to_owned());
            self.0.len() - 1
        });
        format!(" ({})", at + 1)
    }
}

/// A table for each kernel in Markdown: a line for each scene, a column for each model, in the
/// order of [`model::ALL`].
impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut notes = Notes::default();
        let mut kernels = self.distinct(|row| &row.kernel);
        kernels.sort_unstable();
        for kernel in kernels {
            let rows = self.0.iter().filter(|row| row.kernel == kernel);
            let mut models: Vec<&str> = rows.map(|row| row.model.as_str()).collect();
            let place = |name| model::ALL.iter().position(|model| model.name == name);
            models.sort_by_key(|&name| (place(name), name));
            models.dedup();
            writeln!(f, "| {kernel} | {} |", models.join(" | "))?;
            writeln!(f, "| --- |{}", " --- |".repeat(models.len()))?;
            for scene in self.distinct(|row| &row.scene) {
                let cells: Vec<_> = models
                    .iter()
                    .map(|model| self.cell(kernel, model, scene, &mut notes))
                    .collect();
                if cells.iter().any(|cell| !cell.is_empty()) {
                    writeln!(f, "| {scene} | {} |", cells.join(" | "))?;
                }
            }
            writeln!(f)?;
        }
        for (number, reason) in (1..).zip(&notes.0) {
            writeln!(f, "({number}) {reason}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(scene: &str, kernel: &str, model: &str, verdict: Verdict) -> Row {
        let [scene, kernel, model] = [scene, kernel, model].map(str::to_owned);
        Row { scene, kernel, model, verdict }
    }

    #[test]
    fn read__has_the_newest_of_what_was_appended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results");
        assert_eq!(Report::read(&path).unwrap().0, []);
        let failed = Verdict::Failed("once".to_owned());
        row("two", "6.1", "e1000", failed.clone()).append(&path).unwrap();
        row("one", "6.1", "e1000", failed).append(&path).unwrap();
        row("two", "6.1", "e1000", Verdict::Passed).append(&path).unwrap();
        let mut report = Report::read(&path).unwrap();
        report.sort(&["one", "two"]);
        let table =
            "| 6.1 | e1000 |\n| --- | --- |\n| one | FAILED (1) |\n| two | ok |\n\n(1) once\n";
        assert_eq!(report.to_string(), table);
        fs::write(&path, "something else\n").unwrap();
        Report::read(&path).unwrap_err();
    }

    #[test]
    fn join_cards__a_failure_is_seen_and_columns_are_in_order() {
        let mut report = Report::default();
        for (scene, kernel, model, verdict) in [
            ("card", "6.1", "tulip", Verdict::Passed),
            ("none", "6.12", "e1000", Verdict::Failed("broken".to_owned())),
            ("none", "6.12", "tulip", Verdict::Passed),
            ("none", "6.1", "e1000", Verdict::LeftOut("nothing to run".to_owned())),
            ("none", "6.1", "tulip", Verdict::Passed),
            ("card", "6.1", "e1000", Verdict::Passed),
        ] {
            report.add(row(scene, kernel, model, verdict));
        }
        report.join_cards(&["none"]);
        report.sort(&["card", "none"]);
        let expected = "\
            | 6.1 | e1000 | tulip |\n| --- | --- | --- |\n| card | ok | ok |\n\n\
            | any card | 6.1 | 6.12 |\n| --- | --- | --- |\n| none | ok | FAILED (1) |\n\n\
            (1) broken\n";
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn display__a_table_a_kernel_and_each_reason_once() {
        let mut report = Report::default();
        for (scene, kernel, model, verdict) in [
            ("one", "6.1", "e1000", Verdict::Passed),
            ("two", "6.1", "e1000", Verdict::Failed("broken\nmore".to_owned())),
            ("one", "6.1", "tulip", Verdict::LeftOut("no such thing".to_owned())),
            ("two", "6.1", "tulip", Verdict::Failed("broken".to_owned())),
            ("one", "6.12", "e1000", Verdict::Passed),
        ] {
            report.add(row(scene, kernel, model, verdict));
        }
        let expected = "\
            | 6.1 | e1000 | tulip |\n| --- | --- | --- |\n\
            | one | ok | - (1) |\n| two | FAILED (2) | FAILED (2) |\n\n\
            | 6.12 | e1000 |\n| --- | --- |\n| one | ok |\n\n\
            (1) no such thing\n(2) broken\n";
        assert_eq!(report.to_string(), expected);
        assert_eq!(report.count(|verdict| *verdict == Verdict::Passed), 2);
    }
}
