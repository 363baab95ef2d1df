//! Sets of epoll of a program. They have the file behind a descriptor, so that a socket leaves them
//! when a pair takes its place. The kernel knows what is in a set by file and number, and takes the
//! numbers of whoever calls: so it is done by a thread that has these numbers for itself.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use super::call::Call;
use crate::sys::own_table::{self, SetOperation};

/// What the link of a set in /proc says.
const SET: &str = "anon_inode:[eventpoll]";

/// What a descriptor is registered for, and the data of that.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct Registration {
    events: u32,
    data: u64,
}

/// The sets that a descriptor of a program is in.
pub(super) struct Registrations {
    fd: i32,
    sets: Vec<(OwnedFd, Registration)>,
}

impl Registrations {
    /// Returns those of the descriptor that a call is about.
    ///
    /// # Errors
    /// It cannot be told.
    pub(super) fn of(call: &Call) -> io::Result<Self> {
        let (fd, folder) = (call.fd(), format!("/proc/{}", call.tid()));
        let folder = Path::new(&folder);
        let mut sets = Vec::new();
        for entry in fs::read_dir(folder.join("fd"))? {
            let entry = entry?;
            let is_set = fs::read_link(entry.path()).is_ok_and(|link| link == Path::new(SET));
            if !is_set {
                continue;
            }
            let name = entry.file_name();
            // It may be closed meanwhile.
            let Ok(text) = fs::read_to_string(folder.join("fdinfo").join(&name)) else { continue };
            let Some(registration) = text.lines().find_map(|line| parse(line, fd)) else {
                continue;
            };
            let number = name.to_str().and_then(|name| name.parse().ok());
            let number = number.ok_or(io::ErrorKind::InvalidData)?;
            sets.push((call.copy(number)?, registration));
        }
        Ok(Self { fd, sets })
    }

    /// Takes the descriptor, which is `file`, out of the sets: a copy of it may go on being open.
    /// Sets that do not have it are forgotten: they have another file that had the same number, in
    /// the program or in one that it was forked from.
    ///
    /// # Errors
    /// There are no descriptors.
    pub(super) fn remove(&mut self, file: &impl AsFd) -> io::Result<()> {
        let mut had = self.change(file, |_| SetOperation::Remove)?.into_iter();
        self.sets.retain(|_| had.next() == Some(true));
        Ok(())
    }

    /// Adds the descriptor, which is `file` now, to the sets again.
    ///
    /// # Errors
    /// There are no descriptors, or there is no memory.
    pub(super) fn renew(&self, file: &impl AsFd) -> io::Result<()> {
        self.change(file, |Registration { events, data }| SetOperation::Add { events, data })?;
        Ok(())
    }

    fn change(
        &self,
        file: &impl AsFd,
        operation: impl Fn(Registration) -> SetOperation,
    ) -> io::Result<Vec<bool>> {
        if self.sets.is_empty() {
            return Ok(Vec::new());
        }
        let sets = self.sets.iter().map(|(set, it)| (set.as_fd(), operation(*it)));
        own_table::change_sets(&sets.collect::<Vec<_>>(), file.as_fd(), self.fd)
    }
}

/// Reads a line such as `tfd: 5 events: 19 data: 5 pos:0 ino:61 sdev:6` (proc(5)), if it is of
/// `fd`.
fn parse(line: &str, fd: i32) -> Option<Registration> {
    let mut words = line.split_ascii_whitespace();
    let mut after = |key: &str| words.next().filter(|word| *word == key).and_then(|_| words.next());
    let found: i32 = after("tfd:")?.parse().ok()?;
    let events = u32::from_str_radix(after("events:")?, 16).ok()?;
    let data = u64::from_str_radix(after("data:")?, 16).ok()?;
    (found == fd).then_some(Registration { events, data })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__has_the_line_of_a_descriptor() {
        let line = "tfd:       17 events:  80000019 data:  7f0000000011  pos:0 ino:61 sdev:6";
        let found = Registration { events: 0x8000_0019, data: 0x7f00_0000_0011 };
        assert_eq!(parse(line, 17), Some(found));
        assert_eq!((parse(line, 1), parse("pos:\t0", 17)), (None, None));
    }
}
