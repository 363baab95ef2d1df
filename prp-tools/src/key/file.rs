//! A key file on disk: who may read it, and its replacement as a whole.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use nix::libc::O_NONBLOCK;
use nix::unistd::geteuid;
use prp_key::KeyFile;
use prp_node::printable_path;
use tempfile::{Builder, NamedTempFile};
use zeroize::Zeroizing;

use crate::exit::{Code, Failure};

/// Rights that a key file must not give: all of others, and writing of the group.
const TOO_MUCH: u32 = 0o027;

/// What the user and the group may have.
const RIGHTS: u32 = 0o777;

/// Reads the file at `path`.
///
/// # Errors
/// It cannot be read, others can read or change it, or it has a mistake.
pub(super) fn read(path: &Path) -> Result<KeyFile, Failure> {
    read_if_there(path)?.ok_or_else(|| {
        let text = format!(
            "{0}: there is no such file; `prp key new {0}` makes one, or copy \
                            that of another node",
            printable_path(path)
        );
        Failure::new(Code::Failed, text)
    })
}

/// As [`read`]; none if there is no file.
pub(super) fn read_if_there(path: &Path) -> Result<Option<KeyFile>, Failure> {
    // A pipe without a writer would wait for one.
    let file = match OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Failure::reading(path, &e)),
    };
    let about = file.metadata().map_err(|e| Failure::reading(path, &e))?;
    check(path, &about)?;
    let text = contents(file, about.len()).map_err(|e| Failure::reading(path, &e))?;
    let keys = KeyFile::parse(&text);
    keys.map(Some).map_err(|e| Failure::new(Code::Failed, format!("{}:{e}", printable_path(path))))
}

/// The content of a file of `length` bytes, which is wiped when dropped.
fn contents(file: File, length: u64) -> io::Result<Zeroizing<Vec<u8>>> {
    // With room for all: a list that grows leaves copies behind.
    let room = usize::try_from(length).map_err(|_| ErrorKind::FileTooLarge)?;
    let mut text = Zeroizing::new(Vec::new());
    text.try_reserve_exact(room + 1)?;
    file.take(length).read_to_end(&mut text)?;
    Ok(text)
}

/// Whether the file is one that only its owner can change and that others cannot read.
fn check(path: &Path, about: &fs::Metadata) -> Result<(), Failure> {
    let shown = printable_path(path);
    let failed = |text: String| Err(Failure::new(Code::Failed, text));
    if !about.is_file() {
        return failed(format!("{shown}: it is no regular file; name one that is"));
    }
    let user = geteuid().as_raw();
    if ![0, user].contains(&about.uid()) {
        let owner = about.uid();
        return failed(format!(
            "{shown}: it belongs to user {owner}, who knows its secrets: `chown root`, or make \
             another"
        ));
    }
    let rights = about.mode() & RIGHTS;
    if rights & TOO_MUCH != 0 {
        return failed(format!(
            "{shown}: its rights are {rights:03o}, by which others can read or change it: \
             `chmod 600`, or 640 for a group, and a new key if others may have read it"
        ));
    }
    Ok(())
}

/// Makes the file at `path`, which only its user can read.
///
/// # Errors
/// It cannot be written, or another one has come there.
pub(super) fn create(path: &Path, keys: &KeyFile) -> Result<(), Failure> {
    let failed = |e: &io::Error| Failure::writing(path, e);
    let file = write_beside(path, keys).map_err(|e| failed(&e))?;
    file.persist_noclobber(path).map_err(|e| failed(&e.error))?;
    sync_folder(path).map_err(|e| failed(&e))
}

/// Replaces the file at `path`, as a whole and with the same rights.
///
/// # Errors
/// It cannot be written; then the old one is there.
pub(super) fn replace(path: &Path, keys: &KeyFile) -> Result<(), Failure> {
    let failed = |e: &io::Error| Failure::writing(path, e);
    // Where a link leads: the link stays.
    let path = fs::canonicalize(path).map_err(|e| failed(&e))?;
    let about = fs::metadata(&path).map_err(|e| failed(&e))?;
    let replaced = || {
        let file = write_beside(&path, keys)?;
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

/// A file with the text of `keys` in the folder of `path`, on disk, with the rights 0600. It is
/// removed if it does not take the place of the other one.
fn write_beside(path: &Path, keys: &KeyFile) -> io::Result<NamedTempFile> {
    let mut file = Builder::new().prefix(".prpkey").tempfile_in(folder(path))?;
    file.write_all(keys.reveal().as_bytes())?;
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
