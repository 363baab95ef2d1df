//! A kernel to boot: where it comes from, its image, and its modules.

mod modules;
mod package;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure, Outcome};

pub(crate) use modules::ModuleTree;

/// An unpacked kernel.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// As the user named it: `6.12-rt`, or the release if it was named by a path.
    pub(crate) label: String,
    /// As `uname -r` prints it.
    pub(crate) release: String,
    /// The compressed image.
    pub(crate) image: PathBuf,
    /// The folder that is `/lib/modules` of a machine with this kernel.
    pub(crate) modules: PathBuf,
}

impl Kernel {
    /// The kernel that `word` names: a version of Debian's (`6.1`, `6.12-rt`), a package file, or a
    /// folder in which one was unpacked. Downloads and unpacks it below `cache` where needed.
    ///
    /// # Errors
    /// There is no such kernel, or it cannot be downloaded or unpacked.
    pub(crate) fn find(word: &str, cache: &Path) -> Outcome<Self> {
        let path = Path::new(word);
        if path.is_dir() {
            return Self::in_folder(path, None);
        }
        if word.ends_with(".deb") {
            return Self::in_folder(&package::unpack(path, cache)?, None);
        }
        Self::in_folder(&package::download(word, cache)?, Some(word))
    }

    /// The kernel in `folder`, which has the folders of a package.
    fn in_folder(folder: &Path, label: Option<&str>) -> Outcome<Self> {
        let folder = folder.canonicalize().context(folder.display())?;
        let boot = folder.join("boot");
        let mut images = Vec::new();
        for entry in fs::read_dir(&boot).context(boot.display())? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            images.extend(name.strip_prefix("vmlinuz-").map(str::to_owned));
        }
        let [release] = &images[..] else {
            let n = images.len();
            return Err(Failure::new(format!("{}: {n} files vmlinuz-*, not one", boot.display())));
        };
        let parents = ["lib/modules", "usr/lib/modules"].map(|parent| folder.join(parent));
        let modules = parents.into_iter().find(|parent| parent.join(release).is_dir());
        let Some(modules) = modules else {
            let place = folder.display();
            return Err(Failure::new(format!(
                "{place}: no lib/modules/{release}: unpack the package with its modules there too"
            )));
        };
        if !modules.join(release).join("modules.dep.bin").exists() {
            depmod(&folder, &modules, release)?;
        }
        let image = boot.join(format!("vmlinuz-{release}"));
        let label = label.unwrap_or(release).to_owned();
        Ok(Self { label, release: release.clone(), image, modules })
    }

    /// Its modules, for the first steps of a machine.
    ///
    /// # Errors
    /// The list of modules cannot be read.
    pub(crate) fn module_tree(&self) -> Outcome<ModuleTree> {
        ModuleTree::read(&self.modules.join(&self.release))
    }
}

/// Writes which modules need which others: a package that was not installed has no such list.
fn depmod(folder: &Path, modules: &Path, release: &str) -> Outcome {
    // depmod knows `lib/modules` only.
    let base = modules.parent().and_then(Path::parent).unwrap_or(folder);
    let output = Command::new("depmod").arg("-b").arg(base).arg(release).output();
    let output = output.context("depmod (apt-get install kmod)")?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(Failure::new(format!("depmod: {reason}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
