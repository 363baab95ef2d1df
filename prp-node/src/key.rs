//! Reading the cluster's key file, and the node's.

mod node;

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::libc::O_NONBLOCK;
use nix::unistd::geteuid;
use prp_proto::addr::NodeId;
use prp_proto::key::{KeyFile, Keyring, ParseError};
use zeroize::Zeroizing;

use crate::environment;
use crate::explained::Explanation;
use crate::hosts::{FileVersion, HostsFile};
use crate::printable::printable_path;

pub use node::{NODE_PATH, node_path, read_captured_node, read_node};

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
    node_path: PathBuf,
    seen: Option<Seen>,
}

/// What keys were put in force from.
#[derive(Clone, Debug)]
struct Seen {
    key: Option<FileVersion>,
    node_key: Option<FileVersion>,
    hosts: HostsFile,
}

impl Seen {
    fn is_same(&self, other: &Self) -> bool {
        (self.key, self.node_key) == (other.key, other.node_key) && self.hosts.is_same(&other.hosts)
    }
}

impl KeyWatch {
    /// The file that `PRP_KEY` names, or else [`DEFAULT_PATH`], which need not be there. Nothing is
    /// read yet.
    pub fn in_force() -> Self {
        let named = environment::path(VARIABLE);
        let is_named = named.is_some() || is_withheld();
        let path = named.unwrap_or_else(|| DEFAULT_PATH.into());
        Self { path, is_named, node_path: node_path(), seen: None }
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
    pub fn read(&self) -> io::Result<Option<KeyFile>> {
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

    /// Reads it, and the node's file if `node` has a key in `hosts`: the keys that a process of
    /// this node has. `None` as for [`read`](Self::read).
    ///
    /// # Errors
    /// As [`read`](Self::read); and there is no private key to those that the node's line has.
    pub fn keyring(&mut self, hosts: &HostsFile, node: NodeId) -> io::Result<Option<Keyring>> {
        let seen = self.see(FileVersion::of(&self.path).ok(), hosts, node);
        let keys = self.read()?.map(|keys| self.prepare(&keys, hosts, node)).transpose()?;
        self.seen = Some(seen);
        Ok(keys)
    }

    /// Has `apply` put in force what the two files and `hosts` say, if that has changed since it
    /// was last done. If the key file is gone, what was read before stays in force.
    ///
    /// # Errors
    /// As [`keyring`](Self::keyring), and what `apply` says; the next call tries again. Who has no
    /// key yet must not go on without one.
    pub fn follow(
        &mut self,
        hosts: &HostsFile,
        node: NodeId,
        apply: impl FnOnce(Keyring) -> io::Result<()>,
    ) -> io::Result<()> {
        let version = match FileVersion::of(&self.path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(unreadable(&self.path, &e)),
            Ok(version) => version,
        };
        let seen = self.see(Some(version), hosts, node);
        if self.seen.as_ref().is_some_and(|before| before.is_same(&seen)) {
            return Ok(());
        }
        if let Some(keys) = read(&self.path)? {
            apply(self.prepare(&keys, hosts, node)?)?;
            self.seen = Some(seen);
        }
        Ok(())
    }

    /// The private key file of this node, which only a node with a key needs.
    pub fn node_path(&self) -> &Path {
        &self.node_path
    }

    /// Returns what there is now, where the key file has the version `key`.
    fn see(&self, key: Option<FileVersion>, hosts: &HostsFile, node: NodeId) -> Seen {
        let is_needed = node::is_needed(hosts.hosts(), node);
        let node_key = is_needed.then(|| FileVersion::of(&self.node_path).ok()).flatten();
        Seen { key, node_key, hosts: hosts.clone() }
    }

    fn prepare(&self, keys: &KeyFile, hosts: &HostsFile, node: NodeId) -> io::Result<Keyring> {
        let nodes = node::keys(hosts.hosts(), node, &self.node_path)?;
        Ok(Keyring::new(keys).with_nodes(nodes))
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
    let Some(text) = open(path, |e| unreadable(path, e))? else { return Ok(None) };
    KeyFile::parse(&text).map(Some).map_err(|e| parsed(path, &e))
}

/// The content of the file of keys at `path`, which only its user and a group can read; none if
/// there is no file.
fn open(
    path: &Path,
    unreadable: impl Fn(&io::Error) -> io::Error,
) -> io::Result<Option<Zeroizing<Vec<u8>>>> {
    let named = |e: io::Error| unreadable(&e);
    // A pipe without a writer would wait for one.
    let file = match OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(named(e)),
    };
    let about = file.metadata().map_err(named)?;
    check(path, &about)?;
    contents(file, about.len()).map(Some).map_err(named)
}

/// The error that the file at `path` has a mistake.
fn parsed(path: &Path, e: &ParseError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{}:{e}", printable_path(path)))
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
