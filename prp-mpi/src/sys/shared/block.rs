//! Memory that several ranks of a node share, for a window.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use nix::sys::memfd::{MFdFlags, memfd_create};

use super::Mapping;

/// A mapping of such memory.
#[derive(Debug)]
pub struct SharedBlock(Mapping);

impl SharedBlock {
    /// Memory of `len` bytes, all zero, for this process and those that open it by the number of
    /// its descriptor.
    ///
    /// # Errors
    /// Those of `memfd_create` and `ftruncate`.
    pub fn memory(len: usize) -> io::Result<OwnedFd> {
        let memory = File::from(memfd_create(c"prp-mpi-window", MFdFlags::MFD_CLOEXEC)?);
        memory.set_len(len.max(1) as u64)?;
        Ok(memory.into())
    }

    /// Maps the memory that a process of this node has under a descriptor.
    ///
    /// # Errors
    /// Those of `open` and `mmap`; `InvalidData` if it is not as long.
    pub fn of_process(pid: u32, descriptor: u32, len: usize) -> io::Result<Self> {
        let path = format!("/proc/{pid}/fd/{descriptor}");
        let memory = File::options().read(true).write(true).open(path)?;
        if memory.metadata()?.len() != len.max(1) as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self(Mapping::new(&memory, len.max(1))?))
    }

    /// Where it is in this process.
    pub fn address(&self) -> usize {
        self.0.base.as_ptr().expose_provenance()
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn of_process__is_the_same_memory() {
        let memory = SharedBlock::memory(100).unwrap();
        let (pid, number) = (std::process::id(), memory.as_raw_fd().cast_unsigned());
        let [first, second] = [(); 2].map(|()| SharedBlock::of_process(pid, number, 100).unwrap());
        assert_ne!(first.address(), second.address());
        assert!(SharedBlock::of_process(pid, number, 101).is_err());
        drop(memory);
        assert!(SharedBlock::of_process(pid, number, 100).is_err());
    }
}
