//! The files of this repository.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the repository that hold no source of the project.
const SKIPPED: [&str; 3] = ["target", "corpus", "artifacts"];

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of which `is_wanted` holds, by their paths from the root, with their texts.
pub(crate) fn texts(is_wanted: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let (mut folders, mut found) = (vec![root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap_or_default();
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
                    folders.push(path);
                }
                continue;
            }
            let from_root = path.strip_prefix(root()).unwrap().display().to_string();
            if is_wanted(&from_root) {
                found.push((from_root, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found
}
