//! What the kernel told this process when it began.

/// Whether the kernel set `AT_SECURE`: the program has privileges that its caller may lack.
pub(crate) fn is_secure_execution() -> bool {
    // SAFETY: getauxval only reads the vector that the kernel has left; it has no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}
