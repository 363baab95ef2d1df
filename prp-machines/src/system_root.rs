//! A small Debian with systemd, and the package of PRP that is to be installed in it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use nix::unistd::geteuid;

use crate::failure::{Context, Failure, Outcome};

/// What the system has beside the least.
const PACKAGES: &str = "systemd,systemd-sysv,kmod,iproute2,libcap2-bin,passwd,procps";

/// Files that a machine with systemd needs.
#[derive(Clone, Debug)]
pub(crate) struct SystemRoot {
    /// The folder with its root, which nothing writes to.
    pub(crate) folder: PathBuf,
    /// The package.
    pub(crate) package: PathBuf,
}

impl SystemRoot {
    /// The system below `cache`, which is made if it is not there, and `package`, or the newest one
    /// that was built beside this program.
    ///
    /// # Errors
    /// There is no package; or the system cannot be made, which only root can.
    pub(crate) fn find(cache: &Path, package: Option<&Path>) -> Outcome<Self> {
        let package = package.map_or_else(newest_package, |package| Ok(package.to_owned()))?;
        let package = package.canonicalize().context(package.display())?;
        let suite = suite(&fs::read_to_string("/etc/os-release").unwrap_or_default())?;
        let folder = cache.join(format!("debian-{suite}-systemd"));
        if !folder.is_dir() {
            make(&suite, &folder)?;
        }
        let folder = folder.canonicalize().context(folder.display())?;
        Ok(Self { folder, package })
    }
}

/// Makes the system beside `folder` first, so that an interrupted run leaves no half of it.
fn make(suite: &str, folder: &Path) -> Outcome {
    if !geteuid().is_root() {
        return Err(Failure::new("only root can make a Debian with debootstrap"));
    }
    let parent = folder.parent().unwrap_or(folder);
    fs::create_dir_all(parent).context(parent.display())?;
    let scratch = tempfile::tempdir_in(parent).context(parent.display())?;
    let root = scratch.path().join("root");
    let mut command = Command::new("debootstrap");
    command.args(["--variant=minbase", &format!("--include={PACKAGES}"), suite]).arg(&root);
    let output = command.output().context("debootstrap (apt-get install debootstrap)")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        let last = text.lines().last().unwrap_or_default();
        return Err(Failure::new(format!("debootstrap: {last}")));
    }
    // Nothing is installed there by apt.
    let _ = fs::remove_dir_all(root.join("var/cache/apt/archives"));
    fs::rename(&root, folder).context(folder.display())
}

/// The name of the release of Debian, in the text of /etc/os-release.
fn suite(text: &str) -> Outcome<String> {
    let named = text.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    let named = named.map(|name| name.trim_matches('"').to_owned()).filter(|name| !name.is_empty());
    named.ok_or_else(|| Failure::new("/etc/os-release names no release of Debian"))
}

/// The newest package in `target/debian`, this program being in `target/debug`.
fn newest_package() -> Outcome<PathBuf> {
    let program = env::current_exe().context("this program")?;
    let target = program.parent().and_then(Path::parent).unwrap_or_else(|| Path::new("/"));
    newest_in(&target.join("debian"))
}

fn newest_in(folder: &Path) -> Outcome<PathBuf> {
    let is_package = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("prp_") && name.ends_with(".deb")
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let age = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let newest =
        files.filter(is_package).max_by_key(|path| age(path).unwrap_or(SystemTime::UNIX_EPOCH));
    newest.ok_or_else(|| {
        let place = folder.display();
        Failure::new(format!(
            "{place}: no package prp_*.deb: etc/debian/build makes it, or --package names one"
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn suite__is_the_code_name() {
        assert_eq!(suite("ID=debian\nVERSION_CODENAME=bookworm\n").unwrap(), "bookworm");
        assert_eq!(suite("VERSION_CODENAME=\"trixie\"\n").unwrap(), "trixie");
        suite("ID=arch\nVERSION_CODENAME=\n").unwrap_err();
    }

    #[test]
    fn newest_in__is_the_package_of_the_programs() {
        let folder = tempfile::tempdir().unwrap();
        newest_in(folder.path()).unwrap_err();
        let begin = SystemTime::now();
        for (age, name) in [(9, "prp_1_amd64.deb"), (5, "prp_2_amd64.deb"), (1, "libprp0_1.deb")] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(begin - Duration::from_secs(age)).unwrap();
        }
        assert_eq!(newest_in(folder.path()).unwrap(), folder.path().join("prp_2_amd64.deb"));
    }
}
