//! `prp-proto/SPEC.md` and the code cite each other: each clause that is cited exists, and each
//! clause is cited by code or a test.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

mod sources;

/// A clause: its family and its number, as in `ACK` and 3.
type Clause = (String, u32);

/// Fewest clauses in a specification that was read whole; there are 151.
const MIN_CLAUSES: usize = 140;

/// The clauses that `spec` defines, in its order: those at the head of an item of a list.
fn heads(spec: &str) -> impl Iterator<Item = Clause> {
    let heads = spec.lines().filter_map(|line| line.strip_prefix("- **PRP-"));
    heads.filter_map(|head| head.split_once("**")).filter_map(|(name, _)| clause(name))
}

/// The clauses that `spec` defines.
fn defined(spec: &str) -> BTreeSet<Clause> {
    heads(spec).collect()
}

fn clause(name: &str) -> Option<Clause> {
    let (family, number) = name.split_once('-')?;
    let is_family = !family.is_empty() && family.bytes().all(|b| b.is_ascii_uppercase());
    is_family.then_some((family.to_owned(), number.parse().ok()?))
}

/// The number that `text` begins with, and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// The clauses that `text` cites. A citation is one clause, a range (`PRP-ACK-1 to 8`), or a list
/// of numbers (`PRP-ACK-1, 3 and 4`), which may go on in the next line of a comment.
fn cited(text: &str) -> BTreeSet<Clause> {
    let lines = text.lines().map(|line| line.trim_start().trim_start_matches(['/', '!']).trim());
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut found = BTreeSet::new();
    for piece in text.split("PRP-").skip(1) {
        let Some((family, rest)) = piece.split_once('-') else { continue };
        let Some((first, mut rest)) = number(rest) else { continue };
        let Some((family, mut last)) = clause(&format!("{family}-{first}")) else { continue };
        found.insert((family.clone(), last));
        let links = [" to ", ", and ", " and ", ", "];
        while let Some((link, next, tail)) = links.iter().find_map(|&link| {
            let (next, tail) = rest.strip_prefix(link).and_then(number)?;
            Some((link, next, tail))
        }) {
            // `PRP-ACK-3, 512 KiB` is no list: the numbers of one rise by little.
            if next <= last || next > last + 20 {
                break;
            }
            let begin = if link == " to " { last + 1 } else { next };
            found.extend((begin..=next).map(|n| (family.clone(), n)));
            (last, rest) = (next, tail);
        }
    }
    found
}

/// What is wrong with the citations of `sources`, by file name, of the clauses in `spec`.
fn mistakes(spec: &str, sources: &BTreeMap<String, String>) -> Vec<String> {
    let defined = defined(spec);
    let mut unseen = defined.clone();
    let mut once = BTreeSet::new();
    let twice = heads(spec).filter(|head| !once.insert(head.clone()));
    let mut wrong: Vec<_> = twice.map(|(family, n)| format!("two are PRP-{family}-{n}")).collect();
    for (file, text) in sources {
        for (family, number) in cited(text) {
            let clause = (family, number);
            if !defined.contains(&clause) {
                wrong.push(format!("{file} cites PRP-{}-{number}, which is not there", clause.0));
            }
            // Prose does not implement a clause.
            if file.ends_with(".rs") {
                unseen.remove(&clause);
            }
        }
    }
    wrong.extend(unseen.iter().map(|(family, n)| format!("no code cites PRP-{family}-{n}")));
    wrong
}

#[test]
fn clauses__each_cited_exists_and_each_is_cited() {
    let spec = fs::read_to_string(sources::root().join("prp-proto/SPEC.md")).unwrap();
    assert!(defined(&spec).len() >= MIN_CLAUSES, "{}", defined(&spec).len());
    let endings = [".rs", ".md", ".sh", ".lua"];
    let cites = |name: &str| {
        let is_ours = endings.iter().any(|ending| name.ends_with(ending));
        is_ours && name != "prp-check/tests/clauses.rs"
    };
    let sources = sources::texts(cites).into_iter().collect();
    let wrong = mistakes(&spec, &sources);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes__dead_ranges_and_uncited_clauses_are_found() {
    let spec = "- **PRP-A-1** x\n- **PRP-A-2** x\n- **PRP-A-3** x\n- **PRP-B-1** x\n";
    let sources = |text: &str| BTreeMap::from([("a.rs".to_owned(), text.to_owned())]);
    let ok = ["//! (SPEC PRP-A-1 to\n//! 3, PRP-B-1)", "// PRP-A-1, 2 and 3; PRP-B-1, 512 KiB"];
    for text in ok {
        assert!(mistakes(spec, &sources(text)).is_empty(), "{text}");
    }
    let dead = "a.rs cites PRP-A-4, which is not there";
    assert_eq!(mistakes(spec, &sources("// PRP-A-1 to 4, PRP-B-1")), [dead]);
    assert_eq!(mistakes(spec, &sources("// PRP-A-1 to 3")), ["no code cites PRP-B-1"]);
    let doubled = format!("{spec}- **PRP-A-2** y\n");
    let all = sources("// PRP-A-1 to 3, PRP-B-1");
    assert_eq!(mistakes(&doubled, &all), ["two are PRP-A-2"]);
    let prose = BTreeMap::from([("a.md".to_owned(), "PRP-A-1 to 3, PRP-B-1".to_owned())]);
    assert_eq!(mistakes(spec, &prose).len(), 4);
}
