//! Kernels as Debian packages, which are downloaded and unpacked and never installed.

use std::cmp::Ordering;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure, Outcome};

/// What the name of a package with an image begins with.
const PREFIX: &str = "linux-image-";

/// Kinds of kernels that are not meant if they are not named: those for clouds lack most devices,
/// and the others are no images that boot.
const KINDS: [&str; 4] = ["cloud", "dbg", "rt", "unsigned"];

/// Downloads the newest package of the version `word` into `cache`, unless it is there, and returns
/// the folder in which it is unpacked. Without package lists the newest in the cache will do.
///
/// # Errors
/// `word` is no version, no package has it, or it cannot be downloaded.
pub(super) fn download(word: &str, cache: &Path) -> Outcome<PathBuf> {
    let wanted = Wanted::parse(word)?;
    fetch(wanted, cache).or_else(|reason| {
        // Old lists name packages that the mirror has replaced. Only root can bring new ones.
        run(Command::new("apt-get").args(["-qq", "update"])).map_err(|_| reason)?;
        fetch(wanted, cache)
    })
}

/// As [`download`], with apt's lists as they are.
fn fetch(wanted: Wanted<'_>, cache: &Path) -> Outcome<PathBuf> {
    let cached = fs::read_dir(cache).into_iter().flatten().flatten();
    let cached = cached.filter_map(|entry| entry.file_name().into_string().ok());
    let Some(package) = wanted.newest(known(wanted.version)).or_else(|| wanted.newest(cached))
    else {
        return Err(Failure::new(format!(
            "no package has a kernel {wanted}: `apt-get update`, or name a .deb file or a folder; \
             `apt-cache pkgnames {PREFIX}` lists those that there are"
        )));
    };
    let folder = cache.join(&package);
    if folder.is_dir() {
        return Ok(folder);
    }
    fs::create_dir_all(cache).context(cache.display())?;
    let scratch = tempfile::tempdir_in(cache).context(cache.display())?;
    // Otherwise apt-get complains that its own user cannot write to the folder.
    let words = ["-qq", "-o", "APT::Sandbox::User=root", "download", &package];
    run(Command::new("apt-get").args(words).current_dir(&scratch))?;
    let file = fs::read_dir(&scratch)?.flatten().next();
    let file = file.ok_or_else(|| Failure::new(format!("apt-get downloads no {package}")))?;
    unpack_into(&file.path(), &folder)?;
    Ok(folder)
}

/// Unpacks the package `file` below `cache`, unless that was done, and returns the folder.
///
/// # Errors
/// The file is no package, or there is no place for its content.
pub(super) fn unpack(file: &Path, cache: &Path) -> Outcome<PathBuf> {
    let name = file.file_stem().map(|name| name.to_string_lossy().into_owned());
    let name = name.ok_or_else(|| Failure::new(format!("{}: no file", file.display())))?;
    fs::create_dir_all(cache).context(cache.display())?;
    let folder = cache.join(name);
    if !folder.is_dir() {
        unpack_into(file, &folder)?;
    }
    Ok(folder)
}

/// Unpacks beside `folder` first, so that an interrupted run leaves no half of a kernel.
fn unpack_into(file: &Path, folder: &Path) -> Outcome {
    let parent = folder.parent().unwrap_or(folder);
    let scratch = tempfile::tempdir_in(parent).context(parent.display())?;
    run(Command::new("dpkg-deb").arg("-x").arg(file).arg(scratch.path()))?;
    fs::rename(scratch.keep(), folder).context(folder.display())
}

fn run(command: &mut Command) -> Outcome {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().context(&name)?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format!("{name}: {}", reason.trim())));
    }
    Ok(())
}

/// The names of packages with an image of `version` in apt's lists.
fn known(version: &str) -> impl Iterator<Item = String> {
    let names =
        Command::new("apt-cache").arg("pkgnames").arg(format!("{PREFIX}{version}")).output();
    let names = names.map(|output| output.stdout).unwrap_or_default();
    let names: Vec<_> = String::from_utf8_lossy(&names).lines().map(str::to_owned).collect();
    names.into_iter()
}

/// A version as the user writes it: `6.12`, `6.1.0-50` or `6.12-rt`.
#[derive(Copy, Clone, Debug)]
struct Wanted<'a> {
    version: &'a str,
    is_realtime: bool,
}

impl<'a> Wanted<'a> {
    fn parse(word: &'a str) -> Outcome<Self> {
        let (version, is_realtime) = match word.strip_suffix("-rt") {
            Some(version) => (version, true),
            None => (word, false),
        };
        if !version.starts_with(|c: char| c.is_ascii_digit()) || version.contains('/') {
            return Err(Failure::new(format!(
                "{word}: neither a version, as 6.1 or 6.12-rt, nor a .deb file, nor a folder"
            )));
        }
        Ok(Self { version, is_realtime })
    }

    /// The newest of the packages in `names` that have this version.
    fn newest(self, names: impl Iterator<Item = String>) -> Option<String> {
        let fitting = names.filter(|name| self.fits(name));
        fitting.max_by(|a, b| compare(a, b))
    }

    fn fits(self, package: &str) -> bool {
        let Some(release) = package.strip_prefix(PREFIX) else { return false };
        let Some(rest) = release.strip_prefix(self.version) else { return false };
        let mut parts = rest.split('-').filter(|part| KINDS.contains(part));
        // `linux-image-6.12-amd64` is a package without files that depends on the newest.
        let is_image =
            release.split(['.', '-']).nth(2).is_some_and(|part| part != "amd64" && part != "rt");
        let is_whole = rest.starts_with(['.', '-', '+']);
        let is_right = if self.is_realtime { parts.next() == Some("rt") } else { true };
        is_image && is_whole && is_right && parts.next().is_none() && rest.ends_with("-amd64")
    }
}

impl Display for Wanted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version)?;
        if self.is_realtime { f.write_str("-rt") } else { Ok(()) }
    }
}

/// Compares names by the numbers in them, so that 6.1.0-9 is before 6.1.0-10.
fn compare(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests;
