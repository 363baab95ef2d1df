//! The everyday words that names are free of (CONTRIBUTING.md, docs/glossary.md): each had several
//! meanings here, for each of which the field has a word.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeMap;

mod sources;

/// Words that no identifier has, and what says more.
const REFUSED: [(&str, &[&str]); 9] = [
    ("route, path, hop, direction", &["way", "ways"]),
    ("iteration, quantum, slot, poll", &["turn", "turns", "turned"]),
    ("poll, check, read, spin", &["look", "looks", "looked"]),
    ("established", &["stand", "stands", "standing", "stood"]),
    ("report, send, notify, announce", &["tell", "told", "say", "said", "saying"]),
    ("receive, last_received", &["hear", "heard"]),
    ("record, update", &["mind"]),
    ("thread, process, peer", &["who", "whom", "whoever"]),
    ("leader; a network device has a kernel driver", &["driver"]),
];

/// Identifiers that have such a word all the same: terms of the field, and names of others.
const ALLOWED: [&str; 5] = [
    // LogP and its kin: the latency of one direction.
    "one_way",
    "OneWay",
    // getrusage(2), as nix calls it.
    "UsageWho",
    // The rule of `prose.rs`, which is about that word.
    "Who",
    "BEFORE_WHO",
];

/// The bytes of the comment or the literal that `text` begins with, if it begins with one.
fn skipped(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    let raw = text.strip_prefix('r').or_else(|| text.strip_prefix("br"));
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if let Some(content) = raw[hashes..].strip_prefix('"') {
            let (close, begin) = (format!("\"{}", "#".repeat(hashes)), text.len() - content.len());
            return Some(content.find(&close).map_or(text.len(), |end| begin + end + close.len()));
        }
    }
    let quote = text.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return Some(at + 1),
            // A lifetime.
            _ if quote == '\'' && at > 1 && !text.starts_with("'\\") => return Some(1),
            _ => {}
        }
    }
    Some(text.len())
}

/// The identifiers in `text`, without those of its comments and literals.
fn identifiers(text: &str) -> Vec<&str> {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let word = rest.len() - rest.trim_start_matches(is_part).len();
        let len = skipped(rest).unwrap_or_else(|| word.max(first.len_utf8()));
        if len == word {
            found.push(&rest[..word]);
        }
        rest = &rest[len..];
    }
    found
}

/// The words of `identifier`, small.
fn words(identifier: &str) -> Vec<String> {
    let is_constant = !identifier.contains(|c: char| c.is_ascii_lowercase());
    let mut all = vec![String::new()];
    for c in identifier.chars() {
        if c == '_' || c.is_ascii_uppercase() && !is_constant {
            all.push(String::new());
        }
        if c != '_'
            && let Some(last) = all.last_mut()
        {
            last.push(c.to_ascii_lowercase());
        }
    }
    all.retain(|word| !word.is_empty());
    all
}

/// What `identifier` had better say instead, if it has a word that is refused.
fn better(identifier: &str) -> Option<&'static str> {
    if ALLOWED.contains(&identifier) {
        return None;
    }
    let words = words(identifier);
    let is_in = |refused: &&[&str]| words.iter().any(|word| refused.contains(&word.as_str()));
    REFUSED.iter().find(|(_, refused)| is_in(refused)).map(|(better, _)| *better)
}

#[test]
fn identifiers__have_no_everyday_word_with_many_meanings() {
    let mut found = BTreeMap::<String, Vec<String>>::new();
    for (file, text) in sources::texts(|name| name.ends_with(".rs")) {
        for identifier in identifiers(&text) {
            if let Some(better) = better(identifier) {
                let line = format!("`{identifier}` ({better})");
                let lines = found.entry(file.clone()).or_default();
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
    }
    let lines: Vec<_> =
        found.iter().map(|(file, all)| format!("{file}: {}", all.join(", "))).collect();
    assert!(lines.is_empty(), "other words say more:\n{}", lines.join("\n"));
}

#[test]
fn identifiers__are_found_and_split() {
    let text = "fn told<'a>(at: &'a str) -> char { // look\n f(\"said \\\" told\", 'w', '\\'', r#\"way\"#) }";
    let found = identifiers(text);
    assert_eq!(found, ["fn", "told", "a", "at", "a", "str", "char", "f"]);
    assert_eq!(words("rank_ways"), ["rank", "ways"]);
    assert_eq!(words("NoWay"), ["no", "way"]);
    assert_eq!(words("LOOK_AGAIN"), ["look", "again"]);
    for refused in ["told", "Turns", "LOOK", "is_heard_out", "poll__tells_and_looks"] {
        assert!(better(refused).is_some(), "{refused}");
    }
    for fine in ["return_value", "lookup", "always", "one_way", "row", "wire", "understand"] {
        assert_eq!(better(fine), None, "{fine}");
    }
}
