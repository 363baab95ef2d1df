//! Sets of epoll. They have the file behind a descriptor, so that a socket leaves them when a pair
//! takes its place.

use std::ffi::{CStr, c_int};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use libc::epoll_event;

use super::call::{self, Errno};
use super::real;

/// Descriptors that are noted; programs rarely have more.
const MOST: usize = 1 << 16;

/// A bit for each descriptor.
struct Noted {
    bits: [AtomicU64; MOST / 64],
    /// There was one that has no bit.
    has_more: AtomicBool,
}

impl Noted {
    const fn new() -> Self {
        let bits = [const { AtomicU64::new(0) }; MOST / 64];
        Self { bits, has_more: AtomicBool::new(false) }
    }

    fn note(&self, fd: c_int) {
        let Ok(at) = usize::try_from(fd) else { return };
        let word = self.bits.get(at / 64);
        if word.is_none() {
            self.has_more.store(true, Ordering::Relaxed);
        }
        if let Some(word) = word {
            let bit = 1 << (at % 64);
            // Most calls concern one that is known, and then no cache line is taken from others.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    fn has(&self, fd: c_int) -> bool {
        let Ok(at) = usize::try_from(fd) else { return false };
        // Of those beyond the bits it is not known.
        self.bits.get(at / 64).is_none_or(|word| word.load(Ordering::Relaxed) >> (at % 64) & 1 == 1)
    }

    fn all(&self) -> impl Iterator<Item = c_int> + '_ {
        self.bits.iter().enumerate().flat_map(|(at, word)| {
            let bits = word.load(Ordering::Relaxed);
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| (at * 64 + bit) as c_int)
        })
    }
}

/// What was ever a set.
static SETS: Noted = Noted::new();

/// What was ever added to a set.
static MEMBERS: Noted = Noted::new();

/// Notes the set and the descriptor.
///
/// # Safety
/// As for `epoll_ctl`.
pub(super) unsafe fn epoll_ctl(
    set: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    if operation == libc::EPOLL_CTL_ADD {
        SETS.note(set);
        MEMBERS.note(fd);
    }
    // SAFETY: as the caller says.
    unsafe { real::epoll_ctl(set, operation, fd, event) }
}

/// The sets that a descriptor is in.
pub(super) struct Registrations {
    sets: [(c_int, epoll_event); Self::MOST],
    count: usize,
}

impl Registrations {
    /// Sets that one descriptor is in, at most.
    const MOST: usize = 8;

    /// Adds the descriptor to its sets again.
    pub(super) fn renew(mut self, fd: c_int) {
        for (set, event) in &mut self.sets[..self.count] {
            let _ = call::epoll_ctl(*set, libc::EPOLL_CTL_ADD, fd, event);
        }
    }
}

/// Takes the descriptor out of all sets that it is in; returns these. Nothing is changed if it
/// cannot be told which they are.
pub(super) fn registrations(fd: c_int) -> Result<Registrations, Errno> {
    let none = epoll_event { events: 0, u64: 0 };
    let mut found = Registrations { sets: [(-1, none); Registrations::MOST], count: 0 };
    if !MEMBERS.has(fd) {
        return Ok(found);
    }
    // One of them may be a set that nothing finds.
    if SETS.has_more.load(Ordering::Relaxed) {
        return Err(libc::ENOBUFS);
    }
    for set in SETS.all() {
        let Some(event) = registration(set, fd)? else { continue };
        let free = found.sets.get_mut(found.count).ok_or(libc::ENOBUFS)?;
        *free = (set, event);
        found.count += 1;
    }
    let mut left = 0;
    for at in 0..found.count {
        let (set, mut event) = found.sets[at];
        // A copy of the socket may go on being open. What is not there is another file that had the
        // same number, here or in the process that this one was forked from.
        if call::epoll_ctl(set, libc::EPOLL_CTL_DEL, fd, &mut event).is_ok() {
            found.sets[left] = (set, event);
            left += 1;
        }
    }
    found.count = left;
    Ok(found)
}

