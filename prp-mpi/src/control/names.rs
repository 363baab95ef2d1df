//! Names of services that jobs of a user on a machine publish for each other, with the ports that
//! they stand for: files in a folder of this user alone.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::{env, fmt::Write as _};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;

/// Names that this process has published. Each is there until it is withdrawn, or the process ends:
/// its file is locked as long.
#[derive(Debug, Default)]
pub struct Names(HashMap<String, Flock<File>>);

/// The folder, made if it is not there.
fn folder() -> io::Result<PathBuf> {
    let user = geteuid().as_raw();
    let path = match env::var_os("XDG_RUNTIME_DIR") {
        Some(runtime) => PathBuf::from(runtime).join("prp-mpi-names"),
        None => env::temp_dir().join(format!("prp-mpi-names-{user}")),
    };
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(e),
        _ => {}
    }
    let found = fs::symlink_metadata(&path)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        let text = format!("{} is not a folder of this user alone", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(path)
}

/// The file of a name, which may have any characters.
fn path_of(name: &str) -> io::Result<PathBuf> {
    let mut file = String::from("name-");
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            file.push(char::from(byte));
        } else {
            let _ = write!(file, "%{byte:02x}");
        }
    }
    Ok(folder()?.join(file))
}

impl Names {
    /// Publishes a name.
    ///
    /// # Errors
    /// `AlreadyExists` if a process that lives has published it; those of files.
    pub fn publish(&mut self, name: &str, port: &str) -> io::Result<()> {
        let taken = || io::Error::new(io::ErrorKind::AlreadyExists, "the name is published");
        if self.0.contains_key(name) {
            return Err(taken());
        }
        let path = path_of(name)?;
        loop {
            let mut options = File::options();
            let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(&path)?;
            let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock);
            let mut file = lock.map_err(|_| taken())?;
            // It may have been withdrawn between the two.
            if fs::metadata(&path)
                .is_ok_and(|at| at.ino() == file.metadata().map_or(0, |f| f.ino()))
            {
                file.set_len(0)?;
                file.write_all(port.as_bytes())?;
                self.0.insert(name.to_owned(), file);
                return Ok(());
            }
        }
    }

    /// The port of a name, whoever has published it.
    ///
    /// # Errors
    /// `NotFound` if no process that lives has published it; those of files.
    pub fn look_up(&self, name: &str) -> io::Result<String> {
        let unknown = || io::Error::new(io::ErrorKind::NotFound, "no such name is published");
        let mut file = File::open(path_of(name)?)?;
        if !self.0.contains_key(name) {
            file = match Flock::lock(file, FlockArg::LockSharedNonblock) {
                Ok(_) => return Err(unknown()),
                Err((file, _)) => file,
            };
        }
        let mut port = String::new();
        file.read_to_string(&mut port)?;
        Some(port).filter(|port| !port.is_empty()).ok_or_else(unknown)
    }

    /// Withdraws a name.
    ///
    /// # Errors
    /// `NotFound` if this process has not published it.
    pub fn withdraw(&mut self, name: &str) -> io::Result<()> {
        let file = self.0.remove(name).ok_or(io::ErrorKind::NotFound)?;
        let removed = fs::remove_file(path_of(name)?);
        drop(file);
        removed
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        let all: Vec<_> = self.0.keys().cloned().collect();
        for name in all {
            let _ = self.withdraw(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names__are_there_until_they_are_withdrawn_or_their_process_ends() {
        let name = format!("a name/of test {}", std::process::id());
        let (mut own, mut other) = (Names::default(), Names::default());
        assert_eq!(other.look_up(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
        own.publish(&name, "a port").unwrap();
        for names in [&own, &other] {
            assert_eq!(names.look_up(&name).unwrap(), "a port");
        }
        for names in [&mut own, &mut other] {
            let taken = names.publish(&name, "another").unwrap_err();
            assert_eq!(taken.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(other.withdraw(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
        own.withdraw(&name).unwrap();
        assert_eq!(own.look_up(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
        // A process that was killed leaves the file.
        own.publish(&name, "a port").unwrap();
        own.0.clear();
        assert_eq!(other.look_up(&name).unwrap_err().kind(), io::ErrorKind::NotFound);
        other.publish(&name, "another").unwrap();
        assert_eq!(own.look_up(&name).unwrap(), "another");
    }
}
