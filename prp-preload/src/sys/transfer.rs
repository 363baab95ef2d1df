//! Sending and receiving on streams.

use std::ffi::{c_int, c_void};
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::slice;

use libc::{iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};
use prp_sock::PrpStream;

use crate::descriptor::{self, Descriptor};

/// `read`.
///
/// # Safety
/// As for `read`.
pub(super) unsafe fn read(fd: c_int, to: *mut c_void, len: size_t) -> Option<io::Result<ssize_t>> {
    // SAFETY: as the caller says.
    unsafe { recv(fd, to, len, 0) }
}

/// `recvfrom` returns no address of the sender, as with TCP.
///
/// # Safety
/// As for `recvfrom`.
pub(super) unsafe fn recvfrom(
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
    _peer: *mut sockaddr,
    _peer_len: *mut socklen_t,
) -> Option<io::Result<ssize_t>> {
    // SAFETY: as the caller says.
    unsafe { recv(fd, to, len, flags) }
}

/// `recv`.
///
/// # Safety
/// As for `recv`.
pub(super) unsafe fn recv(
    fd: c_int,
    to: *mut c_void,
    len: size_t,
    flags: c_int,
) -> Option<io::Result<ssize_t>> {
    let known = descriptor::find(fd)?;
    if len == 0 {
        return Some(Ok(0));
    }
    // SAFETY: the caller has `len` bytes there, and nothing else uses them during the call.
    let to = unsafe { slice::from_raw_parts_mut(to.cast::<u8>(), len) };
    Some(with(&known, flags, |mut stream| {
        if flags & libc::MSG_PEEK != 0 {
            return stream.peek(to);
        }
        let mut done = stream.read(to)?;
        // `MSG_WAITALL`: reads until the buffer is full, the stream ends, or an error occurs, which
        // the next call returns again.
        while flags & libc::MSG_WAITALL != 0 && done < to.len() {
            match stream.read(&mut to[done..]) {
                Ok(0) | Err(_) => break,
                Ok(more) => done += more,
            }
        }
        Ok(done)
    }))
}

/// `readv`.
///
/// # Safety
/// As for `readv`.
pub(super) unsafe fn readv(
    fd: c_int,
    to: *const iovec,
    count: c_int,
) -> Option<io::Result<ssize_t>> {
    let known = descriptor::find(fd)?;
    // SAFETY: as the caller says.
    let mut parts = unsafe { parts_to_fill(to, count.max(0) as usize) };
    Some(with(&known, 0, |mut stream| stream.read_vectored(&mut parts)))
}

/// `recvmsg` returns data only, without control messages.
///
/// # Safety
/// As for `recvmsg`.
pub(super) unsafe fn recvmsg(
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> Option<io::Result<ssize_t>> {
    let known = descriptor::find(fd)?;
    // SAFETY: the caller has passed a message, with parts that nothing else uses during the call.
    let mut parts = unsafe {
        (*message).msg_namelen = 0;
        (*message).msg_controllen = 0;
        (*message).msg_flags = 0;
        parts_to_fill((*message).msg_iov, (*message).msg_iovlen)
    };
    Some(with(&known, flags, |mut stream| stream.read_vectored(&mut parts)))
}

/// `write`.
///
/// # Safety
/// As for `write`.
pub(super) unsafe fn write(
    fd: c_int,
    from: *const c_void,
    len: size_t,
) -> Option<io::Result<ssize_t>> {
    // SAFETY: as the caller says.
    unsafe { send(fd, from, len, 0) }
}

/// `sendto` sends to the peer and ignores the address, as with TCP.
///
/// # Safety
/// As for `sendto`.
pub(super) unsafe fn sendto(
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
    _peer: *const sockaddr,
    _peer_len: socklen_t,
) -> Option<io::Result<ssize_t>> {
    // SAFETY: as the caller says.
    unsafe { send(fd, from, len, flags) }
}

/// `send`.
///
/// # Safety
/// As for `send`.
pub(super) unsafe fn send(
    fd: c_int,
    from: *const c_void,
    len: size_t,
    flags: c_int,
) -> Option<io::Result<ssize_t>> {
    let known = descriptor::find(fd)?;
    if len == 0 {
        return Some(Ok(0));
    }
    // SAFETY: the caller has `len` bytes there, which nothing changes during the call.
    let from = unsafe { slice::from_raw_parts(from.cast::<u8>(), len) };
    Some(with(&known, flags, |mut stream| stream.write(from)))
}

/// `writev`.
///
/// # Safety
/// As for `writev`.
pub(super) unsafe fn writev(
    fd: c_int,
    from: *const iovec,
    count: c_int,
) -> Option<io::Result<ssize_t>> {
    let known = descriptor::find(fd)?;
    // SAFETY: as the caller says.
    let parts = unsafe { parts_to_send(from, count.max(0) as usize) };
    Some(with(&known, 0, |mut stream| stream.write_vectored(&parts)))
}

/// `sendmsg`.
///
/// # Safety
/// As for `sendmsg`.
pub(super) unsafe fn sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> Option<io::Result<ssize_t>> {
    let known = descriptor::find(fd)?;
    // SAFETY: the caller has passed a message, with parts that nothing changes during the call.
    let parts = unsafe { parts_to_send((*message).msg_iov, (*message).msg_iovlen) };
    Some(with(&known, flags, |mut stream| stream.write_vectored(&parts)))
}

/// Calls `f` with the stream, which does not block if `MSG_DONTWAIT` is set.
fn with(
    known: &Descriptor,
    flags: c_int,
    f: impl FnOnce(&PrpStream) -> io::Result<usize>,
) -> io::Result<ssize_t> {
    let stream = known.as_stream()?;
    let is_apart = flags & libc::MSG_DONTWAIT != 0 && !known.is_nonblocking();
    if is_apart {
        stream.set_nonblocking(true)?;
    }
    let done = f(stream);
    if is_apart {
        stream.set_nonblocking(false)?;
    }
    // The count is at most the size of the caller's memory, which fits into a signed number.
    done.map(|done| done as ssize_t)
}

/// # Safety
/// `parts` is an array of `count` parts with memory that nothing else uses while they live.
unsafe fn parts_to_fill<'a>(parts: *const iovec, count: usize) -> Vec<IoSliceMut<'a>> {
    (0..count)
        .filter_map(|i| {
            // SAFETY: as the caller says; an empty part may be of no memory.
            unsafe {
                let part = &*parts.add(i);
                (part.iov_len > 0).then(|| {
                    IoSliceMut::new(slice::from_raw_parts_mut(part.iov_base.cast(), part.iov_len))
                })
            }
        })
        .collect()
}

/// # Safety
/// `parts` is an array of `count` parts with memory that nothing changes while they live.
unsafe fn parts_to_send<'a>(parts: *const iovec, count: usize) -> Vec<IoSlice<'a>> {
    (0..count)
        .filter_map(|i| {
            // SAFETY: as the caller says; an empty part may be of no memory.
            unsafe {
                let part = &*parts.add(i);
                (part.iov_len > 0).then(|| {
                    IoSlice::new(slice::from_raw_parts(part.iov_base.cast(), part.iov_len))
                })
            }
        })
        .collect()
}
