//! Whether a program's connections can go over PRP, and by which place, by its file.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

use crate::sys::capability::has_capabilities;

/// Scripts whose interpreter is a script, at most (execve(2)).
const MOST_SCRIPTS: usize = 4;

/// Bytes of a file's first line that count.
const LINE: usize = 256;

/// What becomes of a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Verdict {
    /// A library is preloaded.
    Preload,
    /// The kernel shows its calls.
    Seccomp(Reason),
    /// It cannot be read.
    Unknown,
    /// It runs with other privileges than this user's.
    Privileged,
    /// It is of another machine.
    OtherMachine,
}

/// Why no library is preloaded into a program.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Reason {
    /// The user wants it so.
    Asked,
    /// It has no dynamic linker.
    Static,
    /// Its libraries are not those of GNU.
    OtherLibrary,
    /// It makes system calls itself.
    Go,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preload => {
                "carried by preload: its connections to nodes go over PRP, through the holder \
                 process"
            }
            Self::Seccomp(reason) => return write!(f, "carried by seccomp: {reason}"),
            Self::Unknown => "not known: no such program, or it cannot be read",
            Self::Privileged => {
                "not carried: setuid, setgid or with capabilities, for which the dynamic linker \
                 preloads nothing"
            }
            Self::OtherMachine => "not carried: not of this machine's kind of program (ELF)",
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Asked => "by --seccomp",
            Self::Static => "linked statically, with no C library whose calls could be replaced",
            Self::OtherLibrary => {
                "its C library is another than the one that PRP's library is made for"
            }
            Self::Go => "a program of Go, which makes system calls past the C library",
        })?;
        f.write_str(
            "; the kernel shows its calls to the holder process. It knows nodes by \
                     addresses, such as 198.18.0.3 for node 3, and not by names",
        )
    }
}

/// Examines the program that a shell would run for `name`.
pub(super) fn examine(name: &OsStr) -> Verdict {
    let Some(path) = find(name) else { return Verdict::Unknown };
    examine_file(&path, MOST_SCRIPTS).unwrap_or(Verdict::Unknown)
}

/// Returns the file that `name` stands for.
fn find(name: &OsStr) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Some(name.into());
    }
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(is_program)
}

fn examine_file(path: &Path, scripts: usize) -> io::Result<Verdict> {
    let file = File::open(path)?;
    let mut start = [0; LINE];
    let count = file.read_at(&mut start, 0)?;
    if let Some(line) = start[..count].strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
        let word = line.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        return match scripts.checked_sub(1) {
            Some(left) => examine_file(Path::new(OsStr::from_bytes(word)), left),
            None => Ok(Verdict::Unknown),
        };
    }
    let meta = file.metadata()?;
    let is_setid = meta.mode() & 0o6000 != 0 && meta.uid() != geteuid().as_raw();
    // Root has all that a file could give.
    if is_setid || !geteuid().is_root() && has_capabilities(path) {
        return Ok(Verdict::Privileged);
    }
    examine_elf(&file)
}

/// A program's header, of which the parts that tell what it is (elf(5)).
struct Elf<'a> {
    file: &'a File,
    header: [u8; 64],
}

impl Elf<'_> {
    fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
        let part = bytes.get(at..at + N).unwrap_or_default();
        part.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// Returns `len` bytes at `at` of the file, as many as are there.
    fn bytes(&self, at: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; len];
        let count = self.file.read_at(&mut bytes, at)?;
        bytes.truncate(count);
        Ok(bytes)
    }

    /// Returns the entries of the table at the offset that the header has at `at`, with their size
    /// and count at the other two places.
    fn table(&self, at: usize, size: usize, count: usize) -> io::Result<Vec<Vec<u8>>> {
        let size = Self::number::<2>(&self.header, size) as usize;
        let count = Self::number::<2>(&self.header, count) as usize;
        let all = self.bytes(Self::number::<8>(&self.header, at), size * count)?;
        Ok(all.chunks_exact(size.max(1)).map(<[u8]>::to_vec).collect())
    }

    /// Returns the path of the dynamic linker.
    fn linker(&self) -> io::Result<Option<Vec<u8>>> {
        /// `PT_INTERP`.
        const LINKER: u64 = 3;
        let programs = self.table(32, 54, 56)?;
        let Some(entry) = programs.iter().find(|it| Self::number::<4>(it, 0) == LINKER) else {
            return Ok(None);
        };
        let len = (Self::number::<8>(entry, 32) as usize).min(4096);
        self.bytes(Self::number::<8>(entry, 8), len).map(Some)
    }

    /// Whether there is a section called `name`.
    fn has_section(&self, name: &[u8]) -> io::Result<bool> {
        let sections = self.table(40, 58, 60)?;
        let names = Self::number::<2>(&self.header, 62) as usize;
        let Some(names) = sections.get(names) else { return Ok(false) };
        let len = (Self::number::<8>(names, 32) as usize).min(1 << 20);
        let text = self.bytes(Self::number::<8>(names, 24), len)?;
        let is_it = |section: &Vec<u8>| {
            let rest = text.get(Self::number::<4>(section, 0) as usize..).unwrap_or_default();
            rest.starts_with(name) && rest.get(name.len()) == Some(&0)
        };
        Ok(sections.iter().any(is_it))
    }
}

