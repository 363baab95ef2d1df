//! A name of a type has one meaning within a crate.
#![allow(non_snake_case, reason = "tests are named function__case")]

mod sources;

use std::collections::BTreeMap;

/// Types that share a name on purpose: they are one thing in two forms, of which a program uses
/// one.
const TWICE: [(&str, &str); 5] = [
    ("prp-device", "TcxRx"),
    ("prp-device", "XdpTx"),
    ("prp-sock", "PrpListener"),
    ("prp-sock", "PrpStream"),
    ("prp-tools", "PlotResult"),
];

/// Whether `path` is source text that is no test.
fn is_source(path: &str) -> bool {
    path.starts_with("prp-")
        && path.contains("/src/")
        && path.ends_with(".rs")
        && !path.contains("/tests/")
        && !path.ends_with("/tests.rs")
}

/// The names of the types that `text` defines, but for those of traits and of its tests.
fn types(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split("\nmod tests {").next().unwrap_or_default();
    text.lines().filter_map(|line| {
        let line = match line.strip_prefix("pub") {
            Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
            Some(rest) => rest.trim_start(),
            None => line,
        };
        let line = line.strip_prefix("unsafe ").unwrap_or(line);
        let (keyword, rest) = line.split_once(' ')?;
        let is_type = ["struct", "enum", "trait", "type", "union"].contains(&keyword);
        is_type.then(|| rest.split(|c: char| c != '_' && !c.is_alphanumeric()).next())?
    })
}

#[test]
fn types__have_a_name_of_their_own_in_their_crate() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (path, text) in sources::texts(is_source) {
        let krate = path.split('/').next().unwrap_or_default();
        for name in types(&text) {
            places.entry((krate.into(), name.into())).or_default().push(path.clone());
        }
    }
    assert!(places.len() > 1000, "{} types", places.len());
    places.retain(|_, paths| paths.len() > 1);
    for (krate, name) in TWICE {
        let known = places.remove(&(krate.to_owned(), name.to_owned()));
        assert!(known.is_some(), "{name} of {krate} is there once: remove it from the list");
    }
    assert!(places.is_empty(), "give each a name that says what it is: {places:#?}");
}
