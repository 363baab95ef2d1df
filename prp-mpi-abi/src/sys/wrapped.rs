//! Functions of the C library that hand memory to the kernel or give it back. A system call on a
//! page that is closed fails with EFAULT in place of waiting, and memory that is freed may be used
//! for something else. So what was received early into that memory is completed first.
//!
//! While nothing is released early each costs one load of a counter.
#![allow(unreachable_pub, reason = "exported to C")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::{iovec, msghdr, off_t, size_t, sockaddr, socklen_t, ssize_t};
use prp_mpi::process::early;
use prp_mpi::sys::protection::is_idle;

/// The function of this name in the libraries behind this one.
struct NextFunction {
    name: &'static CStr,
    address: AtomicUsize,
}

impl NextFunction {
    fn address(&self) -> usize {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: the name is a string of C.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        if found == 0 {
            // Nothing that a program could do without `read` or `free`.
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

fn bytes(at: *const c_void, len: size_t) -> Range<usize> {
    at as usize..(at as usize).saturating_add(len)
}

fn use_bytes(at: *const c_void, len: size_t) {
    early::complete(bytes(at, len));
}

fn use_parts(parts: *const iovec, count: usize) {
    for i in 0..count {
        // SAFETY: the caller has passed an array of that many parts.
        let part = unsafe { &*parts.add(i) };
        use_bytes(part.iov_base, part.iov_len);
    }
}

fn use_message(message: *const msghdr) {
    // SAFETY: the caller has passed a message.
    let message = unsafe { &*message };
    use_parts(message.msg_iov, message.msg_iovlen);
}

fn use_block(at: *mut c_void) {
    // SAFETY: the caller gives back a block of the allocator, or null.
    use_bytes(at, unsafe { libc::malloc_usable_size(at) });
}

fn use_signal(signal: c_int, is_new: bool) {
    if signal == libc::SIGSEGV && is_new {
        // A handler that takes the place of ours would see touches of closed pages.
        early::complete_all();
    }
}

macro_rules! wrap {
    ($($name:ident($($argument:ident: $type:ty),*) -> $out:ty, $first:expr;)*) => {$(
        /// As the function of the C library, after what was released early has come.
        ///
        /// # Safety
        /// As for that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $out {
            const NAME: &CStr = match CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            };
            static NEXT: NextFunction = NextFunction { name: NAME, address: AtomicUsize::new(0) };
            if !is_idle() {
                $first;
            }
            // SAFETY: the function of that name has these parameters, and the caller keeps what it
            // demands.
            unsafe {
                let next =
                    std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $out>(
                        NEXT.address(),
                    );
                next($($argument),*)
            }
        }
    )*};
}

wrap! {
    read(fd: c_int, to: *mut c_void, len: size_t) -> ssize_t, use_bytes(to, len);
    write(fd: c_int, from: *const c_void, len: size_t) -> ssize_t, use_bytes(from, len);
    pread(fd: c_int, to: *mut c_void, len: size_t, at: off_t) -> ssize_t, use_bytes(to, len);
    pread64(fd: c_int, to: *mut c_void, len: size_t, at: off_t) -> ssize_t, use_bytes(to, len);
    pwrite(fd: c_int, from: *const c_void, len: size_t, at: off_t) -> ssize_t,
        use_bytes(from, len);
    pwrite64(fd: c_int, from: *const c_void, len: size_t, at: off_t) -> ssize_t,
        use_bytes(from, len);
    readv(fd: c_int, to: *const iovec, count: c_int) -> ssize_t,
        use_parts(to, count.max(0) as usize);
    writev(fd: c_int, from: *const iovec, count: c_int) -> ssize_t,
        use_parts(from, count.max(0) as usize);
    recv(fd: c_int, to: *mut c_void, len: size_t, flags: c_int) -> ssize_t, use_bytes(to, len);
    send(fd: c_int, from: *const c_void, len: size_t, flags: c_int) -> ssize_t,
        use_bytes(from, len);
    recvfrom(
        fd: c_int, to: *mut c_void, len: size_t, flags: c_int, peer: *mut sockaddr,
        peer_len: *mut socklen_t
    ) -> ssize_t, use_bytes(to, len);
    sendto(
        fd: c_int, from: *const c_void, len: size_t, flags: c_int, peer: *const sockaddr,
        peer_len: socklen_t
    ) -> ssize_t, use_bytes(from, len);
    recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t, use_message(message);
    sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t, use_message(message);
    fread(to: *mut c_void, size: size_t, count: size_t, file: *mut libc::FILE) -> size_t,
        use_bytes(to, size.saturating_mul(count));
    fwrite(from: *const c_void, size: size_t, count: size_t, file: *mut libc::FILE) -> size_t,
        use_bytes(from, size.saturating_mul(count));
    free(block: *mut c_void) -> (), use_block(block);
    realloc(block: *mut c_void, size: size_t) -> *mut c_void, use_block(block);
    munmap(at: *mut c_void, len: size_t) -> c_int, use_bytes(at, len);
    mremap(at: *mut c_void, len: size_t, new: size_t, flags: c_int, to: *mut c_void)
        -> *mut c_void, use_bytes(at, len);
    sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int,
        use_signal(signal, !new.is_null());
    signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t,
        use_signal(signal, true);
}

/// Whether the program's calls come here: not where the C library was loaded before this library.
pub(crate) fn are_in_place() -> bool {
    let name: *const c_char = c"read".as_ptr();
    // SAFETY: the name is a string of C.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) } as usize;
    found == read as *const () as usize
}
