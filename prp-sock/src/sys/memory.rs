//! What this process asks of its allocator and of the kernel before it needs memory, and after.

use std::io;

/// Checks that there is room for `len` bytes in one piece, and leaves it free.
///
/// # Errors
/// `OutOfMemory`.
pub(crate) fn find_room(len: usize) -> io::Result<()> {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a fresh mapping at an address of the kernel's choice touches no memory of ours; the
    // result is checked before use.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is the mapping made above, of that length, and nothing else knows of it.
    unsafe { libc::munmap(base, len) };
    Ok(())
}

/// Has the C library's allocator give the kernel what was freed: it keeps pieces below 128 KiB for
/// ever. It takes a millisecond for some ten megabytes. Other allocators return memory by
/// themselves.
pub(crate) fn return_freed() {
    // SAFETY: it moves nothing that is in use, and any thread may call it.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0)
    };
}