fn examine_elf(file: &File) -> io::Result<Verdict> {
    /// Of 64 bits, the least significant byte first: the machines that PRP is built for.
    const MAGIC: &[u8] = b"\x7fELF\x02\x01";
    let mut header = [0; 64];
    let count = file.read_at(&mut header, 0)?;
    if count < header.len() || !header.starts_with(MAGIC) {
        return Ok(Verdict::OtherMachine);
    }
    let elf = Elf { file, header };
    if elf.has_section(b".go.buildinfo")? || elf.has_section(b".note.go.buildid")? {
        return Ok(Verdict::Seccomp(Reason::Go));
    }
    Ok(match elf.linker()? {
        None => Verdict::Seccomp(Reason::Static),
        Some(path) if path.windows(8).any(|part| part == b"/ld-musl") => {
            Verdict::Seccomp(Reason::OtherLibrary)
        }
        Some(_) => Verdict::Preload,
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// What becomes of a file with `content`.
    fn verdict(content: &[u8]) -> Verdict {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(content).expect("room");
        examine(file.path().as_os_str())
    }

    /// A program with one entry in its table of segments, of this kind, that is `text`.
    fn elf(kind: u8, text: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[32] = 64;
        (bytes[54], bytes[56]) = (56, 1);
        bytes[64] = kind;
        bytes[64 + 8] = 64 + 56;
        bytes[64 + 32] = text.len() as u8;
        bytes.extend_from_slice(text);
        bytes
    }

    #[test]
    fn examine__by_the_linker() {
        assert_eq!(verdict(&elf(3, b"/lib64/ld-linux-x86-64.so.2\0")), Verdict::Preload);
        let musl = elf(3, b"/lib/ld-musl-x86_64.so.1\0");
        assert_eq!(verdict(&musl), Verdict::Seccomp(Reason::OtherLibrary));
        assert_eq!(verdict(&elf(1, b"")), Verdict::Seccomp(Reason::Static));
        assert_eq!(verdict(b"\x7fELF\x01\x01"), Verdict::OtherMachine);
        assert_eq!(examine(OsStr::new("/no/such/program")), Verdict::Unknown);
    }

    #[test]
    fn examine__a_script_by_its_interpreter() {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(&elf(1, b"")).expect("room");
        let script = format!("#! {} -x\nrest", file.path().display());
        assert_eq!(verdict(script.as_bytes()), Verdict::Seccomp(Reason::Static));
        assert_eq!(verdict(b"#!/no/such/interpreter\n"), Verdict::Unknown);
    }

    /// Linked with the C library or not, stripped of one section or the other.
    #[test]
    fn examine__go_by_its_sections() {
        for (kind, section) in
            [(3, &b".go.buildinfo\0"[..]), (1, b".go.buildinfo\0"), (3, b".note.go.buildid\0")]
        {
            let mut bytes = elf(kind, b"/lib64/ld-linux-x86-64.so.2\0");
            let (names, table) = (bytes.len(), bytes.len() + section.len());
            bytes.extend_from_slice(section);
            let mut entry = [0; 64];
            (entry[24], entry[32]) = (names as u8, section.len() as u8);
            bytes.extend_from_slice(&entry);
            bytes[40] = table as u8;
            (bytes[58], bytes[60]) = (64, 1);
            assert_eq!(verdict(&bytes), Verdict::Seccomp(Reason::Go), "{kind}");
        }
    }
}
