//! Sets of epoll. They have the file behind a descriptor, so that a socket leaves them when a pair
//! takes its place.

use std::ffi::{CStr, c_int};
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use libc::epoll_event;

use super::call::{self, Errno};
use super::real;

/// Descriptors that are noted; programs rarely have more.
const MOST: usize = 1 << 16;

/// A bit for each descriptor.
struct Noted([AtomicU64; MOST / 64]);

impl Noted {
    const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; MOST / 64])
    }

    fn note(&self, fd: c_int) {
        let Ok(at) = usize::try_from(fd) else { return };
        if let Some(word) = self.0.get(at / 64) {
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
        self.0.get(at / 64).is_none_or(|word| word.load(Ordering::Relaxed) >> (at % 64) & 1 == 1)
    }

    fn all(&self) -> impl Iterator<Item = c_int> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
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
            call::epoll_ctl(*set, libc::EPOLL_CTL_ADD, fd, event);
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
    for set in SETS.all() {
        let Some(event) = registration(set, fd)? else { continue };
        let free = found.sets.get_mut(found.count).ok_or(libc::ENOBUFS)?;
        *free = (set, event);
        found.count += 1;
    }
    for (set, event) in &mut found.sets[..found.count] {
        // A copy of the socket may go on being open.
        call::epoll_ctl(*set, libc::EPOLL_CTL_DEL, fd, event);
    }
    Ok(found)
}

/// Reads from /proc what `fd` is registered for in `set`.
fn registration(set: c_int, fd: c_int) -> Result<Option<epoll_event>, Errno> {
    let mut path = [0; 40];
    let _ = write!(&mut path[..], "/proc/self/fdinfo/{set}");
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| libc::ENAMETOOLONG)?;
    let file = match call::open(path) {
        Ok(file) => file,
        // It is no set any more.
        Err(_) if call::fcntl(set, libc::F_GETFD, 0).is_err() => return Ok(None),
        Err(errno) => return Err(errno),
    };
    let mut bytes = [0; 2048];
    let mut filled = 0;
    loop {
        let count = call::read(&file, &mut bytes[filled..])?;
        if count == 0 {
            return Ok(None);
        }
        filled += count;
        let mut rest = &bytes[..filled];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            if let Some((found, event)) = parse(&rest[..end])
                && found == fd
            {
                return Ok(Some(event));
            }
            rest = &rest[end + 1..];
        }
        let (from, left) = (filled - rest.len(), rest.len());
        bytes.copy_within(from..filled, 0);
        filled = left;
        // No set has so long a line.
        if filled == bytes.len() {
            return Ok(None);
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