/// Notes the sets that this program has inherited, and what is in them.
pub(super) fn note_inherited() {
    let Ok(folder) = call::open_folder(c"/proc/self/fd") else { return };
    let mut entries = [0; 1024];
    while let Ok(count @ 1..) = call::entries(&folder, &mut entries) {
        let mut rest = &entries[..count];
        while let Some((name, others)) = call::first_entry(rest) {
            rest = others;
            let fd = name.to_str().ok().and_then(|name| name.parse().ok());
            if let Some(fd) = fd.filter(|fd| is_set(*fd)) {
                SETS.note(fd);
                let _ = each(fd, |member, _| {
                    MEMBERS.note(member);
                    false
                });
            }
        }
    }
}

/// Whether a descriptor is a set.
fn is_set(fd: c_int) -> bool {
    const SET: &[u8] = b"anon_inode:[eventpoll]";
    let mut path = [0; 40];
    let _ = write!(&mut path[..39], "/proc/self/fd/{fd}");
    let path = CStr::from_bytes_until_nul(&path).unwrap_or_default();
    let mut target = [0; SET.len() + 1];
    call::read_link(path, &mut target).is_ok_and(|count| target[..count] == *SET)
}

/// Reads from /proc what `fd` is registered for in `set`.
fn registration(set: c_int, fd: c_int) -> Result<Option<epoll_event>, Errno> {
    let mut found = None;
    each(set, |member, event| {
        found = (member == fd).then_some(event);
        member == fd
    })?;
    Ok(found)
}

/// Reads from /proc what is registered in `set`, until `is_it` says that this is enough.
fn each(set: c_int, mut is_it: impl FnMut(c_int, epoll_event) -> bool) -> Result<(), Errno> {
    let mut path = [0; 40];
    let _ = write!(&mut path[..], "/proc/self/fdinfo/{set}");
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| libc::ENAMETOOLONG)?;
    let file = match call::open(path) {
        Ok(file) => file,
        // It is no set any more.
        Err(_) if call::fcntl(set, libc::F_GETFD, 0).is_err() => return Ok(()),
        Err(errno) => return Err(errno),
    };
    let mut bytes = [0; 2048];
    let mut filled = 0;
    loop {
        let count = call::read(&file, &mut bytes[filled..])?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let mut rest = &bytes[..filled];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            if let Some((found, event)) = parse(&rest[..end])
                && is_it(found, event)
            {
                return Ok(());
            }
            rest = &rest[end + 1..];
        }
        let (from, left) = (filled - rest.len(), rest.len());
        bytes.copy_within(from..filled, 0);
        filled = left;
        // No set has so long a line.
        if filled == bytes.len() {
            return Ok(());
        }
    }
}

/// Reads a line such as `tfd: 5 events: 19 data: 5 pos:0 ino:61 sdev:6` (proc(5)).
fn parse(line: &[u8]) -> Option<(c_int, epoll_event)> {
    let text = std::str::from_utf8(line).ok()?;
    let mut words = text.split_ascii_whitespace();
    let mut after = |key: &str| words.next().filter(|word| *word == key).and_then(|_| words.next());
    let fd = after("tfd:")?.parse().ok()?;
    let events = u32::from_str_radix(after("events:")?, 16).ok()?;
    let data = u64::from_str_radix(after("data:")?, 16).ok()?;
    Some((fd, epoll_event { events, u64: data }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noted__has_what_was_noted() {
        let noted = Noted::new();
        noted.note(7);
        noted.note(64);
        assert_eq!(noted.all().collect::<Vec<_>>(), [7, 64]);
        assert!(noted.has(64) && !noted.has(65) && !noted.has_more.load(Ordering::Relaxed));
        noted.note(MOST as c_int);
        assert!(noted.has_more.load(Ordering::Relaxed) && noted.has(MOST as c_int));
    }
}
