//! Files for one test.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that is removed when this is dropped. All users may read it, since programs on nodes may
/// run as another user.
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

    /// A copy of `from` with the same permissions.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn copy(from: &str) -> Self {
        let file = Self::name();
        // The program cp copies it: a program that some process has open for writing cannot be run,
        // and a child that another thread forks meanwhile inherits the descriptors of this process.
        let copied = Command::new("cp").arg(from).arg(&file.0).status();
        assert!(copied.is_ok_and(|status| status.success()), "a copy in the temporary folder");
        file
    }

    fn name() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("prp-tests-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// Replaces the file by another one, as an editor does.
    ///
    /// # Panics
    /// If there is no room for it.
    pub fn replace(&self, bytes: impl AsRef<[u8]>) {
        let next = Self::new(bytes);
        std::fs::rename(&next.0, &self.0).expect("within one folder");
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A folder of another user for one test. It is removed with its content when this is dropped.
#[derive(Debug)]
pub struct ForeignFolder(PathBuf);

impl ForeignFolder {
    /// A folder of `user` with the permissions `mode`.
    ///
    /// # Panics
    /// If this process may not make one.
    pub fn new(user: u32, mode: u32) -> Self {
        let TempFile(path) = &TempFile::name();
        let folder = Self(path.clone());
        std::fs::create_dir(path).expect("a folder in the temporary folder");
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("its permissions");
        std::os::unix::fs::chown(path, Some(user), None).expect("root may give a folder away");
        folder
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ForeignFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
