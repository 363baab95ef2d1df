//! Memory that several ranks of a node share, for a window.

use std::fs::{File, remove_file};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::posix_fallocate;
use nix::sys::memfd::{MFdFlags, memfd_create};
use prp_node::limits::without_size_signal;

use super::Mapping;

/// A mapping of such memory.
#[derive(Debug)]
pub struct SharedBlock {
    mapping: Mapping,
    /// Where the memory begins in the mapping.
    at: usize,
}

impl SharedBlock {
    /// Memory of `len` bytes, all zero, for this process and those that open it by the number of
    /// its descriptor.
    ///
    /// # Errors
    /// Those of `memfd_create` and `ftruncate`.
    pub fn memory(len: usize) -> io::Result<OwnedFd> {
        let memory = File::from(memfd_create(c"prp-mpi-window", MFdFlags::MFD_CLOEXEC)?);
        without_size_signal(|| memory.set_len(len.max(1) as u64))?;
        Ok(memory.into())
    }

    /// Maps the memory that a process of this node has under a descriptor, at a multiple of
    /// `alignment`, a power of two.
    ///
    /// # Errors
    /// Those of `open` and `mmap`; `InvalidData` if it is not as long.
    pub fn of_process(pid: u32, descriptor: u32, len: usize, alignment: usize) -> io::Result<Self> {
        let path = format!("/proc/{pid}/fd/{descriptor}");
        Self::of_file(&File::options().read(true).write(true).open(path)?, len, alignment)
    }

    /// Maps the memory that a process of this node and user has given this number, as
    /// [`Self::of_process`] does.
    ///
    /// # Errors
    /// As [`Self::of_process`].
    pub fn of_number(number: u64, len: usize, alignment: usize) -> io::Result<Self> {
        let mut options = File::options();
        let options = options.read(true).write(true).custom_flags(libc::O_NOFOLLOW);
        Self::of_file(&options.open(path_of(number))?, len, alignment)
    }

    fn of_file(memory: &File, len: usize, alignment: usize) -> io::Result<Self> {
        if memory.metadata()?.len() != len.max(1) as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let (mapping, at) = Mapping::aligned(memory, len.max(1), alignment)?;
        Ok(Self { mapping, at })
    }

    /// Where it is in this process.
    pub fn address(&self) -> usize {
        self.mapping.base.as_ptr().expose_provenance() + self.at
    }
}

/// Memory that processes of this user open by a number, as long as this lives. For processes that
/// hide their descriptors: those with capabilities do that.
#[derive(Debug)]
pub struct NamedMemory(u64);

impl NamedMemory {
    /// Memory of `len` bytes, all zero. It is there, not only promised: a touch of a page that does
    /// not fit in the file system would end the process.
    ///
    /// # Errors
    /// Those of `open` and `fallocate`.
    pub fn new(len: usize) -> io::Result<Self> {
        // The keys of the hashers come from the system's random numbers.
        let number = RandomState::new().hash_one(0);
        let mut options = File::options();
        let options = options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(path_of(number))?;
        let named = Self(number);
        let len = i64::try_from(len.max(1)).map_err(io::Error::other)?;
        without_size_signal(|| {
            loop {
                match posix_fallocate(&file, 0, len) {
                    Err(Errno::EINTR) => {}
                    done => return Ok(done?),
                }
            }
        })?;
        Ok(named)
    }

    /// The number, which nobody can guess.
    pub const fn number(&self) -> u64 {
        self.0
    }
}

impl Drop for NamedMemory {
    fn drop(&mut self) {
        let _ = remove_file(path_of(self.0));
    }
}

/// The file of memory with a number, in the file system that Linux has for shared memory.
fn path_of(number: u64) -> PathBuf {
    format!("/dev/shm/prp-mpi-window-{number:016x}").into()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn of_number__is_there_for_this_user_as_long_as_it_has_a_name() {
        let memory = NamedMemory::new(100).unwrap();
        let metadata = path_of(memory.number()).metadata().unwrap();
        assert_eq!(metadata.permissions().mode() & 0o077, 0);
        assert_eq!(metadata.len(), 100);
        SharedBlock::of_number(memory.number(), 100, 1).unwrap();
        assert!(SharedBlock::of_number(memory.number(), 101, 1).is_err());
        let number = memory.number();
        drop(memory);
        let gone = SharedBlock::of_number(number, 100, 1).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn of_process__is_the_same_memory() {
        let memory = SharedBlock::memory(100).unwrap();
        let (pid, number) = (std::process::id(), memory.as_raw_fd().cast_unsigned());
        let map = |len| SharedBlock::of_process(pid, number, len, 1);
        let [first, second] = [(); 2].map(|()| map(100).unwrap());
        assert_ne!(first.address(), second.address());
        assert!(map(101).is_err());
        drop(memory);
        assert!(map(100).is_err());
    }

    #[test]
    fn of_process__begins_at_a_multiple_of_more_than_a_page() {
        let memory = SharedBlock::memory(100).unwrap();
        let (pid, number) = (std::process::id(), memory.as_raw_fd().cast_unsigned());
        for alignment in [1, 4096, 1 << 16, 1 << 21] {
            let [first, second] = [(); 2]
                .map(|()| SharedBlock::of_process(pid, number, 100, alignment).unwrap().address());
            assert_eq!((first % alignment, second % alignment), (0, 0), "{alignment}");
        }
        assert!(SharedBlock::of_process(pid, number, 100, 1 << 63).is_err());
    }
}
