//! The rules for comments and documents that a program can check (CONTRIBUTING.md).
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeMap;

mod sources;

/// Columns of a line of a comment or of Markdown: `max_width` of `rustfmt.toml`.
const WIDTH: usize = 100;

/// Characters of a row of a table, which cannot be wrapped: some ten lines of a narrow column.
const ROW: usize = 800;

/// Ends of the names of files that are read: Rust, C, Markdown, shell.
const SUFFIXES: [&str; 5] = [".rs", ".c", ".h", ".md", ".sh"];

/// The folder whose files are shell scripts, where their names have no suffix.
const SCRIPTS: &str = "netns-scripts/";

/// Words before a clause with `who` that has no noun: "of who waits", "until who reads has read".
const BEFORE_WHO: [&str; 15] = [
    "of", "for", "to", "by", "with", "from", "than", "before", "and", "or", "but", "until", "as",
    "where", "does",
];

/// Numerals before the plural of a fraction: "three fifths".
const NUMERALS: [&str; 8] = ["two", "three", "four", "five", "six", "seven", "eight", "nine"];

/// Words after the singular of a fraction, but not after the ordinal: "a fifth less".
const COMPARED: [&str; 7] = ["of", "less", "more", "fewer", "longer", "shorter", "as"];

/// Words after `so`, where neither `as` nor `that` follows: "waits for so long".
const AMOUNTS: [&str; 3] = ["many", "much", "long"];

/// Words for people, which no thread, process or node is.
const PERSONS: [&str; 7] = ["he", "him", "his", "himself", "she", "her", "herself"];

/// Fractions are hard to compare; halves are not.
const FRACTIONS: [&str; 10] = [
    "third",
    "quarter",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "hundredth",
    "thousandth",
];

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rule {
    /// A line beyond [`WIDTH`].
    Width,
    /// A clause with `who` or `whoever` in place of a noun.
    Who,
    /// A doc comment that goes on where another item's ended.
    Continuation,
    /// A fraction in words, where a percentage can be compared.
    Fraction,
    /// A number or a time that has a name, as "so many".
    Amount,
    /// A thread or a process as a person.
    Person,
    /// A row of a table beyond [`ROW`].
    Row,
}

impl Rule {
    const fn name(self) -> &'static str {
        match self {
            Self::Width => "width",
            Self::Who => "who",
            Self::Continuation => "continuation",
            Self::Fraction => "fraction",
            Self::Amount => "amount",
            Self::Person => "person",
            Self::Row => "row",
        }
    }
}

fn is_prose(name: &str) -> bool {
    let is_script = name.strip_prefix(SCRIPTS).is_some_and(|rest| !rest.contains(['.', '/']));
    // This file quotes what it refuses.
    (SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) || is_script)
        && name != "prp-check/tests/prose.rs"
}

fn is_fraction(word: &str) -> bool {
    FRACTIONS.contains(&word) || word.ends_with("teenth") || word.ends_with("tieth")
}

/// The rules that the prose `line` breaks, but for its width.
fn broken(line: &str) -> Vec<Rule> {
    let mut found = Vec::new();
    let words: Vec<_> = line.split_whitespace().collect();
    let bare = |at: usize| {
        words.get(at).map_or("", |word| word.trim_matches(|c: char| !c.is_ascii_alphabetic()))
    };
    for at in 0..words.len() {
        let word = bare(at);
        let before = if at == 0 { "" } else { words[at - 1] };
        // "Who may connect?" and "| who | what |" are no clauses.
        let begins = word == "Who" || word == "Whoever" || word == "whoever";
        let torn = word == "who" && before.ends_with([':', ';']);
        let headless = begins || torn || word == "who" && BEFORE_WHO.contains(&before);
        if headless && !line.contains('?') && !words[at].contains('`') {
            found.push(Rule::Who);
        }
        let follows = || (at + 1..words.len()).map(bare).any(|word| ["as", "that"].contains(&word));
        if AMOUNTS.contains(&word) && bare(at.saturating_sub(1)) == "so" && !follows() {
            found.push(Rule::Amount);
        }
        if PERSONS.contains(&word) {
            found.push(Rule::Person);
        }
        let many = word.strip_suffix('s').is_some_and(is_fraction);
        let some = is_fraction(word) && COMPARED.contains(&bare(at + 1));
        if many && NUMERALS.contains(&before) || some && ["a", "one"].contains(&before) {
            found.push(Rule::Fraction);
        }
    }
    found
}

