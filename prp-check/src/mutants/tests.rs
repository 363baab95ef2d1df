use std::fs;
use std::path::Path;

use super::*;

/// A mutation that no longer applies would silently be none.
#[test]
fn list__every_mutation_applies_exactly_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for mutation in all() {
        let text = fs::read_to_string(root.join(mutation.file)).unwrap();
        assert_eq!(text.matches(mutation.old).count(), 1, "{}: {}", mutation.name, mutation.file);
        assert_ne!(mutation.old, mutation.new, "{}", mutation.name);
    }
    assert!(CONNECTING.len() + TRANSFER.len() + CLOSING.len() >= 30);
}
