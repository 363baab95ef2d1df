//! Where ranks find the libraries of this project.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use prp_mpi::control::environment::EARLY_RELEASE;

/// The library that programs of any implementation of the ABI are linked to.
const LIBRARY: &str = "libmpi_abi.so.1";

/// What ranks preload whose receives are to be released early.
const EARLY_LIBRARY: &str = "libprp_mpi_early.so";

/// Where the dynamic linker searches.
const SEARCHED: &str = "LD_LIBRARY_PATH";

/// What it loads before all else.
const PRELOADED: &str = "LD_PRELOAD";

/// Variables by which ranks find libraries.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Libraries(Vec<(&'static str, OsString)>);

impl Libraries {
    /// Puts those that lie beside this program under their own names into `folder`, and that before
    /// the folders of the user. `variables` are those that the ranks are to have.
    pub(super) fn link(folder: &Path, variables: &[(OsString, OsString)]) -> Self {
        let program = std::env::current_exe().ok();
        let Some(beside) = program.as_deref().and_then(Path::parent) else {
            return Self::default();
        };
        let of_user = |name: &str| {
            let set = variables.iter().rev().find(|(set, _)| set == name);
            set.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
        };
        let mut all = Vec::new();
        let folder = folder.join("lib");
        let Some(found) = existing(beside, &[LIBRARY, "libmpi_abi.so"]) else {
            return Self::default();
        };
        if linked(&found, &folder, LIBRARY).is_err() {
            return Self::default();
        }
        if of_user(EARLY_RELEASE).is_some_and(|value| value != "0")
            && let Some(found) = existing(beside, &[EARLY_LIBRARY])
            && linked(&found, &folder, EARLY_LIBRARY).is_ok()
        {
            // By its name: a path with a blank or a colon would be several.
            all.push((PRELOADED, before(EARLY_LIBRARY.as_ref(), of_user(PRELOADED))));
        }
        all.push((SEARCHED, before(folder.as_os_str(), of_user(SEARCHED))));
        Self(all)
    }

    /// The variables.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, &OsStr)> {
        self.0.iter().map(|(name, value)| (*name, value.as_os_str()))
    }
}

fn existing(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.exists())
}

fn linked(file: &Path, folder: &Path, name: &str) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    symlink(file, folder.join(name))
}

/// `first`, and behind it what the user has.
fn before(first: &OsStr, of_user: Option<OsString>) -> OsString {
    let mut all = first.to_owned();
    if let Some(rest) = of_user.filter(|rest| !rest.is_empty()) {
        all.push(":");
        all.push(rest);
    }
    all
}
