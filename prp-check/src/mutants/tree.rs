//! A copy of the sources that may be broken.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::mutation::Mutation;

/// A copy of every file that git knows, in a folder of its own.
#[derive(Debug)]
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Copies the checkout at `from` to `to`. Files that are equal there are not touched, so that a
    /// second run builds little.
    ///
    /// # Errors
    /// What git or the file system says.
    pub fn copy(from: &Path, to: &Path) -> io::Result<Self> {
        let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(from).output()?;
        if !listed.status.success() {
            return Err(io::Error::other("git ls-files failed: run this inside a checkout"));
        }
        for name in listed.stdout.split(|b| *b == 0).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name);
            let (source, target) = (from.join(&*name), to.join(&*name));
            // A file that was removed and not committed yet.
            let Ok(bytes) = fs::read(&source) else { continue };
            if fs::read(&target).is_ok_and(|old| old == bytes) {
                continue;
            }
            fs::create_dir_all(target.parent().unwrap_or(to))?;
            fs::write(&target, bytes)?;
        }
        Ok(Self { root: to.to_owned() })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Plants `mutation`, calls `f` on it, and takes it out again.
    ///
    /// # Errors
    /// If the text to be replaced is not there exactly once, or a file cannot be written.
    pub fn with<T>(&self, mutation: &Mutation, f: impl FnOnce() -> T) -> io::Result<T> {
        let path = self.root.join(mutation.file);
        let text = fs::read_to_string(&path)?;
        let found = text.matches(mutation.old).count();
        if found != 1 {
            return Err(io::Error::other(format!(
                "{}: {} has the text {found} times instead of once; fix it in prp-check/src/mutants/",
                mutation.name, mutation.file
            )));
        }
        fs::write(&path, text.replacen(mutation.old, mutation.new, 1))?;
        let result = f();
        fs::write(&path, text)?;
        Ok(result)
    }
}
