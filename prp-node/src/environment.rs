//! Environment variables, which a privileged program must not take from its caller.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::fork::PerProcess;
use crate::sys;

/// What relative paths meant when they were asked for first.
static PATHS: PerProcess<Mutex<HashMap<OsString, PathBuf>>> = PerProcess::new(Mutex::default);

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

/// The path in the variable `name`, as [`variable`]. A relative one means what it meant when it was
/// asked for first, also after the process has changed its directory.
pub fn path(name: &str) -> Option<PathBuf> {
    let value = variable(name)?;
    let mut paths = PATHS.get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(path) = paths.get(&value) {
        return Some(path.clone());
    }
    // An empty one stays so, and is told of where it is used.
    let path = std::path::absolute(&value).unwrap_or_else(|_| PathBuf::from(&value));
    paths.insert(value, path.clone());
    Some(path)
}
