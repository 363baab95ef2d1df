//! How many descriptors an agent may have. It needs some for each rank, and a user's processes may
//! have no more than 1,024 by themselves as a rule. So an agent has as many as the user can have,
//! and its ranks have as many as the user has given them: programs may rely on that.

use std::io;

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// The limits of the user's processes.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Limit {
    soft: u64,
    hard: u64,
}

impl Limit {
    /// Raises that of this process; what it was before.
    pub(crate) fn raise() -> io::Result<Self> {
        let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
        Ok(Self { soft, hard })
    }

    /// Gives this process the limits that the user's processes have.
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
