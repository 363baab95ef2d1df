use std::fs;
use std::path::Path;

use super::*;

/// A mutation that no longer applies would silently be none.
#[test]
fn list__every_mutation_applies_exactly_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut lost = Vec::new();
    for mutation in all() {
        let text = fs::read_to_string(root.join(mutation.file)).unwrap();
        let places = text.matches(mutation.old).count();
        if places != 1 {
            lost.push(format!("{}: {}: {places} places", mutation.file, mutation.name));
        }
        assert_ne!(mutation.old, mutation.new, "{}", mutation.name);
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}
