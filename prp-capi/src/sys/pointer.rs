//! What C passes.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::BorrowedFd;
use std::slice;

use libc::iovec;

use crate::error_number::{explained, invalid};

/// What a `prp_stream *` points to: nothing.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct StreamPtr([u8; 0]);

/// What a `prp_listener *` points to: nothing.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct ListenerPtr([u8; 0]);

/// What a `prp_options *` points to: nothing.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct OptionsPtr([u8; 0]);

/// Most buffers of one call, as the kernel's `IOV_MAX`.
const MAX_PARTS: c_int = 1024;

fn fault(what: &str) -> io::Error {
    explained(libc::EFAULT, format!("{what} is NULL"))
}

/// A text.
///
/// # Safety
/// `text` is null or a string that outlives the call.
pub(super) unsafe fn text<'a>(what: &str, text: *const c_char) -> io::Result<&'a str> {
    if text.is_null() {
        return Err(fault(what));
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| invalid(format!("{what}: no UTF-8")))
}

/// Bytes to send.
///
/// # Safety
/// `data` is null or points to `size` bytes that nothing writes to during the call.
pub(super) unsafe fn bytes<'a>(data: *const c_void, size: usize) -> io::Result<&'a [u8]> {
    if size == 0 {
        return Ok(&[]);
    }
    if data.is_null() || isize::try_from(size).is_err() {
        return Err(fault("the buffer"));
    }
    // SAFETY: as the caller says; it is not null, and not larger than any object.
    Ok(unsafe { slice::from_raw_parts(data.cast(), size) })
}

/// Room for bytes.
///
/// # Safety
/// `buffer` is null or points to `size` bytes of the caller's that nothing else uses during the
/// call. They need not be initialised as far as C goes: prp-sock only writes to them.
pub(super) unsafe fn room<'a>(buffer: *mut c_void, size: usize) -> io::Result<&'a mut [u8]> {
    if size == 0 {
        return Ok(&mut []);
    }
    if buffer.is_null() || isize::try_from(size).is_err() {
        return Err(fault("the buffer"));
    }
    // SAFETY: as the caller says; it is not null, and not larger than any object.
    Ok(unsafe { slice::from_raw_parts_mut(buffer.cast(), size) })
}

/// # Safety
/// `parts` is null or points to `count` of them.
unsafe fn vectors<'a>(parts: *const iovec, count: c_int) -> io::Result<&'a [iovec]> {
    let len = usize::try_from(count).ok().filter(|_| count <= MAX_PARTS);
    match len {
        None => Err(invalid(format!("{count} buffers: 0 to {MAX_PARTS} are possible"))),
        Some(0) => Ok(&[]),
        Some(_) if parts.is_null() => Err(fault("the list of buffers")),
        // SAFETY: as the caller says.
        Some(len) => Ok(unsafe { slice::from_raw_parts(parts, len) }),
    }
}

/// Bytes to send, in several buffers.
///
/// # Safety
/// As for [`bytes`], of each of them.
pub(super) unsafe fn parts<'a>(parts: *const iovec, count: c_int) -> io::Result<Vec<IoSlice<'a>>> {
    // SAFETY: as the caller says.
    let all = unsafe { vectors(parts, count) }?;
    // SAFETY: as the caller says.
    all.iter().map(|v| unsafe { bytes(v.iov_base, v.iov_len) }.map(IoSlice::new)).collect()
}

/// Room for bytes, in several buffers.
///
/// # Safety
/// As for [`room`], of each of them; none overlaps another.
pub(super) unsafe fn rooms<'a>(
    parts: *const iovec,
    count: c_int,
) -> io::Result<Vec<IoSliceMut<'a>>> {
    // SAFETY: as the caller says.
    let all = unsafe { vectors(parts, count) }?;
    // SAFETY: as the caller says.
    all.iter().map(|v| unsafe { room(v.iov_base, v.iov_len) }.map(IoSliceMut::new)).collect()
}

/// A value that the caller owns.
///
/// # Safety
/// `pointer` is null or points to one.
pub(super) unsafe fn value<T: Copy>(what: &str, pointer: *const T) -> io::Result<T> {
    if pointer.is_null() {
        return Err(fault(what));
    }
    // SAFETY: as the caller says.
    Ok(unsafe { pointer.read_unaligned() })
}

/// Checks that there is a place for a result: before the call does anything.
pub(super) fn place<T>(what: &str, pointer: *mut T) -> io::Result<()> {
    if pointer.is_null() { Err(fault(what)) } else { Ok(()) }
}

/// Writes a result, if there is a place for it.
///
/// # Safety
/// `pointer` is null or points to a place for one.
pub(super) unsafe fn put<T>(pointer: *mut T, value: T) {
    if !pointer.is_null() {
        // SAFETY: as the caller says.
        unsafe { pointer.write_unaligned(value) };
    }
}

/// Writes the first `size` bytes of `value`, and zeros behind them.
///
/// # Safety
/// `pointer` points to `size` bytes.
pub(super) unsafe fn put_part<T: Copy>(pointer: *mut T, size: usize, value: &T) {
    let known = size.min(size_of::<T>());
    // SAFETY: as the caller says; `known` bytes are there at both ends. `T` is a struct of integers
    // of one size: it has no padding.
    unsafe {
        std::ptr::copy_nonoverlapping(
            std::ptr::from_ref(value).cast(),
            pointer.cast::<u8>(),
            known,
        );
        pointer.cast::<u8>().add(known).write_bytes(0, size - known);
    }
}

/// Entries of a list that the caller owns.
///
/// # Safety
/// `entries` is null or points to `count` of them that nothing else uses during the call.
pub(super) unsafe fn entries<'a, T>(entries: *mut T, count: usize) -> io::Result<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    if entries.is_null() {
        return Err(fault("the list"));
    }
    // SAFETY: as the caller says.
    Ok(unsafe { slice::from_raw_parts_mut(entries, count) })
}

/// A descriptor; -1 for none.
///
/// # Safety
/// It is -1 or stays open during the call.
pub(super) unsafe fn descriptor<'a>(fd: c_int) -> io::Result<Option<BorrowedFd<'a>>> {
    match fd {
        -1 => Ok(None),
        // SAFETY: as the caller says.
        0.. => Ok(Some(unsafe { BorrowedFd::borrow_raw(fd) })),
        _ => Err(explained(libc::EBADF, format!("{fd}: no descriptor"))),
    }
}

/// Writes `text` with its end, cut to `size` bytes with it.
///
/// # Safety
/// `place` points to `size` bytes.
pub(super) unsafe fn put_text(place: *mut c_char, size: usize, text: &str) {
    let Some(most) = size.checked_sub(1) else { return };
    let len = text.len().min(most);
    // SAFETY: as the caller says: `len` is less than `size`.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), place, len);
        place.add(len).write(0);
    }
}
