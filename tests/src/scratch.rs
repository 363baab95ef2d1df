//! Files for one test.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that goes away when this is dropped. Everybody may read it, since what runs on the nodes may
/// run as somebody else.
#[derive(Debug)]
pub struct TempFile(PathBuf);

impl TempFile {
    /// A file that holds `bytes`.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        let file = Self::name();
        std::fs::write(&file.0, bytes).expect("a file in the temporary folder");
        file
    }

    /// A copy of `from`, which may be run if that may.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn copy(from: &str) -> Self {
        let file = Self::name();
        std::fs::copy(from, &file.0).expect("a copy in the temporary folder");
        file
    }

    fn name() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("prp-tests-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Puts another file in its place, as an editor does.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn replace(&self, bytes: impl AsRef<[u8]>) {
        let next = Self::new(bytes);
        std::fs::rename(&next.0, &self.0).expect("within one folder");
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
