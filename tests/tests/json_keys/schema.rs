//! The declared types of what commands print with `--json`, compared with what they have printed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::declarations::{Shape, shapes};

/// The declarations, which the book shows and the package brings.
const DECLARATIONS: &str = include_str!("../../../prp-tools/json.d.ts");

/// What the names of commands' types begin with.
const COMMAND: &str = "Prp";

/// What stands behind an element's path: it is in a list.
const ELEMENT: &str = "[]";

/// What stands for any key of an object.
const ANY: &str = ".*";

/// The type of a command's JSON.
#[derive(Debug)]
pub(crate) struct Schema {
    shape: Shape,
    seen: Seen,
}

/// Paths of the values that were compared, and, behind a bar, which type of several they had.
type Seen = BTreeSet<String>;

/// Returns the schemas by the whole name of the command.
pub(crate) fn schemas() -> BTreeMap<String, Schema> {
    parse(DECLARATIONS)
}

fn parse(text: &str) -> BTreeMap<String, Schema> {
    let commands = shapes(text).into_iter().filter(|(name, _)| name.starts_with(COMMAND));
    commands.map(|(name, shape)| (command(&name), Schema { shape, seen: Seen::new() })).collect()
}

/// `PrpPerfStream` as `prp perf stream`.
fn command(name: &str) -> String {
    let mut words = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

impl Schema {
    /// Compares it with what a command has printed; what is wrong.
    pub(crate) fn compare(&mut self, printed: &Value) -> BTreeSet<String> {
        let mut wrong = BTreeSet::new();
        compare(&self.shape, printed, "", &mut self.seen, &mut wrong);
        wrong
    }

    /// Returns what is wrong with keys that were in nothing that was compared, unless they may be
    /// absent.
    pub(crate) fn unseen(&self) -> Vec<String> {
        let mut unseen = Vec::new();
        search(&self.shape, "", &self.seen, &mut unseen);
        unseen
    }
}

fn compare(
    shape: &Shape,
    value: &Value,
    path: &str,
    seen: &mut Seen,
    wrong: &mut BTreeSet<String>,
) {
    match (shape, value) {
        (Shape::Number, Value::Number(_))
        | (Shape::Text, Value::String(_))
        | (Shape::Boolean, Value::Bool(_))
        | (Shape::Null, Value::Null) => {}
        (Shape::List(inner), Value::Array(elements)) => {
            let path = format!("{path}{ELEMENT}");
            elements.iter().for_each(|element| compare(inner, element, &path, seen, wrong));
        }
        (Shape::Map(inner), Value::Object(object)) => {
            let path = format!("{path}{ANY}");
            for value in object.values() {
                seen.insert(path.clone());
                compare(inner, value, &path, seen, wrong);
            }
        }
        (Shape::Object(members), Value::Object(object)) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                match object.get(name) {
                    Some(value) => {
                        seen.insert(path.clone());
                        compare(&member.shape, value, &path, seen, wrong);
                    }
                    None if member.is_optional => {}
                    None => drop(wrong.insert(format!("{path} is absent, and has no `?`"))),
                }
            }
            let others = object.keys().filter(|name| !members.contains_key(*name));
            wrong.extend(others.map(|name| format!("{path}.{name} is not declared")));
        }
        (Shape::Union(alternatives), value) => {
            compare_with_best(alternatives, value, path, seen, wrong);
        }
        (shape, value) => drop(wrong.insert(format!("{path}: {value} is no {}", noun(shape)))),
    }
}

/// Compares `value` with the one of `alternatives` that it fits best.
fn compare_with_best(
    alternatives: &[Shape],
    value: &Value,
    path: &str,
    seen: &mut Seen,
    wrong: &mut BTreeSet<String>,
) {
    let tried = alternatives.iter().enumerate().map(|(at, shape)| {
        let (mut seen, mut wrong) = (Seen::new(), BTreeSet::new());
        compare(shape, value, path, &mut seen, &mut wrong);
        (at, seen, wrong)
    });
    let (at, own_seen, own_wrong) =
        tried.min_by_key(|(_, _, wrong)| wrong.len()).expect("a union of something");
    seen.insert(alternative(path, at));
    seen.extend(own_seen);
    wrong.extend(own_wrong);
}

/// The mark that `path` had a value of the type with number `at`.
fn alternative(path: &str, at: usize) -> String {
    format!("{path}|{at}")
}

