//! The page of the book that has the keys of `--json`, and its comparison with what commands print.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The page.
const PAGE: &str = include_str!("../../../docs/json.md");

/// The section of objects that several commands print.
const SHARED: &str = "Shared objects";

/// What stands behind an element's path: it is in a list.
const ELEMENT: &str = "[]";

/// What stands for any key of an object.
const ANY: &str = "*";

/// A row of a table: a key, and what its values are.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    /// The keys from the outermost object to this one, and [`ELEMENT`] behind each list between.
    path: Vec<String>,
    /// How many lists are around each value.
    lists: usize,
    /// Whether it may be absent.
    is_conditional: bool,
    /// `text`, `boolean`, `object`, or the unit of a number.
    kind: String,
    may_be_null: bool,
}

/// The keys of a command's JSON.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    rows: Vec<Row>,
    seen: BTreeSet<usize>,
}

/// The schemas of the page by the whole name of the command.
pub(crate) fn schemas() -> BTreeMap<String, Schema> {
    parse(PAGE)
}

fn parse(page: &str) -> BTreeMap<String, Schema> {
    let sections = page.split("\n## ").filter_map(|section| section.split_once('\n'));
    let sections: BTreeMap<_, _> = sections.collect();
    let shared = sections.get(SHARED).copied().unwrap_or_default();
    let shared = shared.split("\n### ").filter_map(|section| section.split_once('\n'));
    let shared: BTreeMap<_, _> = shared.collect();
    let commands = sections.into_iter().filter(|(title, _)| title.starts_with("prp "));
    let schema = |(title, text): (&str, &str)| {
        let rows = rows(text, &[], &shared);
        (title.to_owned(), Schema { rows, seen: BTreeSet::new() })
    };
    commands.map(schema).collect()
}

/// The rows of the tables in `text`, behind `prefix`, with those of shared objects that they name.
fn rows(text: &str, prefix: &[String], shared: &BTreeMap<&str, &str>) -> Vec<Row> {
    let mut all = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [keys, kind, meaning] = cells[..] else { panic!("three columns: {line}") };
        assert!(!kind.is_empty() && !meaning.is_empty(), "an empty cell: {line}");
        let (keys, condition) = keys.split_once('(').unzip();
        let keys = keys.unwrap_or(cells[0]);
        let plain = kind.strip_suffix(" or null");
        let may_be_null = plain.is_some();
        let kind = plain.unwrap_or(kind);
        let object = kind.strip_prefix('[').and_then(|kind| Some(kind.split_once("](#")?.0));
        for key in keys.split('`').skip(1).step_by(2) {
            let mut path = [prefix, &segments(key)].concat();
            if let Some(object) = object {
                let text = shared.get(object).unwrap_or_else(|| panic!("no such object: {line}"));
                let mut inner = rows(text, &path, shared);
                if path.is_empty() {
                    // The whole object is this one on a condition, and so are its keys.
                    let keys = inner.iter_mut().filter(|row| row.path.len() == 1);
                    keys.for_each(|row| row.is_conditional |= condition.is_some());
                }
                all.extend(inner);
            }
            if path.is_empty() {
                continue;
            }
            let lists = path.iter().rev().take_while(|segment| *segment == ELEMENT).count();
            path.truncate(path.len() - lists);
            let kind = if object.is_some() { "object" } else { kind }.to_owned();
            let is_conditional = condition.is_some();
            all.push(Row { path, lists, is_conditional, kind, may_be_null });
        }
    }
    all
}

/// `a[].b` as `a`, `[]`, `b`.
fn segments(key: &str) -> Vec<String> {
    let mut segments = Vec::new();
    for part in key.split('.') {
        let name = part.trim_end_matches(ELEMENT);
        segments.extend(Some(name.to_owned()).filter(|name| !name.is_empty()));
        let lists = (part.len() - name.len()) / ELEMENT.len();
        segments.extend(std::iter::repeat_n(ELEMENT.to_owned(), lists));
    }
    segments
}

impl Row {
    fn is_at(&self, path: &[String]) -> bool {
        let fits =
            |(own, other): (&String, &String)| own == other || own == ANY && other != ELEMENT;
        self.path.len() == path.len() && self.path.iter().zip(path).all(fits)
    }

    /// What is wrong with a value of it.
    fn fault(&self, value: &Value, lists: usize) -> Option<String> {
        if lists > 0 {
            let Value::Array(elements) = value else { return Some(format!("no list: {value}")) };
            return elements.iter().find_map(|element| self.fault(element, lists - 1));
        }
        let fits = match value {
            Value::Null => self.may_be_null,
            Value::Bool(_) => self.kind == "boolean",
            Value::String(_) => self.kind == "text",
            Value::Object(_) => self.kind == "object",
            Value::Number(_) => !["boolean", "text", "object"].contains(&self.kind.as_str()),
            Value::Array(_) => false,
        };
        (!fits).then(|| format!("{value} where the book has {}", self.kind))
    }
}