/// The breaches in a file: the rule and the number of the line.
fn breaches(name: &str, text: &str) -> Vec<(Rule, usize)> {
    let is_code = !name.ends_with(".md");
    let is_c = name.ends_with(".c") || name.ends_with(".h");
    let is_shell = name.starts_with(SCRIPTS);
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        let prose = if is_code {
            // A line of C that begins with an asterisk goes on with a comment.
            let marks = match () {
                () if is_c => &["/*", "* ", "//"][..],
                () if is_shell => &["# "],
                () => &["//"],
            };
            let Some(comment) = marks.iter().find_map(|mark| trimmed.strip_prefix(mark)) else {
                continue;
            };
            let comment = comment.trim_start_matches(['/', '!']);
            comment.strip_prefix(' ').unwrap_or(comment)
        } else {
            line
        };
        if prose.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        // Code, tables and the targets of links cannot be wrapped.
        let is_block = fenced || prose.starts_with("    ") || prose.starts_with('\t');
        let is_fixed = is_block || prose.starts_with(['|', '<']) || prose.contains("](http");
        if line.chars().count() > WIDTH && !is_fixed {
            found.push((Rule::Width, number));
        }
        if is_block {
            continue;
        }
        if prose.starts_with('|') && line.chars().count() > ROW {
            found.push((Rule::Row, number));
        }
        let is_doc = trimmed.starts_with("///");
        if is_doc && (prose.starts_with("...") || prose.starts_with('\u{2026}')) {
            found.push((Rule::Continuation, number));
        }
        found.extend(broken(prose).into_iter().map(|rule| (rule, number)));
    }
    found
}

/// Breaches by rule and file, with their lines.
fn all() -> BTreeMap<(&'static str, String), Vec<usize>> {
    let mut found = BTreeMap::<_, Vec<_>>::new();
    for (name, text) in sources::texts(is_prose) {
        for (rule, line) in breaches(&name, &text) {
            found.entry((rule.name(), name.clone())).or_default().push(line);
        }
    }
    found
}

#[test]
fn prose__breaks_no_rule() {
    let lines = |((rule, file), lines)| format!("{rule}: {file}: lines {lines:?}");
    let broken: Vec<_> = all().into_iter().map(lines).collect();
    assert!(broken.is_empty(), "CONTRIBUTING.md has the rules:\n{}", broken.join("\n"));
}

#[test]
fn breaches__each_rule_finds_a_planted_case() {
    let rules = |name: &str, text: &str| -> Vec<&str> {
        breaches(name, text).into_iter().map(|(rule, _)| rule.name()).collect()
    };
    let long = format!("/// {}", "word ".repeat(20));
    assert_eq!(rules("a.rs", &long), ["width"]);
    assert_eq!(rules("a.md", &"word ".repeat(21)), ["width"]);
    assert_eq!(rules("a.md", &format!("| {}", "word ".repeat(21))), [""; 0]);
    assert_eq!(rules("a.md", &format!("| {}", "word ".repeat(161))), ["row"]);
    assert_eq!(rules("a.md", &format!("```\n{}\n```", "word ".repeat(21))), [""; 0]);
    assert_eq!(rules("a.c", &format!(" * {}", "word ".repeat(20))), ["width"]);
    assert_eq!(rules("a.h", "/* Whoever waits gets it. */"), ["who"]);
    assert_eq!(rules("a.rs", "    /// Whoever waits gets it."), ["who"]);
    assert_eq!(rules("a.rs", "// The place of who waits."), ["who"]);
    assert_eq!(rules("a.rs", "// Nothing is lost; who reads goes on."), ["who"]);
    assert_eq!(rules("a.rs", "// It is free, and who asks gets it."), ["who"]);
    assert_eq!(rules("a.rs", "// A thread who waits."), [""; 0]);
    assert_eq!(rules("a.rs", "/// ... and bytes: four"), ["continuation"]);
    assert_eq!(rules("a.md", "It takes three fifths, a fourteenth less."), ["fraction"; 2]);
    assert_eq!(rules("a.md", "A third carrier takes half, a third time."), [""; 0]);
    assert_eq!(rules("a.rs", "// Waits for so long, for so many frames."), ["amount"; 2]);
    assert_eq!(rules("a.rs", "// Waits so long that others run, so many as there are."), [""; 0]);
    assert_eq!(rules("a.rs", "// The leader has his lock."), ["person"]);
    assert_eq!(rules("a.rs", "let whoever = \"Whoever\";"), [""; 0]);
}
