//! Environment variables, which a privileged program must not take from its caller.

use std::ffi::OsString;

use crate::sys;

/// Whether this program has privileges that its caller may lack: file capabilities, set-user-ID.
pub fn is_privileged() -> bool {
    sys::process::is_secure_execution()
}

/// The variable `name`, as `secure_getenv(3)`: none in a program with privileges that its caller
/// may lack. The variables of PRP choose node, EtherType and hardware addresses of what a packet
/// socket sends, and which directory is believed.
pub fn variable(name: &str) -> Option<OsString> {
    if is_privileged() { None } else { std::env::var_os(name) }
}