impl Schema {
    /// Compares it with what a command has printed; what is wrong.
    pub(crate) fn compare(&mut self, printed: &Value) -> BTreeSet<String> {
        let mut wrong = BTreeSet::new();
        self.descend(printed, &mut Vec::new(), &mut wrong);
        wrong
    }

    fn descend(&mut self, value: &Value, path: &mut Vec<String>, wrong: &mut BTreeSet<String>) {
        if let Value::Array(elements) = value {
            path.push(ELEMENT.to_owned());
            elements.iter().for_each(|element| self.descend(element, path, wrong));
            path.pop();
        }
        let Value::Object(object) = value else { return };
        for row in self.rows.iter().filter(|row| !row.is_conditional) {
            let Some((key, parent)) = row.path.split_last() else { continue };
            let is_here = Row { path: parent.to_vec(), ..row.clone() }.is_at(path);
            if is_here && key != ANY && !object.contains_key(key) {
                wrong.insert(format!("{} is absent, and has no condition", name(&row.path)));
            }
        }
        for (key, value) in object {
            path.push(key.clone());
            let mut fitting = (0..self.rows.len()).filter(|row| self.rows[*row].is_at(path));
            match fitting
                .clone()
                .find(|row| self.rows[*row].path == *path)
                .or_else(|| fitting.next())
            {
                Some(row) => {
                    self.seen.insert(row);
                    let fault = self.rows[row].fault(value, self.rows[row].lists);
                    wrong.extend(fault.map(|fault| format!("{}: {fault}", name(path))));
                }
                None => drop(wrong.insert(format!("{} is not in the book", name(path)))),
            }
            self.descend(value, path, wrong);
            path.pop();
        }
    }

    /// Keys that were in nothing that was compared, and that have no condition. Those of an object
    /// that was nowhere because it has one, or is one of any name, may be absent with it.
    pub(crate) fn unseen(&self) -> impl Iterator<Item = String> {
        let is_seen = |row: &Row| self.seen.iter().any(|seen| self.rows[*seen].path == row.path);
        let may_be_absent = |row: &Row| row.is_conditional || row.path.ends_with(&[ANY.to_owned()]);
        let absent = self.rows.iter().filter(|row| !is_seen(row));
        let (free, missing): (Vec<_>, Vec<_>) = absent.partition(|row| may_be_absent(row));
        let is_within = move |row: &&Row| free.iter().any(|free| row.path.starts_with(&free.path));
        missing
            .into_iter()
            .filter(move |row| !is_within(row))
            .map(|row| format!("{} is in the book, and is never printed", name(&row.path)))
    }
}

fn name(path: &[String]) -> String {
    path.join(".").replace(".[]", ELEMENT)
}

/// The comparison itself, with a page that has an example of each form.
pub(crate) fn forms() {
    let page = "# JSON\n\n## Shared objects\n\n### end\n\n| key | type | meaning |\n| --- | --- | --- |\n\
                | `port` | number | its port |\n\n## prp x\n\n| key | type | meaning |\n\
                | `name` | text or null | n |\n| `a`, `b` (with -a) | seconds | n |\n\
                | `ends[]` | [end](#end) | n |\n| `by` | object | n |\n| `by.*` | frames | n |\n\
                | `rows[][]` | number | n |\n| `.` (with -e) | [end](#end) | n |\n\
                | `far` (with -f) | object | n |\n| `far.off` | number | n |\n";
    let compared = |printed: &str| {
        let mut schema = parse(page).remove("prp x").expect("its section");
        let printed: Value = serde_json::from_str(printed).expect("JSON");
        let wrong = schema.compare(&printed);
        wrong.into_iter().chain(schema.unseen()).collect::<Vec<_>>().join("; ")
    };
    let good = r#"{"name": null, "a": 1, "ends": [{"port": 1}], "by": {"x": 1}, "rows": [[1]]}"#;
    assert_eq!(compared(good), "");
    for (from, to, fault) in [
        ("null", "7", "name: 7 where the book has text"),
        (
            r#""name": null, "#,
            "",
            "name is absent, and has no condition; name is in the book, and is never printed",
        ),
        (r#""a": 1"#, r#""a": null"#, "a: null where the book has seconds"),
        (r#""a": 1"#, r#""c": 1"#, "c is not in the book"),
        (r#""a": 1"#, r#""port": "x""#, r#"port: "x" where the book has number"#),
        (
            r#""a": 1"#,
            r#""far": {}"#,
            "far.off is absent, and has no condition; far.off is in the book, and is never printed",
        ),
        (r#""port": 1"#, r#""port": 1, "odd": 2"#, "ends[].odd is not in the book"),
        (r#"{"port": 1}"#, "", "ends[].port is in the book, and is never printed"),
        (r#"{"x": 1}"#, r#"{"x": "1"}"#, r#"by.x: "1" where the book has frames"#),
        ("[[1]]", "[1]", "rows: no list: 1"),
    ] {
        assert_eq!(compared(&good.replace(from, to)), fault, "{to} in place of {from}");
    }
}
