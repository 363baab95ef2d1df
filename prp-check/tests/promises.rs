//! `docs/testing.md` names tests: each of them exists.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::path::Path;

#[test]
fn promises__every_test_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = fs::read_to_string(root.join("docs/testing.md")).unwrap();
    let mut named = 0;
    for quoted in page.split('`').skip(1).step_by(2) {
        let (file, test) = match quoted.split_once("::") {
            Some((file, test)) => (file, Some(test)),
            None if quoted.ends_with(".rs") => (quoted, None),
            None => continue,
        };
        let keyword = match file.rsplit_once('.') {
            Some((_, "rs")) => "fn",
            Some((_, "py")) => "def",
            _ => continue,
        };
        let text = fs::read_to_string(root.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        if let Some(test) = test {
            // Properties are written in a macro and indented.
            let there = text.contains(&format!("{keyword} {test}("));
            assert!(there, "docs/testing.md names {test}, which is not in {file}");
            named += 1;
        }
    }
    assert!(named > 50, "{named}");
}