fn noun(shape: &Shape) -> &'static str {
    match shape {
        Shape::Number => "number",
        Shape::Text => "string",
        Shape::Boolean => "boolean",
        Shape::Null => "null",
        Shape::Object(_) | Shape::Map(_) => "object",
        Shape::List(_) => "list",
        Shape::Union(_) => "type of these",
    }
}

/// Adds the keys below `path` that are not in `seen`.
fn search(shape: &Shape, path: &str, seen: &Seen, unseen: &mut Vec<String>) {
    match shape {
        Shape::Number | Shape::Text | Shape::Boolean | Shape::Null => {}
        Shape::List(inner) => search(inner, &format!("{path}{ELEMENT}"), seen, unseen),
        Shape::Map(inner) => {
            let path = format!("{path}{ANY}");
            if seen.contains(&path) {
                search(inner, &path, seen, unseen);
            }
        }
        Shape::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                if seen.contains(&path) {
                    search(&member.shape, &path, seen, unseen);
                } else if !member.is_optional {
                    unseen.push(format!("{path} is declared, and is never printed"));
                }
            }
        }
        Shape::Union(alternatives) => {
            let all = alternatives.iter().enumerate();
            let values = all.filter(|(_, shape)| !matches!(shape, Shape::Null));
            let is_one = values.clone().count() == 1;
            // What is printed in one of several forms need not be printed in each of them.
            values
                .filter(|(at, _)| is_one || seen.contains(&alternative(path, *at)))
                .for_each(|(_, shape)| search(shape, path, seen, unseen));
        }
    }
}

/// The comparison itself, with an example of each form of a declaration.
pub(crate) fn forms() {
    let text = "// x\ntype ms = number; // y\ntype End = { port: number };\n\
                type All = { a: ms; b?: { c: string }[] };\n\
                type PrpX = PrpY & {\n  name: | \"n-1\" | \"m\" | null;\n  ends: (End | null)[];\n\
                by: Record<string, { frames: ms }>;\n  rows: number[][];\n  far?: { off: ms };\n\
                of: { x: ms } | { y: ms };\n  deep: { r: ms };\n};\n\
                type PrpY = Partial<All> & { deep: { l: ms } };\n";
    let compared = |printed: &str| {
        let mut schema = parse(text).remove("prp x").expect("its type");
        let printed: Value = serde_json::from_str(printed).expect("JSON");
        let wrong = schema.compare(&printed);
        wrong.into_iter().chain(schema.unseen()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(parse(text).keys().collect::<Vec<_>>(), ["prp x", "prp y"]);
    let good = r#"{"name": null, "a": 1, "ends": [null, {"port": 1}], "by": {"x": {"frames": 1}},
                   "rows": [[1]], "of": {"y": 1}, "deep": {"l": 1, "r": 2}}"#;
    assert_eq!(compared(good), "");
    for (from, to, fault) in [
        (r#""name": null"#, r#""name": 7"#, ".name: 7 is no string"),
        (
            r#""name": null, "#,
            "",
            ".name is absent, and has no `?`; .name is declared, and is never printed",
        ),
        (r#""a": 1"#, r#""a": null"#, ".a: null is no number"),
        (r#""a": 1"#, r#""a": 1, "c": 1"#, ".c is not declared"),
        (r#""a": 1"#, r#""a": 1, "far": {"off": true}"#, ".far.off: true is no number"),
        (r#""a": 1"#, r#""a": 1, "b": []"#, ".b[].c is declared, and is never printed"),
        (r#""port": 1"#, r#""port": 1, "odd": 2"#, ".ends[].odd is not declared"),
        (r#", {"port": 1}"#, "", ".ends[].port is declared, and is never printed"),
        (r#""frames": 1"#, r#""frames": "1""#, r#".by.*.frames: "1" is no number"#),
        (r#"{"x": {"frames": 1}}"#, "{}", ""),
        ("[[1]]", "[1]", ".rows[]: 1 is no list"),
        (
            r#", "r": 2"#,
            "",
            ".deep.r is absent, and has no `?`; .deep.r is declared, and is never printed",
        ),
        (r#"{"y": 1}"#, r#"{"x": 1, "y": 1}"#, ".of.y is not declared"),
    ] {
        assert_eq!(compared(&good.replace(from, to)), fault, "{to} in place of {from}");
    }
}
