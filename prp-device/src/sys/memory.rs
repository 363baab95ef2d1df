//! Memory that this process and the kernel both see.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;

/// Memory behind a descriptor, shared with the kernel; unmapped when this is dropped. Only its
/// address is given out: the code that makes references of it says why they are sound.
#[derive(Debug)]
pub(super) struct SharedMemory {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping is plain memory, valid in every thread until `drop`, and nothing here reads
// it.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// The first `len` bytes of what `fd` stands for, to be read and written.
    ///
    /// # Errors
    /// `OutOfMemory`; what `fd` does not allow.
    pub(super) fn map(fd: BorrowedFd<'_>, len: usize) -> io::Result<Self> {
        Self::map_at(fd, 0, len)
    }

    /// As [`Self::map`], from `offset` on.
    ///
    /// # Errors
    /// `OutOfMemory`; what `fd` does not allow.
    pub(super) fn map_at(fd: BorrowedFd<'_>, offset: libc::off_t, len: usize) -> io::Result<Self> {
        Self::make(libc::MAP_SHARED, fd.as_raw_fd(), offset, len)
    }

    /// Memory of this process alone, for the kernel to be told of.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[cfg(feature = "fast-paths")]
    pub(super) fn anonymous(len: usize) -> io::Result<Self> {
        // Shared: a child of a fork would copy it, or have the parent do so, where the kernel knows
        // the pages.
        Self::make(libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0, len)
    }

    fn make(flags: libc::c_int, fd: RawFd, offset: libc::off_t, len: usize) -> io::Result<Self> {
        // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory of ours;
        // the result is checked before use.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd,
                offset,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        let memory = Self { base, len };
        // SAFETY: it is a mapping of ours, of that length. In a child no thread reads it: there the
        // engine is a copy that no thread runs. Without this what is mapped would outlive its
        // descriptor there, packet socket and all.
        unsafe { libc::madvise(memory.base.as_ptr().cast(), len, libc::MADV_DONTFORK) };
        Ok(memory)
    }

    /// Where it begins: at a page. It has as many bytes as were asked for, as long as `self` lives.
    pub(super) const fn base(&self) -> NonNull<u8> {
        self.base
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        // SAFETY: `base` and `len` are those mmap returned and was given, and every user of the
        // memory holds `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}
