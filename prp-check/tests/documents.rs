//! The documents: every relative link and anchor leads somewhere, and every page is in the book.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// What people read, beside the pages in `docs/`.
const OTHERS: [&str; 5] =
    ["CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "prp-proto/SPEC.md"];

/// Where pages of the book are.
const FOLDERS: [&str; 2] = ["docs", "docs/experiments"];

/// Where the book's table of contents is, which is no page.
const SUMMARY: &str = "docs/SUMMARY.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Pages of the book, and the documents outside of it, by their paths from the root.
fn documents() -> BTreeSet<String> {
    let pages = FOLDERS.iter().flat_map(|folder| {
        let entries = fs::read_dir(root().join(folder)).expect("the folder is there").flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| name.ends_with(".md")).map(move |name| format!("{folder}/{name}"))
    });
    pages.chain(OTHERS.map(String::from)).collect()
}

/// The text of a document, with what mdBook includes in it.
fn text(document: &str) -> String {
    let path = root().join(document);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{document}: {e}"));
    let mut whole = String::new();
    for line in text.lines() {
        match included(line) {
            Some(name) => {
                let part = fs::read_to_string(path.with_file_name(name));
                whole += &part.unwrap_or_else(|e| panic!("{document} includes {name}: {e}"));
            }
            None => whole += line,
        }
        whole.push('\n');
    }
    whole
}

/// The document that `line` includes. Other files are what programs print when the book is built.
fn included(line: &str) -> Option<&str> {
    let name = line.trim().strip_prefix("{{#include ")?.strip_suffix("}}")?;
    Some(name).filter(|name| name.ends_with(".md"))
}

/// The lines of `text` that are no code, with code within them taken out.
fn prose(text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with("    ") {
            lines.push(line.split('`').step_by(2).collect::<Vec<_>>().join("`"));
        }
    }
    lines
}

/// What the links and pictures of `text` lead to, but for those to other sites.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // A link may be broken between its words, and not within its address.
    for rest in prose(text).join("\n").split("](").skip(1) {
        found.extend(rest.split_once(')').map(|(link, _)| link.to_owned()));
    }
    found.retain(|link| !link.contains("://"));
    found
}

/// The names that headings of `text` have as anchors: those that GitHub and mdBook give them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut times = BTreeMap::new();
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let title = line.trim_start_matches('#');
        let Some(title) = title.strip_prefix(' ').filter(|_| !is_code && line.starts_with('#'))
        else {
            continue;
        };
        let title = title.trim().to_lowercase().replace(' ', "-");
        let kept = |c: &char| c.is_alphanumeric() || "-_".contains(*c);
        let anchor: String = title.chars().filter(kept).collect();
        let before = times.entry(anchor.clone()).or_insert(0);
        found.insert(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    found
}

/// `link` of `document` from the root: a path, and an anchor if it names one.
fn target(document: &str, link: &str) -> (String, Option<String>) {
    let (path, anchor) = match link.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor.to_owned())),
        None => (link, None),
    };
    if path.is_empty() {
        return (document.to_owned(), anchor);
    }
    let mut parts = Vec::new();
    for part in Path::new(document).with_file_name(path).components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part.as_os_str().to_string_lossy().into_owned()),
        }
    }
    (parts.join("/"), anchor)
}

/// What is in the repository for `path`: a picture is drawn when the book is built.
fn source(path: &str) -> String {
    match path.strip_suffix(".svg").filter(|path| path.starts_with("docs/pictures/")) {
        Some(picture) => format!("{picture}.dot"),
        None => path.to_owned(),
    }
}

/// What is wrong with `link` of `document`.
fn mistake(document: &str, link: &str) -> Option<String> {
    let (path, anchor) = target(document, link);
    if !root().join(source(&path)).exists() {
        return Some(format!("{document}: {link}: there is no {}", source(&path)));
    }
    // The book has a copy of other files, and would search for this one as a page.
    if document.starts_with("docs/") && !path.starts_with("docs/") && path.ends_with(".md") {
        return Some(format!("{document}: {link}: a document that is no page of the book"));
    }
    let anchor = anchor?;
    let is_there = path.ends_with(".md") && anchors(&text(&path)).contains(&anchor);
    (!is_there).then(|| format!("{document}: {link}: {path} has no heading for #{anchor}"))
}

#[test]
fn documents__every_link_leads_somewhere() {
    let (mut count, mut mistakes) = (0, Vec::new());
    for document in documents() {
        let links = links(&text(&document));
        count += links.len();
        mistakes.extend(links.iter().filter_map(|link| mistake(&document, link)));
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    assert!(count > 50, "{count}");
}

#[test]
fn documents__every_page_is_in_the_book_once() {
    let mut listed = links(&text(SUMMARY));
    listed.sort();
    let mut pages = documents();
    pages.retain(|document| document.starts_with("docs/") && document != SUMMARY);
    let pages: Vec<_> = pages.iter().map(|page| page.trim_start_matches("docs/")).collect();
    assert_eq!(listed, pages);
}

#[test]
fn links__are_those_of_prose() {
    let text = "[a](b.md#c) `[x](y)` [d\ne](../f)\n```\n[no](no)\n```\n    [no](no)\n![p](q.svg) [w](https://w)";
    assert_eq!(links(text), ["b.md#c", "../f", "q.svg"]);
    assert_eq!(target("docs/a.md", "../x/y.md#z"), ("x/y.md".into(), Some("z".into())));
    assert_eq!(target("docs/a.md", "#z"), ("docs/a.md".into(), Some("z".into())));
    assert!(mistake("docs/spec.md", "../prp-proto/SPEC.md").is_some());
    assert!(mistake("docs/spec.md", "pictures/none.svg").is_some());
}

#[test]
fn anchors__are_those_of_headings() {
    let text = "# A b\n## 1. C, `d_e`\n```\n# no\n```\n## A b\n#no";
    assert_eq!(anchors(text), ["1-c-d_e", "a-b", "a-b-1"].map(String::from).into());
}
