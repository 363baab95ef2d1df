//! Reading the cluster's key file.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::O_NONBLOCK;
use nix::unistd::geteuid;
use prp_proto::key::KeyFile;
use zeroize::Zeroizing;

use crate::environment;
use crate::explained::Explanation;
use crate::hosts::FileVersion;
use crate::printable::printable_path;

/// Where the key file is unless `PRP_KEY` says otherwise.
pub const DEFAULT_PATH: &str = "/etc/prpkey";

/// The variable that names another one.
const VARIABLE: &str = "PRP_KEY";

/// Rights that a key file must not give: all of others, and writing of the group.
const TOO_MUCH: u32 = 0o027;

/// What the user and the group may have.
const RIGHTS: u32 = 0o777;

/// The key file in force, and which of its versions was read last.
#[derive(Clone, Debug)]
pub struct KeyWatch {
    path: PathBuf,
    /// Someone has named it, so that it has to be there.
    is_named: bool,
    seen: Option<FileVersion>,
}

impl KeyWatch {
    /// The file that `PRP_KEY` names, or else [`DEFAULT_PATH`], which need not be there. Nothing is
    /// read yet.
    pub fn in_force() -> Self {
        match environment::path(VARIABLE) {
            Some(path) => Self { path, is_named: true, seen: None },
            None => Self { path: DEFAULT_PATH.into(), is_named: is_withheld(), seen: None },
        }
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads it. `None` if nobody has named a file and there is none.
    ///
    /// # Errors
    /// As [`read`]; and `NotFound` if a file was named that is not there. Who gets one must not go
    /// on without a key.
    pub fn read(&mut self) -> io::Result<Option<KeyFile>> {
        self.seen = FileVersion::of(&self.path).ok();
        if self.path.as_os_str().is_empty() {
            let fix = "set PRP_KEY to a file, or unset it".to_owned();
            let cause = "the path of the key file is empty".to_owned();
            let explained = Explanation { cause, fix: Some(fix), ..Explanation::default() };
            return Err(explained.into_error(ErrorKind::NotFound));
        }
        match read(&self.path)? {
            None if self.is_named && environment::is_privileged() => {
                let cause = "there is no such file, and this program has privileges: it does not \
                             take PRP_KEY from its caller";
                Err(failed(&self.path, cause, "put the key file here", ErrorKind::NotFound))
            }
            None if self.is_named => Err(missing(&self.path)),
            keys => Ok(keys),
        }
    }

    /// Has `apply` put it in force if it has changed since that was last done. If it is gone, what
    /// was read before stays in force.
    ///
    /// # Errors
    /// As [`read`], and what `apply` says; the next call tries again. Who has no key yet must not
    /// go on without one.
    pub fn read_again(&mut self, apply: impl FnOnce(KeyFile) -> io::Result<()>) -> io::Result<()> {
        let version = match FileVersion::of(&self.path) {
            Ok(version) => version,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(unreadable(&self.path, &e)),
        };
        if self.seen != Some(version)
            && let Some(keys) = read(&self.path)?
        {
            apply(keys)?;
            self.seen = Some(version);
        }
        Ok(())
    }
}

/// Whether the caller of a program with privileges has set `PRP_KEY`, which is not heeded. Nor is
/// it taken for nothing: without a key, such a program would speak without protection.
fn is_withheld() -> bool {
    environment::is_privileged() && std::env::var_os(VARIABLE).is_some()
}

/// Reads the key file at `path`; none if there is no file.
///
/// # Errors
/// It cannot be read, others can read or change it, or it has a mistake: `InvalidData` or
/// `PermissionDenied`, with an [`ExplainedError`](crate::ExplainedError) that names the file.
pub fn read(path: &Path) -> io::Result<Option<KeyFile>> {
    let named = |e: io::Error| unreadable(path, &e);
    // A pipe without a writer would wait for one.
    let file = match OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(named(e)),
    };
    let about = file.metadata().map_err(named)?;
    check(path, &about)?;
    let text = contents(file, about.len()).map_err(named)?;
    let mistake =
        |e| io::Error::new(ErrorKind::InvalidData, format!("{}:{e}", printable_path(path)));
    KeyFile::parse(&text).map(Some).map_err(mistake)
}

/// The error that there is no file at `path`.
pub fn missing(path: &Path) -> io::Error {
    let fix =
        format!("`prp key new {}` makes one, or copy that of another node", printable_path(path));
    failed(path, "there is no such file", &fix, ErrorKind::NotFound)
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
fn check(path: &Path, about: &Metadata) -> io::Result<()> {
    let refused =
        |cause: String, fix: &str| Err(failed(path, &cause, fix, ErrorKind::PermissionDenied));
    if !about.is_file() {
        return refused("it is no regular file".to_owned(), "name one that is");
    }
    let user = geteuid().as_raw();
    if ![0, user].contains(&about.uid()) {
        let cause = format!("it belongs to user {}, who knows its secrets", about.uid());
        return refused(cause, "`chown root`, or make another");
    }
    let rights = about.mode() & RIGHTS;
    if rights & TOO_MUCH != 0 {
        let cause = format!("its rights are {rights:03o}, by which others can read or change it");
        let fix = "`chmod 600`, or 640 for a group, and a new key if others may have read it";
        return refused(cause, fix);
    }
    Ok(())
}

/// The error that the file at `path`, which there is, cannot be read.
fn unreadable(path: &Path, e: &io::Error) -> io::Error {
    let mend = match e.kind() {
        ErrorKind::PermissionDenied => {
            "the cluster has a key: let this user read it (`chgrp` and `chmod 640`)"
        }
        _ => "without its key a node speaks to nobody",
    };
    failed(path, &e.to_string(), mend, e.kind())
}

fn failed(path: &Path, cause: &str, fix: &str, kind: ErrorKind) -> io::Error {
    let (file, cause, fix) = (Some(path.to_owned()), cause.to_owned(), Some(fix.to_owned()));
    Explanation { file, cause, fix, ..Explanation::default() }.into_error(kind)
}

#[cfg(test)]
mod tests;
