//! A key file on disk: who may read it, and its replacement as a whole.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use prp_key::KeyFile;
use tempfile::{Builder, NamedTempFile};

use crate::exit::{Code, Failure};

/// What the user and the group may have.
const RIGHTS: u32 = 0o777;

/// Reads the file at `path`.
///
/// # Errors
/// It cannot be read, others can read or change it, or it has a mistake.
pub(super) fn read(path: &Path) -> Result<KeyFile, Failure> {
    let missing = || Failure::new(Code::Failed, prp_node::key::missing(path).to_string());
    read_if_there(path)?.ok_or_else(missing)
}

/// As [`read`]; none if there is no file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<KeyFile>, Failure> {
    prp_node::key::read(path).map_err(|e| Failure::new(Code::Failed, e.to_string()))
}

/// Makes the file at `path` with `text`, which only its user can read.
///
/// # Errors
/// It cannot be written, or another one has come there.
pub(super) fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e: &io::Error| Failure::writing(path, e);
    let file = write_beside(path, text).map_err(|e| failed(&e))?;
    file.persist_noclobber(path).map_err(|e| failed(&e.error))?;
    sync_folder(path).map_err(|e| failed(&e))
}

/// Replaces the file at `path` by `text`, as a whole and with the same rights.
///
/// # Errors
/// It cannot be written; then the old one is there.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e: &io::Error| Failure::writing(path, e);
    // Where a link leads: the link stays.
    let path = fs::canonicalize(path).map_err(|e| failed(&e))?;
    let about = fs::metadata(&path).map_err(|e| failed(&e))?;
    let replaced = || {
        let file = write_beside(&path, text)?;
        let made = file.as_file().metadata()?;
        if (made.uid(), made.gid()) != (about.uid(), about.gid()) {
            fchown(file.as_file(), Some(about.uid()), Some(about.gid()))?;
        }
        file.as_file().set_permissions(Permissions::from_mode(about.mode() & RIGHTS))?;
        file.persist(&path).map_err(|e| e.error)?;
        sync_folder(&path)
    };
    replaced().map_err(|e| failed(&e))
}

/// A file with `text` in the folder of `path`, on disk, with the rights 0600. It is removed if it
/// does not take the place of the other one.
fn write_beside(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let mut file = Builder::new().prefix(".prpkey").tempfile_in(folder(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The folder of `path`.
fn folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or_else(|| Path::new(".")).to_owned()
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

#[cfg(test)]
mod tests;
