//! The first file system of a machine, in the cpio format that the kernel unpacks ("newc").

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::failure::{Context, Failure, Outcome};
use crate::kernel::Kernel;

/// The file that lists the modules to load, in order.
pub(crate) const MODULE_LIST: &str = "modules.list";

/// What a machine needs before it has the host's files: its devices on the bus, the file system of
/// the host (9p), and one above it that can be written (overlay).
const FIRST_MODULES: [&str; 5] = ["virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console"];

/// Modes of files, with their kind.
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// Folders on which the first process mounts something.
const MOUNT_POINTS: [&str; 7] = ["proc", "sys", "dev", "host", "write", "root", "modules"];

/// An archive in the making.
#[derive(Debug, Default)]
struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds a file at `path`, and the folders above it.
    fn add(&mut self, path: &str, mode: u32, content: &[u8]) {
        let parents: Vec<_> =
            path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect();
        parents.iter().for_each(|folder| self.add_folder(folder));
        self.entry(path, mode, content);
    }

    fn add_folder(&mut self, path: &str) {
        if self.folders.insert(path.to_owned()) {
            self.entry(path, FOLDER, &[]);
        }
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        self.entries += 1;
        // inode, mode, uid, gid, links, mtime, size, four numbers of devices, length of the name
        // with its zero, and a checksum that this format has not.
        let (links, size, name) = (1, content.len() as u32, path.len() as u32 + 1);
        let fields = [self.entries, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

/// The first file system of a machine with `kernel`: this program as `/init`, its libraries, and
/// the modules without which there are no other files.
///
/// # Errors
/// A file cannot be read.
pub(crate) fn build(kernel: &Kernel) -> Outcome<Vec<u8>> {
    let mut archive = Archive::default();
    for folder in MOUNT_POINTS {
        archive.add_folder(folder);
    }
    let program = env::current_exe()?;
    archive.add("init", PROGRAM, &fs::read(&program).context(program.display())?);
    for library in libraries(&program)? {
        let content = fs::read(&library).context(&library)?;
        archive.add(library.trim_start_matches('/'), PROGRAM, &content);
    }
    let tree = kernel.module_tree()?;
    let mut list = String::new();
    for (number, path) in tree.closure(&FIRST_MODULES).iter().enumerate() {
        let name = format!("modules/{number}.ko");
        archive.add(&name, PROGRAM, &tree.content(path)?);
        list += &format!("/{name}\n");
    }
    archive.add(MODULE_LIST, PROGRAM, list.as_bytes());
    Ok(archive.finish())
}

/// The shared libraries of `program`, and what loads them.
fn libraries(program: &Path) -> Outcome<Vec<String>> {
    let output = Command::new("ldd").arg(program).output().context("ldd")?;
    if !output.status.success() {
        return Err(Failure::new(format!("ldd cannot read {}", program.display())));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(text.lines().filter_map(|line| path_of(line).map(str::to_owned)).collect())
}

/// The path in a line of ldd: `libc.so.6 => /lib/libc.so.6 (0x1)` or `/lib64/ld.so (0x1)`.
fn path_of(line: &str) -> Option<&str> {
    line.split_whitespace().find(|word| word.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    #[test]
    fn path_of__files_only() {
        assert_eq!(path_of("\tlibc.so.6 => /lib/x/libc.so.6 (0x00)"), Some("/lib/x/libc.so.6"));
        assert_eq!(path_of("\t/lib64/ld-linux.so.2 (0x00)"), Some("/lib64/ld-linux.so.2"));
        assert_eq!(path_of("\tlinux-vdso.so.1 (0x00)"), None);
    }

    #[test]
    fn archive__cpio_reads_it() {
        let mut archive = Archive::default();
        archive.add("a/b/c", PROGRAM, b"content");
        archive.add("a/b/d", PROGRAM, b"");
        archive.add_folder("e");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("archive");
        fs::write(&file, archive.finish()).unwrap();
        let mut list = Command::new("cpio");
        list.arg("-t").stdin(fs::File::open(&file).unwrap()).stderr(Stdio::null());
        let Ok(output) = list.output() else {
            eprintln!("SKIP: cpio is missing");
            return;
        };
        assert_eq!(String::from_utf8_lossy(&output.stdout), "a\na/b\na/b/c\na/b/d\ne\n");
    }
}
