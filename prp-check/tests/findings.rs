//! `docs/tools.md` names what `prp doctor` finds: each kind that there is, and no other.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::path::Path;

/// What a finding is made by; its kind is the first argument.
const MADE_BY: [&str; 4] = ["fault(", "warning(", "note(", "of_check("];

/// Sources of the doctor.
fn sources(root: &Path) -> String {
    let folder = fs::read_dir(root.join("prp-tools/src/doctor")).unwrap();
    let mut files: Vec<_> = folder.map(|entry| entry.unwrap().path()).collect();
    files.push(root.join("prp-tools/src/doctor.rs"));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Kinds of the table's first column.
fn documented(page: &str) -> Vec<&str> {
    let section = page.split("\n## prp doctor\n").nth(1).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let columns = rows.filter_map(|row| row.split('|').next());
    columns
        .flat_map(|column| column.split(['`', ',', ' ']))
        .filter(|kind| !kind.is_empty())
        .collect()
}

#[test]
fn findings__the_book_has_every_kind_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/tools.md")).unwrap();
    let (documented, sources) = (documented(&page), sources(&root));
    for kind in &documented {
        assert!(sources.contains(&format!("\"{kind}\"")), "no finding is of the kind {kind}");
    }
    let mut made = 0;
    for maker in MADE_BY {
        for call in sources.split(maker).skip(1) {
            let Some(rest) = call.trim_start().strip_prefix('"') else { continue };
            let kind = rest.split('"').next().unwrap_or_default();
            assert!(documented.contains(&kind), "docs/tools.md lacks the kind {kind}");
            made += 1;
        }
    }
    assert!(made > 20, "{made}");
}
