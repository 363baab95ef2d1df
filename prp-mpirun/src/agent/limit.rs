//! How many descriptors an agent may have. It needs some for each rank, and a user's processes may
//! have no more than 1,024 by themselves as a rule. So an agent has as many as the user can have,
//! and its ranks have as many as the user has given them: programs may rely on that. They have more
//! only where there are so many of them that they would not find each other.

use std::{fs, io};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Descriptors that an agent has for a rank: its output, its errors, its end, what it says.
const OF_A_RANK: u64 = 4;

/// Those that an agent has for input, and for a moment while it starts a rank.
const SPARE: u64 = 8;

/// Those that a rank has beside one for each rank of its node.
const OF_ITS_OWN: u64 = 32;

/// The limits of ranks.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Limit {
    soft: u64,
    hard: u64,
}

impl Limit {
    /// Raises that of this process; those for its ranks.
    pub(crate) fn raise(ranks: usize) -> io::Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        Ok(Self { soft, hard }.with(ranks))
    }

    /// The same where a node has this many ranks.
    pub(crate) fn with(self, ranks: usize) -> Self {
        Self { soft: self.soft.max(ranks as u64 + OF_ITS_OWN).min(self.hard), ..self }
    }

    /// Whether this process can have as many ranks more; if not, how many it can, and what to do.
    pub(crate) fn check(self, ranks: usize) -> Result<(), String> {
        let open = fs::read_dir("/proc/self/fd").map_or(0, |all| all.count() as u64);
        let needed = open + SPARE + OF_A_RANK * ranks as u64;
        if needed <= self.hard {
            return Ok(());
        }
        let allowed = self.hard.saturating_sub(open + SPARE) / OF_A_RANK;
        Err(format!(
            "of {ranks} ranks on a node none is started: they need {needed} descriptors, and the \
             limit is {}, which is enough for {allowed} ranks; raise it in the shell that starts \
             the job (sudo prlimit --pid $$ --nofile={needed}), on other nodes in \
             /etc/security/limits.conf, or use more nodes",
            self.hard
        ))
    }

    /// Gives this process the limits of a rank.
    pub(crate) fn restore(self) -> nix::Result<()> {
        setrlimit(Resource::RLIMIT_NOFILE, self.soft, self.hard)
    }

    /// An error, with the limit and what to do if that is the reason.
    pub(crate) fn explain(self, error: &io::Error) -> String {
        if error.raw_os_error() != Some(Errno::EMFILE as i32) {
            return error.to_string();
        }
        format!(
            "{error}: the limit is {}, and an agent needs some ten descriptors and four for each \
             rank; raise it (ulimit -Hn, limits.conf), or use more nodes",
            self.hard
        )
    }
}
