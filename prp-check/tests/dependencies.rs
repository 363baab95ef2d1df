//! What the crates are built from: licences and sources that the project may be given away with.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::Command;

use serde_json::Value;

/// Licences under which everything may be used together with "MIT OR Apache-2.0", in source and as
/// a program.
const LICENSES: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Where a dependency may come from, as cargo names the registry.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Every package of Cargo.lock, with all features. A build downloads only those of its platform:
/// cargo downloads the others here.
fn packages() -> Vec<Value> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--all-features", "--locked"]);
    let output = cargo.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("no packages: {other}"),
    }
}

/// Whether `expression` (SPDX; a slash is the old form of OR) asks for nothing but [`LICENSES`].
/// Parentheses are understood around alternatives only, as in "(A OR B) AND C".
fn is_allowed(expression: &str) -> bool {
    let is_one_of_ours = |license: &str| LICENSES.contains(&license.trim());
    let expression = expression.replace('/', " OR ");
    if expression.contains('(') {
        return expression
            .split(" AND ")
            .all(|part| part.trim_matches(['(', ')']).split(" OR ").any(is_one_of_ours));
    }
    expression.split(" OR ").any(|alternative| alternative.split(" AND ").all(is_one_of_ours))
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

#[test]
fn licenses__may_be_given_away_with_ours() {
    for package in packages() {
        let license = text(&package, "license");
        assert!(is_allowed(license), "{}: \"{license}\" is not allowed", text(&package, "name"));
    }
}

#[test]
fn is_allowed__every_part_of_one_alternative() {
    assert!(is_allowed("MIT OR GPL-3.0-only"));
    assert!(is_allowed("Unlicense/MIT"));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!is_allowed("(MIT OR Apache-2.0) AND GPL-3.0-only"));
    assert!(!is_allowed("MIT AND GPL-3.0-only"));
    assert!(!is_allowed("GPL-3.0-only"));
    assert!(!is_allowed(""));
}

#[test]
fn sources__are_the_registry_or_this_repository() {
    for package in packages() {
        let (name, source) = (text(&package, "name"), &package["source"]);
        let is_ours = source.is_null() && name.starts_with("prp-");
        assert!(is_ours || source == SOURCE, "{name} comes from {source}");
    }
}

#[test]
fn versions__are_stable_and_bounded() {
    for package in packages().iter().filter(|package| package["source"].is_null()) {
        for dependency in package["dependencies"].as_array().expect("a list") {
            let (name, version) = (text(dependency, "name"), text(dependency, "req"));
            let is_path = dependency["path"].is_string();
            assert!(is_path || version != "*", "{name} of any version");
            assert!(!version.contains('-'), "{name} {version} is a pre-release");
        }
    }
}
