//! What a file is opened for.

use std::ffi::c_int;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::object::{Info, OpenFile};

const APPEND: c_int = 1;
const CREATE: c_int = 2;
const DELETE_ON_CLOSE: c_int = 4;
const EXCLUSIVE: c_int = 8;
const READ: c_int = 16;
const READ_WRITE: c_int = 32;
const SEQUENTIAL: c_int = 64;
const UNIQUE_OPEN: c_int = 128;
const WRITE: c_int = 256;

const ALL: c_int = APPEND
    | CREATE
    | DELETE_ON_CLOSE
    | EXCLUSIVE
    | READ
    | READ_WRITE
    | SEQUENTIAL
    | UNIQUE_OPEN
    | WRITE;

/// `MPI_MODE_*`, of which some exclude others.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Mode(c_int);

impl Mode {
    /// Checks a mode; what is wrong with it.
    pub(super) fn parse(mode: c_int) -> Result<Self, &'static str> {
        let has = |bit| mode & bit != 0;
        if mode & !ALL != 0 {
            return Err("a mode that there is not");
        }
        if (mode & (READ | READ_WRITE | WRITE)).count_ones() != 1 {
            return Err("one of MPI_MODE_RDONLY, MPI_MODE_RDWR and MPI_MODE_WRONLY is needed");
        }
        if has(READ) && (has(CREATE) || has(EXCLUSIVE)) {
            return Err("a file that is only read is not created");
        }
        if has(READ_WRITE) && has(SEQUENTIAL) {
            return Err("MPI_MODE_SEQUENTIAL is for reading alone or writing alone");
        }
        Ok(Self(mode))
    }

    /// The mode of a file that is open.
    pub(super) const fn of(file: &OpenFile) -> Self {
        Self(file.mode)
    }

    const fn has(self, bit: c_int) -> bool {
        self.0 & bit != 0
    }

    pub(super) const fn reads(self) -> bool {
        !self.has(WRITE)
    }

    pub(super) const fn writes(self) -> bool {
        !self.has(READ)
    }

    pub(super) const fn is_sequential(self) -> bool {
        self.has(SEQUENTIAL)
    }

    /// Pointers begin at the end of the file.
    pub(super) const fn appends(self) -> bool {
        self.has(APPEND)
    }

    pub(super) const fn is_deleted_on_close(self) -> bool {
        self.has(DELETE_ON_CLOSE)
    }

    /// The file was not there before.
    pub(super) const fn is_new(self) -> bool {
        self.has(CREATE) && self.has(EXCLUSIVE)
    }

    fn options(self) -> OpenOptions {
        let mut options = File::options();
        options.read(self.reads()).write(self.writes());
        options
    }

    /// Opens a file that is there, unless this is to make it.
    pub(super) fn create(self, path: &Path, info: &Info) -> io::Result<File> {
        let mut options = self.options();
        if self.has(CREATE) {
            options.create(true).create_new(self.has(EXCLUSIVE)).mode(permissions(info));
        }
        check(options.open(path)?)
    }

    /// Opens a file that the first rank has opened.
    pub(super) fn open(self, path: &Path) -> io::Result<File> {
        check(self.options().open(path)?)
    }
}

/// A folder can be opened, but has no bytes.
fn check(file: File) -> io::Result<File> {
    if file.metadata()?.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    Ok(file)
}

/// What a file is made with: the hint `file_perm`, an octal number, or what the user's mask leaves
/// of all.
fn permissions(info: &Info) -> u32 {
    let given = info.iter().find(|(key, _)| key == "file_perm");
    given
        .and_then(|(_, value)| u32::from_str_radix(value, 8).ok())
        .filter(|permissions| *permissions <= 0o777)
        .unwrap_or(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__modes_that_exclude_each_other_are_errors() {
        for good in [READ, WRITE | CREATE | EXCLUSIVE, READ_WRITE | APPEND, WRITE | SEQUENTIAL] {
            assert!(Mode::parse(good).is_ok(), "mode {good}");
        }
        let bad = [0, CREATE, READ | WRITE, READ | CREATE, READ | EXCLUSIVE, 512 | READ];
        for bad in bad.into_iter().chain([READ_WRITE | SEQUENTIAL]) {
            assert!(Mode::parse(bad).is_err(), "mode {bad}");
        }
    }

    #[test]
    fn permissions__are_those_of_the_hint_if_they_are_some() {
        let of = |value: &str| permissions(&vec![("file_perm".to_owned(), value.to_owned())]);
        assert_eq!([of("600"), of("0640"), of("8"), of("7777")], [0o600, 0o640, 0o666, 0o666]);
        assert_eq!(permissions(&Info::new()), 0o666);
    }
}
