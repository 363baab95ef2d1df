//! The width of comments and documents: `max_width` of `rustfmt.toml`, which formats neither.
#![allow(non_snake_case, reason = "tests are named function__case")]

mod sources;

/// Columns of a line of a comment or of Markdown.
const WIDTH: usize = 100;

/// Ends of the names of files that are read: Rust, C, Markdown, shell.
const SUFFIXES: [&str; 5] = [".rs", ".c", ".h", ".md", ".sh"];

/// The folder whose files are shell scripts, where their names have no suffix.
const SCRIPTS: &str = "netns-scripts/";

fn has_prose(name: &str) -> bool {
    let is_script = name.strip_prefix(SCRIPTS).is_some_and(|rest| !rest.contains(['.', '/']));
    SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) || is_script
}

/// Returns the text of `line` if it is prose: a line of Markdown, or a comment.
fn prose<'a>(name: &str, line: &'a str) -> Option<&'a str> {
    if name.ends_with(".md") {
        return Some(line);
    }
    // A line of C that begins with an asterisk goes on with a comment.
    let marks = match name {
        name if name.ends_with(".c") || name.ends_with(".h") => &["/*", "* ", "//"][..],
        name if name.starts_with(SCRIPTS) => &["# "],
        _ => &["//"],
    };
    let line = line.trim_start();
    let comment = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
    let comment = comment.trim_start_matches(['/', '!']);
    Some(comment.strip_prefix(' ').unwrap_or(comment))
}

/// Returns the numbers of the lines of prose that are too long.
fn too_long(name: &str, text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        let Some(prose) = prose(name, line) else { continue };
        if prose.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        // Code, tables and the targets of links cannot be wrapped.
        let is_fixed = fenced
            || prose.starts_with("    ")
            || prose.starts_with(['\t', '|', '<'])
            || prose.contains("](http");
        if line.chars().count() > WIDTH && !is_fixed {
            found.push(number);
        }
    }
    found
}

#[test]
fn width__of_every_comment_and_document() {
    let long = sources::texts(has_prose).into_iter().filter_map(|(name, text)| {
        let lines = too_long(&name, &text);
        (!lines.is_empty()).then(|| format!("{name}: lines {lines:?}"))
    });
    let long: Vec<_> = long.collect();
    assert!(long.is_empty(), "more than {WIDTH} columns:\n{}", long.join("\n"));
}

#[test]
fn too_long__only_what_can_be_wrapped() {
    let words = "word ".repeat(21);
    for (name, text, lines) in [
        ("a.rs", format!("let x = 1;\n/// {words}"), &[2][..]),
        ("a.md", format!("{words}\n"), &[1]),
        ("a.md", format!("| {words}"), &[]),
        ("a.md", format!("```\n{words}\n```"), &[]),
        ("a.c", format!(" * {words}"), &[1]),
        ("a.rs", format!("{words}\n"), &[]),
    ] {
        assert_eq!(too_long(name, &text), lines, "{name}: {text}");
    }
}
