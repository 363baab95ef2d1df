//! How many descriptors this process may have.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as this process may, from the 1,024 that most systems begin with; the
/// limit from now on. Commands that the process starts inherit it.
pub fn raise_limit() -> u64 {
    // It fails only for a resource that the kernel does not know.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return 0 };
    if soft < hard && setrlimit(Resource::RLIMIT_NOFILE, hard, hard).is_err() {
        return soft;
    }
    hard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raise_limit__to_the_hard_one() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).expect("a known resource");
        assert_eq!(raise_limit(), hard);
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE), Ok((hard, hard)));
    }
}
