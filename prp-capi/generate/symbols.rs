//! The version script: which symbols the library has, and since which version.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::header::Header;

/// A node for each version, each with the functions that it brought. A program that was linked with
/// a function of a later version does not start with an older library, and says which version it
/// lacks.
pub(crate) fn version_script(header: &Header) -> String {
    let mut versions = BTreeMap::<_, Vec<_>>::new();
    for function in &header.functions {
        versions.entry(function.since()).or_default().push(function.name.as_str());
    }
    let (mut text, mut before) = (String::new(), String::new());
    for (version, names) in versions {
        let local = if before.is_empty() { "  local: *;\n" } else { "" };
        let names: String = names.iter().map(|name| format!("    {name};\n")).collect();
        let _ = writeln!(text, "PRP_{version} {{\n  global:\n{names}{local}}}{before};");
        before = format!(" PRP_{version}");
    }
    text
}
