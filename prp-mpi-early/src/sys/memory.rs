//! Functions of the C library that hand memory to the kernel or give it back. A system call on a
//! page that is closed fails with EFAULT in place of waiting, and memory that is freed may be used
//! for something else. So what was received early into that memory is completed first.

use std::ffi::{c_int, c_uint, c_void};

use libc::{iovec, mmsghdr, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t, timespec};

use super::interface::{complete, is_idle};
use super::next::wrap;

fn use_bytes(at: *const c_void, len: size_t) {
    if !is_idle() {
        complete(at as usize..(at as usize).saturating_add(len));
    }
}

fn use_parts(parts: *const iovec, count: usize) {
    for i in 0..if is_idle() { 0 } else { count } {
        // SAFETY: the caller has passed an array of that many parts.
        let part = unsafe { &*parts.add(i) };
        use_bytes(part.iov_base, part.iov_len);
    }
}

fn use_message(message: *const msghdr) {
    if !is_idle() {
        // SAFETY: the caller has passed a message.
        let message = unsafe { &*message };
        use_parts(message.msg_iov, message.msg_iovlen);
    }
}

fn use_block(at: *mut c_void) {
    if !is_idle() {
        // SAFETY: the caller gives back a block of the allocator, or null.
        use_bytes(at, unsafe { libc::malloc_usable_size(at) });
    }
}

fn use_messages(messages: *const mmsghdr, count: c_uint) {
    for i in 0..if is_idle() { 0 } else { count as usize } {
        // SAFETY: the caller has passed an array of that many messages.
        use_message(unsafe { &raw const (*messages.add(i)).msg_hdr });
    }
}

/// A mapping takes the place of what is there only with this flag.
fn use_place(at: *mut c_void, len: size_t, flags: c_int) {
    if flags & libc::MAP_FIXED != 0 {
        use_bytes(at, len);
    }
}

const fn length(count: c_int) -> usize {
    if count < 0 { 0 } else { count as usize }
}

wrap! {
    read(fd: c_int, to: *mut c_void, len: size_t) -> ssize_t { use_bytes(to, len); }
    write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t { use_bytes(from, len); }
    pread(fd: c_int, to: *mut c_void, len: size_t, at: off_t) -> ssize_t { use_bytes(to, len); }
    pread64(fd: c_int, to: *mut c_void, len: size_t, at: off_t) -> ssize_t { use_bytes(to, len); }
    pwrite(fd: c_int, from: *const c_void, len: size_t, at: off_t) -> ssize_t {
        use_bytes(from, len);
    }
    pwrite64(fd: c_int, from: *const c_void, len: size_t, at: off_t) -> ssize_t {
        use_bytes(from, len);
    }
    readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t { use_parts(to, length(count)); }
    writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t {
        use_parts(from, length(count));
    }
    recv(fd: c_int, to: *mut c_void, len: size_t, flags: c_int) -> ssize_t { use_bytes(to, len); }
    send(fd: c_int, from: *const c_void, len: size_t, flags: c_int) -> ssize_t {
        use_bytes(from, len);
    }
    recvfrom(
        fd: c_int, to: *mut c_void, len: size_t, flags: c_int, peer: *mut sockaddr,
        peer_len: *mut socklen_t
    ) -> ssize_t { use_bytes(to, len); }
    sendto(
        fd: c_int, from: *const c_void, len: size_t, flags: c_int, peer: *const sockaddr,
        peer_len: socklen_t
    ) -> ssize_t { use_bytes(from, len); }
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t { use_message(message); }
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t { use_message(message); }
    fread(to: *mut c_void, size: size_t, count: size_t, file: *mut libc::FILE) -> size_t {
        use_bytes(to, size.saturating_mul(count));
    }
    fwrite(from: *const c_void, size: size_t, count: size_t, file: *mut libc::FILE) -> size_t {
        use_bytes(from, size.saturating_mul(count));
    }
    fread_unlocked(to: *mut c_void, size: size_t, count: size_t, file: *mut libc::FILE) -> size_t {
        use_bytes(to, size.saturating_mul(count));
    }
    fwrite_unlocked(
        from: *const c_void, size: size_t, count: size_t, file: *mut libc::FILE
    ) -> size_t { use_bytes(from, size.saturating_mul(count)); }
    preadv(fd: c_int, to: *const iovec, count: c_int, at: off_t) -> ssize_t {
        use_parts(to, length(count));
    }
    preadv64(fd: c_int, to: *const iovec, count: c_int, at: off_t) -> ssize_t {
        use_parts(to, length(count));
    }
    pwritev(fd: c_int, from: *const iovec, count: c_int, at: off_t) -> ssize_t {
        use_parts(from, length(count));
    }
    pwritev64(fd: c_int, from: *const iovec, count: c_int, at: off_t) -> ssize_t {
        use_parts(from, length(count));
    }
    recvmmsg(
        fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int, timeout: *mut timespec
    ) -> c_int { use_messages(messages, count); }
    sendmmsg(fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int {
        use_messages(messages, count);
    }
    __read_chk(fd: c_int, to: *mut c_void, len: size_t, room: size_t) -> ssize_t {
        use_bytes(to, len);
    }
    __pread_chk(fd: c_int, to: *mut c_void, len: size_t, at: off_t, room: size_t) -> ssize_t {
        use_bytes(to, len);
    }
    __pread64_chk(fd: c_int, to: *mut c_void, len: size_t, at: off_t, room: size_t) -> ssize_t {
        use_bytes(to, len);
    }
    __recv_chk(fd: c_int, to: *mut c_void, len: size_t, room: size_t, flags: c_int) -> ssize_t {
        use_bytes(to, len);
    }
    __recvfrom_chk(
        fd: c_int, to: *mut c_void, len: size_t, room: size_t, flags: c_int, peer: *mut sockaddr,
        peer_len: *mut socklen_t
    ) -> ssize_t { use_bytes(to, len); }
    __fread_chk(
        to: *mut c_void, room: size_t, size: size_t, count: size_t, file: *mut libc::FILE
    ) -> size_t { use_bytes(to, size.saturating_mul(count)); }
    __fread_unlocked_chk(
        to: *mut c_void, room: size_t, size: size_t, count: size_t, file: *mut libc::FILE
    ) -> size_t { use_bytes(to, size.saturating_mul(count)); }
    reallocarray(block: *mut c_void, count: size_t, size: size_t) -> *mut c_void {
        use_block(block);
    }
    madvise(at: *mut c_void, len: size_t, advice: c_int) -> c_int { use_bytes(at, len); }
    mprotect(at: *mut c_void, len: size_t, access: c_int) -> c_int { use_bytes(at, len); }
    mmap(at: *mut c_void, len: size_t, access: c_int, flags: c_int, fd: c_int, offset: off_t)
        -> *mut c_void { use_place(at, len, flags); }
    mmap64(at: *mut c_void, len: size_t, access: c_int, flags: c_int, fd: c_int, offset: off_t)
        -> *mut c_void { use_place(at, len, flags); }
    free(block: *mut c_void) -> () { use_block(block); }
    realloc(block: *mut c_void, size: size_t) -> *mut c_void { use_block(block); }
    munmap(at: *mut c_void, len: size_t) -> c_int { use_bytes(at, len); }
    mremap(at: *mut c_void, len: size_t, new: size_t, flags: c_int, to: *mut c_void)
        -> *mut c_void { use_bytes(at, len); }
}
