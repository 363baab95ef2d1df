//! Reading prphosts.

use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prp_proto::addr::NodeId;
use prp_proto::hosts::{Hosts, HostsErrors};

use crate::environment;
use crate::explained::{ExplainedError, Explanation};
use crate::fork::PerProcess;
use crate::printable::printable;

/// Where prphosts is unless `PRP_HOSTS` or the builder says otherwise.
pub const DEFAULT_PATH: &str = "/etc/prphosts";

/// A prphosts file as it was read.
#[derive(Clone, Debug)]
pub struct HostsFile {
    path: PathBuf,
    version: FileVersion,
    hosts: Arc<Hosts>,
}

/// What changes when a file does.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct FileVersion {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

static FILES: PerProcess<Mutex<HashMap<PathBuf, HostsFile>>> = PerProcess::new(Mutex::default);

impl HostsFile {
    /// The path in force: `PRP_HOSTS`, or [`DEFAULT_PATH`].
    pub fn default_path() -> PathBuf {
        environment::path("PRP_HOSTS").unwrap_or_else(|| DEFAULT_PATH.into())
    }

    /// Reads and checks the file at `path`.
    ///
    /// # Errors
    /// `NotFound` and the like, naming the file; `InvalidData` with every mistake as
    /// `file:line:column: expected …, found …`. Both have an [`ExplainedError`] within.
    pub fn load(path: &Path) -> io::Result<Self> {
        if path.as_os_str().is_empty() {
            let cause = "the path of prphosts is empty".to_owned();
            let fix = Some("set PRP_HOSTS to a file, or unset it".to_owned());
            let explanation = Explanation { cause, fix, ..Explanation::default() };
            return Err(explanation.into_error(io::ErrorKind::NotFound));
        }
        let named = |e: &io::Error| {
            let mend = match e.kind() {
                io::ErrorKind::NotFound => Some("write one (see etc/prphosts)"),
                io::ErrorKind::PermissionDenied => Some("let this user read it (`chmod a+r`)"),
                _ => None,
            };
            // Where the file was named otherwise, the variable has no effect.
            let with = if path == Self::default_path() { " with PRP_HOSTS" } else { "" };
            let fix = mend.map(|mend| format!("{mend} or name another{with}"));
            of_file(path, e.to_string(), fix.as_deref()).into_error(e.kind())
        };
        let version = FileVersion::of(path).map_err(|e| named(&e))?;
        let bytes = std::fs::read(path).map_err(|e| named(&e))?;
        let hosts = Hosts::parse(&bytes).map_err(|errors| {
            let explained = ExplainedError(explain_mistakes(path, &errors));
            io::Error::new(io::ErrorKind::InvalidData, explained)
        })?;
        Ok(Self { path: path.to_owned(), version, hosts: Arc::new(hosts) })
    }

    /// The file at `path`, read again only if it has changed. A file that has become unreadable or
    /// wrong leaves what was read before in force.
    ///
    /// # Errors
    /// As [`Self::load`], if it was never readable.
    pub fn cached(path: &Path) -> io::Result<Self> {
        let mut files = FILES.get().lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.get(path);
        if let Some(file) = known
            && FileVersion::of(path).is_ok_and(|version| version == file.version)
        {
            return Ok(file.clone());
        }
        match (Self::load(path), known) {
            (Ok(file), _) => {
                files.insert(path.to_owned(), file.clone());
                Ok(file)
            }
            (Err(_), Some(known)) => Ok(known.clone()),
            (Err(e), None) => Err(e),
        }
    }

    /// Its content.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether `other` is the same reading of the same file.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.hosts, &other.hosts)
    }

    /// Returns the version that was read.
    pub fn version(&self) -> FileVersion {
        self.version
    }

    /// An error about this file, with its fix.
    pub fn error(&self, cause: impl Display, fix: Option<&str>) -> io::Error {
        of_file(&self.path, cause.to_string(), fix).into_error(io::ErrorKind::InvalidData)
    }
}

fn of_file(path: &Path, cause: String, fix: Option<&str>) -> Explanation {
    let (file, fix) = (Some(path.to_owned()), fix.map(str::to_owned));
    Explanation { file, cause, fix, ..Explanation::default() }
}

/// The mistakes of the file at `path`, each with its place, and how many are not described.
pub fn explain_mistakes(path: &Path, errors: &HostsErrors) -> Vec<Explanation> {
    let described = errors.iter().map(|error| Explanation {
        line: Some(error.line()),
        column: Some(error.column()),
        ..of_file(path, error.what().to_string(), None)
    });
    let more = errors.undescribed().map(|cause| Explanation { cause, ..Explanation::default() });
    described.chain(more).collect()
}

impl FileVersion {
    /// Returns that of the file at `path` as it is now.
    ///
    /// # Errors
    /// It cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        let meta = std::fs::metadata(path)?;
        Ok(Self {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
        })
    }
}

/// The node this process is to be, by `PRP_NODE`; most machines find out by their hardware
/// addresses.
///
/// # Errors
/// `InvalidInput` if it is set to something else than a node number.
pub fn node_from_environment() -> io::Result<Option<NodeId>> {
    let Some(value) = environment::variable("PRP_NODE") else { return Ok(None) };
    let node = value.to_str().and_then(|v| v.parse().ok());
    node.map(Some).ok_or_else(|| {
        let message =
            format!("PRP_NODE is {}: expected a node number", printable(value.as_encoded_bytes()));
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })
}

#[cfg(test)]
mod tests;
