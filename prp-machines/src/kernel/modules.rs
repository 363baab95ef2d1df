//! The modules of a kernel, with those that they need.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Failure, Outcome};

/// What `modules.dep` lists.
#[derive(Debug)]
pub(crate) struct ModuleTree {
    folder: PathBuf,
    /// The path of a module and those that it needs, by its name.
    entries: HashMap<String, (String, Vec<String>)>,
}

impl ModuleTree {
    /// The modules in `folder`, which is named after the kernel's release.
    pub(super) fn read(folder: &Path) -> Outcome<Self> {
        let list = folder.join("modules.dep");
        let text = fs::read_to_string(&list).context(list.display())?;
        let entries = text.lines().filter_map(|line| {
            let (path, needed) = line.split_once(':')?;
            let needed = needed.split_whitespace().map(str::to_owned).collect();
            Some((name(path), (path.to_owned(), needed)))
        });
        Ok(Self { folder: folder.to_owned(), entries: entries.collect() })
    }

    /// The modules called `names` with all that they need, in the order in which they can be
    /// loaded. A name that is not in the list is built into the kernel, or not there at all.
    pub(crate) fn closure(&self, names: &[&str]) -> Vec<String> {
        let mut order = Vec::new();
        for name in names {
            self.add(name, &mut order);
        }
        order
    }

    fn add(&self, wanted: &str, order: &mut Vec<String>) {
        let Some((path, needed)) = self.entries.get(wanted) else { return };
        if order.contains(path) {
            return;
        }
        for path in needed {
            self.add(&name(path), order);
        }
        order.push(path.clone());
    }

    /// The content of the module at `path`, as the kernel takes it: not compressed.
    ///
    /// # Errors
    /// The file cannot be read or decompressed.
    pub(crate) fn content(&self, path: &str) -> Outcome<Vec<u8>> {
        let file = self.folder.join(path);
        let program = match file.extension().and_then(|end| end.to_str()) {
            Some("xz") => "xz",
            Some("zst") => "zstd",
            Some("gz") => "gzip",
            _ => return fs::read(&file).context(file.display()),
        };
        let output = Command::new(program).arg("-dc").arg(&file).output();
        let output = output.context(format!("{program} (apt-get install {program}-utils)"))?;
        if !output.status.success() {
            return Err(Failure::new(format!("{program} cannot read {}", file.display())));
        }
        Ok(output.stdout)
    }
}

/// The name of the module at `path`, as the kernel has it.
fn name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.split(".ko").next().unwrap_or(file).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closure__what_is_needed_comes_first_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let text = "kernel/a-b.ko.xz: kernel/c.ko\nkernel/c.ko: kernel/d.ko\nkernel/d.ko:\n\
                    kernel/e.ko: kernel/d.ko\n";
        fs::write(folder.path().join("modules.dep"), text).unwrap();
        let tree = ModuleTree::read(folder.path()).unwrap();
        let order = tree.closure(&["a_b", "e", "builtin"]);
        assert_eq!(order, ["kernel/d.ko", "kernel/c.ko", "kernel/a-b.ko.xz", "kernel/e.ko"]);
    }

    #[test]
    fn content__is_decompressed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("modules.dep"), "").unwrap();
        fs::write(folder.path().join("a.ko"), b"module").unwrap();
        let status = Command::new("gzip").arg("-k").arg(folder.path().join("a.ko")).status();
        assert!(status.unwrap().success());
        let tree = ModuleTree::read(folder.path()).unwrap();
        assert_eq!(tree.content("a.ko").unwrap(), b"module");
        assert_eq!(tree.content("a.ko.gz").unwrap(), b"module");
        tree.content("none.ko").unwrap_err();
    }
}
