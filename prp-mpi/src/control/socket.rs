//! Unix sockets in folders with names of any length. A socket's address has room for 107 bytes,
//! which the folders that batch systems make for temporary files may exceed.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// Bytes of the longest path that an address has room for.
const LONGEST: usize = 107;

/// Listens at a path.
///
/// # Errors
/// Those of `bind`, with the path.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    at(path, |path| UnixListener::bind(path))
}

/// Connects to the socket at a path.
///
/// # Errors
/// Those of `connect`, with the path.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    at(path, |path| UnixStream::connect(path))
}

/// Does something with a path that is short enough and names the same file.
fn at<T>(path: &Path, does: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let done = match path.parent() {
        Some(folder) if path.as_os_str().len() > LONGEST => {
            let name = path.file_name().unwrap_or_else(|| OsStr::new(""));
            File::open(folder).and_then(|folder| {
                let of_process = format!("/proc/self/fd/{}", folder.as_raw_fd());
                does(&Path::new(&of_process).join(name))
            })
        }
        _ => does(path),
    };
    done.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))
}
