//! What the kernel of this machine says to frames that it does not send.

use std::fmt;
use std::io;

/// The errors that are counted by their names, and how the names are counters.
const NAMED: [(i32, &str); 11] = [
    (libc::EPERM, "refused_eperm"),
    (libc::ENXIO, "refused_enxio"),
    (libc::EACCES, "refused_eacces"),
    (libc::EINVAL, "refused_einval"),
    (libc::ENOSYS, "refused_enosys"),
    (libc::EAFNOSUPPORT, "refused_eafnosupport"),
    (libc::EADDRNOTAVAIL, "refused_eaddrnotavail"),
    (libc::ENETDOWN, "refused_enetdown"),
    (libc::ENETUNREACH, "refused_enetunreach"),
    (libc::ENOBUFS, "refused_enobufs"),
    (libc::EHOSTUNREACH, "refused_ehostunreach"),
];

/// What all others are counted as.
const OTHERS: &str = "refused_otherwise";

/// The error that the kernel of this machine gives for a frame in place of sending it.
#[derive(Copy, Clone, Debug, Eq, Hash, PartialEq)]
pub struct Refusal {
    /// The error's number.
    pub errno: i32,
    /// It is the kernel's answer to the question which route leads there, and not one about this
    /// frame: the next one gets the same, until someone changes addresses or routes.
    pub is_of_route: bool,
}

impl Refusal {
    /// The error is about this frame, or about what is so for a while.
    pub const fn of_frame(errno: i32) -> Self {
        Self { errno, is_of_route: false }
    }

    /// The frame is larger than the device takes.
    pub const TOO_BIG: Self = Self::of_frame(libc::EMSGSIZE);

    /// Whether it is the frame's size that is refused.
    pub const fn is_too_big(self) -> bool {
        self.errno == libc::EMSGSIZE
    }
}

/// The kernel's own words, and what they mean here.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.errno).fmt(f)?;
        f.write_str(match self.errno {
            libc::ENETUNREACH | libc::EHOSTUNREACH => ", no route leads there",
            libc::EACCES => ", a route prohibits it",
            libc::EPERM => ", a filter here (nftables, tc, a sandbox) drops it",
            libc::ENOBUFS => ", a queue here is full, or a filter (tc, nftables) drops it",
            libc::EAFNOSUPPORT => {
                ", this node's line of prphosts has no UDP address of the kind (IPv4, IPv6) of the \
                 peer's"
            }
            _ => "",
        })
    }
}

/// How often the kernel refused to send, by its error. Frames that were too large are counted
/// elsewhere.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct RefusalCounts([u64; NAMED.len() + 1]);

impl RefusalCounts {
    /// Counts `refusal`.
    pub fn note(&mut self, refusal: Refusal) {
        let at = NAMED.iter().position(|(errno, _)| *errno == refusal.errno);
        self.0[at.unwrap_or(NAMED.len())] += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each by its name, those that are zero as well.
    pub fn counters(self) -> impl Iterator<Item = (&'static str, u64)> {
        let names = NAMED.into_iter().map(|(_, name)| name).chain([OTHERS]);
        names.zip(self.0)
    }

    /// The error whose counter has this name; none if no error has a counter of its own by it.
    pub fn errno(name: &str) -> Option<i32> {
        NAMED.iter().find(|(_, known)| *known == name).map(|(errno, _)| *errno)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn note__counts_each_error_by_its_name() {
        let mut counts = RefusalCounts::default();
        for errno in [libc::EPERM, libc::ENETUNREACH, libc::ENETUNREACH, libc::ENOTTY] {
            counts.note(Refusal::of_frame(errno));
        }
        let occurred: Vec<_> = counts.counters().filter(|(_, n)| *n > 0).collect();
        let expected = [("refused_eperm", 1), ("refused_enetunreach", 2), (OTHERS, 1)];
        assert_eq!(occurred, expected);
        assert_eq!(counts.total(), 4);
        assert_eq!(RefusalCounts::errno("refused_enetunreach"), Some(libc::ENETUNREACH));
        assert_eq!(RefusalCounts::errno(OTHERS), None);
    }
}
